"""Walks over the flow of one warp with a state that records change.

Layer: isel.verifier.function.  Input: a flow, the events on it and an automaton.  Output: the
automaton's states at every node, each with a way to get there.  A walk is that of one thread: it
never takes both the elected thread's way and the others', nor ways of different lanes, nor two ways
that a register decides differently that was not written in between.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from intrinsics.mir import Reg
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow import EXIT, Assumed, Condition, Done, Lanes, Leader, WarpFlow

S = TypeVar("S", bound=Hashable)
T = TypeVar("T", bound=Hashable)


_MOST_TRACKED = 12
"""Registers whose decisions a walk remembers at most."""

_POINTS, _POINTS_PER_NODE = 500, 8
"""Where a walk would come to more points than these, it remembers less."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The threads that a walk may be of, and what was decided on it."""

    lanes: int
    elected: bool | None = None
    assumed: frozenset[tuple[Reg, bool]] = frozenset()

    def takes(self, condition: Condition, tracked: frozenset[Reg]) -> Thread | None:
        """The threads that go on along an edge, None when there are none."""
        match condition:
            case Lanes(mask):
                lanes = self.lanes & mask
                return Thread(lanes, self.elected, self.assumed) if lanes else None
            case Leader(elected):
                if self.elected not in (None, elected):
                    return None
                return Thread(self.lanes, elected, self.assumed)
            case Assumed(reg, holds, _, among):
                lanes = self.lanes & among
                if (reg, not holds) in self.assumed or not lanes:
                    return None
                assumed = self.assumed | {(reg, holds)} if reg in tracked else self.assumed
                return Thread(lanes, self.elected, assumed)
        return self

    def remembers(self, kept: frozenset[Reg]) -> Thread:
        """With what was decided by these registers only."""
        if not self.assumed or all(a[0] in kept for a in self.assumed):
            return self
        assumed = frozenset(a for a in self.assumed if a[0] in kept)
        return Thread(self.lanes, self.elected, assumed)

    def forgets(self, written: frozenset[Reg]) -> Thread:
        """Without what was decided by registers that are written now."""
        if not self.assumed or not written:
            return self
        kept = frozenset(a for a in self.assumed if a[0] not in written)
        return Thread(self.lanes, self.elected, kept)


Point: TypeAlias = tuple[int, S]
"""A place, which is a node with the threads that may be there, and the state of the automaton."""


@dataclass(slots=True)
class Tracked:
    """Registers whose decisions a walk remembers.

    `written` are those that a node writes before each of its events and behind the last, `kept`
    those that may be asked again after it.
    """

    registers: frozenset[Reg]
    written: list[list[frozenset[Reg]]]
    kept: list[frozenset[Reg]]

    @classmethod
    def of(
        cls, flow: WarpFlow, events: Mapping[int, list[Event]], registers: frozenset[Reg]
    ) -> Tracked:
        """What a walk needs to know of `registers`."""
        written = _written(flow, events, registers)
        return cls(registers, written, _kept(flow, events, registers, written))


def _decisions(flow: WarpFlow, events: Mapping[int, list[Event]]) -> object:
    """What decides about the ways of a warp."""
    guards = tuple((e.index, e.guard) for found in events.values() for e in found)
    return tuple(tuple(found) for found in flow.edges), guards


def candidates_of(flow: WarpFlow, events: Mapping[int, list[Event]]) -> list[Reg]:
    """The unknown registers that more than one branch or guard depends on."""
    uses: Counter[Reg] = Counter()
    for node in flow.reached():
        uses.update({e.condition.reg for e in flow.edges[node]
                     if isinstance(e.condition, Assumed)})  # fmt: skip
        uses.update(reg for e in events.get(node, ()) if (reg := _asked(e)) is not None)
    return [reg for reg, count in uses.items() if count > 1][:_MOST_TRACKED]


def _asked(event: Event) -> Reg | None:
    """The register that decides whether an event is executed, where its value is unknown."""
    condition = event.guard.executed if event.guard is not None else None
    return condition.reg if isinstance(condition, Assumed) else None


def _written(
    flow: WarpFlow, events: Mapping[int, list[Event]], tracked: frozenset[Reg]
) -> list[list[frozenset[Reg]]]:
    """What each node writes before its first event, between two of them, and behind the last."""
    graph, nothing = flow.graph, frozenset[Reg]()
    found = [[nothing] * (len(events.get(n, ())) + 1) for n in range(len(graph.nodes))]
    for reg in tracked:
        for source in graph.conditions.depends(reg):
            for index in graph.writers.get(source, ()):
                node = graph.node_of(index)
                at = bisect.bisect_right(events.get(node, ()), index, key=_index)
                found[node][at] |= {reg}
    return found


def _index(event: Event) -> int:
    return event.index


def _kept(
    flow: WarpFlow,
    events: Mapping[int, list[Event]],
    tracked: frozenset[Reg],
    written: list[list[frozenset[Reg]]],
) -> list[frozenset[Reg]]:
    """For each node, the registers that may be asked behind it before they are written."""
    nothing = frozenset[Reg]()
    asked, gone, kept = {}, {}, [nothing] * len(flow.graph.nodes)
    order = list(flow.reached())[::-1]
    for node in order:
        first: set[Reg] = set()
        before: frozenset[Reg] = nothing
        for event, changed in zip(events.get(node, ()), written[node], strict=False):
            before |= changed
            reg = _asked(event)
            if reg is not None and reg not in before:
                first.add(reg)
        gone[node] = before | written[node][-1]
        ends = {e.condition.reg for e in flow.edges[node] if isinstance(e.condition, Assumed)}
        asked[node] = frozenset(first | (ends - gone[node])) & tracked
    changing = bool(tracked)
    while changing:
        changing = False
        for node in order:
            targets = [e.target for e in flow.edges[node] if e.target != EXIT]
            live = nothing.union(*(asked[t] | (kept[t] - gone[t]) for t in targets))
            changing |= live != kept[node]
            kept[node] = live
    return kept


Unite: TypeAlias = Callable[[Iterable[tuple[Thread, S]]], Iterable[tuple[Thread, S]]]
"""What becomes of several states that threads may have at one place."""


def _as_they_are(found: Iterable[tuple[Thread, S]]) -> Iterable[tuple[Thread, S]]:
    return found


_MOST_RUNS = 8
"""Ways through the predicated events of one node that are kept."""

_End: TypeAlias = tuple[tuple[Event, ...], int]
"""A way out of a node: waits that are over on it, and the place that it leads to."""

_Run: TypeAlias = tuple[list[Event], list[_End]]
"""A way through a node: the events that are executed on it, and the ways out."""


@dataclass(slots=True)
class _Places:
    """The places of a walker's walks by number: nodes with threads, and what these do there.

    `runs` has for each place the ways through it: None when there are too many, or not known yet.
    """

    numbers: dict[tuple[int, Thread], int] = field(default_factory=dict)
    at: list[tuple[int, Thread]] = field(default_factory=list)
    runs: list[list[_Run] | None] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)

    def number(self, node: int, thread: Thread) -> int:
        """The number of a place."""
        found = self.numbers.setdefault((node, thread), len(self.at))
        if found == len(self.at):
            self.at.append((node, thread))
            self.runs.append([] if node == EXIT else None)
            self.known.append(node == EXIT)
        return found


@dataclass(slots=True)
class Walker:
    """The flow of one warp, ready to be walked with any automaton.

    `events` are by node, `waits` by record, `tracked` the registers whose decisions are remembered.
    The ways of threads do not depend on the automaton: `places` keeps them for all walks.
    """

    flow: WarpFlow
    events: Mapping[int, list[Event]]
    waits: Mapping[int, Event]
    tracked: Tracked
    places: _Places = field(default_factory=_Places, init=False)

    @classmethod
    def of(
        cls, flow: WarpFlow, events: Mapping[int, list[Event]], known: dict[object, Tracked]
    ) -> Walker:
        """A walker for a flow and its events; it remembers as many decisions as it can afford.

        `known` keeps what was found for warps that take the same ways.
        """
        waits = {e.index: e for found in events.values() for e in found if e.kind is Kind.ASK}
        key = _decisions(flow, events)
        if key in known:
            return cls(flow, events, waits, known[key])
        candidates = candidates_of(flow, events)
        while True:
            walker = cls(flow, events, waits, Tracked.of(flow, events, frozenset(candidates)))
            if not candidates or walker.is_affordable():
                known[key] = walker.tracked
                return walker
            candidates = candidates[: len(candidates) // 2]

    def each(self) -> Iterator[Event]:
        """The events of the warp, node by node."""
        return itertools.chain.from_iterable(self.events.values())

    def remembers_all(self) -> bool:
        """Whether walks remember every decision that is made more than once."""
        return set(candidates_of(self.flow, self.events)) <= self.tracked.registers

    def is_affordable(self) -> bool:
        """Whether walks with what is tracked come to a sensible number of points."""
        limit = _POINTS + _POINTS_PER_NODE * len(self.flow.graph.nodes)
        return len(self._walk(None, lambda state, _: state, limit=limit)) < limit

    def walk(self, start: S, step: Callable[[S, Event], S], lanes: int | None = None) -> Walk[S]:
        """Every state that a thread can have at every node; of all threads, or of these lanes."""
        return Walk[S](self, self._walk(start, step, lanes))

    def _walk(
        self,
        start: S,
        step: Callable[[S, Event], S],
        lanes: int | None = None,
        limit: int | None = None,
    ) -> dict[Point[S], Point[S] | None]:
        """Every place with every state, and what came before it; no more than so many."""
        if not self.flow.graph.nodes:
            return {}
        first = self._first(lanes), start
        came_from: dict[Point[S], Point[S] | None] = {first: None}
        pending = deque([first])
        while pending and (limit is None or len(came_from) < limit):
            point = pending.popleft()
            for following in self._follow(point, step):
                if following not in came_from:
                    came_from[following] = point
                    pending.append(following)
        return came_from

    def _first(self, lanes: int | None = None) -> int:
        """The place where the function begins."""
        return self.places.number(0, Thread(self.flow.warp.lanes if lanes is None else lanes))

    def gather(self, step: Callable[[frozenset[T], Event], frozenset[T]]) -> frozenset[T]:
        """What may be in a set at the end, when `step` adds to it and takes from it.

        Sets of different ways are united where these meet, so `step` must do with each element
        what it does whatever else is in the set.
        """
        if not self.flow.graph.nodes:
            return frozenset()
        first = self._first()
        reached: dict[int, frozenset[T]] = {first: frozenset()}
        pending = deque([first])
        while pending:
            place = pending.popleft()
            for target, after in self._follow((place, reached[place]), step, _united):
                old = reached.get(target)
                if old is None or not after <= old:
                    reached[target] = after if old is None else old | after
                    pending.append(target)
        ends = (found for place, found in reached.items() if self.places.at[place][0] == EXIT)
        return frozenset[T]().union(*ends)

    def _follow(
        self, point: Point[S], step: Callable[[S, Event], S], unite: Unite[S] = _as_they_are
    ) -> list[Point[S]]:
        """The points behind one; a list, since rules live in these loops."""
        place, state = point
        runs = self.places.runs[place] if self.places.known[place] else self._runs(place)
        found: list[Point[S]] = []
        if runs is None:
            node, thread = self.places.at[place]
            for here, reached in self._execute(node, thread, state, step, unite):
                _leave(reached, self._ends(node, here), step, found)
            return found
        for events, ends in runs:
            after = state
            for event in events:
                after = step(after, event)
            _leave(after, ends, step, found)
        return found

    def _ends(self, node: int, here: Thread) -> list[_End]:
        """The ways out of a node for threads that are behind its last event."""
        ends = []
        for edge in self.flow.edges[node]:
            going = here.takes(edge.condition, self.tracked.registers)
            if going is None:
                continue
            done: tuple[Event, ...] = ()
            if isinstance(edge.condition, Done) and edge.condition.complete:
                records = sorted(edge.condition.records & self.waits.keys())
                done = tuple(self.waits[record].as_done() for record in records)
            going = going.remembers(self.tracked.kept[node])
            ends.append((done, self.places.number(edge.target, going)))
        return ends

    def runs_through(self, place: int) -> list[list[Event]]:
        """The events that threads execute at a place, way by way; none where there are too many."""
        return [events for events, _ in self._runs(place) or ()]

    def _runs(self, place: int) -> list[_Run] | None:
        """The ways of threads through a node; None when there are too many."""
        if not self.places.known[place]:
            node, thread = self.places.at[place]
            found = self._paths(node, thread)
            behind = self.tracked.written[node][-1]
            runs = (
                None
                if found is None
                else [(events, self._ends(node, here.forgets(behind))) for events, here in found]
            )
            self.places.runs[place], self.places.known[place] = runs, True
        return self.places.runs[place]

    def _paths(self, node: int, thread: Thread) -> list[tuple[list[Event], Thread]] | None:
        """The events of a node by the threads that execute them; None for too many paths."""
        found: list[tuple[list[Event], Thread]] = [([], thread)]
        for event, written in zip(
            self.events.get(node, ()), self.tracked.written[node], strict=False
        ):
            if event.guard is None:
                for events, _ in found:
                    events.append(event)
                found = [(events, t.forgets(written)) for events, t in found]
                continue
            after = []
            for events, before in found:
                t = before.forgets(written)
                executing = t.takes(event.guard.executed, self.tracked.registers)
                if executing is not None:
                    after.append(([*events, event], executing))
                skipping = t.takes(event.guard.skipped, self.tracked.registers)
                if skipping is not None:
                    after.append((events, skipping))
            found = after
            if len(found) > _MOST_RUNS:
                return None
        return found

    def _execute(
        self,
        node: int,
        thread: Thread,
        state: S,
        step: Callable[[S, Event], S],
        unite: Unite[S],
    ) -> Iterable[tuple[Thread, S]]:
        """The events of a node; a predicated one may be executed or not."""
        found: Iterable[tuple[Thread, S]] = [(thread, state)]
        *before, behind = self.tracked.written[node]
        for event, written in zip(self.events.get(node, ()), before, strict=True):
            after: dict[tuple[Thread, S], None] = {}
            for t, s in found:
                threads = t.forgets(written)
                if event.guard is None:
                    after[threads, step(s, event)] = None
                    continue
                executing = threads.takes(event.guard.executed, self.tracked.registers)
                if executing is not None:
                    after[executing, step(s, event)] = None
                skipping = threads.takes(event.guard.skipped, self.tracked.registers)
                if skipping is not None:
                    after[skipping, s] = None
            found = unite(after)
        return {(t.forgets(behind), s): None for t, s in found}


def _leave(
    state: S, ends: list[_End], step: Callable[[S, Event], S], found: list[Point[S]]
) -> None:
    """Add the points behind a node."""
    for done, target in ends:
        after = state
        for event in done:
            after = step(after, event)
        found.append((target, after))


def _united(
    found: Iterable[tuple[Thread, frozenset[T]]],
) -> Iterable[tuple[Thread, frozenset[T]]]:
    """One set for the same threads."""
    sets: dict[Thread, frozenset[T]] = {}
    for thread, elements in found:
        sets[thread] = sets.get(thread, frozenset()) | elements
    return sets.items()


@dataclass(slots=True)
class Walk(Generic[S]):
    """What a walk found: each place with each state, and the point before it."""

    walker: Walker
    came_from: dict[Point[S], Point[S] | None]

    def at_exit(self) -> Iterator[tuple[Point[S], S]]:
        """The points behind the end, and their states."""
        return ((point, point[1]) for point in self.came_from if self._node(point) == EXIT)

    def _node(self, point: Point[S]) -> int:
        return self.walker.places.at[point[0]][0]

    def way_to(self, index: int, state: S, step: Callable[[S, Event], S]) -> str:
        """A way to an event in this state, as `way` says it; "" where nothing parts on it."""
        for point in self.came_from:
            for events in self.walker.runs_through(point[0]):
                here = point[1]
                for event in events:
                    if event.index == index and here == state:
                        way = self.way(point)
                        return way if "→" in way else ""
                    here = step(here, event)
        return ""

    def way(self, point: Point[S]) -> str:
        """A way to a point in words: the names of its blocks, the middle of a long one left out."""
        names: list[str] = []
        walking: Point[S] | None = point
        while walking is not None:
            node = self._node(walking)
            if node != EXIT:
                name = self.walker.flow.graph.nodes[node].name
                if not names or names[-1] != name:
                    names.append(name)
            walking = self.came_from[walking]
        shown = names[::-1] if len(names) <= 6 else [*names[:-3:-1], "…", *names[2::-1]]
        return "a way through " + " → ".join(shown)
