"""Wrong verdicts about the manual's synchronisation patterns, as they are known, and why.

Both tables are strict: what is judged rightly has to leave them.
"""

from __future__ import annotations

# fmt: off

_FALSE_ALARMS: dict[str, tuple[str, ...]] = {
    "what one lane has waited for is not known to the others behind bar.warp.sync": (
        "one_lane_waits",),
    "a wait for a copy by TMA behind a fenced wait is taken to need a fence": (
        "two_stages", "three_stages", "four_stages", "one_stage", "leaders", "leaders_masked",
        "four_accumulators"),
}

_MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    "no rule about pairs of CTAs": {
        "pair_tile": (
            "two arrivals expected", "the peer is not waited for", "one of the two is enough",
            "a wait in the scope of the CTA"),
        "pair_mma_mma": ("address read too soon", "commit for one CTA"),
        "pair_mma_ld_cluster": ("a barrier of the CTA alone", "no barrier"),
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
        "scaled_ring": ("the second stage needs two arrivals", "scale factors overwritten"),
        "scores": ("the issuer counted too",),
        "two_buffers": (
            "load not waited for", "load waited for too late", "the second counted for all"),
        "loads_in_a_loop": ("never waited for",),
        "tile_after_tile": ("load not waited for",),
        "two_stages": ("load not waited for", "two releases expected"),
        "three_stages": (
            "load not waited for", "load waited for too late", "two releases expected"),
        "four_stages": (
            "load not waited for", "load waited for too late", "two releases expected"),
        "one_stage": ("load not waited for", "two releases expected"),
        "leaders": ("load not waited for", "load waited for too late", "two releases expected"),
        "leaders_masked": (
            "load not waited for", "load waited for too late", "two releases expected"),
        "four_accumulators": (
            "load not waited for", "load waited for too late", "two releases expected"),
    },
    "no rule about the hand-over of tensor memory": {
        "freed_by_another_warp": ("half of the threads",),
        "allocated_again": ("address read too soon",),
        "cp_mma_flag": ("the value that it had",),
        "ld_mma_leaders": ("not waited for", "half the arrivals"),
        "ld_mma_counter": ("not waited for", "half the warps"),
        "ld_mma_relaxed": ("half the arrivals",),
        "ld_mma_released": ("half the arrivals",),
        "mma_ld_flag": (
            "the issuer does not wait", "told before it is waited for", "the value that it had"),
        "cp_from_threads": ("no proxy fence", "proxy fence before the stores"),
        "ring": ("waits for the first release first",),
        "scaled_ring": ("waits for the first release first",),
        "scores": ("the output not waited for",),
        "two_buffers": (
            "waits for the first reader first", "a quarter of the threads",
            "the other accumulator is read"),
        "two_buffers_unrolled": (
            "overwritten too soon", "the second not waited for", "the third not waited for",
            "the third where the second is"),
        "one_warp_waits": ("another barrier for each half",),
        "state": ("half the arrivals",),
        "released_flag": ("the issuer does not wait", "told before the wait"),
        "fenced_flag": ("the issuer does not wait", "told before the wait"),
        "exchanged_flag": ("the issuer does not wait", "told before the wait"),
        "tile_after_tile": (
            "overwritten too soon", "waits for the first reader first", "half the arrivals"),
        "tile_after_tile_barrier": ("overwritten too soon",),
    },
    "no rule about freeing under the others' accesses": {
        "allocated_again": ("the old address",),
    },
    "phases are not counted": {
        "two_rounds": ("the first phase again",),
        "two_issuers": ("one commit is enough",),
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
    "no rule about fences before a hand-over": {
        "ld_mma_leaders": ("no fence before the hand-over",),
        "ld_mma_counter": ("no fence before the hand-over",),
        "shift_mma": ("no fence behind the barrier",),
    },
    "no rule about stores of other threads": {
        "st_mma_relaxed": ("half the arrivals",),
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
    "commits of operands are not followed": {
        "refilled_by_threads": ("no commit",),
        "refilled_by_tma": ("commit before the MMA",),
        "ring": ("released before the MMA",),
        "scaled_ring": ("released before the MMA",),
        "scores": ("committed before the MMA",),
    },
    "the right kernel has findings of its own": {
        "two_stages": ("A and B overwritten",),
        "three_stages": ("A and B overwritten",),
        "four_stages": ("A and B overwritten",),
        "one_stage": ("A and B overwritten",),
        "leaders": ("A and B overwritten",),
        "leaders_masked": ("A and B overwritten",),
        "four_accumulators": ("A and B overwritten",),
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

SEQUENCES: tuple[str, ...] = (
    "copied and read, then multiplied",
    "copied and read by one thread, then by two",
    "copied by one, multiplied by another, in a loop",
    "copied and multiplied in turn, in a loop",
    "handed over, then multiplied by the first",
    "multiplied, then handed over",
    "copied and read, copied and handed over",
    "given back by leaders, then multiplied",
    "told, then copied and multiplied",
    "given back by threads, then by leaders",
    "told by a barrier, then by an mbarrier",
    "multiplied from where the last result was",
    "told, then multiplied, in a loop",
    "handed over, then copied and read",
)
"""Examples of sequences of which something is said."""

SEQUENCES_RULES: tuple[str, ...] = (
    "tcgen05.cp/no-commit",
    "tcgen05.cp/not-pipelined",
    "tcgen05.ld/before-completion",
    "tcgen05.mma/no-commit",
    "tcgen05.mma/unordered",
    "tcgen05.st/before-completion",
)
"""The rules that say it."""
