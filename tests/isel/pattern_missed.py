"""Wrong verdicts about the manual's synchronisation patterns, as they are known, and why.

Both tables are strict: what is judged rightly has to leave them.
"""

from __future__ import annotations

# fmt: off

_FALSE_ALARMS: dict[str, tuple[str, ...]] = {}

_MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    "what CTAs of a pair tell each other is not followed": {
        "pair_tile": (
            "two arrivals expected", "the peer is not waited for", "one of the two is enough",
            "a wait in the scope of the CTA"),
        "pair_mma_ld_cluster": ("a barrier of the CTA alone",),
        "pair_two_rounds": (
            "overwritten too soon", "the odd CTA is not waited for",
            "no barrier before it is told", "the second commit for one CTA",
            "the first phase again"),
    },
    "found, but as a review": {
        "two_allocations": ("more than before",),
        "allocated_again": ("more than before",),
        "ld_mma_counter": ("no fence behind the hand-over",),
        "ring": ("the second stage needs two arrivals",),
        "scaled_ring": ("the second stage needs two arrivals",),
        "scores": ("the issuer counted too",),
        "two_buffers": ("the second counted for all",),
        "loads_in_a_loop": ("never waited for",),
        "three_stages": ("two releases expected",),
        "leaders_masked": ("two releases expected",),
    },
    "of several allocations, which is which is not always known": {
        "allocated_again": ("the old address", "address read too soon"),
    },
    "what is told by a flag is not followed": {
        "cp_mma_flag": ("the value that it had",),
        "ld_mma_counter": ("no fence before the hand-over", "not waited for", "half the warps"),
        "mma_ld_flag": (
            "the issuer does not wait", "told before it is waited for", "the value that it had"),
        "released_flag": ("the issuer does not wait", "told before the wait"),
        "fenced_flag": ("the issuer does not wait", "told before the wait"),
        "exchanged_flag": ("the issuer does not wait", "told before the wait"),
    },
    "a doubt that is not raised": {
        "ld_mma_leaders": ("no fence before the hand-over",),
        "shift_mma": ("no fence behind the barrier",),
    },
    "hand-overs of columns that are known at run time only, or of several accumulators": {
        "ld_mma_leaders": ("not waited for",),
        "scores": ("committed before the MMA", "the output not waited for"),
        "two_buffers": ("the other accumulator is read",),
        "two_buffers_unrolled": (
            "the second not waited for", "the third not waited for",
            "the third where the second is"),
        "tile_after_tile": ("overwritten too soon",),
        "tile_after_tile_barrier": ("overwritten too soon",),
    },
    "phases behind the first are not told apart": {
        "ld_mma_leaders": ("the phase before",),
        "refilled_by_threads": ("the phase before",),
        "refilled_by_tma": ("the first phase again",),
        "scores": ("the phase before",),
        "two_buffers_unrolled": ("the phase before", "the first phase again"),
        "tile_after_tile": ("always the first phase",),
        "tile_after_tile_barrier": ("always the first phase",),
    },
    "stores of threads are followed to an MMA of their own warp only": {
        "filled_by_threads": ("no barrier",),
        "refilled_by_threads": ("no second barrier",),
        "refilled_by_tma": ("the second copies not waited for",),
        "cp_from_threads": ("no proxy fence", "proxy fence before the stores", "no barrier"),
        "stored_by_tma": ("no barrier",),
    },
    "who still reads shared memory that is overwritten is not followed": {
        "refilled_by_threads": ("not waited for",),
        "ring": ("released before the MMA",),
        "scaled_ring": ("overwritten too soon", "released before the MMA"),
    },
    "more arrivals than are expected are not counted": {
        "one_warp_waits": ("another barrier for each half",),
    },
}

FALSE_ALARMS = {name: why for why, names in _FALSE_ALARMS.items() for name in names}
"""Right kernels of which something is said."""

MISSED = {
    f"{kernel}: {what}": why
    for why, kernels in _MISSED.items()
    for kernel, whats in kernels.items()
    for what in whats
}
"""Mutants of which nothing is said where the mistake is, or less than the manual says."""

# fmt: on

SEQUENCES: tuple[str, ...] = ()
"""Examples of sequences of which something is said."""

SEQUENCES_RULES: tuple[str, ...] = ()
"""The rules that say it."""
