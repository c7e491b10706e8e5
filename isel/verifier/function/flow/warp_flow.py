"""The control flow of one warp: conditional constant propagation over a function's graph.

Layer: isel.verifier.function.  Input: a function and a warp.  Output: the function's control-flow
graph without the edges that the warp never takes, with the values of the registers that decide
about branches and addresses, and for each record the threads that execute it.  A register that one
record writes has one value; one that several write has a value at each node.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Not, Reg, registers_of
from isel.verifier.function.flow.evaluate import WAITS, Evaluator
from isel.verifier.function.flow.graph import EXIT, Graph, Results
from isel.verifier.function.flow.values import (
    LANES,
    Among,
    Elected,
    Spread,
    Value,
    Waited,
    join,
    lanes_where,
    unknown,
)
from isel.verifier.function.flow.warps import Warp

# ---- one warp --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lanes:
    """The condition of an edge that the lanes in a mask take."""

    mask: int


@dataclass(frozen=True, slots=True)
class Leader:
    """The condition of an edge that the elected thread takes, or all others.

    `perhaps`: maybe none is.
    """

    elected: bool
    perhaps: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The condition of an edge that is taken when a wait's phase is complete, or not.

    `records` are the waits of which it may be the result.
    """

    records: frozenset[int]
    complete: bool


@dataclass(frozen=True, slots=True)
class Assumed:
    """The condition of an edge that is taken if a register of unknown value holds, or does not.

    `spread` says for which threads it is certainly the same; only `lanes` may take the edge.
    """

    reg: Reg
    holds: bool
    spread: Spread
    lanes: int = (1 << LANES) - 1


Condition: TypeAlias = Lanes | Leader | Done | Assumed | None


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Edge:
    """An edge of the graph, and the condition under which threads take it."""

    target: int
    condition: Condition = None


Environment: TypeAlias = dict[Reg, Value]

_ANYTHING = unknown(Spread.THREAD)
"""The value of a register that nothing has written."""


class WarpFlow:
    """The control flow of one warp.

    `first` has, for each wait, the mbarrier and the parity of its first execution.
    """

    def __init__(self, graph: Graph, warp: Warp) -> None:
        self.graph = graph
        self.warp = warp
        self._launched = warp.lanes
        self.values: Environment = {}
        self.environments: list[Environment | None] = [None] * len(graph.nodes)
        self.lanes = [0] * len(graph.nodes)
        self.edges: list[list[Edge]] = [[] for _ in graph.nodes]
        self.first: dict[int, tuple[Value, Value]] = {}
        self._environment: Environment = {}
        self._stale: set[int] = set()
        self._changed: list[set[Reg] | None] = [None] * len(graph.nodes)
        self._evaluator = Evaluator(warp, self._get, own=graph.own)
        self._coarse = Evaluator(warp, self._get, lanes=False, own=graph.own)
        self._run()

    def reached(self) -> Iterator[int]:
        """The reachable nodes, in reverse postorder."""
        return (n for n in self.graph.order if self.environments[n] is not None)

    def successors(self) -> list[list[int]]:
        """The nodes that each node leads to; behind the last stands the end of the function."""
        end = len(self.edges)
        return [
            *([end if e.target == EXIT else e.target for e in found] for found in self.edges),
            [],
        ]

    def visit(
        self, node: int, asked: Container[int] | None = None
    ) -> Iterator[tuple[int, MachineInstr, Evaluator]]:
        """The records of a node, each with the evaluator in the state before the record.

        With `asked` only these, and others that the state depends on are passed by.
        """
        found = self.environments[node]
        assert found is not None
        self._environment = dict(found)
        first, rewriting = self.graph.nodes[node].first, self.graph.rewriting
        for index, mi in enumerate(self.graph.nodes[node].records, first):
            if asked is None or index in asked:
                yield index, mi, self._evaluator
            if index in rewriting:
                self._execute(index, mi)

    def evaluate(self, mi: MachineInstr, slot: str) -> Value:
        """The value of an operand whose registers are each written once."""
        op = mi.get(slot)
        if op is None or self.graph.single.issuperset(registers_of(op)):
            return self._evaluator.operand(op)
        return unknown(Spread.THREAD)

    # ---- values --------------------------------------------------------------------------------

    def _get(self, reg: Reg) -> Value:
        found = self.values.get(reg) if reg in self.graph.single else self._environment.get(reg)
        return _ANYTHING if found is None else found

    def _execute(self, index: int, mi: MachineInstr) -> None:
        graph = self.graph
        for reg, value in self._results(index, mi):
            if reg not in graph.single:
                self._environment[reg] = value
                continue
            old = self.values.get(reg)
            new = value if old is None else join(old, value)
            if new is not old:
                self.values[reg] = new
                for node in graph.readers.get(reg, ()):
                    self._note_changed(node, reg)

    def _note_changed(self, node: int, reg: Reg) -> None:
        """Execute a node again that was executed with another value of a register."""
        changed = self._changed[node]
        if changed is not None:
            changed.add(reg)
            self._stale.add(node)

    def _results(self, index: int, mi: MachineInstr) -> Results:
        graph = self.graph
        evaluator = self._evaluator if index in graph.lane_records else self._coarse
        if index in graph.of_warp:
            return tuple(evaluator.results(mi, index))
        inputs = index, self._launched, tuple(map(evaluator.get, graph.inputs[index]))
        found = graph.results.get(inputs)
        if found is None:
            found = graph.results[inputs] = tuple(evaluator.results(mi, index))
        return found

    def _run(self) -> None:
        if not self.graph.nodes:
            return
        self.environments[0] = {}
        self.lanes[0] = self._launched
        self._stale.add(0)
        while self._stale:
            for node in self.graph.order:
                found = self.environments[node]
                if found is not None and node in self._stale:
                    self._stale.remove(node)
                    self._environment = dict(found)
                    self._enter(node)
                    self._leave(node)

    def _enter(self, node: int) -> None:
        """Execute a node's records; once more those that read what has changed since, and those
        that write registers of several writers.
        """
        graph, changed = self.graph, self._changed[node]
        self._changed[node] = set()
        for index, mi in graph.nodes[node].wanted:
            if changed is None:
                if mi.form.row.id in WAITS:
                    self._note_first(index, mi)
            elif index not in graph.rewriting and changed.isdisjoint(graph.inputs[index]):
                continue
            else:
                changed.update(graph.defs[index])
            self._execute(index, mi)

    def _note_first(self, index: int, mi: MachineInstr) -> None:
        """Keep the operands of a wait's first execution, before back edges are propagated."""
        slot = self._evaluator.slot
        self.first[index] = slot(mi, "mbar"), slot(mi, "phase")

    def _leave(self, node: int) -> None:
        self.edges[node] = list(self._edges(node))
        for edge in self.edges[node]:
            lanes = self.lanes[node]
            if isinstance(edge.condition, Lanes):
                lanes &= edge.condition.mask
            elif isinstance(edge.condition, Assumed):
                lanes &= edge.condition.lanes
            if edge.target != EXIT:
                self._arrive(edge.target, lanes)

    def _arrive(self, node: int, lanes: int) -> None:
        live, now = self.graph.live[node], self._environment
        old = self.environments[node]
        if old is None:
            self.environments[node] = {reg: now[reg] for reg in live if reg in now}
            self._stale.add(node)
        else:
            for reg in live:
                value, before = now.get(reg), old.get(reg)
                if value is None or before is value:
                    continue
                after = value if before is None else join(before, value)
                if after is not before:
                    old[reg] = after
                    self._stale.add(node)
                    if (changed := self._changed[node]) is not None:
                        changed.add(reg)
        if self.lanes[node] | lanes != self.lanes[node]:
            self.lanes[node] |= lanes
            self._stale.add(node)

    # ---- edges ---------------------------------------------------------------------------------

    def _edges(self, number: int) -> Iterator[Edge]:
        node = self.graph.nodes[number]
        branch = node.branch
        if branch is None:
            for target in (node.taken, node.next):
                if target is not None:
                    yield Edge(target)
            return
        assert node.taken is not None
        assert node.next is not None
        assert branch.guard is not None
        if node.taken == node.next:
            yield Edge(node.next)
            return
        guard = self._evaluator.operand(branch.guard)
        for target, holds in ((node.taken, True), (node.next, False)):
            condition, possible = self.condition(branch.guard, guard, holds, number)
            if possible:
                yield Edge(target, condition)

    def condition(
        self, guard: Reg | Not, value: Value, holds: bool, node: int
    ) -> tuple[Condition, bool]:
        """The condition under which a guard in a node is as `holds` says, and whether that is
        possible.
        """
        number, lanes = value.number, self.lanes[node]
        if isinstance(number, int):
            return None, bool(number) == holds
        if number is not None:
            where = lanes_where(number)
            mask = (where if holds else ~where) & lanes
            return (None if mask == lanes else Lanes(mask)), mask != 0
        if isinstance(value.base, (Elected, Waited)) and isinstance(value.offset, int):
            true = holds != bool(value.offset)
            if isinstance(value.base, Elected):
                return Leader(true, value.base.perhaps), True
            return Done(value.base.records, true), True
        reg, opposite = self.graph.conditions.name(guard.reg if isinstance(guard, Not) else guard)
        positive = (holds != isinstance(guard, Not)) != opposite
        if isinstance(value.base, Among):
            among = value.base.lanes if holds != bool(value.offset) else (1 << LANES) - 1
            return Assumed(reg, positive, value.base.by, among), among & lanes != 0
        return Assumed(reg, positive, value.spread), True
