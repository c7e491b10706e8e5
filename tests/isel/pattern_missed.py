"""Wrong verdicts about the manual's synchronisation patterns, as they are known, and why.

Both tables are strict: what is judged rightly has to leave them.
"""

from __future__ import annotations

# fmt: off

_FALSE_ALARMS: dict[str, tuple[str, ...]] = {}

_MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    "no rule about pairs of CTAs": {
        "pair_tile": (
            "two arrivals expected", "the peer is not waited for", "one of the two is enough",
            "a wait in the scope of the CTA"),
        "pair_mma_mma": ("address read too soon", "commit for one CTA"),
        "pair_cp_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "the phase before"),
        "pair_mma_ld_cluster": ("a barrier of the CTA alone", "no barrier"),
        "pair_cp_mma": ("copied behind the MMA",),
        "pair_two_rounds": (
            "overwritten too soon", "the odd CTA is not waited for",
            "no barrier before it is told", "the second commit for one CTA",
            "the first phase again"),
    },
    "no rule about freeing under the others' accesses": {
        "mma_mma": ("freed while others read",),
        "st_ld": ("freed while others read",),
        "cp_ld": ("freed while others read",),
        "tile": ("freed while others read",),
        "two_buffers": ("freed while others read",),
        "ring": ("freed while others read",),
        "freed_early": ("no barrier before freeing",),
        "freed_by_another_warp": ("not waited for",),
        "allocated_again": ("freed while others read", "the old address"),
        "other_owner": ("freed while others read",),
    },
    "no rule about columns": {
        "two_allocations": ("more than before", "more than there are"),
        "allocated_again": ("more than before",),
        "two_committers": ("accumulators that overlap",),
    },
    "no rule about the hand-over of tensor memory": {
        "freed_by_another_warp": ("half of the threads",),
        "allocated_again": ("address read too soon",),
        "cp_shift": ("no fence",),
        "other_shape": ("no fence",),
        "result_as_a": ("no fence",),
        "mma_cp": ("no fence",),
        "cp_mma_relaxed": ("the other does not wait",),
        "cp_mma_released": ("the other does not wait",),
        "shift_mma_relaxed": ("the other does not wait",),
        "cp_mma_flag": ("the other does not wait", "another flag", "the value that it had"),
        "two_issuers": ("the other does not wait",),
        "cp_mma_barrier": ("no barrier",),
        "named_barrier": ("another barrier", "not waited for"),
        "ld_mma_relaxed": ("not waited for", "half the arrivals"),
        "ld_mma_released": ("not waited for", "half the arrivals"),
        "ld_mma_leaders": ("not waited for", "half the arrivals"),
        "ld_mma_counter": ("not waited for", "half the warps"),
        "ld_mma_barrier": ("not waited for",),
        "st_mma_relaxed": ("not waited for",),
        "mma_ld_flag": (
            "the issuer does not wait", "told before it is waited for", "the value that it had"),
        "cp_from_threads": ("no proxy fence", "proxy fence before the stores"),
        "ring": ("waits for the first release first",),
        "scaled_ring": ("waits for the first release first", "scale factors overwritten"),
        "scores": ("probabilities not waited for", "the output not waited for"),
        "mma_ld_st_mma": ("no barrier",),
        "two_buffers": (
            "overwritten too soon", "waits for the first reader first",
            "a quarter of the threads", "the other accumulator is read"),
        "two_buffers_unrolled": (
            "overwritten too soon", "the second not waited for", "the third not waited for",
            "the third where the second is"),
        "one_warp_waits": ("another barrier for each half",),
        "state": ("not waited for", "half the arrivals"),
        "released_flag": ("the issuer does not wait", "told before the wait"),
        "fenced_flag": ("the issuer does not wait", "told before the wait"),
        "exchanged_flag": ("the issuer does not wait", "told before the wait"),
        "tile_after_tile": (
            "overwritten too soon", "waits for the first reader first", "half the arrivals"),
        "tile_after_tile_barrier": ("overwritten too soon",),
    },
    "phases are not counted": {
        "freed_by_another_warp": ("the phase before",),
        "cp_shift": ("the phase before",),
        "other_shape": ("the phase before",),
        "result_as_a": ("the phase before",),
        "mma_cp": ("the phase before",),
        "two_rounds": ("the first phase again",),
        "cp_mma_relaxed": ("the phase before",),
        "cp_mma_released": ("the phase before",),
        "shift_mma_relaxed": ("the phase before",),
        "two_issuers": ("the phase before", "one commit is enough"),
        "ld_mma_relaxed": ("the phase before",),
        "ld_mma_released": ("the phase before",),
        "ld_mma_leaders": ("the phase before", "all threads arrive"),
        "refilled_by_threads": ("the phase before", "the first phase again"),
        "refilled_by_tma": ("the first phase again",),
        "ring": ("the phase before",),
        "scaled_ring": ("the phase before",),
        "scores": ("the phase before",),
        "two_buffers": ("the phase before",),
        "two_buffers_unrolled": ("the phase before", "the first phase again"),
        "two_committers": ("one commit is enough",),
        "tile_after_tile": ("always the first phase",),
        "tile_after_tile_barrier": ("always the first phase",),
    },
    "found, but as a review": {
        "mma_mma": ("another shape",),
        "other_shape": ("not waited for", "neither committed nor waited for"),
        "ld_mma_counter": ("no fence behind the hand-over",),
        "ring": ("the second stage needs two arrivals",),
        "scaled_ring": ("the second stage needs two arrivals",),
        "scores": ("the issuer counted too",),
        "two_buffers": (
            "load not waited for", "load waited for too late", "the second counted for all"),
        "loads_in_a_loop": ("never waited for",),
        "tile_after_tile": ("load not waited for",),
    },
    "no rule about what is pipelined": {
        "cp_mma": ("copied behind the MMA",),
        "block_scaled": ("scale factors behind the MMA", "scale factors over each other"),
        "shift_cp": ("another shape of copy", "copied before the shift"),
        "cp_shift": ("not waited for", "neither committed nor waited for"),
        "result_as_a": ("not waited for", "neither committed nor waited for"),
        "mma_cp": ("not waited for", "neither committed nor waited for"),
        "cp_ld_threads": ("copies over each other",),
    },
    "commits of operands are not followed": {
        "cp_shift": ("committed before the copy",),
        "cp_mma_relaxed": ("arrival before the operation",),
        "cp_mma_released": ("arrival before the operation",),
        "shift_mma_relaxed": ("arrival before the operation",),
        "cp_mma_flag": ("arrival before the operation",),
        "two_issuers": ("arrival before the operation",),
        "refilled_by_threads": ("no commit",),
        "refilled_by_tma": ("commit before the MMA",),
        "ring": ("released before the MMA",),
        "scaled_ring": ("released before the MMA",),
        "scores": ("committed before the MMA",),
    },
    "no rule about fences before a hand-over": {
        "cp_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "cp_mma_released": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "shift_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "cp_mma_flag": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "two_issuers": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "cp_mma_barrier": ("no fence before the barrier", "no fence behind the barrier"),
        "ld_mma_leaders": ("no fence before the hand-over",),
        "ld_mma_counter": ("no fence before the hand-over",),
        "shift_mma": ("no fence behind the barrier",),
    },
    "no rule about stores of other threads": {
        "st_mma_relaxed": ("half the arrivals",),
        "st_mma_barrier": ("no barrier",),
        "filled_by_threads": ("no barrier",),
        "refilled_by_threads": ("no second barrier",),
        "refilled_by_tma": ("the second copies not waited for",),
        "cp_from_threads": ("no barrier",),
        "scores": ("half the threads",),
        "stored_by_tma": ("no barrier",),
    },
    "no rule about operands that are overwritten": {
        "tile": ("A overwritten under the MMA",),
        "refilled_by_threads": ("not waited for",),
        "refilled_by_tma": ("not waited for",),
        "ring": ("overwritten too soon",),
        "scaled_ring": ("overwritten too soon",),
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
