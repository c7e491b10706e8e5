"""Infeasible paths to collector buffers: where a walk cannot know whether a buffer is filled.

Layer: isel.verifier.function.  `if (k == 0) fill else use`, and `if (k == last) lastuse else use`
in a loop, are right, and a walk that knows nothing of k finds paths through them that are
infeasible. So joins are marked where one path skips a fill that another one has, and loop heads
where an iteration may skip a last use; rules report nothing there.  A decision that is independent
of all others (`independence`) leaves no doubt: both of its paths are feasible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from isel.control_flow import nodes_of, post_dominators, reach
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.graph import EXIT
from isel.verifier.function.flow.warp_flow import Assumed, Edge, Lanes, Leader
from isel.verifier.function.walks.independence import Independence
from isel.verifier.function.walks.paths import Walker
from isel.verifier.function.walks.tracking import Tracked

Effect: TypeAlias = Callable[[Event], bool | None]
"""Whether a buffer is filled after an event; None where the event does not change that."""


@dataclass(slots=True)
class Doubt:
    """Doubts at a node: whether a fill was skipped, and which last uses may not have run."""

    skipped: bool = False
    undone: set[int] = field(default_factory=set)


def marked(
    walker: Walker, effect: Effect, uses: set[int], *, one_thread: bool
) -> tuple[Walker, dict[int, Doubt]]:
    """The walker with `DOUBT` events where paths may be infeasible, and the doubts by their index.

    `uses` are the nodes where the buffer is read.  `one_thread` says that one thread issues all of
    them: paths of other threads leave no doubt.
    """
    doubts = _Doubts(walker, effect, uses, one_thread).found()
    if not doubts:
        return walker, doubts
    events = {n: list(_with_marks(walker, n, doubts)) for n in walker.flow.reached()}
    tracked = Tracked.of(walker.flow, events, walker.tracked.registers)
    return replace(walker, events=events, tracked=tracked), doubts


def _with_marks(walker: Walker, number: int, doubts: dict[int, Doubt]) -> Iterator[Event]:
    """The events of a node, with a mark at its beginning and before predicated events."""
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
    """The doubtful nodes in the flow of one warp."""

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
        """All doubts, by the index of the record that they precede."""
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
        """Whether a condition is unknown and may depend on another decision."""
        if not isinstance(condition, self.unknown):
            return False
        if not isinstance(condition, Assumed):
            return True
        return not self.independence.is_independent(condition.reg, node)

    def _at(self, index: int) -> Doubt:
        return self.doubts.setdefault(index, Doubt())

    def _first(self, node: int) -> Doubt:
        return self._at(self.flow.graph.nodes[node].first)

    @cached_property
    def _successors(self) -> list[list[int]]:
        return self.flow.successors()

    @cached_property
    def _after(self) -> list[int]:
        return post_dominators(self._successors)

    # ---- a fill that another path has ----------------------------------------------------------

    def _joins(self, split: int) -> set[int]:
        return {*nodes_of(self._after[split] & ~(1 << split)), len(self.flow.edges)}

    def _left_out(self, split: int) -> None:
        arms, joins = self._successors[split], self._joins(split)
        for arm, other in zip(arms, arms[::-1], strict=True):
            if other < len(self.flow.edges) and self._leaves_filled(arm, joins):
                self._first(other).skipped = True

    def _leaves_filled(self, start: int, joins: set[int]) -> bool:
        """Whether a path from a node to the join of all paths ends with the buffer filled there."""
        arm = reach(self._successors, [start], joins) & self.nodes
        outcome = {n: self._outcome(n) for n in arm}
        filled = [to for n in arm if outcome[n] for to in self._successors[n]]
        ended = {n for n in arm if outcome[n] is False}
        behind = reach(self._successors, filled, joins | ended)
        ends = {*filled, *(to for n in behind for to in self._successors[n])}
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
        own, into = self._own_successors
        if head in ended or head not in reach(own, own[head], ended):
            return
        loop = reach(own, own[head]) & reach(into, [head])
        ends = {e.index for n in loop & self.nodes for e in self.walker.events[n]
                if self.effect(e) is False}  # fmt: skip
        if ends:
            self._first(head).undone |= ends

    @cached_property
    def _own_successors(self) -> tuple[list[list[int]], list[list[int]]]:
        """The successors of nodes for the threads that use the buffer, and the predecessors."""
        count = len(self.flow.edges)
        own = [[e.target for e in self._own_edges(n) if e.target != EXIT] for n in range(count)]
        into: list[list[int]] = [[] for _ in own]
        for node, targets in enumerate(own):
            for target in targets:
                into[target].append(node)
        return own, into

    def _own_edges(self, node: int) -> list[Edge]:
        """The edges of the threads that use the buffer, where a warp diverges."""
        edges = self.flow.edges[node]
        if len(edges) < 2 or any(e.condition is None or isinstance(e.condition, Assumed)
                                 for e in edges):  # fmt: skip
            return edges
        joins = self._joins(node)
        found = [e for e in edges if e.target != EXIT
                 and reach(self._successors, [e.target], joins) & self.nodes]  # fmt: skip
        return found or edges
