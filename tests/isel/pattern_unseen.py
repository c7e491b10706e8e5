"""Mistakes in synchronisation patterns that runs on the simulator do not show, and why.

The table is strict: what is found has to leave it.
"""

from __future__ import annotations

# fmt: off

_UNSEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "what acquires, releases or meets orders tcgen05 operations without tcgen05.fence, too": {
        "collector": ("no fence behind the wait",),
        "weights": ("no fence behind the wait",),
        "pair_mma_mma": ("no fence behind the wait",),
        "mma_ld": ("no fence behind the wait",),
        "tile": ("no fence behind the wait",),
        "pair_tile": ("no fence behind the wait",),
        "cp_mma_released": (
            "no fence before the hand-over", "fence behind the arrival",
            "no fence behind the hand-over", "fence before the wait"),
        "cp_mma_barrier": ("no fence before the barrier", "no fence behind the barrier"),
        "ld_mma_released": ("no fence before the hand-over", "no fence behind the hand-over"),
        "ld_mma_leaders": ("no fence before the hand-over", "no fence behind the hand-over"),
        "ld_mma_barrier": ("no fence before the hand-over", "no fence behind the hand-over"),
        "st_mma_barrier": ("no fence behind the barrier",),
        "shift_mma": ("no fence behind the barrier",),
        "mma_shift": ("no fence behind the barrier",),
        "released_flag": ("the others do not fence",),
        "fenced_flag": ("the others do not fence",),
        "exchanged_flag": ("the others do not fence",),
    },
    "every scope counts as wide enough": {
        "pair_tile": ("a wait in the scope of the CTA",),
    },
    "the second allocation is where the first one was": {
        "allocated_again": ("the old address",),
    },
    "scale factors of A and B in the same cells are not simulated": {
        "block_scaled": ("scale factors over each other",),
    },
    "any columns may hold scale factors": {
        "block_scaled": ("scale factors in the accumulator",),
    },
    "the matrix of an instruction that uses a collector is not compared with what fills it": {
        "collector": ("another A is used", "another A is used last"),
        "weights": ("another B is used",),
    },
    "who looks at an mbarrier late has seen all phases that are complete": {
        "state": ("half the arrivals",),
    },
}

UNSEEN = {
    f"{kernel}: {what}": why
    for why, kernels in _UNSEEN.items()
    for kernel, whats in kernels.items()
    for what in whats
}
"""Mutants that end well on the simulator under every schedule."""

# fmt: on

NOWHERE = frozenset({
    "allocated_again: the old address",
    "pair_tile: a wait in the scope of the CTA",
})  # fmt: skip
"""Those of them that the static rules do not find either, or not as what they are.

`pattern_missed` has the reason on their side.  The simulator finds all the others of that table.
"""
