"""9.7.16.5, Issue Granularity: who issues what, and CTA pairs."""

from __future__ import annotations

from tests.manual.rows import Held, Told, kernels, mutants

HELD = (
    Held("table 46: one thread issues a multiply", "tcgen05.mma/threads",
         ("an MMA by the whole warp", "an MMA by a lane of each warp", "an MMA by two threads")),
    Held("table 46: one thread issues a copy", "tcgen05.cp/threads", ("a copy by the whole warp",)),
    Held("table 46: one thread issues a shift", "tcgen05.shift/threads",
         ("a shift by the whole warp",)),
    Held("table 46: one thread commits", "tcgen05.commit/threads",
         ("a commit by the whole warp", "a commit by each warp")),
    Held("table 46: one warp allocates", "tcgen05.alloc/warps",
         ("allocated by all warps", "allocated by an even warp")),
    Held("table 46: one warp frees", "tcgen05.dealloc/warps", ("freed by two warps",)),
    Held("table 46: a warp reaches a quarter of the lanes", "tcgen05.ld/lane-quarter",
         ("all warps load lanes 0 to 31", "quarters of the second warpgroup")),
)  # fmt: skip

TOLD = (
    Told("9.7.16.5.2: one thread of a pair issues", "9.7.16.5.2",
         ("pair_mma_mma: both CTAs issue",)),
    Told("table 46: the peer is active when a CTA issues for both", "9.7.16.5.2",
         ("pair_mma_mma: the peer is not known to be there",)),
    Told("table 46: and has not exited", "9.7.16.5.2",
         ("pair_mma_mma: the odd CTA leaves at once",
          "pair_no_readers: the odd CTA does not stay")),
    Told("table 46: a warp of each CTA allocates for a pair", "9.7.16.7.1",
         ("pair_mma_mma: the odd CTA does not allocate",)),
    Told("table 46: and a warp of each frees", "9.7.16.7.1",
         ("pair_mma_mma: the odd CTA does not free",
          "pair_freed_last: the odd CTA leaves before it frees")),
)  # fmt: skip

test_a_sentence_about_a_kernel = kernels(HELD)
test_a_sentence_about_pairs = mutants(TOLD)
