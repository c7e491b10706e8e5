"""What happens before what, across the warps of a CTA.

Layer: isel.verifier.function.  Input: the roles of a kernel, and what makes a thread know of
something (that it did it itself, or that an mbarrier said so).  Output: for every role the walk
that says at which records a thread may not know yet.

Knowledge travels: a thread that knows hands it on with every arrival and at every barrier, and a
thread gets it from a wait or a barrier that such a thread arrived at.  Where it is not certain who
met whom, knowledge is assumed: what these rules report is missing on a way whatever the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from isel.verifier.function.events import Event, Kind, reads_flag, sets_flag
from isel.verifier.function.roles import Analysis, Role
from isel.verifier.function.values import Where

Key: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a thread knows: nothing yet, or of it, and whether it put a fence after learning it."""

    knows: bool = False
    fenced: bool = False


@dataclass(slots=True)
class Carriers:
    """What hands knowledge on: barriers by key, mbarriers by place; `anything` when who knows
    arrived at an unknown place."""

    barriers: set[Key] = field(default_factory=set)
    mbarriers: set[Where] = field(default_factory=set)
    anything: bool = False

    def has(self, place: Where | None) -> bool:
        """Whether an mbarrier may be among them."""
        if self.anything:
            return True
        return (
            bool(self.mbarriers) if place is None else any(place.meets(m) for m in self.mbarriers)
        )

    def size(self) -> tuple[int, int, bool]:
        """How much there is."""
        return len(self.barriers), len(self.mbarriers), self.anything


class Order:
    """Who knows of something when.

    `learns` says which events make a thread know by itself, `forgets` which make it not know any
    more, `mbarriers` which mbarriers tell from the start.
    """

    def __init__(
        self,
        analysis: Analysis,
        learns: Callable[[Event], bool],
        forgets: Callable[[Event], bool] = lambda _: False,
        mbarriers: frozenset[Where] = frozenset(),
    ) -> None:
        self.analysis = analysis
        self.learns = learns
        self.forgets = forgets
        self.carriers = Carriers(mbarriers=set(mbarriers))
        self._by_site = analysis.meetings
        self._idle = analysis.idle_at_first
        self._settled = False
        self._settle()
        self._settled = True

    def unaware(self, concerns: Callable[[Event], bool]) -> Iterator[tuple[Role, Event, Knowledge]]:
        """Events that a thread may come to without knowing, or without a fence.

        On each way only the first: what is missing there is missing for all that follow.
        """
        for number, role in enumerate(self.analysis.roles):
            met: dict[tuple[int, Knowledge], Event] = {}
            role.walker.walk(Knowledge(), self._watch(number, concerns, met))
            for (_, state), event in met.items():
                yield role, event, state

    def _watch(
        self,
        role: int,
        concerns: Callable[[Event], bool],
        met: dict[tuple[int, Knowledge], Event],
    ) -> Callable[[Knowledge, Event], Knowledge]:
        def step(state: Knowledge, event: Event) -> Knowledge:
            if not (state.knows and state.fenced) and concerns(event):
                met[event.index, state] = event
                return Knowledge(True, True)
            return self._step(role, state, event)

        return step

    def _settle(self) -> None:
        size = None
        while size != self.carriers.size():
            size = self.carriers.size()
            for number, role in enumerate(self.analysis.roles):
                role.walker.walk(Knowledge(), partial(self._step, number))

    def _step(self, role: int, state: Knowledge, event: Event) -> Knowledge:
        if self.forgets(event):
            return Knowledge()
        if self.learns(event):
            return Knowledge(True, True)
        match event.kind:
            case Kind.FENCE_AFTER:
                return Knowledge(state.knows, state.knows)
            case Kind.STRONG_LOAD:
                return self._told(state, True)
            case Kind.DONE if event.index not in self._idle[role]:
                return self._told(state, self.carriers.has(event.place))
            case Kind.ARRIVE | Kind.COMMIT if state.knows:
                self._tell(event.place)
            case Kind.BARRIER | Kind.BARRIER_ARRIVE | Kind.WARP_SYNC:
                return self._meet(role, state, event)
        return state

    def _told(self, state: Knowledge, is_told: bool) -> Knowledge:
        return Knowledge(True, False) if is_told and not state.knows else state

    def _tell(self, place: Where | None) -> None:
        if self._settled:
            return
        if place is None:
            self.carriers.anything = True
        else:
            self.carriers.mbarriers.add(place)

    def _meet(self, role: int, state: Knowledge, event: Event) -> Knowledge:
        key = self._key(role, event)
        if state.knows and not self._settled:
            self.carriers.barriers.add(key)
        if event.kind is Kind.BARRIER_ARRIVE:
            return state
        return self._told(state, key in self.carriers.barriers)

    def _key(self, role: int, event: Event) -> Key:
        if event.kind is Kind.WARP_SYNC:
            return "warp", role
        if event.index in self._by_site:
            return "record", self._by_site[event.index]
        return "barrier", event.count if event.count is not None else -2


def before_all(
    analysis: Analysis,
    events: Iterable[Event],
    others: Callable[[Event], bool],
    told: Callable[[Event], bool] = lambda _: False,
) -> set[int]:
    """The records among `events` that come before all `others`, whatever way the threads take.

    That is so when threads do not come to the record again after they have arrived somewhere, and
    nobody comes to one of the others without having waited there.  A wait for the odd phase does
    not count: the first one succeeds at once.  Behind an event that tells a thread of the others
    (`told`) it may come to the record again.
    """
    sites = analysis.barriers_by_site
    gates: set[_Gate] = set()
    for event in analysis.events(Kind.BARRIER, Kind.ASK, Kind.STRONG_LOAD, Kind.SHARED_STORE):
        if event.kind is Kind.BARRIER:
            site = event.index if event.index in sites else None
            gates.add(_Gate(barrier=event.count, site=site))
        elif event.place is None:
            continue
        elif event.kind is Kind.ASK and event.count != 1:
            gates.add(_Gate(event.place))
        elif reads_flag(event):
            gates.add(_Gate(flag=event.place))
    indices = {e.index for e in events}
    later = {e.index for found in analysis.sites.values() for _, e in found if others(e)}
    unsure = {index: set(later) for index in indices}
    for gate in gates:
        passed = gate.passed(analysis, indices, told)
        skipped = gate.skipped(analysis, others) if passed else set()
        for index in passed:
            unsure[index] &= skipped
    for warp in range(len(analysis.walkers)):
        _in_one_warp(analysis, warp, unsure, told)
    return {index for index, left in unsure.items() if not left}


def _in_one_warp(
    analysis: Analysis, warp: int, unsure: dict[int, set[int]], told: Callable[[Event], bool]
) -> None:
    """Take away what comes later in one warp, of what is that warp's alone."""

    def alone(index: int) -> bool:
        return {w for w, _ in analysis.sites[index]} == {warp}

    first = {index for index, left in unsure.items() if left and alone(index)}
    later = {i for i in set[int]().union(*(unsure[index] for index in first)) if alone(i)}
    if not later:
        return
    behind: set[int] = set()

    def step(after: bool, event: Event) -> bool:
        if after and event.index in first:
            behind.add(event.index)
        return (after or event.index in later) and not told(event)

    analysis.walkers[warp].walk(False, step)
    for index in first - behind:
        unsure[index] -= later


@dataclass(frozen=True, slots=True)
class _Gate:
    """An mbarrier, a flag or a barrier (at one record, if it has one of its own) to pass."""

    mbarrier: Where | None = None
    flag: Where | None = None
    barrier: int | None = None
    site: int | None = None

    def arrives(self, event: Event) -> bool:
        """Whether a thread says here that it has come so far."""
        if self.mbarrier is not None:
            return event.kind is Kind.ARRIVE and event.place == self.mbarrier
        if self.flag is not None:
            return sets_flag(event) and event.place == self.flag
        return (event.kind is Kind.BARRIER_ARRIVE and self._is_barrier(event)) or self.waits(event)

    def waits(self, event: Event) -> bool:
        """Whether a thread goes on here only when the others have come so far."""
        if self.mbarrier is not None:
            return event.kind is Kind.DONE and event.place == self.mbarrier
        if self.flag is not None:
            return reads_flag(event) and event.place == self.flag
        return event.kind is Kind.BARRIER and self._is_barrier(event)

    def _is_barrier(self, event: Event) -> bool:
        return event.index == self.site if self.site is not None else event.count == self.barrier

    def skipped(self, analysis: Analysis, others: Callable[[Event], bool]) -> set[int]:
        """Those of the others that a thread comes to without having waited."""
        skipped: set[int] = set()

        def step(waited: bool, event: Event) -> bool:
            if others(event) and not waited:
                skipped.add(event.index)
            return waited or self.waits(event)

        for role in analysis.roles:
            role.walker.walk(False, step)
        return skipped

    def passed(
        self, analysis: Analysis, among: set[int], told: Callable[[Event], bool]
    ) -> set[int]:
        """The records that threads arrive after, and never come to once they have arrived."""
        ahead: set[int] = set()
        behind: set[int] = set()

        def step(done: frozenset[int], event: Event) -> frozenset[int]:
            if self.arrives(event):
                ahead.update(done)
                return frozenset({_ARRIVED})
            if told(event):
                return done - {_ARRIVED}
            if event.index not in among:
                return done
            if _ARRIVED in done:
                behind.add(event.index)
            return done | {event.index}

        for role in analysis.roles:
            role.walker.gather(step)
        return (ahead & among) - behind


_ARRIVED = -1
"""Among the numbers of records: the thread has arrived on its way."""
