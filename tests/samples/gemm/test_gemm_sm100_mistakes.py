"""What somebody gets wrong in the GEMM for Blackwell, as an edit of its Python: who finds it.

A mistake of CTA pairs, or of any, is planted; it is found by the rule that the table names, by all
levels without a launch, or by a run in the simulator under the first schedule that is tried.
"""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.compilation.compiled import Compiled
from tests.each import each
from tests.samples.found_mistakes import found_by
from tests.samples.modules import edited

pytestmark = pytest.mark.seldom(3)

NAME = "gemm/sm100"
FREE = "            b.wait(self.free[turn.stage], turn.parity ^ 1, scope=self.scope)\n"
FULL = "                b.wait(self.full[ring.stage], ring.parity, scope=self.scope)\n"
SUMS = "            b.wait(self.sums[turn.stage], turn.parity, scope=self.scope)\n"
BEHIND = "            b.tcgen05_fence_after_thread_sync()\n"
BEFORE = "        b.tcgen05_fence_before_thread_sync()\n        b.bar_warp_sync()\n"
STEP = "                self.multiply_step(d, ring.stage, step != work.first)\n"
EMPTY = "                self.commit(self.empty[ring.stage], self.config.cluster)\n"
STORE = "                self.output.store(sums, work, b.warpgroup * LANES, 0)\n"
BACK = "                self.give_back(turn)\n"
EXPECT = "        with b.if_(self.is_even):\n            b.mbarrier_arrive_expect_tx"

MISTAKES: dict[str, tuple[int, str, str, str]] = {
    "lost wait for an accumulator": (1, FREE + BEHIND, "", "tcgen05.mma/unordered"),
    "the same of a pair": (2, FREE + BEHIND, "", "sim/race"),
    "wrong parity of the wait for an accumulator": (
        1, "turn.parity ^ 1, scope", "turn.parity, scope", "mbarrier/deadlock"),
    "lost wait for copies": (2, FULL, "", "tcgen05.mma/before-copy"),
    "lost wait for sums": (1, SUMS, "", "mbarrier/phase-missed"),
    "wrong parity of the wait for sums": (
        2, SUMS, SUMS.replace("turn.parity,", "turn.parity ^ 1,"), "mbarrier/phase-missed"),
    "lost fence behind the wait for sums": (
        2, SUMS + BEHIND, SUMS, "tcgen05.ld/before-fence"),
    "lost fence before an accumulator is given back": (
        1, BEFORE, "        b.bar_warp_sync()\n", "tcgen05/fence-before"),
    "the same of a pair's": (2, BEFORE, "        b.bar_warp_sync()\n", "sim/race"),
    "lost arrival at an accumulator": (1, STORE + BACK, STORE, "mbarrier/arrivals"),
    "early release of a buffer": (2, STEP + EMPTY, EMPTY + STEP, "tcgen05.mma/before-copy"),
    "early release of an accumulator": (1, STORE + BACK, BACK + STORE, "tcgen05.mma/unordered"),
    "early release of a pair's accumulator": (2, STORE + BACK, BACK + STORE, "sim/race"),
    "bytes of one CTA are expected for two": (2, "2 * nbytes", "nbytes", "mbarrier/bytes"),
    "both CTAs of a pair expect": (
        2, EXPECT, EXPECT.replace("self.is_even", "self.rank < 2"), "mbarrier/bytes"),
    "buffers of the odd CTA are not released": (
        2, EMPTY, EMPTY.replace("self.config.cluster", "1"), "mbarrier/peer-unheard"),
    "the odd CTA gives back at its own mbarrier": (
        2, "b.cluster_ctarank & ~1", "b.cluster_ctarank", "sim/deadlock"),
    "the odd CTA is not told of its sums": (
        2, "self.commit(self.sums[turn.stage], self.multiplying)",
        "self.commit(self.sums[turn.stage], 1)", "mbarrier/deadlock"),
    "a copy of the odd CTA arrives at its own mbarrier": (
        2, "self.b.of_even_cta(full)", "full", "tcgen05.mma/before-copy"),
    "the first step adds": (
        2, "step != work.first)", "step >= work.first)", "tcgen05.mma/not-written"),
    "the last commits are not waited for": (
        1, "        with b.range(self.config.stages):\n            b.wait(self.empty",
        "        with b.range(0):\n            b.wait(self.empty", "sim/exit-pending"),
    "the last commits of a pair are not waited for": (
        2, "        with b.range(self.config.stages):\n            b.wait(self.empty",
        "        with b.range(0):\n            b.wait(self.empty", "tcgen05.commit/peer-exit"),
    "two pairs bring each other the other half of B": (
        4, "<< (half + self", "<< ((half ^ 1) + self", "numbers"),
}  # fmt: skip


def found_in(cluster: int, old: str, new: str) -> set[str]:
    """The rules that find a mistake, or `numbers` where only the product is wrong."""
    sample = edited(NAME, old, new)
    config = sample.Config(m=128, n=32, consumers=1, stages=2, cluster=cluster)

    def is_right(made: Compiled) -> bool:
        m, n, k = 128 * cluster, 136, 136
        a, b, expected = sample.gemm.operands(m, n, k)
        d = np.full_like(expected, np.nan)
        made.run(a, b, d, m, n, k, grid=cluster, cluster=cluster, device="sim", schedule="late")
        return np.array_equal(d, expected)

    return found_by(lambda: sample.build(config).compile(target=sample.TARGETS[0], opt=3), is_right)


@pytest.mark.wrong_kernel
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
@each("name", MISTAKES, turns=22)
def test_a_planted_mistake_is_found(name: str) -> None:
    cluster, old, new, rule = MISTAKES[name]
    assert rule in found_in(cluster, old, new)
