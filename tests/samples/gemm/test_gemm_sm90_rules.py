"""The Hopper sample with one line changed: the verifier says what is wrong, at -O0 and at -O3."""

from __future__ import annotations

from pathlib import Path

import pytest

from isel.verifier.levels import verify
from nvgen.compilation.compiled import Compiled
from tests.samples.modules import FOLDER, sample

pytestmark = pytest.mark.seldom(3)

SOURCE = FOLDER / "10_gemm_sm90.py"

WAIT = "                b.wgmma_wait_group(1)\n"
RELEASE = "                self.release(held.value)\n"

MISTAKES = {
    "a step too many in flight": (
        "b.wgmma_wait_group(1)", "b.wgmma_wait_group(2)", "wgmma.mma_async/stage-released",
    ),
    "released before the wait": (
        f"{WAIT}{RELEASE}", f"{RELEASE}{WAIT}",
        "wgmma.mma_async/stage-released",
    ),
    "no last wait": (
        "        b.wgmma_wait_group(0)\n", "", "wgmma.mma_async/in-flight",
    ),
    "no commit": ("        b.wgmma_commit_group()\n", "", "wgmma.mma_async/no-commit"),
    "no fence": ("        b.wgmma_fence()\n", "", "wgmma.mma_async/fence"),
    "too many registers": (
        "setmaxnreg_inc(registers[1])", "setmaxnreg_inc(registers[1] + 8)", "setmaxnreg.inc/budget",
    ),
}  # fmt: skip
"""What stands in the sample, what instead of it, and the rule that this breaks."""


def rules(compiled: Compiled) -> set[str]:
    return {
        f.rule for f in verify(compiled.module, compiled.target, compiled.ptx_version, "function")
    }


def compiled_from(path: Path, opt: int, n: int = 256) -> Compiled:
    kernel = sample(path)
    built: Compiled = kernel.build(kernel.Config(n=n)).compile(target="sm_90a", opt=opt)
    return built


@pytest.mark.wrong_kernel
@pytest.mark.turns(4)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", MISTAKES)
def test_one_line_breaks_a_rule(name: str, opt: int, tmp_path: Path) -> None:
    old, new, rule = MISTAKES[name]
    text = SOURCE.read_text()
    assert text.count(old) == 1
    path = tmp_path / f"gemm_{len(name)}_{opt}.py"
    path.write_text(text.replace(old, new))
    n = 256 if "budget" in rule else 64  # a small tile moves no registers
    assert rule in rules(compiled_from(path, opt, n))


@pytest.mark.turns(3)
@pytest.mark.parametrize("opt", [0, 3])
def test_the_sample_breaks_none_and_its_multiplies_overlap(opt: int) -> None:
    compiled = compiled_from(SOURCE, opt)
    assert rules(compiled) == set()
    done = compiled.assembled()
    assert done.findings == ()
    (resources,) = done.resources.values()
    assert (resources.registers, resources.spill_stores) == (168, 0)
