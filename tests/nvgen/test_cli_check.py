"""`nvgen check`: verdicts, exit status, and the report for machines."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from intrinsics.findings import Finding, Place, Severity
from nvgen.commands import check
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD, BAD_ALLOC

TARGET = ("--target", "sm_100a")
KEYS = (
    "rule", "severity", "message", "line", "column", "op", "got", "expected", "section", "hint",
)  # fmt: skip

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
        "help: the nearest one is 64",
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
        (("tcgen05.wait",), 1, ["verify/level", "tcgen05.wait/target"]),
        (("TCGEN05.*",), 1, ["verify/level", "tcgen05.wait/target"]),
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
        assert all(isinstance(finding[key], str) for key in KEYS if key not in ("line", "column"))
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
    assert finding["hint"] == "the nearest one is 64"
    assert finding["section"] == "PTX ISA, tcgen05.alloc"
    assert "tcgen05.alloc" in finding["op"].lower().replace("_", ".")
