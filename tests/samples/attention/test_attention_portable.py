"""Sample 22, attention by one source: within the bound of its roundings on every target.

numpy computes in f64 what is expected.  P and O are rounded once each, to 8 bits; sums are of f32.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from intrinsics.findings import Verdict, VerificationError, verdict
from nvgen import SimulationError
from nvgen.testing import Launch, kernel_test
from tests.each import each
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
SAMPLE = "22_attention_portable"
TARGETS = named(SAMPLE).TARGETS
BROKEN = ("sm_90a", "sm_100a")
CASES = [(64, True, 200), (64, False, 70), (128, True, 300), (128, False, 130)]


@pytest.mark.turns(16)
@kernel_test(schedules="all", random=1, targets=TARGETS)
@pytest.mark.parametrize(("d", "causal", "length"), CASES)
def test_sizes(launch: Launch, d: int, causal: bool, length: int) -> None:
    """More blocks than the ring has buffers, and rows and keys behind the end."""
    sample = named(SAMPLE)
    q, k, v = sample.operands(1, length, d)
    q[:, ::2] *= 8  # every other row with a peak
    o, ctas = np.full_like(q, np.nan), sample.grid(launch.target, 1, length)
    made = sample.build(launch.target, d, causal=causal).compile(opt=launch.opt)
    launch(made, q, k, v, o, length, d**-0.5, grid=ctas)
    expected = sample.attention(q, k, v, causal=causal)
    bound = np.abs(v.astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()


@pytest.mark.turns(8)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("d", "causal"), [(64, True), (64, False), (128, True), (128, False)])
def test_rules_and_ptxas_have_nothing_to_say(target: str, d: int, causal: bool) -> None:
    """No spilled registers, at any place."""
    made = named(SAMPLE).build(target, d, causal=causal).compile(level="all")
    assert verdict(made.findings) is Verdict.CLEAN
    assert made.resources.spill_stores == 0


MISTAKES = {
    "scores are read while they are summed": ("            s.wait(1)\n", ""),
    "O is scaled while it is summed": (
        "            o.wait()\n            of_v", "            of_v"),
    "V is given back while it is multiplied": (
        "            o.wait()\n            of_v.release(v)\n",
        "            of_v.release(v)\n            o.wait()\n"),
    "Q is not waited for": ("        b.wait(q_full, 0)\n        with", "        with"),
    "the phase of Q has the other parity": ("b.wait(q_full, 0)", "b.wait(q_full, 1)"),
    "nobody gives K back": ("            of_k.release(k)\n", ""),
    "one warpgroup's arrivals are expected": (
        "k_tiles, consumers=GROUPS", "k_tiles, consumers=1"),
    "O is read before the last product": (
        "of_v.take().tile, accumulate=True)", "of_v.take().tile, accumulate=True, wait=False)"),
    "warpgroups store at one named barrier": ("barrier=1 + b.warpgroup)", "barrier=1)"),
}  # fmt: skip
BY_A_RUN = {
    ("O is scaled while it is summed", "sm_100a"),
    *product(("V is given back while it is multiplied", "nobody gives K back"), BROKEN),
}
"""What the rules say in reviews and warnings."""


@pytest.mark.wrong_kernel
@each("name, target", product(MISTAKES, BROKEN), turns=9)
def test_a_planted_mistake_is_found(name: str, target: str) -> None:
    """By an error of the rules, or by one of a run."""
    sample = edited(SAMPLE, *MISTAKES[name])
    kernel, n = sample.build(target, causal=False), 5 * sample.shape(target)[1]
    if (name, target) not in BY_A_RUN:
        with pytest.raises(VerificationError):
            kernel.compile(level="function")
        return
    made = kernel.compile(level="function")
    assert made.findings
    q, k, v = sample.operands(1, n, 64)
    with pytest.raises(SimulationError):
        made.run(q, k, v, np.zeros_like(q), n, 0.125, grid=sample.grid(target, 1, n))


def test_it_says_where_it_has_run() -> None:
    words = " ".join((named(SAMPLE).__doc__ or "").split())
    assert "never run on a real Blackwell GPU" in words
