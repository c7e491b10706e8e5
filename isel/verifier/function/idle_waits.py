"""Waits for an mbarrier that succeed at once.

Layer: isel.verifier.function.  Input: the events of the warps of a block.  Output: which waits
succeed at once, or are for an older phase.  PTX ISA, mbarrier.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.values import MemoryLocation
from isel.verifier.function.walks.paths import Walker


def idle_waits(asked: list[Event], walker: Walker) -> set[int]:
    """The waits of a warp that order nothing.

    They are for parity 1 of an mbarrier that no thread waits for with parity 0 (the phase before
    the first counts as complete), or for a phase that the warp has waited for before.  `asked` are
    the waits of all warps.
    """
    return _never_even(asked, walker) | _stale(asked, walker)


def _own(walker: Walker) -> list[Event]:
    return [e for e in walker.each() if e.kind is Kind.ASK]


def _never_even(asked: list[Event], walker: Walker) -> set[int]:
    even = [e.place for e in asked if e.count != 1]
    if None in even:
        return set()
    return {
        e.index
        for e in _own(walker)
        if e.count == 1 and e.place is not None
        if not any(e.place.meets(place) for place in even if place is not None)
    }


_MOST_ASKED = 12
"""The most mbarriers whose last parity a walk tracks."""


def _stale(asked: list[Event], walker: Walker) -> set[int]:
    """Waits for a phase that the warp has waited for on every CFG path to them.

    No thread waits for the next phase of the same mbarrier.
    """
    places = {e.place for e in _own(walker) if e.place is not None and e.count is not None}
    places = {p for p in places if len(_parities(asked, p)) == 1}
    if not places or len(places) > _MOST_ASKED:
        return set()
    fresh: set[int] = set()
    seen: set[int] = set()

    def step(known: frozenset[MemoryLocation], event: Event) -> frozenset[MemoryLocation]:
        if event.kind is not Kind.DONE or event.place is None or event.place not in places:
            return known
        seen.add(event.index)
        if event.place not in known:
            fresh.add(event.index)
        return known | {event.place}

    walker.walk(frozenset[MemoryLocation](), step)
    return seen - fresh


def _parities(asked: list[Event], place: MemoryLocation) -> set[int | None]:
    return {e.count for e in asked if e.place is None or e.place.meets(place)}
