"""Attention on Blackwell: within the bound of its roundings, and mistakes planted in it are found.

numpy computes in f64 what is expected; ptxas assembles it.  It never ran on a real Blackwell GPU.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from types import ModuleType

import numpy as np
import pytest

from intrinsics.findings import NvgenError, Severity, Verdict, verdict
from nvgen import bf16, f16
from nvgen.compilation.compiled import Compiled
from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, kernel_test
from tests.each import each
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
NAME = "attention/sm100"

CASES = {
    "d 64, causal, two items of one CTA, heads that share K": (64, True, 128, (136, 136), 2, 1.0),
    "d 64, f16, blocks of 64 keys": (64, False, 64, (140, 150), 1, 1.0),
    "d 64, scores far above those of the first block": (64, False, 64, (40, 150), 1, 60.0),
    "d 128, P over S, scores far above": (128, False, 128, (130, 200), 1, 60.0),
    "d 128, causal, fewer keys": (128, True, 128, (140, 100), 1, 1.0),
}

ASSEMBLED = list(product((64, 128), (False, True), ("sm_100a", "sm_103a", "sm_110a")))


@pytest.mark.turns(16)
@kernel_test(schedules=["late", "random:1"], targets="sm_100a")
@pytest.mark.parametrize("case", CASES)
def test_sizes(launch: Launch, case: str) -> None:
    """P and O are rounded once each, to 8 bits or more; sums are of f32."""
    sample, (d, causal, block, lengths, ratio, huge) = named(NAME), CASES[case]
    dtype = f16 if "f16" in case else bf16
    config = replace(sample.choose(d, causal=causal, dtype=dtype), block=block)
    q, k, v = sample.operands(ratio, *lengths, config, ratio)
    q[:, ::2] *= 8  # every other row with a peak
    k[:, lengths[1] // 5] *= huge
    o, counter = np.full_like(q, np.nan), np.zeros(1, np.uint32)
    numbers = sample.numbers(config, ratio, ratio, *lengths)
    made = sample.build(config).compile(target=launch.target, opt=launch.opt)
    launch(made, q, k, v, o, counter, *numbers, grid=sample.grid(config, ratio, lengths[0], 1))
    expected = sample.attention(q, k, v, d**-0.5, causal=causal)
    bound = np.abs(v.astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()
    assert counter[0] == 0


@pytest.mark.turns(12)
@pytest.mark.parametrize(("d", "causal", "target"), ASSEMBLED)
def test_ptxas_has_nothing_to_say(d: int, causal: bool, target: str) -> None:
    """No spilled registers, at any place."""
    sample = named(NAME)
    made = sample.build(sample.choose(d, causal=causal)).compile(target=target, level="all")
    assert verdict(made.findings) is Verdict.CLEAN
    log = assemble(made.ptx, made.target).log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "warning" not in log


def test_it_says_where_it_has_run() -> None:
    words = " ".join((named(NAME).__doc__ or "").split())
    assert "never run on a real Blackwell GPU" in words


# ---- planted mistakes ----------------------------------------------------------------------------

_AFTER = "        b.tcgen05_fence_after_thread_sync()\n"
_LAST = f"    {_AFTER}            self.hand_over"
MISTAKES: dict[str, tuple[int, str, str, str]] = {
    "a phase of P·V is not waited for": (
        64, "        b.wait(half.o_done, half.turn.parity ^ 1)\n" + _AFTER + "        return",
        _AFTER + "        return", "run"),
    "S over P that is being multiplied": (
        128, "        if not self.apart:\n", "        if self.apart:\n", "rule"),
    "P is not ordered before its multiply": (
        64, "        b.tcgen05_fence_before_thread_sync()\n", "", "rule"),
    "a multiply of P is not ordered behind it": (
        64, "half.p_full, half.turn.parity)\n" + _AFTER, "half.p_full, half.turn.parity)\n",
        "rule"),
    "a thread hands on the P of a warp that has not synchronised": (
        64, "        b.bar_warp_sync()\n        with b.elect():\n", "        with b.elect():\n",
        "rule"),
    "nobody gives K back": (
        64, "                b.tcgen05_commit(self.k.empty[k.stage])\n", "", "rule"),
    "O of the item before is added to": (
        64, "held, index - 1 > first)", "held, index > first)", "run"),
    "O is read before the last P·V": (
        64, "            b.wait(half.o_done, half.turn.parity ^ 1)\n" + _LAST, _LAST, "run"),
}  # fmt: skip


def careless(module: ModuleType, d: int) -> tuple[object, Compiled]:
    """The kernel with a mistake, compiled without a word."""
    config = replace(module.choose(d, causal=False), stages=2)
    with warnings.catch_warnings(action="ignore"):
        made: Compiled = module.build(config).compile()
    return config, made


@pytest.mark.wrong_kernel
@each("name", MISTAKES, turns=7)
def test_a_planted_mistake_is_found(name: str) -> None:
    d, old, new, by = MISTAKES[name]
    module = edited(NAME, old, new)
    config, made = careless(module, d)
    if by == "rule":
        assert [f for f in made.findings if f.severity is not Severity.NOTE]
        return
    q, k, v = module.operands(2, 100, 300, config)
    o, counter = np.zeros_like(q), np.zeros(1, np.uint32)
    arguments = q, k, v, o, counter, *module.numbers(config, 2, 1, 100, 300)
    with pytest.raises(NvgenError) as caught:
        made.run(*arguments, grid=1, device="sim", schedule="late")
    assert {f.rule.split("/")[0] for f in caught.value.findings} == {"sim"}
