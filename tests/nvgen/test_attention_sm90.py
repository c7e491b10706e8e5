"""Sample 14, attention on Hopper: within the bound of its roundings, on any length.

numpy computes in f64 what is expected; ptxas says what became of the multiplies.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from intrinsics.findings import Severity
from nvgen import f16
from nvgen.compiled import Compiled
from nvgen.testing import Launch, kernel_test
from tests.nvgen.samples import named

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")
TARGET = "sm_90a"


def sample() -> ModuleType:
    return named("14_attention_sm90")


@functools.cache
def compiled(d: int, causal: bool, opt: int, dtype: str = "bf16") -> Compiled:
    types = {"dtype": f16} if dtype == "f16" else {}
    made: Compiled = sample().build(sample().Config(d, causal, **types)).compile(opt=opt)
    return made


def check(
    launch: Launch, made: Compiled, config: object, lengths: tuple[int, int], heads: int = 1
) -> None:
    """P and O are rounded once each, to 8 bits or more; sums are of f32."""
    q, k, v = sample().operands(heads, *lengths, config)
    q[0, ::2] *= 8  # every other row with a peak
    o = np.full_like(q, np.nan)
    scale = config.d**-0.5
    launch(made, q, k, v, o, *lengths, scale, grid=sample().grid(heads, lengths[0]))
    expected = sample().attention(q, k, v, scale, causal=config.causal)
    bound = np.abs(v.astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()


@pytest.mark.turns(4)
@kernel_test(schedules="all", random=1, targets=TARGET)
def test_two_blocks_with_a_rest(launch: Launch) -> None:
    check(launch, compiled(64, True, 0), sample().Config(64, True), (136, 136))


@kernel_test(schedules=["late"], targets=TARGET)
def test_two_heads(launch: Launch) -> None:
    config = sample().Config(64, False)
    check(launch, sample().build(config).compile(), config, (40, 140), heads=2)


CASES = [
    (64, True, (72, 270), "bf16"),
    (64, False, (40, 300), "f16"),
    (128, True, (140, 140), "bf16"),
    (128, False, (64, 150), "bf16"),
]


@pytest.mark.turns(2)
@kernel_test(schedules=["late"], targets=TARGET, opt=[3])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lengths_and_types(launch: Launch, case: tuple) -> None:
    d, causal, lengths, dtype = case
    types = {"dtype": f16} if dtype == "f16" else {}
    made = compiled(d, causal, launch.opt, dtype)
    check(launch, made, sample().Config(d, causal, **types), lengths)


@pytest.mark.parametrize("d", [64, 128])
def test_multiplies_overlap_and_nothing_is_spilled(d: int) -> None:
    """ptxas finds nothing to say of them: no multiply waits for another (C7510 and its kin)."""
    made = compiled(d, True, 3)
    assembled = made.assembled()
    assert assembled.findings == ()
    assert "serialized" not in assembled.log
    assert made.resources.spill_stores == 0


def test_a_wait_that_each_warp_decides_for_itself_is_found() -> None:
    """Behind the vote about the rows of a warp; the warpgroup's others may go by."""
    text = named("14_attention_sm90").__file__
    assert text is not None
    right = Path(text).read_text()
    scaled = "                o.set(o.scale_rows(shrink))\n"
    wrong = right.replace(scaled, "                b.wgmma_wait_group(0)\n" + scaled)
    assert wrong != right
    module = ModuleType("attention_with_a_vote")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(wrong, text, "exec"), module.__dict__)
    made = module.build(module.Config(64, True)).compile()
    assert {f.rule for f in made.findings if f.severity is Severity.REVIEW} == {
        "wgmma.wait_group/warpgroup"
    }
