"""README and docs say what is so: code runs, excerpts and outputs are what nvgen prints.

What a fenced block's language promises:

    python      runs, the blocks of a page one after the other
    python gpu  the same, on a GPU, behind the page's other blocks
    py          lines of a sample, in their order
    console     `$ nvgen …` with what it prints
    sh          commands with options that exist
    text        what a test here prints
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import VerificationError
from intrinsics.targets import TARGETS
from isel.pipeline import PASSES, SELECT
from isel.verifier.functions import verify_functions
from nvgen import FindingWarning, KernelBuilder
from nvgen.builder import reference
from nvgen.builder.reference import is_free
from nvgen.cli import _parser, main
from nvgen.instructions.table import others
from nvgen.render import print_findings
from tests.each import each
from tests.isel.verifier.function import (
    function_kernels,
    function_mistakes,
    function_sync_kernels,
    function_sync_mistakes,
)
from tests.isel.verifier.function.test_cluster_rules import MISTAKES
from tests.isel.verifier.patterns.pattern_missed import MISSED
from tests.isel.verifier.patterns.pattern_unseen import NOWHERE, UNSEEN
from tests.isel.verifier.patterns.test_canonical_patterns import ALL, CLEAN
from tests.mutation.faults import FAULTS
from tests.nvgen.testing.projects import guide_example
from tests.oracle import cluster_forms, float_forms, legality_forms, ptxas, tcgen05_product
from tests.oracle.gpu import on_gpu
from tests.oracle.recorded_lists import MUTANTS
from tests.samples.modules import FOLDER, gemm_tile

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
OWN_TEST = "docs/extending.md"
"""Its blocks are parts of programs: `test_extending_page` makes them whole."""
LANGUAGES = {
    "python", "python gpu", "py", "pyi", "console", "sh", "text", "llvm", "mir", "ptx",
}  # fmt: skip
MOST_LINES = 150


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [text for found, text in fenced(page) if found == language]


def fenced(page: str) -> list[tuple[str, str]]:
    """All fenced blocks: language and text."""
    return re.findall(r"^```([\w ]*)\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)


def squeezed(text: str) -> list[str]:
    """The lines of a text without their layout."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def flat(page: str) -> str:
    """A page without line breaks."""
    return " ".join(PAGES[page].split())


def stands_in(excerpt: str, whole: str) -> bool:
    """Whether every line of the excerpt is one of the whole, in the same order."""
    lines = iter(squeezed(whole))
    return all(line in lines for line in squeezed(excerpt))


def finding_shown(page: str, rule: str) -> str:
    """The block of a page that shows a finding of a rule."""
    (found,) = (text for text in blocks(page, "text") if f"[{rule}]" in text.split("\n")[0])
    return found


SHOWN = {
    (page, re.findall(r"\[(.*?)\]", text)[0]) for page in PAGES for text in blocks(page, "text")
}
"""Findings that the pages show; each is printed by a test here."""


# ---- all pages -----------------------------------------------------------------------------------


def test_every_block_is_of_a_known_language():
    assert {language for page in PAGES for language, _ in fenced(page)} <= LANGUAGES
    assert {
        ("README.md", "wgmma.mma_async/stage-released"),
        ("docs/checking.md", "tcgen05.mma/i8-target"),
        ("docs/checking.md", "tcgen05.ld/before-completion"),
        ("docs/checking.md", "mbarrier/peer-unheard"),
        ("docs/simulator-and-races.md", "sim/race"),
        ("docs/simulator-and-races.md", "run/bisect"),
        ("docs/other-compilers.md", "ld/operands"),
    } == SHOWN


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python") and page != OWN_TEST]
)
def test_the_python_of_a_page_runs(page: str, monkeypatch: pytest.MonkeyPatch):
    run(page, monkeypatch)


@pytest.mark.gpu
@pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")
def test_the_python_for_a_gpu_runs(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    for page in PAGES:
        if given := blocks(page, "python gpu"):
            names = run(page, monkeypatch)
            for block in given:
                exec(compile(block, page, "exec"), names)


def run(page: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Run the blocks of a page one after the other."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        if "@kernel_test" not in block:  # tests are run by the plugin's own
            exec(compile(block, page, "exec"), names)
    return names


def test_the_test_of_a_kernel_is_the_one_of_the_guide():
    """Its own test runs it."""
    tests = [text for page in PAGES for text in blocks(page, "python") if "@kernel_test" in text]
    assert [squeezed(text) for text in tests] == [squeezed(guide_example())]


def test_lines_of_samples_are_those_of_a_sample():
    """But for where they break."""
    samples = ["".join(path.read_text().split()) for path in FOLDER.rglob("*.py")]
    excerpts = [(page, text) for page in PAGES for text in blocks(page, "py")]
    for page, text in excerpts:
        assert any("".join(text.split()) in sample for sample in samples), page
    assert len(excerpts) >= 4


def test_the_commands_print_what_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    shown = "".join(text for page in PAGES for text in blocks(page, "console"))
    sessions = re.findall(r"^\$ nvgen (.*)\n((?:(?!\$ ).*\n)*)", shown, re.M)
    assert len(sessions) >= 4
    for command, output in sessions:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out.rstrip() == output.rstrip()


def test_the_commands_have_the_options_that_are_shown():
    shell = "".join(text for page in PAGES for text in blocks(page, "sh"))
    commands = re.findall(r"(?:^|\| )nvgen (.*)", shell, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        assert _parser().parse_args(shlex.split(command)).command
    for package in re.findall(r"^pip install '\.\[(\w+)\]'", shell, re.MULTILINE):
        assert f"\n{package} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_tasks_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shell = "".join(text for page in PAGES for text in blocks(page, "sh"))
    tasks = set(re.findall(r"^make ([\w-]+)", shell, re.MULTILINE))
    tasks |= {task for text in PAGES.values() for task in re.findall(r"`make ([\w-]+)", text)}
    assert {"demo", "test", "docs"} <= tasks
    for task in tasks:
        assert re.search(rf"^{task}:", makefile, re.MULTILINE), task


@each("page", PAGES)
def test_the_links_lead_somewhere(page: str):
    folder = (ROOT / page).parent
    for link in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        path, _, anchor = link.partition("#")
        target = (folder / path).resolve() if path else ROOT / page
        assert target.exists(), link
        if anchor and target.suffix == ".md" and target.parent == ROOT / "docs":
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """The names by which headings can be linked to."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_reached_from_readme():
    reached, left = set(), ["README.md"]
    while left:
        page = left.pop()
        if page in reached or page not in PAGES:
            continue
        reached.add(page)
        for link in re.findall(r"\]\(([^)#]+)", PAGES[page]):
            path = ((ROOT / page).parent / link).resolve()
            if path.is_relative_to(ROOT):
                left.append(path.relative_to(ROOT).as_posix())
    assert reached == set(PAGES)


def test_the_stub_of_the_builder_is_not_stale():
    """Written by `make docs`."""
    assert reference.stub() == reference.STUB.read_text(encoding="utf-8")


def test_the_reference_of_the_builder_is_not_stale():
    """`make docs` writes it."""
    assert reference.page() == PAGES["docs/builder.md"]


def test_every_verb_of_the_builder_is_described():
    page = PAGES["docs/builder.md"]
    verbs = [
        name
        for made in KernelBuilder.__mro__
        for name in vars(made)
        if made is not object and reference.is_public(made, name)
    ]
    assert len(verbs) > 150
    undescribed = [name for name in verbs if f"\n#### b.{name}\n" not in page]
    assert undescribed == ["target"]  # an attribute


def test_every_instruction_says_what_it_does():
    """In the words of its row."""
    said = {name: verb.choices[0].row.about for name, verb in others().items() if is_free(verb)}
    assert all(said.values())
    assert len(set(said.values())) == len(said)


# ---- README --------------------------------------------------------------------------------------


def test_readme_is_short():
    assert README.count("\n") <= MOST_LINES


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_the_kernel_of_the_first_screen_is_right(target: str):
    names = run_first_block(('"sm_90a"', f'"{target}"'))
    bf16 = np.dtype(names["bf16"].numpy)
    rng = np.random.default_rng(0)
    m, n, k = 128, 256, 320
    x, w = (rng.integers(-4, 5, (rows, k)).astype(bf16) for rows in (m, n))
    expected = np.maximum(x.astype(np.float32) @ w.astype(np.float32).T, 0).astype(bf16)
    compiled = names["kernel"].compile(level="function")
    for schedule in ("early", "late"):
        y = np.zeros((m, n), bf16)
        compiled.run(x, w, y, n, k, grid=(1, 2), device="sim", schedule=schedule)
        assert (y == expected).all()


def run_first_block(*replaced: tuple[str, str]) -> dict:
    """The first block of README, with some texts replaced."""
    first, *_ = blocks("README.md", "python")
    for before, after in replaced:
        assert first.count(before) == 1
        first = first.replace(before, after)
    names: dict[str, object] = {}
    exec(compile(first, "linear.py", "exec"), names)
    return names


def test_the_error_of_the_first_screen(capsys: pytest.CaptureFixture[str]):
    loop, store = "accumulate=step != 0)", "    corner = "
    in_flight = (loop, f"{loop[:-1]}, in_flight=1)"), (store, f"    b.wgmma_wait_group(0)\n{store}")
    kernel = run_first_block(*in_flight)["kernel"]
    with pytest.raises(VerificationError) as caught:
        kernel.compile()
    shown = finding_shown("README.md", "wgmma.mma_async/stage-released")
    released = [f for f in caught.value.findings if f.rule == "wgmma.mma_async/stage-released"]
    print_findings(released, kernel.llvm, sys.stdout)
    assert squeezed(capsys.readouterr().out) == squeezed(shown)
    allowed = kernel.compile(allow=["wgmma.mma_async/*"])
    assert not allowed.assembled().findings, "ptxas takes it without a word"


def test_every_sample_is_described():
    page = PAGES["docs/writing-kernels.md"]
    for sample in sorted(FOLDER.glob("[0-9]*")):
        assert f"\n| [{sample.name}](../samples/{sample.name}) | " in page, sample.name


def test_every_file_of_the_samples_is_on_their_page():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = [path for path in FOLDER.rglob("*.py") if path.name != "__init__.py"]
    others = [str(f.relative_to(FOLDER)) for f in files if not f.name[0].isdigit()]
    assert [name for name in others if page.count(f"[{name}]({name})") != 1] == []
    named = re.findall(r"\]\(([^)#]+)", page)
    assert [name for name in named if not (FOLDER / name).exists()] == []


def test_the_targets():
    names = list(TARGETS)
    assert f"{names[0]} to {names[-1].rstrip('af')}" in PAGES["docs/command-line.md"]


# ---- checking.md, simulator-and-races.md, other-compilers.md -------------------------------------


def test_the_i8_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shown = finding_shown("docs/checking.md", "tcgen05.mma/i8-target")
    arguments = "ptr addrspace(6) %d, i64 %a, i64 %b, i32 %idesc"
    name = "@llvm.nvvm.tcgen05.mma.shared"
    file = tmp_path / "i8.ll"
    file.write_text(
        f"define ptx_kernel void @gemm({arguments}) {{\n"
        f"  call void {name}({arguments}, i1 true, i32 3, i32 1, i32 0)\n  ret void\n}}\n"
        f"declare void {name}(ptr addrspace(6), i64, i64, i32, i1, i32, i32, i32)\n"
    )
    assert main(["compile", str(file), "--target", "sm_103a", "-o", str(tmp_path / "o.ptx")]) == 1
    found = capsys.readouterr().err.replace(str(file), "i8.ll")
    assert squeezed(found) == squeezed(shown)


def sample_without(line: str) -> dict:
    """The first sample without one of its lines, as `tile.py`."""
    source = (ROOT / "samples/01_gemm_tile.py").read_text(encoding="utf-8")
    assert source.count(line) == 1
    module: dict[str, object] = {"__name__": "tile"}
    exec(compile(source.replace(line, ""), "tile.py", "exec"), module)
    return module


def test_the_forgotten_wait_for_the_multiplies(capsys: pytest.CaptureFixture[str]):
    """The first sample without its second wait, as its author would see it."""
    shown = finding_shown("docs/checking.md", "tcgen05.ld/before-completion")
    kernel = sample_without("    b.wait(multiplied, 0)\n")["build"]()
    with pytest.raises(VerificationError) as caught:
        kernel.compile(target="sm_100a", level="function")
    print_findings(caught.value.findings, kernel.llvm, sys.stdout)
    assert squeezed(capsys.readouterr().out) == squeezed(shown)
    with pytest.raises(VerificationError, match=r"tcgen05\.ld/before-completion"):
        kernel.compile(target="sm_100a")
    with pytest.warns(FindingWarning, match=r"tcgen05\.ld/before-completion"):
        compiled = kernel.compile(target="sm_100a", allow=["tcgen05.ld/before-completion"])
    assert compiled.cubin(), "ptxas takes it"


def test_the_pair_of_which_one_waits_in_vain(capsys: pytest.CaptureFixture[str]):
    """A right kernel whose commit tells one CTA; all statements that the page shows are its own."""
    shown = finding_shown("docs/checking.md", "mbarrier/peer-unheard")
    text = MISTAKES["a commit for one CTA"].broken()
    found = verify_functions(read_ptx(text, "pair.ptx").module)
    print_findings([f.at(replace(f.place, file="pair.ptx")) for f in found], text, sys.stdout)
    assert squeezed(capsys.readouterr().out) == squeezed(shown)
    (ptx,) = (block for block in blocks("docs/checking.md", "ptx") if "[done]" in block)
    assert stands_in(re.sub(r"//.*", "", ptx), text)


def test_the_forgotten_wait_for_the_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The first sample without its first wait, run under two schedules."""
    race = finding_shown("docs/simulator-and-races.md", "sim/race")
    delay = finding_shown("docs/simulator-and-races.md", "run/bisect")
    monkeypatch.chdir(tmp_path)
    module = sample_without("        b.wait(loaded, 0)\n")
    Path("gemm_tile.ll").write_text(module["build"]().llvm)
    a, b, _ = module["operands"]()
    np.save("A.npy", a)
    np.save("B.npy", b)
    given = [f"tmap:{name}.npy,box=128x64,swizzle=128" for name in "AB"] + [
        "out:f32[128,128]:D.npy"
    ]
    command = ["run", "gemm_tile.ll", "--target", "sm_100a"]
    command += [word for one in given for word in ("--arg", one)]
    assert main(command) == 1
    assert squeezed(capsys.readouterr().err) == squeezed(race)
    assert main([*command, "--schedule", "late", "--bisect"]) == 1
    said = capsys.readouterr().err
    assert squeezed(said[said.index("note[run/bisect]") :]) == squeezed(delay)


def test_the_error_in_the_ptx_of_nvcc(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    shown = finding_shown("docs/other-compilers.md", "ld/operands")
    right = (ROOT / "tests/ptx_corpus/nvcc_softmax_sm90a.ptx").read_text(encoding="utf-8")
    load = re.findall(r"ld\.global\.f32 \t%f23, .*", right)
    assert len(load) == 1
    monkeypatch.chdir(tmp_path)
    Path("softmax.ptx").write_text(right.replace(load[0], load[0].replace("f32", "f64")))
    assert main(["check", "softmax.ptx", "--grid", "1"]) == 1
    assert capsys.readouterr().out.startswith(shown)


# ---- architecture.md -----------------------------------------------------------------------------


def test_the_kernel_at_every_stage_is_the_sample():
    page = "docs/architecture.md"
    compiled = gemm_tile().build().compile(target="sm_100a")
    (llvm,), (mir,), (ptx,) = (blocks(page, language) for language in ("llvm", "mir", "ptx"))
    assert stands_in(re.sub(r", !dbg !\d+", "", llvm), re.sub(r", !dbg !\d+", "", compiled.llvm))
    assert stands_in(mir, compiled.mir)
    assert stands_in(ptx, compiled.ptx)


def test_the_passes_are_named_in_order():
    _, table = PAGES["docs/architecture.md"].split("| pass | what it does |\n")
    names = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
    assert names == [name for name in PASSES if name != SELECT]


# ---- evidence.md ---------------------------------------------------------------------------------


def test_the_numbers_of_the_legality_oracle():
    families = legality_forms.FAMILIES | float_forms.FAMILIES | cluster_forms.FAMILIES
    statements = sum(len(statements()) for statements in families.values())
    evidence = PAGES["docs/evidence.md"]
    assert f"{statements:,} statements" in evidence
    assert f"on {len(ptxas.TARGETS)} targets in PTX {ptxas.PTX[0]} to {ptxas.PTX[-1]}" in evidence
    verdicts = f"{statements * len(ptxas.TARGETS) * len(ptxas.PTX) / 1e6:.1f} million verdicts"
    assert verdicts in evidence
    assert verdicts in flat("README.md")


def test_the_numbers_of_kernels_with_one_mistake():
    evidence, total = flat("docs/evidence.md"), len(ALL)
    seen = total - len(UNSEEN)
    patterns = "../tests/isel/verifier/patterns"
    assert f"[the other {len(UNSEEN)}]({patterns}/pattern_unseen.py)" in evidence
    assert f"[the other {len(MISSED)}]({patterns}/pattern_missed.py)" in evidence
    assert f"{seen}, among them {len(MISSED) - len(NOWHERE)} of the {len(MISSED)}" in evidence
    assert f"of {total} kernels with one mistake {total - len(MISSED)} are blamed" in evidence
    short = f"of {total} kernels with one mistake the rules find {total - len(MISSED)}"
    assert f"{short}, the simulator {seen}" in flat("README.md")


def test_the_numbers_of_kernels_from_the_manual():
    evidence = flat("docs/evidence.md")
    right = len(function_kernels.CLEAN) + len(function_sync_kernels.CLEAN)
    wrong = len(function_mistakes.MISTAKES) + len(function_sync_mistakes.MISTAKES)
    assert f"{right} right ones without a finding; {wrong} with one mistake" in evidence
    assert f"{len(CLEAN)} right kernels and random sequences" in evidence


def test_the_numbers_of_the_tcgen05_product():
    statements = sum(len(tcgen05_product.statements(name)) for name in tcgen05_product.PRODUCTS)
    expected = f"{statements:,} statements, and {MUTANTS:,} that chance spoils"
    assert expected in flat("docs/evidence.md")


def test_the_number_of_files_of_other_compilers():
    files = len(list((ROOT / "tests/ptx_corpus").glob("*.ptx")))
    assert f"ptxas: {files} files of" in flat("docs/evidence.md")


def test_the_number_of_seeded_faults():
    assert f"breaks the sources {len(FAULTS)} times" in PAGES["docs/evidence.md"]
