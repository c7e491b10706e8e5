"""Accesses to the same bytes of shared memory by threads of one warp that nothing orders.

Layer: isel.verifier.ordering.events.  Threads of a warp need not run together: what one of them
stores, another sees behind bar.warp.sync, or behind a barrier, a fence or a wait.  Shuffles, votes
and .aligned instructions order no accesses.  PTX ISA, bar.warp.sync; Memory Consistency Model,
Causality Order.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from intrinsics.findings import Severity
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering.events.execution import Execution
from isel.verifier.ordering.integers.numbers import lanes_of
from isel.verifier.ordering.run.lanes import Lanes, Unordered
from isel.verifier.rule import VerifierRule

LANE_RACE = VerifierRule(
    "shared/lanes",
    "threads of one warp access the same bytes of shared memory, and nothing orders the two",
    "bar.warp.sync",
    severity=Severity.REVIEW,
    expected="bar.warp.sync of both threads between the two",
    hint="threads of a warp need not run together; shuffles, votes and what is .aligned order no "
    "accesses",
)


def accessed(e: Execution, touch: Lanes) -> None:
    """Compare an access with those of the warp that nothing orders before it, and keep it."""
    pending = e.machine.unordered[e.strand.actor]
    for record, old in pending.near(touch):
        if record != e.index and (met := _crossing(old, touch)) is not None:
            _note(e, touch, record, old, met)
    pending.add(Unordered(e.index, touch))


def _note(e: Execution, touch: Lanes, record: int, old: Lanes, met: tuple[int, int, int]) -> None:
    """Log two accesses of which different lanes reach the same bytes."""
    lane, other, at = met
    here, there = ("writes" if one.writes else "reads" for one in (touch, old))
    got = f"lane {other} of {e} {here} {e.run.name_of(at)}, which lane {lane} {there} by {{line}}"
    e.run.log.breach(LANE_RACE, e.index, got, record)


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def _crossing(old: Lanes, new: Lanes) -> tuple[int, int, int] | None:
    """A lane of the one, a different lane of the other, and a byte that both access.

    A lane that reads what it has written itself is in order: others that wrote there by the same
    record have written the same value.
    """
    size = min(old.width, new.width)  # of pieces: accesses are aligned to their widths
    there, here = _pieces(old, size), _pieces(new, size)
    if there.keys().isdisjoint(here):
        return None
    for piece, lanes in here.items():
        before = there.get(piece, 0)
        asks = lanes & ~before if old.writes else lanes
        if not asks or (asks == before and asks.bit_count() == 1):
            continue  # the lane's own
        for lane in _lanes(asks):
            others = before & ~(1 << lane)
            if others:
                return _lanes(others)[0], lane, piece * size
    return None


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def _pieces(touch: Lanes, size: int) -> Mapping[int, int]:
    """The lanes that access each piece of so many bytes, as masks, by the piece's number."""
    found: dict[int, int] = {}
    addresses = lanes_of(touch.address)
    for lane in _lanes(touch.mask):
        at = addresses[lane]
        if at is not None:
            for piece in range(at // size, (at + touch.width - 1) // size + 1):
                found[piece] = found.get(piece, 0) | 1 << lane
    return found


def _lanes(mask: int) -> list[int]:
    """The lanes of a mask, in order."""
    return [lane for lane in range(LANES) if mask >> lane & 1]
