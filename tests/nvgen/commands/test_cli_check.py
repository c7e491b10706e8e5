"""`nvgen check`: verdicts, exit status, and the report for machines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from intrinsics.findings import Finding, Place, Severity
from nvgen.commands import check
from tests.each import each
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD, BAD_ALLOC
from tests.ptx_corpus import FILES, FOLDER

TARGET = ("--target", "sm_100a")
KEYS = (
    "rule", "severity", "message", "line", "column", "function", "source_file", "source_line",
    "op", "got", "expected", "section", "hint",
)  # fmt: skip

NUMBERS = ("line", "column", "source_line")

GOOD_PTX = """\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k()
{
	.shared .align 4 .b8 slot[4];
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
	ret;
}
"""

BAD = {
    ".ll": (BAD_ALLOC, "call void"),
    ".ptx": (GOOD_PTX.replace("64;", "48;"), "tcgen05.alloc"),
}
"""Programs that allocate 48 columns, and how the line that does begins."""


@pytest.fixture
def write(tmp_path: Path):
    """Write a program to a file of this kind."""

    def write(suffix: str, text: str) -> Path:
        path = tmp_path / f"program{suffix}"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def mir(nvgen: Nvgen, write) -> Path:
    """The records of an allocation of 64 columns."""
    source = write(".ll", BAD_ALLOC.replace("i32 48", "i32 64"))
    made = nvgen("compile", source, *TARGET, "--emit", "mir")
    assert made.status == 0
    return write(".mir", made.out)


# ---- exit status -----------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "text"), [(".ll", ADD), (".ptx", GOOD_PTX)])
def test_a_program_without_errors_is_0(nvgen: Nvgen, write, suffix: str, text: str) -> None:
    target = TARGET if suffix == ".ll" else ()
    assert nvgen("check", write(suffix, text), *target).status == 0


def test_machine_records_are_checked_too(nvgen: Nvgen, mir: Path) -> None:
    assert nvgen("check", mir).status == 0
    mir.write_text(mir.read_text().replace("imm:64", "imm:48"))
    found = nvgen("check", mir)
    assert found.status == 1
    line = next(n for n, s in enumerate(mir.read_text().split("\n"), 1) if "imm:48" in s)
    assert f"--> {mir}:{line}:" in found.out


@pytest.mark.parametrize("suffix", BAD)
def test_an_illegal_instruction_is_1_and_stands_on_its_line(
    nvgen: Nvgen, write, suffix: str
) -> None:
    text, begin = BAD[suffix]
    path = write(suffix, text)
    found = nvgen("check", path, *(TARGET if suffix == ".ll" else ()))
    line = next(n for n, s in enumerate(text.split("\n"), 1) if s.strip().startswith(begin))
    assert found.status == 1
    assert found.err == ""
    for part in (
        "error[tcgen05.alloc/immediate-range]",
        f"--> {path}:{line}:",
        "got: 48",
        "expected: a power of 2 in 32..512",
        "help: the next one is 64",
    ):
        assert part in found.out


@pytest.mark.parametrize("suffix", [".ll", ".mir", ".ptx"])
def test_a_file_that_cannot_be_read_is_2(nvgen: Nvgen, tmp_path: Path, suffix: str) -> None:
    found = nvgen("check", tmp_path / f"missing{suffix}", *TARGET)
    assert found.status == 2
    assert "error[input/unreadable]" in found.out


def test_the_language_is_told_by_the_name_or_else_by_the_text(nvgen: Nvgen, write, mir: Path):
    assert nvgen("check", write("", GOOD_PTX)).status == 0
    assert nvgen("check", write(".txt", mir.read_text())).status == 0
    assert nvgen("check", write(".txt", ADD), *TARGET).status == 0


def test_a_target_can_be_judged_that_the_file_does_not_name(nvgen: Nvgen, write) -> None:
    """PTX ISA, tcgen05.alloc: Target ISA Notes; sm_90a has no tensor memory."""
    assert nvgen("check", write(".ptx", GOOD_PTX), "--target", "sm_103a", "--ptx", "8.8") == (
        nvgen("check", write(".ptx", GOOD_PTX.replace("8.6", "8.8").replace("100a", "103a")))
    )
    found = nvgen("check", write(".ptx", GOOD_PTX), "--target", "sm_90a")
    assert found.status == 1
    assert "sm_90a" in found.out


@pytest.mark.parametrize("severity", Severity)
@pytest.mark.parametrize("strict", [False, True])
def test_what_counts_as_wrong(
    nvgen: Nvgen, write, monkeypatch: pytest.MonkeyPatch, severity: Severity, strict: bool
) -> None:
    """Errors always; with --strict reviews too; warnings and notes never."""
    finding = Finding("a/rule", severity, "something", Place("f.ll", 1, 1))
    monkeypatch.setattr(check, "load", lambda *_, **__: SimpleNamespace(findings=[finding]))
    wrong = severity is Severity.ERROR or (strict and severity is Severity.REVIEW)
    found = nvgen("check", write(".ll", ADD), *(["--strict"] if strict else []))
    assert found.status == int(wrong)
    assert f"{severity.value}[a/rule]: something" in found.out


def test_the_levels(nvgen: Nvgen, write) -> None:
    """Nothing is called clean that was not checked; all is the default."""
    path = write(".ll", ADD)

    def told(*options: str) -> tuple[str, list[str]]:
        report = nvgen("check", path, *TARGET, "--format", "json", *options).json()
        return report["verdict"], [f["message"] for f in report["findings"]]

    launch = (
        "incomplete",
        ["not checked: whether the kernel can be launched as it is meant to be"],
    )
    assert told() == launch
    assert told("--level", "all") == launch
    assert told("--level", "launch") == launch
    assert told("--level", "function") == ("clean", [])
    assert told("--level", "record") == ("clean", [])
    assert nvgen("check", path, *TARGET).out.endswith(f"{path}: incomplete (1 note)\n")


@pytest.mark.parametrize(
    ("allowed", "status", "rules"),
    [
        (("tcgen05.wait/target",), 0, ["verify/level"]),
        (("tcgen05.*",), 0, ["verify/level"]),
        (("*",), 0, []),
        (("tcgen05.wait/*", "verify/level"), 0, []),
        (("tcgen05.ld/*", "ptx/not-modelled"), 1, ["verify/level", "tcgen05.wait/target"]),
    ],
)
def test_rules_can_be_allowed(
    nvgen: Nvgen, write, allowed: tuple[str, ...], status: int, rules: list[str]
) -> None:
    options = [word for rule in allowed for word in ("--allow", rule)]
    text = ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 32\n"
    path = write(".ptx", text + "{\ntcgen05.wait::ld.sync.aligned;\nret;\n}\n")
    found = nvgen("check", path, "--format", "json", *options)
    assert found.status == status
    assert [f["rule"] for f in found.json()["findings"]] == rules


@pytest.mark.parametrize(
    ("allowed", "help"),
    [
        ("tcgen05.wait", "did you mean tcgen05.wait/*?"),
        ("TCGEN05.*", "did you mean tcgen05.*?"),
        ("tcgen05.mma/i8-targt", "did you mean tcgen05.mma/i8-target or "),
        ("NONSENSE", "`rules.md` of the reference lists them"),
    ],
)
def test_a_rule_that_does_not_exist_cannot_be_allowed(
    nvgen: Nvgen, write, allowed: str, help: str
) -> None:
    """A misspelt id would leave nothing out, and nobody would know."""
    told = nvgen("check", write(".ptx", GOOD_PTX), "--allow", allowed)
    assert (told.status, told.out) == (2, "")
    assert "error[check/allow]: no rule has this id" in told.err
    assert help in told.err
    machine = nvgen("check", write(".ptx", GOOD_PTX), "--allow", allowed, "--format", "json")
    assert (machine.status, machine.err) == (2, "")
    assert [found["rule"] for found in machine.json()["findings"]] == ["check/allow"]


def test_own_rules_have_ids_of_their_own(nvgen: Nvgen, write) -> None:
    rule = write(".py", "def judge(module):\n    return []\n")
    own = ("--rule", f"{rule}:judge", "--allow", "house/no-divisions")
    assert nvgen("check", write(".ptx", GOOD_PTX), *own).status == 0


def test_the_summary_names_what_was_given(nvgen: Nvgen, write) -> None:
    """Of a Python file findings stand in the text that it builds; the verdict is about the file."""
    body = "b = KernelBuilder('k', block=32, target='sm_90a')\n    b.begin()\n    return b.finish()"
    path = write(".py", f"from nvgen import KernelBuilder\ndef build():\n    {body}\n")
    told = nvgen("check", path, "--grid", "1")
    assert told.out == f"{path}: clean\n"
    assert nvgen("check", path, "--format", "json").json()["file"] == str(path)


BUILT = """
from nvgen import KernelBuilder, bf16, f32

TARGETS = ("sm_100a", "sm_90a")

def build():
    b = KernelBuilder("twice", block=32)
    b.tile_map("x", bf16, (64, 64))
    b.begin()
    return b.finish()
"""


def test_a_python_file_says_its_target(nvgen: Nvgen, write) -> None:
    """The first of TARGETS where the kernel is built for none; `--target` goes before."""
    path = write(".py", BUILT)
    assert nvgen("check", path, "--grid", "1").out == f"{path} for sm_100a: clean\n"
    assert nvgen("check", path, "--grid", "1", "--target", "sm_90a").out == f"{path}: clean\n"
    told = nvgen("compile", path, "-v", "-o", "-")
    assert ".target sm_100a" in told.out
    assert told.err.startswith(f"{path}: @twice: ")
    silent = write(".py", BUILT.replace("TARGETS", "AIMS"))
    assert "target/missing" in nvgen("check", silent).out


def test_a_box_is_that_of_a_parameter_by_its_own_name(nvgen: Nvgen, write) -> None:
    path = write(".py", BUILT)
    for name in ("x", "twice_param_0"):
        assert nvgen("check", path, "--box", f"{name}=8192").status == 0
    told = nvgen("check", path, "--box", "y=8192")
    assert told.status == 2
    assert "got: y=8192" in told.out
    assert "expected: x" in told.out


# ---- JSON ------------------------------------------------------------------------------------

OUTCOMES = {
    "clean": (ADD, (*TARGET, "--level", "record"), 0, "verify", "clean"),
    "incomplete": (ADD, TARGET, 0, "verify", "incomplete"),
    "illegal": (BAD_ALLOC, TARGET, 1, "verify", "error"),
    "not selectable": (ADD.replace("tid.x", "tidy"), TARGET, 1, "select", "error"),
    "old PTX": (ADD, (*TARGET, "--ptx", "8.5"), 1, "verify", "error"),
    "no IR": ("nonsense", TARGET, 2, "read", "error"),
    "no target": (ADD, (), 2, "read", "error"),
    "no shape": (ADD, (*TARGET, "--grid", "x"), 2, "read", "error"),
}


@pytest.mark.parametrize(
    ("text", "options", "status", "stage", "verdict"), OUTCOMES.values(), ids=OUTCOMES
)
def test_the_report_for_machines(
    nvgen: Nvgen,
    write,
    text: str,
    options: tuple[str, ...],
    status: int,
    stage: str,
    verdict: str,
) -> None:
    path = write(".ll", text)
    found = nvgen("check", path, *options, "--format", "json")
    assert (found.status, found.err) == (status, "")
    report = found.json()
    assert list(report) == ["file", "stage", "verdict", "findings"]
    assert (report["file"], report["stage"], report["verdict"]) == (str(path), stage, verdict)
    assert bool(report["findings"]) == (verdict != "clean")
    for finding in report["findings"]:
        assert tuple(finding) == KEYS
        assert all(isinstance(finding[key], str) for key in KEYS if key not in NUMBERS)
        assert isinstance(finding["line"], int)
        assert isinstance(finding["column"], int)
        assert re.fullmatch(r"[\w.]+/[\w-]+", finding["rule"])
        assert finding["severity"] in ("error", "warning", "review", "note")
        assert finding["message"]


def test_a_finding_for_machines_says_all_that_one_for_people_does(nvgen: Nvgen, write) -> None:
    path = write(".ll", BAD_ALLOC)
    (finding,) = nvgen("check", path, *TARGET, "--level", "record", "--format", "json").json()[
        "findings"
    ]
    assert (finding["line"], finding["column"]) == (3, 3)
    assert finding["got"] == "48"
    assert finding["expected"] == "a power of 2 in 32..512"
    assert finding["hint"] == "the next one is 64"
    assert finding["section"] == "PTX ISA, tcgen05.alloc"
    assert "tcgen05.alloc" in finding["op"].lower().replace("_", ".")


# ---- PTX of other compilers ------------------------------------------------------------------


def rules_of(report: dict[str, list[dict[str, str]]]) -> dict[str, int]:
    return Counter(finding["rule"] for finding in report["findings"])


@each("path", FILES, ids=lambda path: path.stem)
def test_ptx_of_other_compilers_is_right_at_its_own_target(nvgen: Nvgen, path: Path) -> None:
    """At record level nothing but what nvgen does not know is said of it, where it stands."""
    found = nvgen("check", path, "--level", "record", "--format", "json")
    assert found.status == 0
    report = found.json()
    assert set(rules_of(report)) <= {"ptx/not-modelled", "ptx/directive"}
    assert report["verdict"] == ("incomplete" if report["findings"] else "clean")
    lines = path.read_text().split("\n")
    for finding in report["findings"]:
        assert finding["op"] in lines[finding["line"] - 1]


@each("path", FILES, ids=lambda path: path.stem, turns=3)
def test_no_rule_about_whole_functions_calls_them_wrong(nvgen: Nvgen, path: Path) -> None:
    """These kernels are right: reviews may be wrong about them, errors never."""
    found = nvgen("check", path, "--format", "json")
    told = [f for f in found.json()["findings"] if f["severity"] == "error"]
    assert (found.status, told) == (0, [])


def test_what_is_not_known_is_no_error_unless_it_must_be(nvgen: Nvgen) -> None:
    path = FOLDER / "nvcc_memory_sm90.ptx"
    level = ("--level", "record")
    assert nvgen("check", path, *level).out.endswith(f"{path}: incomplete (4 reviews)\n")
    assert nvgen("check", path, *level, "--strict").status == 1
    allowed = nvgen("check", path, *level, "--strict", "--allow", "ptx/not-modelled")
    assert (allowed.status, allowed.out) == (0, f"{path}: clean\n")


def test_a_branch_table_is_followed(nvgen: Nvgen) -> None:
    """Triton sends warps to their work by brx.idx, by numbers that another warp has left them: the
    warps of the second warpgroup give back registers at three places, which the manual forbids.
    """
    path = FOLDER / "triton_tma_special_sm100a.ptx"
    found = nvgen("check", path, "--level", "function", "--format", "json")
    assert (found.status, found.json()["verdict"]) == (0, "review")
    told = {f["rule"]: f for f in found.json()["findings"]}
    apart = told["setmaxnreg.dec/warpgroup"]
    assert apart["severity"] == "warning"
    assert apart["got"] == "executions: 1 in warp 4, 1 in warp 5, 0 in warp 6, 0 in warp 7"


def test_a_wrong_function_hides_no_other(nvgen: Nvgen, write) -> None:
    """One kernel with a mistake that cannot be read, one with an illegal form, one right."""
    kernel = ".visible .entry {}() .reqntid 32\n{{\n.reg .b32 %r<4>;\n{}\nret;\n}}\n"
    header = ".version 8.6\n.target sm_90a\n.address_size 64\n"
    text = header + kernel.format("a", "add.s32 %r1, %r2;\nadd.s32 %r1, %r2, {};")
    text += kernel.format("b", "tcgen05.wait::ld.sync.aligned;") + kernel.format("c", "bar.sync 0;")
    path = write(".ptx", text)
    found = nvgen("check", path, "--level", "record", "--format", "json")
    assert found.status == 1
    told = [(f["rule"], f["line"]) for f in found.json()["findings"]]
    assert told == [("ptx/operands", 7), ("ptx/operands", 8), ("tcgen05.wait/target", 14)]


def test_the_target_and_version_are_the_files_own(nvgen: Nvgen, write) -> None:
    """sm_120a has no tensor memory, and PTX 8.5 knows no sm_100a."""
    path = FOLDER / "nvcc_blackwell_sm100a.ptx"
    assert nvgen("check", path, "--level", "record").status == 0
    elsewhere = nvgen("check", path, "--level", "record", "--target", "sm_120a")
    assert elsewhere.status == 1
    assert "error[tcgen05.alloc/target]" in elsewhere.out
    older = nvgen("check", path, "--level", "record", "--ptx", "8.5")
    assert older.status == 1
    assert "error[target/ptx-version]" in older.out


def test_a_finding_points_at_the_source_that_was_compiled(nvgen: Nvgen, write) -> None:
    """With -lineinfo PTX says which line of softmax.cu an instruction comes from."""
    text = (FOLDER / "nvcc_softmax_sm90a.ptx").read_text()
    assert "ld.global.f32" in text
    path = write(".ptx", text.replace("ld.global.f32", "ld.global.f64", 1))
    found = nvgen("check", path, "--level", "record")
    assert found.status == 1
    place = rf"--> {re.escape(str(path))}:\d+:\d+, in @softmax, from \S*softmax\.cu:\d+"
    assert re.search(place, found.out)
    assert re.search(r"got: %f\d+ of type \.f32", found.out), "registers have PTX's names"


def test_registers_contents_are_no_matter_of_single_records(nvgen: Nvgen, write) -> None:
    """An allocation of 48 columns is wrong as a literal; from a register it is a form like any."""
    text = GOOD_PTX.replace("\ttcgen05", "\t.reg .b32 %r<2>;\n\tmov.b32 %r1, 48;\n\ttcgen05")
    path = write(".ptx", text.replace("64;\n\tret", "%r1;\n\tret"))
    assert nvgen("check", path, "--level", "record").out == f"{path}: clean\n"


def test_a_box_of_no_parameter(nvgen: Nvgen, write) -> None:
    done = nvgen("check", write(".ll", ADD), *TARGET, "--box", "a=16", "--format", "json")
    assert done.status == 2
    (found,) = done.json()["findings"]
    assert (found["rule"], found["got"]) == ("check/box", "a=16")
    assert "add_param_0" in found["expected"]


def test_a_box_of_a_map_at_an_offset(nvgen: Nvgen, write) -> None:
    path = write(".ll", ADD)
    assert nvgen("check", path, *TARGET, "--box", "add_param_0+64=16").status == 0


def test_what_was_not_checked_names_the_file(nvgen: Nvgen, write) -> None:
    path = write(".ll", ADD)
    assert f"--> {path}, in @add" in nvgen("check", path, *TARGET).out


def test_a_negative_size_of_shared_memory_is_bad_usage(nvgen: Nvgen, write) -> None:
    done = nvgen("check", write(".ll", ADD), "--target", "sm_90a", "--smem", "-5")
    assert done.status == 2
    assert "error[run/shared-memory]" in done.text
