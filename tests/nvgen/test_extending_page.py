"""The code on docs/extending.md does what the page says, from Python and from the shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import nvgen
from tests.samples.modules import FOLDER

BLOCKS = re.findall(
    r"```python\n(.*?)```", (FOLDER.parent / "docs" / "extending.md").read_text(), re.DOTALL
)
DIVISION = """
define ptx_kernel void @k(ptr addrspace(1) %x) {
  %a = load float, ptr addrspace(1) %x
  %b = fdiv float 7.0, %a
  store float %b, ptr addrspace(1) %x
  ret void
}
"""
OWN = (
    BLOCKS[2] + "\nimport nvgen\n" + BLOCKS[3] + "\ndef broken(module):\n    raise KeyError('x')\n"
)


def page() -> SimpleNamespace:
    """The functions of the page."""
    names: dict[str, object] = {"nvgen": nvgen}
    exec(BLOCKS[2] + BLOCKS[3], names)
    return SimpleNamespace(**names)


def test_the_call_and_the_walk_are_as_the_page_shows_them() -> None:
    own = page()
    names = {"nvgen": nvgen, "llvm_ir": DIVISION.replace("fdiv", "fmul"), **vars(own)}
    exec(BLOCKS[0].rpartition("compiled.ptx")[0] + BLOCKS[1], names)
    compiled = names["compiled"]
    assert isinstance(compiled, nvgen.Compiled)
    assert "ld.global.cg.b32" in compiled.ptx
    assert not compiled.stages


def test_the_rule_of_the_page_finds_the_division() -> None:
    with pytest.raises(nvgen.VerificationError) as caught:
        nvgen.compile(DIVISION, target="sm_90a", rules=[page().my_rule])
    assert caught.value.findings[0].rule == "mine/div"
    assert caught.value.findings[0].place.line == 4


def command(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    root = str(FOLDER.parent)
    return subprocess.run(
        [sys.executable, "-m", "nvgen", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, path)))},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.turns(3)
def test_the_command_takes_functions_from_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "own_rules.py").write_text(OWN)
    (tmp_path / "k.ll").write_text(DIVISION)
    here = ("compile", "k.ll", "--target", "sm_90a", "-o", "k.ptx")
    stranger = command(tmp_path, *here, "--pass", "own_rules:my_pass")
    assert stranger.returncode == 2
    assert "pass/module" in stranger.stderr
    found = command(tmp_path, *here, "--pass", "own_rules:my_pass", path=str(tmp_path))
    assert found.returncode == 0, found.stderr
    assert "ld.global.cg.b32" in (tmp_path / "k.ptx").read_text()
    judged = command(tmp_path, *here[:4], "--rule", "own_rules.py:my_rule")
    assert judged.returncode == 1
    assert "error[mine/div]" in judged.stderr
    assert "k.ll:4" in judged.stderr
    checked = command(tmp_path, "check", "k.ptx", "--rule", "own_rules.py:my_rule")
    assert checked.returncode == 1
    (tmp_path / "none.py").write_text("def taken():\n    pass\n")
    for name, rule in (
        ("own_rules.py:broken", "raised"),
        ("own_rules.py:no", "function"),
        ("none.py:taken", "arguments"),
    ):
        wrong = command(tmp_path, *here, "--pass", name)
        assert wrong.returncode == 2
        assert f"pass/{rule}" in wrong.stderr
        assert "Traceback" not in wrong.stderr
    lines = command(tmp_path, *here, "--lineinfo", "--contract")
    assert lines.returncode == 0
    assert '.file 1 "k.ll"' in (tmp_path / "k.ptx").read_text()
