"""Sample 21, the chunked scan: within the bound of what becomes bf16 on its way.

numpy computes in f64, step by step, what is expected.  What a step gives to a later one's Y becomes
bf16 at most three times: as X times a decay, as H, or as a product of B and C times a decay; each
errs by at most 2**-9 of itself.  So Y differs by three times that of the same recurrence of
absolute values, and by that of itself where it becomes bf16; H by one time that.  The rest is f32:
exponents are below 16 and err by their prefix sums' roundings, at most 64 times 2**-24 of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen import SimulationError, VerificationError
from nvgen.testing import Launch, kernel_test
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
SAMPLE = "21_chunk_scan"
TARGETS = named(SAMPLE).TARGETS
ROUNDING = 2.0**-9
EXPONENTS = 16 * 64 * 2.0**-24


@pytest.mark.turns(6)
@kernel_test(schedules=["late", "random:1"], targets=TARGETS)
@pytest.mark.parametrize(("heads", "chunks"), [(1, 1), (2, 3)])
def test_chunk_scan(launch: Launch, heads: int, chunks: int) -> None:
    """One chunk, of which no H is left, and more chunks than the ring has buffers."""
    sample = named(SAMPLE)
    x, b, c, a = sample.operands(heads, chunks)
    y, h = np.full_like(x, np.nan), np.full((heads, sample.P, sample.N), np.nan, np.float32)
    launch(
        sample.build(launch.target).compile(opt=launch.opt), x, b, c, y, a, h, chunks, grid=heads
    )
    expected_y, expected_h = sample.scan(x, b, c, a)
    most_y, most_h = sample.scan(*(np.abs(array) for array in (x, b, c)), a)
    bound = (3 * ROUNDING + EXPONENTS) * most_y + ROUNDING * np.abs(expected_y)
    assert (np.abs(y.astype(np.float64) - expected_y) <= bound).all()
    assert (np.abs(h - expected_h) <= (ROUNDING + EXPONENTS) * most_h).all()


MISTAKES = {
    "H is not fenced for the async proxy": (
        "            b.fence_proxy_async(Space.SHARED_CTA)\n", "", "shared/proxy-fence"),
    "H is multiplied before all warps have stored it": (
        "            b.barrier_cta_sync_aligned(1, 128)\n            with", "            with",
        "shared/barrier"),
    "scores are read while they are summed": (
        "b.gemm(scores, queries, keys)", "b.gemm(scores, queries, keys, in_flight=1)",
        "wgmma.mma_async/in-flight"),
    "B is given back while it is multiplied": (
        "keys.transposed, accumulate=True)", "keys.transposed, accumulate=True, in_flight=1)",
        "wgmma.mma_async/stage-released"),
    "the barrier waits for warps that never come": (
        "b.barrier_cta_sync_aligned(1, 128)", "b.barrier_cta_sync_aligned(1, 160)",
        "sync/deadlock"),
}  # fmt: skip


@pytest.mark.turns(6)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found_by_the_rules(mistake: str) -> None:
    """Each by a rule that is about it."""
    old, new, rule = MISTAKES[mistake]
    kernel = edited(SAMPLE, old, new).build()
    with pytest.raises(VerificationError) as caught:
        kernel.compile(level="function")
    assert rule in {found.rule for found in caught.value.findings}


def test_lanes_that_may_still_read_are_found_by_a_run() -> None:
    """The rules say it in a review: an arrival for lanes that nothing has made wait."""
    sample = edited(SAMPLE, "                b.bar_warp_sync()  # all lanes have read X\n", "")
    x, b, c, a = sample.operands(1, 3)
    made = sample.build().compile(level="function")
    assert "mbarrier.arrive/other-threads" in {found.rule for found in made.findings}
    y, h = np.zeros_like(x), np.zeros((1, sample.P, sample.N), np.float32)
    with pytest.raises(SimulationError, match="goes before one for a whole warp"):
        made.run(x, b, c, y, a, h, 3, schedule="late")


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_clean(target: str) -> None:
    made = named(SAMPLE).build(target).compile(level="all")
    assert verdict(made.findings) is Verdict.CLEAN
    assert made.resources.spill_stores == 0
