"""Wrong verdicts about the manual's synchronisation patterns, as they are known, and why.

Both tables are strict: what is judged rightly has to leave them.
"""

from __future__ import annotations

# fmt: off

_FALSE_ALARMS: dict[str, tuple[str, ...]] = {
    "tcgen05.cp and tcgen05.shift have no row yet": (
        "cp_mma", "shift_mma", "shift_cp", "mma_shift", "block_scaled", "pair_cp_mma", "cp_ld",
        "cp_shift", "shift_ld", "mma_cp", "cp_mma_relaxed", "cp_mma_released",
        "shift_mma_relaxed", "pair_cp_mma_relaxed", "cp_mma_barrier", "cp_mma_flag",
        "named_barrier", "cp_ld_threads", "cp_from_tma", "cp_from_threads", "scaled_ring"),
    "tcgen05.commit/threads; tcgen05.mma/threads": (
        "pair_mma_mma", "pair_mma_ld_cluster", "pair_tile", "pair_two_rounds", "pair_no_readers",
        "pair_freed_last"),
    "tcgen05.st/before-completion": (
        "ld_mma", "st_mma", "ld_mma_counter"),
}

_MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    "tcgen05.cp and tcgen05.shift have no row yet": {
        "cp_mma": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "a copy behind the end",
            "copied behind the MMA", "the accumulator over A"),
        "mma_shift": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "store not waited for",
            "store waited for behind the barrier", "no barrier", "no fence behind the barrier"),
        "block_scaled": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "scale factors behind the MMA",
            "scale factors over each other", "scale factors in the accumulator"),
        "cp_ld": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "commit by another thread",
            "never freed", "address read too soon", "freed while others read",
            "read behind the end", "a copy behind the end"),
        "shift_ld": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "commit by another thread"),
        "cp_ld_threads": (
            "no commit", "no wait", "wait for the phase before", "no fence behind the wait",
            "two arrivals expected", "commit before everything", "copies over each other"),
        "shift_cp": ("another shape of copy", "copied before the shift"),
        "cp_shift": (
            "not waited for", "neither committed nor waited for", "committed before the copy",
            "no fence", "the phase before"),
        "mma_cp": (
            "not waited for", "neither committed nor waited for", "no fence", "no commit",
            "the phase before"),
        "cp_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "nobody arrives", "the phase before",
            "two arrivals expected"),
        "cp_mma_released": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "nobody arrives", "the phase before",
            "two arrivals expected"),
        "shift_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "nobody arrives", "the phase before",
            "two arrivals expected"),
        "pair_cp_mma_relaxed": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "nobody arrives", "the phase before",
            "two arrivals expected"),
        "cp_mma_flag": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait", "the other does not wait",
            "arrival before the operation", "another flag", "the value that it had"),
        "cp_mma_barrier": (
            "no barrier", "no fence before the barrier", "no fence behind the barrier"),
        "named_barrier": ("another barrier", "not waited for"),
        "shift_mma": (
            "store not waited for", "store waited for behind the barrier", "no barrier",
            "no fence behind the barrier"),
        "cp_from_tma": ("copies not waited for",),
        "cp_from_threads": ("no proxy fence", "proxy fence before the stores", "no barrier"),
        "scaled_ring": (
            "overwritten too soon", "waits for the first release first", "copies not waited for",
            "the phase before", "never released", "released before the MMA", "nothing expected",
            "the last commit is missing", "the epilogue does not wait",
            "the second stage needs two arrivals", "scale factors overwritten"),
        "pair_cp_mma": ("a copy for one CTA", "copied behind the MMA"),
    },
    "the right kernel has findings of its own": {
        "pair_mma_mma": (
            "two arrivals expected", "address read too soon", "read behind the end",
            "an accumulator behind the end", "the peer is not known to be there"),
        "pair_tile": (
            "two arrivals expected", "the peer is not waited for", "one of the two is enough",
            "a wait in the scope of the CTA"),
        "ld_mma": ("load not waited for", "store not waited for"),
        "st_mma": ("store not waited for", "waits for loads instead"),
        "ld_mma_counter": (
            "load not waited for", "load waited for too late", "stores waited for instead",
            "loaded once more behind the wait", "no fence before the hand-over",
            "no fence behind the hand-over", "not waited for", "half the warps"),
        "pair_mma_ld_cluster": ("a barrier of the CTA alone", "no barrier"),
        "pair_no_readers": ("the odd CTA does not stay",),
        "pair_two_rounds": (
            "overwritten too soon", "the odd CTA is not waited for", "load not waited for",
            "no barrier before it is told", "the first phase again"),
    },
    "no rule about freeing under the others' accesses": {
        "mma_mma": ("freed while others read",),
        "st_ld": ("freed while others read",),
        "tile": ("freed while others read",),
        "two_buffers": ("freed while others read",),
        "ring": ("freed while others read",),
        "freed_early": ("no barrier before freeing",),
        "freed_by_another_warp": ("not waited for",),
        "allocated_again": ("freed while others read", "the old address"),
    },
    "no rule about columns": {
        "mma_mma": ("read behind the end", "an accumulator behind the end"),
        "st_ld": ("read behind the end", "store not waited for"),
        "tile": ("read behind the end", "an accumulator behind the end"),
        "two_buffers": ("read behind the end",),
        "ring": ("read behind the end",),
        "loop_of_mmas": ("an accumulator behind the end",),
        "two_allocations": ("more than before", "more than there are"),
        "allocated_again": ("more than before",),
        "ld_st": ("store not waited for", "the first store not waited for"),
        "ld_decides": ("store not waited for",),
        "ld_used_at_once": ("neither used nor waited for",),
    },
    "no rule about the hand-over of tensor memory": {
        "freed_by_another_warp": ("half of the threads",),
        "allocated_again": ("address read too soon",),
        "other_shape": ("no fence",),
        "result_as_a": ("no fence",),
        "two_issuers": ("the other does not wait",),
        "ld_mma_relaxed": ("not waited for", "half the arrivals"),
        "ld_mma_released": ("not waited for", "half the arrivals"),
        "ld_mma_leaders": ("not waited for", "half the arrivals"),
        "ld_mma_barrier": ("not waited for",),
        "st_mma_relaxed": ("not waited for",),
        "mma_ld_flag": (
            "the issuer does not wait", "told before it is waited for", "the value that it had"),
        "ring": ("waits for the first release first",),
        "scores": (
            "probabilities not waited for", "the output not waited for",
            "probabilities in the output"),
        "mma_ld_st_mma": ("no barrier",),
        "two_buffers": (
            "overwritten too soon", "waits for the first reader first",
            "a quarter of the threads", "the other accumulator is read"),
        "two_buffers_unrolled": (
            "overwritten too soon", "the second not waited for", "the third not waited for",
            "the third where the second is"),
    },
    "phases are not counted": {
        "freed_by_another_warp": ("the phase before",),
        "other_shape": ("the phase before",),
        "result_as_a": ("the phase before",),
        "two_rounds": ("the first phase again",),
        "two_issuers": ("the phase before", "one commit is enough"),
        "ld_mma_relaxed": ("the phase before",),
        "ld_mma_released": ("the phase before",),
        "ld_mma_leaders": ("the phase before", "all threads arrive"),
        "refilled_by_threads": ("the phase before", "the first phase again"),
        "refilled_by_tma": ("the first phase again",),
        "ring": ("the phase before",),
        "scores": ("the phase before",),
        "two_buffers": ("the phase before",),
        "two_buffers_unrolled": ("the phase before", "the first phase again"),
    },
    "no rule about what is pipelined": {
        "mma_mma": ("another shape", "half an accumulator further"),
        "two_accumulators": ("overlapping accumulators",),
        "other_shape": ("not waited for", "neither committed nor waited for"),
        "result_as_a": ("not waited for", "neither committed nor waited for"),
    },
    "no rule about tcgen05.wait": {
        "st_ld": ("waits for loads instead",),
        "ld_st": ("waits for loads instead",),
        "two_rounds": ("load not waited for", "load used but not waited for"),
        "ld_decides": ("the result over the operand",),
        "ld_used_at_once": ("never waited for",),
        "ld_mma_relaxed": (
            "load not waited for", "load waited for too late", "stores waited for instead",
            "loaded once more behind the wait"),
        "ld_mma_released": (
            "load not waited for", "load waited for too late", "stores waited for instead",
            "loaded once more behind the wait"),
        "ld_mma_leaders": (
            "load not waited for", "load waited for too late", "stores waited for instead",
            "loaded once more behind the wait"),
        "ld_mma_barrier": (
            "load not waited for", "load waited for too late", "stores waited for instead",
            "loaded once more behind the wait"),
        "st_mma_relaxed": (
            "store not waited for", "store waited for too late", "loads waited for instead"),
        "st_mma_barrier": ("store not waited for", "store waited for behind the barrier"),
        "scores": (
            "store not waited for", "store waited for too late", "load used but not waited for"),
        "mma_ld_st_mma": ("store not waited for", "load used but not waited for"),
        "two_buffers": ("load not waited for", "load waited for too late"),
        "two_buffers_unrolled": ("load not waited for",),
    },
    "no rule about collector buffers": {
        "collector": (
            "used without a fill", "nothing is filled", "used after the last use",
            "discarded before the use", "another A is used", "another A is used last"),
        "weights": (
            "another buffer is filled", "another buffer is used", "nothing is filled",
            "another B is used"),
    },
    "no rule about fences before a hand-over": {
        "two_issuers": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "ld_mma_relaxed": ("no fence before the hand-over", "no fence behind the hand-over"),
        "ld_mma_released": ("no fence before the hand-over", "no fence behind the hand-over"),
        "ld_mma_leaders": ("no fence before the hand-over", "no fence behind the hand-over"),
        "ld_mma_barrier": ("no fence before the hand-over", "no fence behind the hand-over"),
        "st_mma_relaxed": ("no fence before the arrival", "no fence behind the wait"),
        "st_mma_barrier": ("no fence behind the barrier",),
    },
    "commits of operands are not followed": {
        "two_issuers": ("arrival before the operation",),
        "refilled_by_threads": ("no commit",),
        "refilled_by_tma": ("commit before the MMA",),
        "ring": ("released before the MMA",),
        "scores": ("committed before the MMA",),
    },
    "no rule about stores of other threads": {
        "st_mma_relaxed": ("half the arrivals",),
        "st_mma_barrier": ("no barrier",),
        "filled_by_threads": ("no barrier",),
        "refilled_by_threads": ("no second barrier",),
        "refilled_by_tma": ("the second copies not waited for",),
        "scores": ("half the threads",),
    },
    "no rule about operands that are overwritten": {
        "tile": ("A overwritten under the MMA",),
        "refilled_by_threads": ("not waited for",),
        "refilled_by_tma": ("not waited for",),
        "ring": ("overwritten too soon",),
    },
    "found, but as a review": {
        "ring": ("the second stage needs two arrivals",),
        "scores": ("the issuer counted too",),
        "two_buffers": ("the second counted for all",),
        "pair_mma_mma": ("commit for one CTA",),
        "pair_two_rounds": ("the second commit for one CTA",),
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
