"""Sample 20, latent attention: within the bound of the roundings of P and of what is stored.

numpy computes in f64 what is expected.  P becomes bf16, with an error of at most 2**-9 of itself:
O, a mean of V weighted by P, differs by that part of the largest V, and by that of itself where it
becomes bf16.  The rest is f32: the exponent of P errs by what S and its scale are rounded by, which
is far less.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen import SimulationError, VerificationError, bf16
from nvgen.testing import Launch, kernel_test
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
SAMPLE = "20_latent_attention"
ROUNDING = 2.0**-9 + 2.0**-16


@pytest.mark.turns(8)
@kernel_test(schedules=["late", "random:1"], targets="sm_90a")
@pytest.mark.parametrize(("lengths", "splits"), [((200, 64, 0), 2), ((65,), 1), ((7, 320), 3)])
def test_latent_attention(launch: Launch, lengths: tuple[int, ...], splits: int) -> None:
    """Rows that fill no page, sequences without any, and CTAs that get no page of theirs."""
    sample = named(SAMPLE)
    count, scale = len(lengths), sample.K**-0.5
    q, cache, table, numbers = sample.operands(lengths)
    room = sample.workspace(count, splits)
    o = np.full((count, sample.ROWS, sample.V), np.nan, bf16.numpy)
    first, second = (made.compile(opt=launch.opt) for made in (sample.build(), sample.build_join()))
    launch(first, q, cache, table, numbers, *room, table.shape[1], scale, grid=(splits, count))
    launch(second, *room, o, splits, grid=(sample.ROWS, count))
    expected = sample.attention(q, cache, table, lengths, scale)
    largest = np.abs(cache[..., : sample.V].astype(np.float64)).max()
    assert (
        np.abs(o.astype(np.float64) - expected) <= (largest + np.abs(expected)) * ROUNDING
    ).all()


MISTAKES = {
    "Q is not waited for": ("        b.wait(self.q_full, 0)\n", "", "wgmma.mma_async/before-copy"),
    "the sums are read before they are there": (
        "b.barrier_cta_sync_aligned(1, 256)", "b.barrier_cta_sync_aligned(1 + b.warpgroup, 128)",
        "shared/race"),
    "a consumer of pages too few": (
        "consumers=2", "consumers=1", "cp.async.bulk.tensor/operand-modified"),
    "P is given back while it is multiplied": (
        "accumulate=True)\n            b.bar", "accumulate=True, in_flight=1)\n            b.bar",
        "wgmma.mma_async/stage-released"),
    "P is given back by one warp of four": ("writers=4, warps=4)", "writers=4)", "shared/race"),
}  # fmt: skip


@pytest.mark.turns(5)
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
    sample = edited(
        SAMPLE, "            b.bar_warp_sync()  # all lanes have read what O shrinks by\n", ""
    )
    q, cache, table, numbers = sample.operands((320,))
    made, scale = sample.build().compile(level="function"), sample.K**-0.5
    assert "mbarrier.arrive/other-threads" in {found.rule for found in made.findings}
    with pytest.raises(SimulationError, match="race"):
        made.run(q, cache, table, numbers, *sample.workspace(1, 1), 5, scale, schedule="late")


def test_it_is_clean() -> None:
    sample = named(SAMPLE)
    made = sample.build().compile(level="function")
    assert verdict(made.findings) is Verdict.CLEAN
    assert made.resources.spill_stores == 0
    assert verdict(sample.build_join().compile(level="function").findings) is Verdict.CLEAN
