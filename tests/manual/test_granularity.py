"""9.7.16.5, Issue Granularity: who issues what, and CTA pairs."""

from __future__ import annotations

from tests.each import each
from tests.manual.rows import Held, is_held

HELD = (
    Held("table 46: one thread issues a multiply", "tcgen05.mma/threads",
         ("an MMA by the whole warp", "an MMA by a lane of each warp", "an MMA by two threads")),
    Held("table 46: one thread commits", "tcgen05.commit/threads",
         ("a commit by the whole warp", "a commit by each warp")),
    Held("table 46: one warp allocates", "tcgen05.alloc/warps",
         ("allocated by all warps", "allocated by an even warp")),
    Held("table 46: one warp frees", "tcgen05.dealloc/warps", ("freed by two warps",)),
    Held("table 46: a warp reaches a quarter of the lanes", "tcgen05.ld/lane-quarter",
         ("all warps load lanes 0 to 31", "quarters of the second warpgroup")),
)  # fmt: skip


@each("held", HELD, ids=lambda held: held.sentence)
def test_a_sentence_about_a_kernel(held: Held) -> None:
    is_held(held)
