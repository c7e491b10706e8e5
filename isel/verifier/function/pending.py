"""What other threads know of an asynchronous operation: running, complete, and fenced.

Layer: isel.verifier.function.  Input: the roles of a kernel, and the records that issue an
operation.  Output: for events that conflict with it, what the thread that comes to them was told.

`Order` asks whether somebody may have heard of something; this asks what exactly was said when a
thread arrived where another one waits.  A thread that was told at one place that an operation runs
still, and nowhere that it has ended, was told too early.  Where two threads say different things at
one place, the better one counts: what is reported is so whatever the others do.

PTX ISA, tcgen05: Memory Consistency Model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

from isel.verifier.function.events import Event, Kind, reads_flag, sets_flag
from isel.verifier.function.roles import Analysis, Role
from isel.verifier.function.values import Where
from isel.ways import reach


class Status(IntEnum):
    """What is said of an operation, from worse to better."""

    NOTHING = 0
    RUNNING = 1
    ORDERED = 2  # still running, behind tcgen05.fence::before_thread_sync
    ENDED = 3
    HANDED_ON = 4  # ended, and fenced; or by tcgen05.commit, which does both


RUNS = (Status.RUNNING, Status.ORDERED)
"""Not complete."""


@dataclass(frozen=True, slots=True)
class State:
    """What a thread knows: of what it issued itself, and what it was told.

    `fenced` says that tcgen05.fence::after_thread_sync came after the news, `told` is the record
    where they were heard, `source` the one where they were said; `old` says that there were news
    before the last access, which are no news any more.
    """

    own: Status = Status.NOTHING
    news: Status = Status.NOTHING
    fenced: bool = False
    told: int = -1
    source: int = -1
    old: bool = False

    def used(self) -> State:
        """As it is behind an access that relied on it."""
        return State(self.own, old=self.old or self.news is not Status.NOTHING)


@dataclass(frozen=True, slots=True)
class Said:
    """The place where threads say something: a barrier by key, an mbarrier or a flag."""

    what: str
    number: int = 0
    place: Where | None = None

    def meets(self, other: Said) -> bool:
        """Whether who waits here may hear what is said there."""
        if self.place is None or other.place is None:
            return self == other
        return self.what == other.what and self.place.meets(other.place)


_ANY_BARRIER = Said("barrier", -2)
"""A barrier whose number is not known."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An asynchronous operation: what issues it, what completes it in its own thread.

    `commits` says that tcgen05.commit tracks it.
    """

    starts: Callable[[Event], bool]
    ends: Callable[[Event], bool]
    commits: bool = False


class Pending:
    """What threads are told of one operation."""

    def __init__(self, analysis: Analysis, operation: Operation) -> None:
        self.analysis = analysis
        self.operation = operation
        self.said: dict[Said, dict[Status, int]] = {}
        self._heard: dict[Said, tuple[Status, int]] = {}
        self._sites = analysis.meetings
        self._deaf = [
            idle | _before(role, operation)
            for role, idle in zip(analysis.roles, analysis.idle_waits, strict=True)
        ]
        self._grown = True
        while self._grown:
            self._grown = False
            for number, role in enumerate(analysis.roles):
                role.walker.walk(State(), partial(self._step, number))

    def met(self, concerns: Callable[[Event], bool]) -> Iterator[tuple[Role, Event, State]]:
        """The events that concern the operation, with what a thread may know there."""
        for number, role in enumerate(self.analysis.roles):
            if not any(concerns(e) for e in role.events()):
                continue
            found: dict[tuple[int, State], Event] = {}

            def step(
                state: State,
                event: Event,
                number: int = number,
                found: dict[tuple[int, State], Event] = found,
            ) -> State:
                if concerns(event):
                    found[event.index, state] = event
                    state = state.used()
                return self._step(number, state, event)

            role.walker.walk(State(), step)
            for (_, state), event in found.items():
                yield role, event, state

    def tells(self, role: int, event: Event) -> bool:
        """Whether a thread of a role hears at an event that the operation has ended."""
        if event.kind in (Kind.ASK, Kind.DONE):
            key = _place("mbarrier", event)
        elif event.kind is Kind.BARRIER:
            key = self._barrier(role, event)
        elif reads_flag(event):
            key = _place("flag", event)
        else:
            return False
        return event.index not in self._deaf[role] and self._best(key)[0] >= Status.ENDED

    def never_heard(self, role: Role, event: Event) -> list[Where]:
        """The mbarriers that tell of the end and that nobody waits for, if a role hears of it
        nowhere between an event and the next time that it comes to it.

        That the role waits behind its loop is no wait, unless it goes on with the same there.
        """
        number = self.analysis.roles.index(role)
        cycle = {e.index: e for e in _between(role, event)}
        if any(self.tells(number, e) for e in cycle.values()):
            return []
        goes_on = not cycle or any(
            e.kind is event.kind and e.index not in cycle for e in role.events()
        )
        asked = [
            e.place
            for other in self.analysis.roles
            for e in other.events()
            if e.kind is Kind.ASK and (goes_on or other is not role or e.index in cycle)
        ]
        return [
            key.place
            for key, said in self.said.items()
            if key.place is not None and key.what == "mbarrier" and max(said) >= Status.ENDED
            if not any(place is None or place.meets(key.place) for place in asked)
        ]

    def _step(self, role: int, state: State, event: Event) -> State:
        if self.operation.starts(event):
            return State(Status.RUNNING)
        if self.operation.ends(event):
            return replace(state, own=_ended(state.own))
        match event.kind:
            case Kind.FENCE_BEFORE:
                return replace(state, own=_fenced(state.own))
            case Kind.FENCE_AFTER:
                return replace(state, fenced=state.news is not Status.NOTHING)
            case Kind.COMMIT:
                self._tell(_place("mbarrier", event), self._committed(state), event)
            case Kind.ARRIVE:
                self._tell(_place("mbarrier", event), _says(state), event)
            case Kind.DONE:
                return self._hear(role, state, _place("mbarrier", event), event)
            case Kind.BARRIER | Kind.BARRIER_ARRIVE | Kind.WARP_SYNC:
                key = self._barrier(role, event)
                self._tell(key, _says(state), event)
                if event.kind is not Kind.BARRIER_ARRIVE:
                    return self._hear(role, state, key, event)
            case _:
                return self._flag(role, state, event)
        return state

    def _flag(self, role: int, state: State, event: Event) -> State:
        if sets_flag(event):
            self._tell(_place("flag", event), _says(state), event)
        if reads_flag(event):
            return self._hear(role, state, _place("flag", event), event)
        return state

    def _committed(self, state: State) -> Status:
        """What a commit says: that the thread's operations have ended, and those pipelined before
        them, of which it was told in time."""
        runs = state.own in RUNS or state.news is Status.ORDERED
        return Status.HANDED_ON if runs and self.operation.commits else _says(state)

    def _barrier(self, role: int, event: Event) -> Said:
        if event.kind is Kind.WARP_SYNC:
            return Said("warp", role)
        if event.index in self._sites:
            return Said("record", self._sites[event.index])
        return Said("barrier", event.count) if event.count is not None else _ANY_BARRIER

    def _tell(self, key: Said, status: Status, event: Event) -> None:
        if status is Status.NOTHING:
            return
        said = self.said.setdefault(key, {})
        if status not in said:
            said[status] = event.index
            self._heard.clear()
            self._grown = True

    def _hear(self, role: int, state: State, key: Said, event: Event) -> State:
        if event.index in self._deaf[role]:
            return state
        status, source = self._best(key)
        runs = state.own in RUNS
        if self.operation.commits and runs and status >= Status.ENDED:
            return State(Status.HANDED_ON, status, False, event.index, source, state.old)
        if status <= state.news or self._is_ambiguous(status, key):
            return state
        fenced = state.fenced and state.news >= Status.ENDED  # that it has ended is no news
        return State(state.own, status, fenced, event.index, source, state.old)

    def _is_ambiguous(self, status: Status, key: Said) -> bool:
        """Whether threads may be told of what is to come, at a barrier that is used again."""
        if key.what != "barrier" or status >= Status.ENDED:
            return False
        waits = (e for e in self.analysis.events(Kind.BARRIER) if e.count == key.number)
        return len({e.index for e in waits}) > 1

    def _best(self, key: Said) -> tuple[Status, int]:
        """The best that is said at a place; of an unknown place, the best there is."""
        if key not in self._heard:
            self._heard[key] = self._find_best(key)
        return self._heard[key]

    def _find_best(self, key: Said) -> tuple[Status, int]:
        best = Status.NOTHING, -1
        for place, said in self.said.items():
            if key.what == place.what and (_is_unknown(key) or _is_unknown(place)):
                return Status.HANDED_ON, -1
            if key.meets(place):
                status = max(said)
                best = max(best, (status, said[status]))
        return best


def _between(role: Role, event: Event) -> Iterator[Event]:
    """The events on ways from an event to itself."""
    (node,) = (n for n, events in role.walker.events.items() if event in events)
    ways = role.walker.flow.ways()
    for n in reach(ways, ways[node]) & reach(_reversed(ways), [node]):
        yield from role.walker.events.get(n, ())


def _reversed(ways: list[list[int]]) -> list[list[int]]:
    back: list[list[int]] = [[] for _ in ways]
    for node, targets in enumerate(ways):
        for target in targets:
            back[target].append(node)
    return back


def _before(role: Role, operation: Operation) -> set[int]:
    """Records of a warp that it comes to before it issues the operation, and never behind it:
    what is heard there is about something else."""
    first: dict[int, int] = {}
    for node, events in role.walker.events.items():
        issues = [e.index for e in events if operation.starts(e)]
        if issues:
            first[node] = min(issues)
    if not first or len(role.warps) > 1:
        return set()
    ways = role.walker.flow.ways()
    behind = reach(ways, [to for node in first for to in ways[node]])
    ahead = reach(_reversed(ways), first) - behind
    return {
        e.index
        for node in ahead
        for e in role.walker.events.get(node, ())
        if e.index < first.get(node, e.index + 1)
    }


def _is_unknown(key: Said) -> bool:
    return key.place is None if key.what in ("mbarrier", "flag") else key == _ANY_BARRIER


def _place(what: str, event: Event) -> Said:
    return Said(what, place=event.place)


def _says(state: State) -> Status:
    """What a thread says of an operation as it arrives somewhere.

    What it was told it hands on as it heard it: a fence that is missing in the thread that issued
    the operation is so for all who hear of it.
    """
    if state.own is not Status.NOTHING:
        return state.own
    return state.news if state.news >= Status.ENDED else Status.NOTHING


def _ended(own: Status) -> Status:
    match own:
        case Status.RUNNING:
            return Status.ENDED
        case Status.ORDERED:
            return Status.HANDED_ON
    return own


def _fenced(own: Status) -> Status:
    match own:
        case Status.RUNNING:
            return Status.ORDERED
        case Status.ENDED:
            return Status.HANDED_ON
    return own
