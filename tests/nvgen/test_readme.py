"""README says what is so: its code runs, its excerpts and outputs are what nvgen prints."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from intrinsics.findings import VerificationError
from intrinsics.targets import TARGETS
from nvgen import FindingWarning
from nvgen.cli import main
from nvgen.render import print_findings
from tests.each import each
from tests.isel.pattern_missed import MISSED
from tests.isel.pattern_unseen import NOWHERE, UNSEEN
from tests.isel.test_canonical_patterns import ALL
from tests.nvgen.samples import FOLDER, gemm_tile
from tests.nvgen.test_testing import guide_example
from tests.oracle import cluster_forms, float_forms, legality_forms, ptxas

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for found, text in fenced if found == language]


def squeezed(text: str) -> list[str]:
    """The lines of a text without their layout."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def stands_in(excerpt: str, whole: str) -> bool:
    """Whether every line of the excerpt is one of the whole, in the same order."""
    lines = iter(squeezed(whole))
    return all(line in lines for line in squeezed(excerpt))


def test_the_kernel_of_the_first_screen_is_the_sample():
    kernel = gemm_tile().build()
    compiled = kernel.compile(target="sm_100a")
    (written, *_), (llvm,), (ptx,) = blocks("python"), blocks("llvm"), blocks("ptx")
    (mir,) = blocks("mir")
    assert stands_in(written, (ROOT / "samples/01_gemm_tile.py").read_text(encoding="utf-8"))
    assert stands_in(re.sub(r", !dbg !\d+", "", llvm), re.sub(r", !dbg !\d+", "", compiled.llvm))
    assert stands_in(mir, compiled.mir)
    assert stands_in(ptx, compiled.ptx)


def test_the_error_of_the_first_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shown, *_ = blocks("text")
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


def test_the_forgotten_wait_for_the_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The first sample without its first wait, run under two schedules."""
    assert f"[the other {len(UNSEEN)}](tests/isel/pattern_unseen.py)" in README
    shown = (
        f"{len(ALL) - len(UNSEEN)}, among them {len(MISSED) - len(NOWHERE)} of the {len(MISSED)}"
    )
    assert shown in " ".join(README.split())
    race, delay = (text for text in blocks("text") if "nothing orders the two" in text)
    monkeypatch.chdir(tmp_path)
    source = (ROOT / "samples/01_gemm_tile.py").read_text(encoding="utf-8")
    wait = "        b.wait(loaded, 0)\n"
    assert source.count(wait) == 1
    module: dict[str, object] = {"__name__": "tile"}
    exec(compile(source.replace(wait, ""), "tile.py", "exec"), module)
    Path("gemm_tile.ll").write_text(module["build"]().llvm)  # type: ignore[operator]
    a, b, _ = module["operands"]()  # type: ignore[operator]
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


def test_the_forgotten_wait_of_the_first_screen(capsys: pytest.CaptureFixture[str]):
    """The first sample without its second wait, as its author would see it."""
    _, shown, *_ = blocks("text")
    source = (ROOT / "samples/01_gemm_tile.py").read_text(encoding="utf-8")
    wait = "    b.wait(multiplied, 0)\n"
    assert source.count(wait) == 1
    module: dict[str, object] = {"__name__": "tile"}
    exec(compile(source.replace(wait, ""), "tile.py", "exec"), module)
    kernel = module["build"]()  # type: ignore[operator]
    with pytest.raises(VerificationError) as caught:
        kernel.compile(target="sm_100a", level="function")
    print_findings(caught.value.findings, kernel.llvm, sys.stdout)
    assert squeezed(capsys.readouterr().out) == squeezed(shown)
    with pytest.warns(FindingWarning, match="tcgen05.ld/before-completion"):
        compiled = kernel.compile(target="sm_100a")
    assert compiled.cubin(), "ptxas takes it"


def test_the_python_example_runs():
    _, example, *_ = blocks("python")
    exec(compile(example, "README.md", "exec"), {})


def test_the_test_of_a_kernel_is_the_one_of_the_guide():
    """Its own test runs it."""
    (test,) = (block for block in blocks("python") if "@kernel_test" in block)
    assert squeezed(test) == squeezed(guide_example())


def test_the_lines_of_the_hopper_gemm_are_those_of_the_sample():
    """But for where they break."""
    sample = "".join((FOLDER / "10_gemm_sm90.py").read_text().split())
    shown = blocks("py")
    assert len(shown) == 2
    for block in shown:
        assert "".join(block.split()) in sample


def test_the_commands_print_what_is_shown(capsys: pytest.CaptureFixture[str]):
    sessions = re.findall(r"^\$ nvgen (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks("console")), re.M)
    assert sessions
    for command, output in sessions:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out.rstrip() == output.rstrip()


@each("task", re.findall(r"`?make ([\w-]+)`?", README))
def test_the_tasks_exist(task: str):
    assert re.search(rf"^{task}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@each("path", re.findall(r"\]\(([^)]+)\)", README))
def test_the_links_lead_somewhere(path: str):
    assert (ROOT / path).exists()


def test_the_numbers_of_the_legality_oracle():
    families = legality_forms.FAMILIES | float_forms.FAMILIES | cluster_forms.FAMILIES
    statements = sum(len(statements()) for statements in families.values())
    assert f"{statements:,} statements" in README
    assert f"on {len(ptxas.TARGETS)} targets in PTX {ptxas.PTX[0]} to {ptxas.PTX[-1]}" in README
    verdicts = statements * len(ptxas.TARGETS) * len(ptxas.PTX)
    assert f"{verdicts / 1e6:.1f} million verdicts" in README


def test_the_targets():
    names = list(TARGETS)
    assert f"{names[0]} to {names[-1].rstrip('af')}" in README
