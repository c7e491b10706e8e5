"""Mutants of whole GEMMs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.isel.verifier.patterns import canonical_rings
from tests.isel.verifier.patterns.pattern_edits import Edit, Mutant, drop, move, swap
from tests.isel.verifier.patterns.pattern_mutants import ALLOC, COMMIT, MBARRIER, MMA, OTHER, PROXY
from tests.isel.verifier.patterns.pattern_ptx import Kernel

# A mutant is read in a few lines, or not at all.
# fmt: off

MISTAKES: tuple[tuple[str, Edit, str, str, tuple[str, ...]], ...] = (
    ("A and B overwritten", drop("empty"),
        "A and B are not modified while the MMA has not completed", MMA, ("tma_a", "tma_b", "mma")),
    ("copies not waited for", drop("full"),
        "what TMA writes is waited for on its mbarrier", PROXY, ("mma", "tma_a", "tma_b")),
    ("stages never released", drop("commit_empty"),
        "the producer waits forever in its second round", COMMIT, ("empty", "init_empty0", "mma")),
    ("nothing expected", drop("expect"),
        "nobody arrives, so the phase never ends", MBARRIER, ("full", "init_full0", "tma_a")),
    ("the accumulator overwritten", drop("taken"),
        "operations of two threads are ordered by synchronising the threads", OTHER, ("mma", "ld")),
    ("the accumulator not waited for", drop("ready"),
        "what is asynchronous is waited for before its result is read", OTHER, ("ld", "mma")),
    ("the accumulator not committed", drop("commit"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT,
        ("ready", "init_ready0", "mma", "ld")),
    ("load not waited for", drop("wait_ld"),
        "wait::ld comes before the other threads are told", OTHER, ("ld", "give", "mma")),
    ("load waited for too late", move("wait_ld", behind="give"),
        "wait::ld comes before the other threads are told", OTHER,
        ("ld", "give", "mma", "wait_ld")),
    ("never given back", drop("give"), "the phase never ends", MBARRIER, ("taken", "init_taken0")),
    ("two releases expected", swap("init_empty0", " 1", " 2"),
        "a commit arrives once, so the phase never ends", MBARRIER,
        ("init_empty0", "empty", "commit_empty")),
    ("never freed", drop("dealloc"), "all tensor memory is freed", ALLOC, ("alloc",)),
    ("freed while others read", drop("e_bar"), "tensor memory that is freed is not accessed",
        ALLOC, ("dealloc", "ld", "mma")),
)


THOROUGHLY = ("THREE_STAGES", "LEADERS_MASKED")
"""The shapes in which every mistake is made; in the others some are."""


def _mutants() -> Iterator[Mutant]:
    for name, kernel in vars(canonical_rings).items():
        if isinstance(kernel, Kernel):
            chosen = MISTAKES if name in THOROUGHLY else MISTAKES[::4]
            for what, edit, rule, section, at in chosen:
                yield Mutant(f"{name.lower()}: {what}", kernel, edit, rule, section, at)


MUTANTS = tuple(_mutants())
