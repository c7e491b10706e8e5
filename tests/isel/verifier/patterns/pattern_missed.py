"""Wrong verdicts about the manual's synchronisation patterns, as they are known, and why.

Both tables are strict: what is judged rightly has to leave them.
"""

from __future__ import annotations

# fmt: off

_FALSE_ALARMS: dict[str, tuple[str, ...]] = {}

_MISSED: dict[str, dict[str, tuple[str, ...]]] = {
    "what CTAs of a pair tell each other is not followed": {
        "pair_tile": ("a wait in the scope of the CTA",),
    },
    "found, but as a review": {
        "two_allocations": ("more than before",),
        "allocated_again": ("more than before",),
        "cp_from_threads": ("no barrier",),
    },
    "how much a tensor store reads says its map, which only a launch knows": {
        "stored_by_tma": ("no barrier",),
    },
    "threads of a warp that are together again are taken to know what one of them knows": {
        "one_lane_waits": ("the others are not told",),
    },
    "a flag that nobody of the cluster sets may be set from elsewhere: a review": {
        "cp_mma_flag": ("another flag",),
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
