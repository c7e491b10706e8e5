"""The threads and decisions that a walk distinguishes, so that it avoids infeasible paths.

Layer: isel.verifier.function.  Input: a flow and its events.  Output: the threads that follow an
edge, and the registers whose decisions a walk tracks, with their writes and live ranges.
"""

from __future__ import annotations

import bisect
import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from intrinsics.mir import Reg
from isel.verifier.function.events import Event
from isel.verifier.function.flow import Assumed, Condition, Done, Lanes, Leader, WarpFlow
from isel.verifier.function.graph import EXIT

_MOST_TRACKED = 12
"""The most registers whose decisions a walk tracks."""


Decisions: TypeAlias = frozenset[tuple[Reg, bool]]
"""Registers, each with the value that it was decided to have."""


class Thread(NamedTuple):
    """The threads that a walk may be of, and the decisions on its path."""

    lanes: int
    elected: bool | None = None
    assumed: Decisions = frozenset()

    def takes(self, condition: Condition, tracked: frozenset[Reg]) -> Thread | None:
        """The threads that follow an edge, None if there are none."""
        match condition:
            case None | Done():
                return self
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
        assert_never(condition)

    def remembers(self, kept: frozenset[Reg]) -> Thread:
        """With the decisions of these registers only."""
        assumed = self.assumed and _kept_of(self.assumed, kept)
        return self if assumed is self.assumed else Thread(self.lanes, self.elected, assumed)

    def forgets(self, written: frozenset[Reg]) -> Thread:
        """Without the decisions of registers that are overwritten."""
        if not self.assumed or not written:
            return self
        kept = frozenset(a for a in self.assumed if a[0] not in written)
        return Thread(self.lanes, self.elected, kept)


@functools.lru_cache(4096)  # walks repeat the same decisions
def _kept_of(assumed: Decisions, kept: frozenset[Reg]) -> Decisions:
    """The decisions of these registers."""
    found = frozenset(a for a in assumed if a[0] in kept)
    return assumed if len(found) == len(assumed) else found


@dataclass(slots=True)
class Tracked:
    """The registers whose decisions a walk tracks.

    `written` are those that a node writes before each of its events and after the last, `kept`
    those that are live after it: they may be tested before they are written.
    """

    registers: frozenset[Reg]
    written: list[list[frozenset[Reg]]]
    kept: list[frozenset[Reg]]

    @classmethod
    def of(
        cls, flow: WarpFlow, events: Mapping[int, list[Event]], registers: frozenset[Reg]
    ) -> Tracked:
        """The writes and live ranges of `registers`."""
        written = _written(flow, events, registers)
        return cls(registers, written, _kept(flow, events, registers, written))


def flow_key(flow: WarpFlow, events: Mapping[int, list[Event]]) -> object:
    """What decides which paths a warp takes: a key for equal flows."""
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
    flow: WarpFlow, events: Mapping[int, list[Event]], tracked: frozenset[Reg]
) -> list[list[frozenset[Reg]]]:
    """The registers that each node writes before its first event, between events, and after the
    last.
    """
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
    """For each node, the tracked registers that are live at its end."""
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
