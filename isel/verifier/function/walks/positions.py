"""The positions of walks: nodes, each with the threads that may be there, and the paths through it.

Layer: isel.verifier.function.  Input: a flow, its events and the tracked registers.  Output: for
each position its paths, with their events and the positions behind.  They do not depend on what is
walked for, and all walks of a flow share them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Event
from isel.verifier.function.flow.graph import EXIT
from isel.verifier.function.flow.warp_flow import Condition, Done, WarpFlow
from isel.verifier.function.walks.tracking import Filter, Thread, Tracked

_MOST_RUNS = 8
"""The most paths through the predicated events of one node."""


Run: TypeAlias = tuple[int, list[tuple[int, int]]]
"""A path through a node: the number of the events on it, and its exits.

An exit has the number of the waits whose phase is complete on it, and the position it leads to.
"""


class _Exit(NamedTuple):
    """An edge out of a node: who takes it, the number of the waits that are over on it, and the
    node that it leads to.
    """

    filter: Filter
    done: int
    target: int


@dataclass(slots=True)
class Positions:
    """The positions of a flow, numbered: `at` has the node and the threads of each.

    `events` are by node, `waits` by record; `sequences` are the events on paths, the empty sequence
    first.
    """

    flow: WarpFlow
    events: Mapping[int, list[Event]]
    waits: Mapping[int, Event]
    tracked: Tracked
    at: list[tuple[int, Thread]] = field(default_factory=list)
    sequences: list[tuple[Event, ...]] = field(default_factory=lambda: [()])
    _numbers: dict[tuple[int, Thread], int] = field(default_factory=dict)
    _of_sequences: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    _runs: list[list[Run] | None] = field(default_factory=list)
    _known: list[bool] = field(default_factory=list)
    _exits: dict[int, list[_Exit]] = field(default_factory=dict)
    _guarded: set[int] = field(init=False)
    _written: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._guarded = {
            node for node, found in self.events.items() if any(e.guard is not None for e in found)
        }
        self._written = [functools.reduce(operator.or_, found) for found in self.tracked.written]

    def first(self, lanes: int) -> int:
        """The position of these lanes at the function's entry."""
        return self.number(0, self.tracked.any_thread(lanes))

    def number(self, node: int, thread: Thread) -> int:
        """The number of a position."""
        found = self._numbers.setdefault((node, thread), len(self.at))
        if found == len(self.at):
            self.at.append((node, thread))
            self._runs.append([] if node == EXIT else None)
            self._known.append(node == EXIT)
        return found

    def _sequence(self, events: tuple[Event, ...]) -> int:
        """The number of a sequence of events."""
        key = tuple(map(id, events))  # all of them are kept
        found = self._of_sequences.setdefault(key, len(self.sequences))
        if found == len(self.sequences):
            self.sequences.append(events)
        return found

    def runs(self, place: int) -> list[Run] | None:
        """The paths of threads through a node; None where there are too many."""
        if not self._known[place]:
            node, thread = self.at[place]
            found = self._paths(node, thread)
            sequence = self._sequence
            runs = (
                None
                if found is None
                else [(sequence(events), self.ends(node, here)) for events, here in found]
            )
            self._runs[place], self._known[place] = runs, True
        return self._runs[place]

    def ends(self, node: int, thread: Thread) -> list[tuple[int, int]]:
        """The exits of a node for threads that are past it: the waits that are over, and the
        positions that they lead to.
        """
        lost, number = self.tracked.lost[node], self.number
        ends = []
        for passing, done, target in self._ways_out(node):
            going = passing.passed(thread)
            if going:
                ends.append((done, number(target, going | lost)))
        return ends

    def _ways_out(self, node: int) -> list[_Exit]:
        """The edges out of a node."""
        found = self._exits.get(node)
        if found is None:
            found = self._exits[node] = [
                _Exit(self.tracked.filter(edge.condition), self._done(edge.condition), edge.target)
                for edge in self.flow.edges[node]
            ]
        return found

    def _done(self, condition: Condition) -> int:
        """The number of the waits that are over where a condition holds."""
        if not isinstance(condition, Done) or not condition.complete:
            return 0
        records = sorted(record for record in condition.records if record in self.waits)
        return self._sequence(tuple(self.waits[record].as_done() for record in records))

    # ---- how many ------------------------------------------------------------------------------

    def are_fewer(self, limit: int, lanes: int) -> bool:
        """Whether these lanes reach fewer positions; they are only counted."""
        first = 0, self.tracked.any_thread(lanes)
        seen, pending = {first}, [first]
        while pending and len(seen) < limit:
            node, thread = pending.pop()
            lost = self.tracked.lost[node]
            for here in self._behind(node, thread):
                for passing, _, target in self._ways_out(node):
                    going = passing.passed(here)
                    following = target, going | lost
                    if going and following not in seen:
                        seen.add(following)
                        if target != EXIT:
                            pending.append(following)
        return len(seen) < limit

    def _behind(self, node: int, thread: Thread) -> Iterable[Thread]:
        """The threads behind the events of a node."""
        if node not in self._guarded:
            return (thread | self._written[node],)
        *before, behind = self.tracked.written[node]
        found = {thread}
        for event, written in zip(self.events[node], before, strict=True):
            found = {t for here in found for _, t in self.executing(event, here | written)}
        return {here | behind for here in found}

    # ---- paths through a node ------------------------------------------------------------------

    def _paths(self, node: int, thread: Thread) -> list[tuple[tuple[Event, ...], Thread]] | None:
        """The events of a node by the threads that execute them; None for too many paths."""
        events, (*before, behind) = self.events.get(node, ()), self.tracked.written[node]
        if node not in self._guarded:
            return [(tuple(events), thread | self._written[node])]
        found: list[tuple[tuple[Event, ...], Thread]] = [((), thread)]
        for event, written in zip(events, before, strict=True):
            found = [
                ((*events, event) if executed else events, split)
                for events, here in found
                for executed, split in self.executing(event, here | written)
            ]
            if len(found) > _MOST_RUNS:
                return None
        return [(events, here | behind) for events, here in found]

    def executing(self, event: Event, thread: Thread) -> Iterator[tuple[bool, Thread]]:
        """The threads that execute an event, and those that skip it."""
        guard = event.guard
        if guard is None:
            yield True, thread
            return
        for executed, condition in ((True, guard.executed), (False, guard.skipped)):
            passing = self.tracked.filter(condition).passed(thread)
            if passing:
                yield executed, passing
