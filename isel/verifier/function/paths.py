"""Walks over the flow of one warp with a state that records change.

Layer: isel.verifier.function.  Input: a flow, the events on it and an automaton.  Output: the
automaton's states at every node, each with a way to get there.  A walk is that of one thread: it
never takes both the elected thread's way and the others', nor ways of different lanes, nor two ways
that a register decides differently that was not written in between.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from intrinsics.mir import Reg
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow import EXIT, Assumed, Condition, Done, Lanes, Leader, WarpFlow

S = TypeVar("S", bound=Hashable)


_MOST_TRACKED = 6
"""Registers whose decisions a walk remembers: each may double the states."""


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

    def forgets(self, written: frozenset[Reg]) -> Thread:
        """Without what was decided by registers that are written now."""
        if not self.assumed or not written:
            return self
        kept = frozenset(a for a in self.assumed if a[0] not in written)
        return Thread(self.lanes, self.elected, kept)


@dataclass(slots=True)
class Walker:
    """The flow of one warp, ready to be walked with any automaton.

    `events` are by node, `waits` by record, `written` the tracked registers that a node writes
    before each of its events and behind the last.
    """

    flow: WarpFlow
    events: Mapping[int, list[Event]]
    waits: Mapping[int, Event]
    tracked: frozenset[Reg]
    written: list[list[frozenset[Reg]]]

    @classmethod
    def of(cls, flow: WarpFlow, events: Mapping[int, list[Event]]) -> Walker:
        """A walker for a flow and its events."""
        uses: Counter[Reg] = Counter()
        for node in flow.reached():
            uses.update({e.condition.reg for e in flow.edges[node]
                         if isinstance(e.condition, Assumed)})  # fmt: skip
            uses.update(e.guard.executed.reg for e in events.get(node, ())
                        if e.guard and isinstance(e.guard.executed, Assumed))  # fmt: skip
        several = [reg for reg, count in uses.items() if count > 1]
        tracked = frozenset(several[:_MOST_TRACKED])
        written = [
            _written(flow, node, events.get(node, ()), tracked)
            for node in range(len(flow.graph.nodes))
        ]
        waits = {e.index: e for found in events.values() for e in found if e.kind is Kind.ASK}
        return cls(flow, events, waits, tracked, written)

    def walk(self, start: S, step: Callable[[S, Event], S]) -> Walk[S]:
        """Every state that a thread can have at every node."""
        walk = Walk[S](self)
        if not self.flow.graph.nodes:
            return walk
        first = 0, Thread(self.flow.warp.lanes), start
        walk.came_from[first] = None
        pending = deque([first])
        while pending:
            point = pending.popleft()
            for following in self._follow(point, step):
                if following not in walk.came_from:
                    walk.came_from[following] = point
                    pending.append(following)
        return walk

    def _follow(
        self, point: tuple[int, Thread, S], step: Callable[[S, Event], S]
    ) -> Iterator[tuple[int, Thread, S]]:
        node, thread, state = point
        if node == EXIT:
            return
        for here, reached in self._execute(node, thread, state, step):
            left = here.forgets(self.written[node][-1])
            for edge in self.flow.edges[node]:
                going = left.takes(edge.condition, self.tracked)
                if going is None:
                    continue
                after = reached
                if isinstance(edge.condition, Done) and edge.condition.complete:
                    for record in sorted(edge.condition.records & self.waits.keys()):
                        after = step(after, self.waits[record].as_done())
                yield edge.target, going, after

    def _execute(
        self, node: int, thread: Thread, state: S, step: Callable[[S, Event], S]
    ) -> set[tuple[Thread, S]]:
        """The events of a node; a predicated one may be executed or not."""
        found = {(thread, state)}
        for event, written in zip(self.events.get(node, ()), self.written[node], strict=False):
            found = {(t.forgets(written), s) for t, s in found}
            if event.guard is None:
                found = {(t, step(s, event)) for t, s in found}
                continue
            guard, after = event.guard, set()
            for t, s in found:
                executing = t.takes(guard.executed, self.tracked)
                if executing is not None:
                    after.add((executing, step(s, event)))
                skipping = t.takes(guard.skipped, self.tracked)
                if skipping is not None:
                    after.add((skipping, s))
            found = after
        return found


def _written(
    flow: WarpFlow, number: int, events: Sequence[Event], tracked: frozenset[Reg]
) -> list[frozenset[Reg]]:
    """What a node writes before its first event, between two of them, and behind the last."""
    node, nothing = flow.graph.nodes[number], frozenset[Reg]()
    if not tracked:
        return [nothing] * (len(events) + 1)
    starts = [node.first, *(event.index for event in events)]
    ends = [*starts[1:], node.first + len(node.records)]
    return [
        frozenset(
            r
            for mi in node.records[start - node.first : end - node.first]
            for r in mi.defs()
            if r in tracked
        )
        for start, end in zip(starts, ends, strict=True)
    ]


@dataclass(slots=True)
class Walk(Generic[S]):
    """What a walk found: each (node, threads, state), and the point before it."""

    walker: Walker
    came_from: dict[tuple[int, Thread, S], tuple[int, Thread, S] | None] = field(
        default_factory=dict
    )

    def at_exit(self) -> Iterator[tuple[tuple[int, Thread, S], S]]:
        """The points behind the end, and their states."""
        return ((point, point[2]) for point in self.came_from if point[0] == EXIT)

    def way(self, point: tuple[int, Thread, S]) -> list[str]:
        """The names of the blocks on a way to a point."""
        names: list[str] = []
        walking: tuple[int, Thread, S] | None = point
        while walking is not None:
            if walking[0] != EXIT:
                name = self.walker.flow.graph.nodes[walking[0]].name
                if not names or names[-1] != name:
                    names.append(name)
            walking = self.came_from[walking]
        return names[::-1]
