"""Walks of an automaton over the control flow of one warp.

Layer: isel.verifier.function.  Input: a flow, its events and an automaton.  Output: the automaton's
reachable states at every node, each with a CFG path.  A walk is that of one thread, and avoids
infeasible paths: it takes either the elected thread's edges or the others', edges of its own lanes
only, and does not take contradictory edges of a register that was not written in between.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow import Done, WarpFlow
from isel.verifier.function.graph import EXIT
from isel.verifier.function.tracking import Thread, Tracked, candidates_of, flow_key

S = TypeVar("S", bound=Hashable)


T = TypeVar("T", bound=Hashable)

_POINTS, _POINTS_PER_NODE = 500, 8
"""Walks that would reach more points than these track fewer registers."""


Point: TypeAlias = tuple[int, S]
"""A position (a node with the threads that may be there), and the state of the automaton."""


Unite: TypeAlias = Callable[[Iterable[tuple[Thread, S]]], Iterable[tuple[Thread, S]]]
"""How to merge the states that threads may have at one position."""


def _as_they_are(found: Iterable[tuple[Thread, S]]) -> Iterable[tuple[Thread, S]]:
    return found


_MOST_RUNS = 8
"""The most paths through the predicated events of one node."""


_End: TypeAlias = tuple[tuple[Event, ...], int]
"""An exit of a node: the waits whose phase is complete on it, and the position that it leads to."""


_Run: TypeAlias = tuple[list[Event], list[_End]]
"""A path through a node: the events that are executed on it, and its exits."""


@dataclass(slots=True)
class _Places:
    """The numbered positions of a walker's walks: nodes with threads, and the paths through them.

    `runs` has the paths for each position: None where there are too many, or not computed yet.
    """

    numbers: dict[tuple[int, Thread], int] = field(default_factory=dict)
    at: list[tuple[int, Thread]] = field(default_factory=list)
    runs: list[list[_Run] | None] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)

    def number(self, node: int, thread: Thread) -> int:
        """The number of a position."""
        found = self.numbers.setdefault((node, thread), len(self.at))
        if found == len(self.at):
            self.at.append((node, thread))
            self.runs.append([] if node == EXIT else None)
            self.known.append(node == EXIT)
        return found


@dataclass(slots=True)
class Walker:
    """The flow of one warp, ready to be walked with any automaton.

    `events` are by node, `waits` by record, `tracked` the registers whose decisions are tracked.
    Paths through nodes do not depend on the automaton: `places` keeps them for all walks.
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
        """A walker for a flow and its events, which tracks as many registers as is affordable.

        `known` caches that for warps with equal flows.
        """
        waits = {e.index: e for found in events.values() for e in found if e.kind is Kind.ASK}
        key = flow_key(flow, events)
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
        """Whether walks track every register that is tested more than once."""
        return set(candidates_of(self.flow, self.events)) <= self.tracked.registers

    def is_affordable(self) -> bool:
        """Whether walks with the tracked registers reach an acceptable number of points."""
        limit = _POINTS + _POINTS_PER_NODE * len(self.flow.graph.nodes)
        if not self.flow.graph.nodes:
            return True
        reached = [self._first()]
        seen = set(reached)
        for place in reached:  # which grows
            fresh = self._targets(place) - seen
            seen |= fresh
            reached += fresh
            if len(seen) >= limit:
                return False
        return True

    def _targets(self, place: int) -> set[int]:
        """The places behind one."""
        runs = self.places.runs[place] if self.places.known[place] else self._runs(place)
        if runs is None:
            return {target for target, _ in self._follow((place, None), lambda state, _: state)}
        return {target for _, ends in runs for _, target in ends}

    def walk(self, start: S, step: Callable[[S, Event], S], lanes: int | None = None) -> Walk[S]:
        """All states that a thread can have at every node; of all threads, or of these lanes."""
        return Walk[S](self, self._walk(start, step, lanes))

    def _walk(
        self, start: S, step: Callable[[S, Event], S], lanes: int | None = None
    ) -> dict[Point[S], Point[S] | None]:
        """The points that a walk reaches, each with its predecessor."""
        if not self.flow.graph.nodes:
            return {}
        first = self._first(lanes), start
        came_from: dict[Point[S], Point[S] | None] = {first: None}
        pending = deque([first])
        while pending:
            point = pending.popleft()
            for following in self._follow(point, step):
                if following not in came_from:
                    came_from[following] = point
                    pending.append(following)
        return came_from

    def _first(self, lanes: int | None = None) -> int:
        """The position of the function's entry."""
        return self.places.number(0, Thread(self.flow.warp.lanes if lanes is None else lanes))

    def gather(self, step: Callable[[frozenset[T], Event], frozenset[T]]) -> frozenset[T]:
        """The set at the exit, where `step` adds elements and removes them (a may-analysis).

        Sets are united where paths join, so `step` must treat each element independently of the
        others.
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
        """The successors of a point; a plain list for speed."""
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
        """The exits of a node for threads that are past its last event."""
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
        """The events that threads execute at a position, path by path.

        None where there are too many.
        """
        return [events for events, _ in self._runs(place) or ()]

    def _runs(self, place: int) -> list[_Run] | None:
        """The paths of threads through a node; None where there are too many."""
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
        """The threads and states after the events of a node; a predicated one may be skipped."""
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
    """Add the successors of a point for these exits."""
    for done, target in ends:
        after = state
        for event in done:
            after = step(after, event)
        found.append((target, after))


def _united(
    found: Iterable[tuple[Thread, frozenset[T]]],
) -> Iterable[tuple[Thread, frozenset[T]]]:
    """One set for equal threads."""
    sets: dict[Thread, frozenset[T]] = {}
    for thread, elements in found:
        sets[thread] = sets.get(thread, frozenset()) | elements
    return sets.items()


@dataclass(slots=True)
class Walk(Generic[S]):
    """The result of a walk: the reached points, each with its predecessor."""

    walker: Walker
    came_from: dict[Point[S], Point[S] | None]

    def at_exit(self) -> Iterator[tuple[Point[S], S]]:
        """The points at the function's exit, and their states."""
        return ((point, point[1]) for point in self.came_from if self._node(point) == EXIT)

    def _node(self, point: Point[S]) -> int:
        return self.walker.places.at[point[0]][0]

    def path_to(self, index: int, state: S, step: Callable[[S, Event], S]) -> str:
        """A path to an event in this state, as `path` formats it; "" if nothing branches on it."""
        for point in self.came_from:
            for events in self.walker.runs_through(point[0]):
                here = point[1]
                for event in events:
                    if event.index == index and here == state:
                        path = self.path(point)
                        return path if "→" in path else ""
                    here = step(here, event)
        return ""

    def path(self, point: Point[S]) -> str:
        """A path to a point in words: the names of its blocks, the middle of a long one left
        out.
        """
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
