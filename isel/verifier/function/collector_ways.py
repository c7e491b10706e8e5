"""Where a walk does not know whether a collector buffer is filled: ways that exclude each other.

Layer: isel.verifier.function.  `if (k == 0) fill else use`, and `if (k == last) lastuse else use`
in a loop, are right, and a walk that knows nothing of k finds ways through them that do not exist.
So a way that leaves out a fill that another way has, and one that comes to a loop's head again
after a last use that a pass may leave out, are marked; rules claim nothing there.  A decision that
no other one can go against (`independence`) leaves no doubt: its ways exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from isel.control_flow import post_dominators, reach
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow import EXIT, Assumed, Edge, Lanes, Leader
from isel.verifier.function.independence import Independence
from isel.verifier.function.paths import Tracked, Walker

Effect: TypeAlias = Callable[[Event], bool | None]
"""Whether a buffer holds something after an event; None where that does not change."""


@dataclass(slots=True)
class Doubt:
    """At one place: whether a fill was left out, and the records that may not have been before."""

    skipped: bool = False
    undone: set[int] = field(default_factory=set)


def marked(
    walker: Walker, effect: Effect, uses: set[int], *, one_thread: bool
) -> tuple[Walker, dict[int, Doubt]]:
    """The walker with events `DOUBT` at the doubtful places, and the doubts by their index.

    `uses` are the nodes where the buffer is read.  `one_thread` says that one thread does it all:
    what another one leaves out is no doubt.
    """
    doubts = _Doubts(walker, effect, uses, one_thread).found()
    if not doubts:
        return walker, doubts
    events = {n: list(_with_marks(walker, n, doubts)) for n in walker.flow.reached()}
    tracked = Tracked.of(walker.flow, events, walker.tracked.registers)
    return replace(walker, events=events, tracked=tracked), doubts


def _with_marks(walker: Walker, number: int, doubts: dict[int, Doubt]) -> Iterator[Event]:
    """The events of a node, with a mark where it begins and before predicated ones."""
    node = walker.flow.graph.nodes[number]
    marks = sorted(doubts.keys() & range(node.first, node.first + len(node.records)))
    for event in walker.events.get(number, []):
        while marks and marks[0] <= event.index:
            yield _mark(walker, marks.pop(0))
        yield event
    yield from (_mark(walker, i) for i in marks)


def _mark(walker: Walker, index: int) -> Event:
    some = next(iter(walker.each()))
    return replace(some, kind=Kind.DOUBT, index=index, guard=None, place=None, values=())


class _Doubts:
    """The doubtful places in the flow of one warp."""

    def __init__(self, walker: Walker, effect: Effect, uses: set[int], one_thread: bool) -> None:
        self.walker = walker
        self.independence = Independence(walker, uses)
        self.effect = effect
        self.flow = walker.flow
        self.unknown = (Assumed,) if one_thread else (Assumed, Lanes, Leader)
        self.doubts: dict[int, Doubt] = {}
        self.nodes = {
            n for n, es in walker.events.items() if any(effect(e) is not None for e in es)
        }

    def found(self) -> dict[int, Doubt]:
        """All of them, by the index of the record that they stand before."""
        for node, events in self.walker.events.items():
            for event in events:
                if self._is_doubtful(getattr(event.guard, "executed", None), node):
                    self._at(event.index).skipped |= self.effect(event) is True
        for split in self.flow.reached():
            if any(self._is_doubtful(e.condition, split) for e in self.flow.edges[split]):
                self._left_out(split)
        for head in self._heads:
            self._left_open(head)
        return {index: d for index, d in self.doubts.items() if d.skipped or d.undone}

    def _is_doubtful(self, condition: object, node: int) -> bool:
        """Whether it is unknown which path is taken, and something else may decide it too."""
        if not isinstance(condition, self.unknown):
            return False
        if not isinstance(condition, Assumed):
            return True
        return not self.independence.stands_alone(condition.reg, node)

    def _at(self, index: int) -> Doubt:
        return self.doubts.setdefault(index, Doubt())

    def _first(self, node: int) -> Doubt:
        return self._at(self.flow.graph.nodes[node].first)

    @cached_property
    def _ways(self) -> list[list[int]]:
        return self.flow.ways()

    @cached_property
    def _after(self) -> list[int]:
        return post_dominators(self._ways)

    # ---- a fill that another way has -----------------------------------------------------------

    def _joins(self, split: int) -> set[int]:
        end = len(self.flow.edges)
        return {n for n in range(end) if self._after[split] >> n & 1 and n != split} | {end}

    def _left_out(self, split: int) -> None:
        ways, joins = self._ways[split], self._joins(split)
        for arm, other in zip(ways, ways[::-1], strict=True):
            if other < len(self.flow.edges) and self._leaves_filled(arm, joins):
                self._first(other).skipped = True

    def _leaves_filled(self, start: int, joins: set[int]) -> bool:
        """Whether a way from a node to where all ways join ends with the buffer filled there."""
        arm = reach(self._ways, [start], joins) & self.nodes
        outcome = {n: self._outcome(n) for n in arm}
        filled = [to for n in arm if outcome[n] for to in self._ways[n]]
        ended = {n for n in arm if outcome[n] is False}
        behind = reach(self._ways, filled, joins | ended)
        ends = {*filled, *(to for n in behind for to in self._ways[n])}
        return bool(ends & joins)

    def _outcome(self, node: int) -> bool | None:
        found: bool | None = None
        for event in self.walker.events.get(node, ()):
            effect = self.effect(event)
            if effect or (effect is False and event.guard is None):
                found = effect
        return found

    # ---- a last use that a pass of a loop may leave out ----------------------------------------

    @cached_property
    def _heads(self) -> set[int]:
        """The heads of loops."""
        place = {n: i for i, n in enumerate(self.flow.graph.order)}
        return {
            e.target
            for n in self.flow.reached()
            for e in self.flow.edges[n]
            if e.target != EXIT and place[e.target] <= place[n]
        }

    def _left_open(self, head: int) -> None:
        ended = {n for n in self.nodes if self._outcome(n) is False}
        own, into = self._own_ways
        if head in ended or head not in reach(own, own[head], ended):
            return
        loop = reach(own, own[head]) & reach(into, [head])
        ends = {e.index for n in loop & self.nodes for e in self.walker.events[n]
                if self.effect(e) is False}  # fmt: skip
        if ends:
            self._first(head).undone |= ends

    @cached_property
    def _own_ways(self) -> tuple[list[list[int]], list[list[int]]]:
        """The ways of the threads that use the buffer, and those ways back."""
        count = len(self.flow.edges)
        own = [[e.target for e in self._own_edges(n) if e.target != EXIT] for n in range(count)]
        into: list[list[int]] = [[] for _ in own]
        for node, targets in enumerate(own):
            for target in targets:
                into[target].append(node)
        return own, into

    def _own_edges(self, node: int) -> list[Edge]:
        """The edges of the threads that use the buffer, where threads part."""
        edges = self.flow.edges[node]
        if len(edges) < 2 or any(e.condition is None or isinstance(e.condition, Assumed)
                                 for e in edges):  # fmt: skip
            return edges
        joins = self._joins(node)
        found = [e for e in edges if e.target != EXIT
                 and reach(self._ways, [e.target], joins) & self.nodes]  # fmt: skip
        return found or edges
