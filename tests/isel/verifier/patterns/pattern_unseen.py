"""Mistakes in synchronisation patterns that runs on the simulator do not show, and why.

The table is strict: what is found has to leave it.
"""

from __future__ import annotations

# fmt: off

_UNSEEN: dict[str, dict[str, tuple[str, ...]]] = {
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

NOWHERE = frozenset({"pair_tile: a wait in the scope of the CTA"})
"""Those of them that the static rules do not find either, or not as what they are.

`pattern_missed` has the reason on their side.  The simulator finds all the others of that table.
"""
