"""Walks of an automaton over the control flow of one warp.

Layer: isel.verifier.function.  Input: a flow, its events and an automaton.  Output: the automaton's
reachable states at every node, each with a CFG path.  A walk is that of one thread, and avoids
infeasible paths: it takes either the elected thread's edges or the others', edges of its own lanes
only, and does not take contradictory edges of a register that was not written in between.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Generic, TypeAlias, TypeVar

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.graph import EXIT
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.walks.positions import Positions
from isel.verifier.function.walks.tracking import Thread, Tracked, candidates_of, flow_key

S = TypeVar("S", bound=Hashable)


T = TypeVar("T", bound=Hashable)

_POINTS, _POINTS_PER_NODE = 500, 8
"""Walks that would reach more points than these track fewer registers."""


Point: TypeAlias = tuple[int, int]
"""The numbers of a position and of a state of the automaton."""


Unite: TypeAlias = Callable[[Iterable[tuple[Thread, S]]], Iterable[tuple[Thread, S]]]
"""How to merge the states that threads may have at one position."""


def _as_they_are(found: Iterable[tuple[Thread, S]]) -> Iterable[tuple[Thread, S]]:
    return found


class _Automaton(Generic[S]):
    """The states of an automaton, numbered, and what follows each after a sequence of events.

    What `step` notes about a state and an event it notes once.
    """

    def __init__(
        self, start: S, step: Callable[[S, Event], S], sequences: list[tuple[Event, ...]]
    ) -> None:
        self.states: list[S] = []
        self._step = step
        self._sequences = sequences
        self._numbers: dict[S, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self.number(start)

    def number(self, state: S) -> int:
        """The number of a state; that of the first is 0."""
        found = self._numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
        return found

    def step(self, state: int, event: Event) -> int:
        """The state after an event."""
        return self.number(self._step(self.states[state], event))

    def after(self, state: int, sequence: int) -> int:
        """The state after a sequence of events."""
        key = state, sequence
        found = self._known.get(key)
        if found is None:
            reached = functools.reduce(self._step, self._sequences[sequence], self.states[state])
            found = self._known[key] = self.number(reached)
        return found


@dataclass(slots=True)
class Walker:
    """The flow of one warp, ready to be walked with any automaton.

    `events` are by node, `waits` by record, `tracked` the registers whose decisions are tracked.
    `positions` keeps the paths through nodes for all walks.
    """

    flow: WarpFlow
    events: Mapping[int, list[Event]]
    waits: Mapping[int, Event]
    tracked: Tracked
    positions: Positions = field(init=False)

    def __post_init__(self) -> None:
        self.positions = Positions(self.flow, self.events, self.waits, self.tracked)

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
            walker = cls(flow, events, waits, Tracked.of(flow, events, candidates))
            if not candidates or walker.is_affordable():
                known[key] = walker.tracked
                return walker
            candidates = candidates[: len(candidates) // 2]

    def each(self) -> Iterator[Event]:
        """The events of the warp, node by node."""
        return itertools.chain.from_iterable(self.events.values())

    def remembers_all(self) -> bool:
        """Whether walks track every register that is tested more than once."""
        return self.tracked.registers.keys() >= set(candidates_of(self.flow, self.events))

    def is_affordable(self) -> bool:
        """Whether walks with the tracked registers reach an acceptable number of points."""
        nodes = len(self.flow.graph.nodes)
        limit = _POINTS + _POINTS_PER_NODE * nodes
        return not nodes or self.positions.are_fewer(limit, self.flow.warp.lanes)

    def walk(self, start: S, step: Callable[[S, Event], S], lanes: int | None = None) -> Walk[S]:
        """All states that a thread can have at every node; of all threads, or of these lanes.

        What `step` notes must be the same however often it sees an event in one state.
        """
        automaton = _Automaton(start, step, self.positions.sequences)
        if not self.flow.graph.nodes:
            return Walk(self, automaton.states, {})
        first = self._first(lanes), 0
        came_from: dict[Point, Point | None] = {first: None}
        pending = deque([first])
        while pending:
            point = pending.popleft()
            for following in self._follow(point, automaton):
                if following not in came_from:
                    came_from[following] = point
                    pending.append(following)
        return Walk(self, automaton.states, came_from)

    def _first(self, lanes: int | None = None) -> int:
        """The position of the function's entry."""
        found = self.flow.warp.lanes if lanes is None else lanes
        return self.positions.first(found)

    def gather(self, step: Callable[[frozenset[T], Event], frozenset[T]]) -> frozenset[T]:
        """The set at the exit, where `step` adds elements and removes them (a may-analysis).

        Sets are united where paths join, so `step` must treat each element independently of the
        others.
        """
        if not self.flow.graph.nodes:
            return frozenset()
        first, sequences = self._first(), self.positions.sequences
        reached: dict[int, frozenset[T]] = {first: frozenset()}
        pending = deque([first])

        def through(place: int, before: frozenset[T]) -> Iterator[tuple[int, frozenset[T]]]:
            runs = self.positions.runs(place)
            if runs is None:
                yield from self._split(place, before, step, _united)
                return
            for events, ends in runs:
                behind = functools.reduce(step, sequences[events], before)
                for done, target in ends:
                    yield target, functools.reduce(step, sequences[done], behind)

        while pending:
            place = pending.popleft()
            for target, after in list(through(place, reached[place])):
                old = reached.get(target)
                if old is None or not after <= old:
                    reached[target] = after if old is None else old | after
                    pending.append(target)
        ends = (found for place, found in reached.items() if self.positions.at[place][0] == EXIT)
        return frozenset[T]().union(*ends)

    def _follow(self, point: Point, automaton: _Automaton[S]) -> list[Point]:
        """The successors of a point; a plain list for speed."""
        place, state = point
        runs = self.positions.runs(place)
        if runs is None:
            return self._split(place, state, automaton.step)
        after = automaton.after
        found: list[Point] = []
        for events, ends in runs:
            behind = after(state, events) if events else state
            for done, target in ends:
                found.append((target, after(behind, done) if done else behind))
        return found

    def runs_through(self, place: int) -> list[tuple[Event, ...]]:
        """The events that threads execute at a position, path by path.

        None where there are too many.
        """
        return [self.positions.sequences[events] for events, _ in self.positions.runs(place) or ()]

    def _split(
        self, place: int, state: S, step: Callable[[S, Event], S], unite: Unite[S] = _as_they_are
    ) -> list[tuple[int, S]]:
        """The positions and states behind a position whose paths are too many."""
        node, thread = self.positions.at[place]
        found: Iterable[tuple[Thread, S]] = [(thread, state)]
        *before, behind = self.tracked.written[node]
        for event, written in zip(self.events.get(node, ()), before, strict=True):
            found = unite(
                dict.fromkeys(
                    (split, step(reached, event) if executed else reached)
                    for here, reached in found
                    for executed, split in self.positions.executing(event, here | written)
                )
            )
        sequences = self.positions.sequences
        return [
            (target, functools.reduce(step, sequences[done], reached))
            for here, reached in dict.fromkeys((here | behind, state) for here, state in found)
            for done, target in self.positions.ends(node, here)
        ]


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
    """The result of a walk: the reached points, each with its predecessor, and the states."""

    walker: Walker
    states: list[S]
    came_from: dict[Point, Point | None]

    def at_exit(self) -> Iterator[tuple[Point, S]]:
        """The points at the function's exit, and their states."""
        return (
            (point, self.states[point[1]]) for point in self.came_from if self._node(point) == EXIT
        )

    def _node(self, point: Point) -> int:
        return self.walker.positions.at[point[0]][0]

    def path_to(self, index: int, state: S, step: Callable[[S, Event], S]) -> str:
        """A path to an event in this state, as `path` formats it; "" if nothing branches on it."""
        for point in self.came_from:
            for events in self.walker.runs_through(point[0]):
                here = self.states[point[1]]
                for event in events:
                    if event.index == index and here == state:
                        path = self.path(point)
                        return path if "→" in path else ""
                    here = step(here, event)
        return ""

    def path(self, point: Point) -> str:
        """A path to a point in words: the names of its blocks, the middle of a long one left
        out.
        """
        names: list[str] = []
        walking: Point | None = point
        while walking is not None:
            node = self._node(walking)
            if node != EXIT:
                name = self.walker.flow.graph.nodes[node].name
                if not names or names[-1] != name:
                    names.append(name)
            walking = self.came_from[walking]
        shown = names[::-1] if len(names) <= 6 else [*names[:-3:-1], "…", *names[2::-1]]
        return "a way through " + " → ".join(shown)
