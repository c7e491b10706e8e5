"""The threads and decisions that a walk distinguishes, so that it avoids infeasible paths.

Layer: isel.verifier.function.  Input: a flow and its events.  Output: the threads that follow an
edge, and the registers whose decisions a walk tracks, with their writes and live ranges.
"""

from __future__ import annotations

import bisect
import functools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Reg
from isel.control_flow import live_on_entry
from isel.verifier.function.events import Event
from isel.verifier.function.flow.graph import EXIT
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warp_flow import Assumed, Condition, Done, Lanes, Leader, WarpFlow

_MOST_TRACKED = 12
"""The most registers whose decisions a walk tracks."""

Thread: TypeAlias = int
"""What is possible on a path for the thread that is walked, as bits.

First come its lanes, then that it is the elected one and that it is not, and then for each tracked
register that it does not hold and that it does.
"""

_LEADER, _OTHER = 1 << LANES, 2 << LANES
_FIRST = LANES + 2
"""The bit of the first tracked register."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The threads that a condition lets pass: of each of the `groups` of bits one is left."""

    keep: int = -1
    groups: tuple[int, ...] = ()

    def passed(self, thread: Thread) -> Thread:
        """The threads that pass, 0 if there are none."""
        left = thread & self.keep
        for group in self.groups:
            if not left & group:
                return 0
        return left


@dataclass(slots=True)
class Tracked:
    """The registers whose decisions a walk tracks, each with its bits.

    `written` are those that a node writes before each of its events and after the last, `lost`
    those that are not live after it: they are written before they are tested.
    """

    registers: dict[Reg, int]
    written: list[list[int]]
    lost: list[int]

    @classmethod
    def of(
        cls, flow: WarpFlow, events: Mapping[int, list[Event]], registers: Iterable[Reg]
    ) -> Tracked:
        """The writes and live ranges of `registers`."""
        bits = {reg: 3 << _FIRST + 2 * i for i, reg in enumerate(registers)}
        written = _written(flow, events, bits)
        return cls(bits, written, _lost(flow, events, bits, written))

    def any_thread(self, lanes: int) -> Thread:
        """A thread of these lanes of which nothing else is known."""
        return sum(self.registers.values(), lanes | _LEADER | _OTHER)

    def filter(self, condition: Condition) -> Filter:
        """The threads that follow an edge."""
        everyone = (1 << LANES) - 1
        match condition:
            case None | Done():
                return Filter()
            case Lanes(mask):
                return Filter(~everyone | mask, (everyone,))
            case Leader(elected):
                return Filter(~(_OTHER if elected else _LEADER), (_LEADER | _OTHER,))
            case Assumed(reg, holds, _, among):
                bits = self.registers.get(reg, 0)
                lowest = bits & -bits
                other = lowest if holds else bits ^ lowest
                return Filter(
                    (~everyone | among) & ~other, (everyone, bits) if bits else (everyone,)
                )
        assert_never(condition)


def flow_key(flow: WarpFlow, events: Mapping[int, list[Event]]) -> object:
    """A key for the paths that a warp takes: equal for equal flows."""
    guards = tuple((e.index, e.guard) for found in events.values() for e in found)
    return tuple(tuple(found) for found in flow.edges), guards


def candidates_of(flow: WarpFlow, events: Mapping[int, list[Event]]) -> list[Reg]:
    """The unknown registers that more than one branch or guard tests."""
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
    flow: WarpFlow, events: Mapping[int, list[Event]], tracked: Mapping[Reg, int]
) -> list[list[int]]:
    """The registers that each node writes before its first event, between events, and after the
    last.
    """
    graph = flow.graph
    found = [[0] * (len(events.get(n, ())) + 1) for n in range(len(graph.nodes))]
    for reg, bits in tracked.items():
        for source in graph.conditions.depends(reg):
            for index in graph.writers.get(source, ()):
                node = graph.node_of(index)
                at = bisect.bisect_right(events.get(node, ()), index, key=_index)
                found[node][at] |= bits
    return found


def _index(event: Event) -> int:
    return event.index


def _tested(condition: Condition, tracked: Mapping[Reg, int]) -> int:
    """The bits of the register that a condition tests."""
    return tracked.get(condition.reg, 0) if isinstance(condition, Assumed) else 0


def _lost(
    flow: WarpFlow,
    events: Mapping[int, list[Event]],
    tracked: Mapping[Reg, int],
    written: list[list[int]],
) -> list[int]:
    """For each node, the tracked registers that are not live at its end."""
    everything = sum(tracked.values())
    count = len(flow.graph.nodes)
    asked, gone = [0] * count, [0] * count
    for node in flow.reached() if tracked else ():
        before = 0
        for event, changed in zip(events.get(node, ()), written[node], strict=False):
            before |= changed
            if event.guard is not None:
                asked[node] |= _tested(event.guard.executed, tracked) & ~before
        gone[node] = before | written[node][-1]
        for edge in flow.edges[node]:
            asked[node] |= _tested(edge.condition, tracked) & ~gone[node]
    after = [[e.target for e in edges if e.target != EXIT] for edges in flow.edges]
    live = live_on_entry(after, asked, gone)
    kept = (functools.reduce(operator.or_, (live[t] for t in targets), 0) for targets in after)
    return [everything & ~live_behind for live_behind in kept]
