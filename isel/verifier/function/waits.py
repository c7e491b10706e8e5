"""Where threads meet, and waits that do not wait.

Layer: isel.verifier.function.  Input: the events of the warps of a block.  Output: which barriers
are met by all warps at one record, and which waits for an mbarrier succeed at once or tell of an
older phase.  PTX ISA, barrier; barrier.cluster; mbarrier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from isel.verifier.function.events import CLUSTER, Event, Kind, first_parity
from isel.verifier.function.paths import Walker
from isel.verifier.function.values import Where

Sites: TypeAlias = Mapping[int, list[tuple[int, Event]]]
"""Events by record, with the warps that they are of."""


def idle_waits(asked: list[Event], walker: Walker) -> set[int]:
    """Waits of a warp that do not wait: for the odd phase, on an mbarrier that nobody asks for the
    even one, or for a phase that it has waited for.  The phase before an mbarrier's first one
    counts as complete.  `asked` is what all warps ask."""
    return _never_even(asked, walker, lambda e: e.count) | _stale(asked, walker)


def idle_at_first(asked: list[Event], walker: Walker) -> set[int]:
    """Waits that begin with the odd phase, and tell of a phase too early ever after: for who is to
    be told that something has come, and not that something may go."""
    return _never_even(asked, walker, first_parity) | _stale(asked, walker)


def _own(walker: Walker) -> list[Event]:
    return [e for e in walker.each() if e.kind is Kind.ASK]


def _never_even(
    asked: list[Event], walker: Walker, parity: Callable[[Event], int | None]
) -> set[int]:
    even = [e.place for e in asked if parity(e) != 1]
    if None in even:
        return set()
    return {
        e.index
        for e in _own(walker)
        if parity(e) == 1 and e.place is not None
        if not any(e.place.meets(place) for place in even if place is not None)
    }


_MOST_ASKED = 12
"""mbarriers whose last parity a walk keeps at most."""


def _stale(asked: list[Event], walker: Walker) -> set[int]:
    """Waits of a warp for a phase that it has waited for on every way there, while nobody waits for
    the next one."""
    places = {e.place for e in _own(walker) if e.place is not None and e.count is not None}
    places = {p for p in places if len(_parities(asked, p)) == 1}
    if not places or len(places) > _MOST_ASKED:
        return set()
    fresh: set[int] = set()
    seen: set[int] = set()

    def step(known: frozenset[Where], event: Event) -> frozenset[Where]:
        if event.kind is not Kind.DONE or event.place is None or event.place not in places:
            return known
        seen.add(event.index)
        if event.place not in known:
            fresh.add(event.index)
        return known | {event.place}

    walker.walk(frozenset[Where](), step)
    return seen - fresh


def _parities(asked: list[Event], place: Where) -> set[int | None]:
    return {e.count for e in asked if e.place is None or e.place.meets(place)}


def barriers_by_site(found_at: Sites, everyone: int) -> set[int]:
    """Barriers that all warps come to at the same record: there they meet, and nowhere else.

    `everyone` is how many warps there are.
    """
    met: dict[int | None, list[bool]] = {}
    sites: dict[int, int | None] = {}
    for index, found in found_at.items():
        event = found[0][1]
        if event.kind in (Kind.BARRIER, Kind.BARRIER_ARRIVE):
            all_come = len(found) == everyone and event.kind is Kind.BARRIER
            met.setdefault(event.count, []).append(all_come)
            sites[index] = event.count
    return {index for index, number in sites.items() if number is not None and all(met[number])}


def cluster_barriers(found_at: Sites, everyone: int) -> dict[int, int]:
    """For each arrival and each wait at the cluster's barrier, the wait that it belongs to; nothing
    where not all warps come to them."""
    met = {
        index: found
        for index, found in sorted(found_at.items())
        if found[0][1].kind in (Kind.BARRIER, Kind.BARRIER_ARRIVE) and found[0][1].count == CLUSTER
    }
    if any(len(found) != everyone for found in met.values()):
        return {}
    waits = [index for index, found in met.items() if found[0][1].kind is Kind.BARRIER]
    return {index: next((wait for wait in waits if wait >= index), index) for index in met}
