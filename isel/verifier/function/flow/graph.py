"""The control-flow graph of a function, with the slice of records that rules read.

Layer: isel.verifier.function.  Input: a function, with its calls inlined.  Output: nodes in reverse
postorder, and for each register the records that write it and the nodes that read it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Label, MachineFunction, MachineInstr, Reg, Special, guard_register
from isel.control_flow import live_on_entry, nodes_of
from isel.uniformity import thread_parameters
from isel.verifier.function.flow.callees import NOTHING_CALLED, Callees
from isel.verifier.function.flow.conditions import Conditions
from isel.verifier.function.flow.decisive import of_rules, of_warps, synchronises
from isel.verifier.function.flow.values import Value

Inputs: TypeAlias = tuple[int, int, tuple[Value, ...]]
"""The number of a record, the lanes of the warp, and the values of the registers it reads."""


Results: TypeAlias = tuple[tuple[Reg, Value], ...]
"""The registers that a record writes, with their values."""


EXIT = -1
"""The target of edges that leave the function."""

NOT_FOLLOWED = frozenset({"opaque"})
"""Rows whose records may do what a rule misses: unparsed text."""


@dataclass(slots=True)
class Node:
    """A basic block of the analysis: records, of which the last may be a branch.

    `first` is the number of its first record in the function, `taken` the branch target, `next` the
    fall-through successor, None where there is none.
    """

    name: str
    first: int
    records: list[MachineInstr] = field(default_factory=list)
    taken: int | None = None
    next: int | None = None
    wanted: list[tuple[int, MachineInstr]] = field(default_factory=list)

    @property
    def branch(self) -> MachineInstr | None:
        """The conditional branch at its end."""
        last = self.records[-1] if self.records else None
        return last if last and last.form.is_terminator and last.guard is not None else None


class Graph:
    """The control-flow graph of a function, and the writers and readers of its registers.

    `defs` and `uses` are the registers that each record writes and reads.
    `results` caches the evaluation of records, since warps have most values in common; for the
    records `of_warp`, which read special registers, it depends on the warp too.  `live` are the
    registers with several writers that are live where a node begins.
    """

    def __init__(self, function: MachineFunction, callees: Callees = NOTHING_CALLED) -> None:
        self.function = function
        self.has_unknown_calls = bool(callees.unknown(function)) or not function.is_kernel
        self.own = thread_parameters(function)
        self.records = list(function.instructions())
        self.defs = [mi.defs() for mi in self.records]
        self.uses = [mi.uses() for mi in self.records]
        self.nodes = _nodes(function)
        self.order = _reverse_postorder(self.nodes)
        self.writers = by_register(self.defs)
        self.single = _written_once(self.records, self.writers)
        self.conditions = Conditions.of(self.records, self.defs, self.uses, self.single)
        wanted = self._depended_on(range(len(self.records)), of_rules)
        by_lane = self._depended_on(self._asked(wanted), of_warps)
        for node in self.nodes:
            node.wanted = [
                (index, mi)
                for index, mi in enumerate(node.records, node.first)
                if not wanted.isdisjoint(self.defs[index])
            ]
        self.readers = self._readers()
        self._firsts = [node.first for node in self.nodes]
        found = [record for node in self.nodes for record in node.wanted]
        self.lane_records = {
            index for index, _ in found if not by_lane.isdisjoint(self.defs[index])
        }
        self.rewriting = {
            index for index, _ in found if not self.single.issuperset(self.defs[index])
        }
        self.live = self._live()
        self.inputs = {index: tuple(self._read_by(index)) for index, _ in found}
        self.of_warp = {i for i, mi in found if any(type(op) is Special for op in mi.ops)}
        self.results: dict[Inputs, Results] = {}

    def node_of(self, index: int) -> int:
        """The node that contains a record."""
        return bisect.bisect_right(self._firsts, index) - 1

    def writing(self, reg: Reg) -> list[MachineInstr]:
        """The records that write a register."""
        return [self.records[index] for index in self.writers.get(reg, ())]

    def behind(
        self, registers: Iterable[Reg], read: Callable[[int], Iterable[Reg]] | None = None
    ) -> Iterator[Reg]:
        """These registers and all that they follow from, back over every record that writes one.

        `read` gives the registers that count of those that a record reads, by default all.
        """
        read = read or self.uses.__getitem__
        pending = list(registers)
        seen = set(pending)
        while pending:
            reg = pending.pop()
            yield reg
            for index in self.writers.get(reg, ()):
                for one in read(index):
                    if one not in seen:
                        seen.add(one)
                        pending.append(one)

    def _asked(self, wanted: set[Reg]) -> list[int]:
        """The records in the slice: those that rules read, and what these depend on."""
        return [
            index for index, mi in enumerate(self.records)
            if mi.guard is not None
            or not wanted.isdisjoint(self.defs[index])
            or synchronises(mi.form.row)
        ]  # fmt: skip

    def _depended_on(
        self, asked: Collection[int], decisive: Callable[[MachineInstr], Iterable[Reg]]
    ) -> set[Reg]:
        """The registers on which a guard, or a `decisive` operand, of these records depends."""
        wanted: set[Reg] = set()
        for index in asked:
            mi = self.records[index]
            if mi.guard is not None:
                wanted.add(guard_register(mi.guard))
            wanted.update(decisive(mi))
        there = set(asked)
        return {*self.behind(wanted, lambda index: self.uses[index] if index in there else ())}

    def _live(self) -> list[list[Reg]]:
        """For each node, the registers with several writers that are live where it begins."""
        found = {
            reg: 1 << i
            for i, reg in enumerate(
                dict.fromkeys(
                    reg for i in sorted(self.rewriting) for reg in self.defs[i]
                    if reg not in self.single
                )
            )
        }  # fmt: skip
        read, written = [0] * len(self.nodes), [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for index, mi in enumerate(node.records, node.first):
                for reg in self._read_by(index):
                    if reg in found:
                        read[number] |= found[reg] & ~written[number]
                if index in self.rewriting and mi.guard is None:
                    for reg in self.defs[index]:
                        written[number] |= found.get(reg, 0)
        registers = list(found)
        return [
            [registers[bit] for bit in nodes_of(bits)]
            for bits in live_on_entry(self.after, read, written)
        ]

    def _read_by(self, index: int) -> list[Reg]:
        """The registers that decide a record's results."""
        if self.records[index].guard is None:
            return self.uses[index]
        return [*self.uses[index], *self.defs[index]]

    def _readers(self) -> dict[Reg, list[int]]:
        """The nodes whose sliced records, or whose branch, read a register before they write it."""
        found: dict[Reg, list[int]] = {}
        for number, node in enumerate(self.nodes):
            read: set[Reg] = set()
            written: set[Reg] = set()
            for index, _ in node.wanted:
                read.update([reg for reg in self.uses[index] if reg not in written])
                written.update(self.defs[index])
            if node.branch is not None:
                read.update(set(node.branch.uses()) - written)
            for reg in read:
                found.setdefault(reg, []).append(number)
        return found

    @cached_property
    def after(self) -> list[list[int]]:
        """For each node, those that may follow it."""
        return [
            [t for t in (node.taken, node.next) if t is not None and t != EXIT]
            for node in self.nodes
        ]

    @cached_property
    def has_opaque(self) -> bool:
        """Whether there are statements that were not parsed, or calls that are not analysed."""
        return self.has_unknown_calls or any(mi.row.id in NOT_FOLLOWED for mi in self.records)


def _nodes(function: MachineFunction) -> list[Node]:
    nodes: list[Node] = []
    starts: dict[str, int] = {}
    index = 0
    for block in function.blocks:
        starts[block.name] = len(nodes)
        nodes.append(Node(block.name, index))
        for mi in block.instrs:
            if nodes[-1].records and nodes[-1].records[-1].form.is_terminator:
                nodes.append(Node(block.name, index))
            nodes[-1].records.append(mi)
            index += 1
    for i, node in enumerate(nodes):
        last = node.records[-1] if node.records else None
        if last is not None and last.form.is_terminator:
            labels = [op.name for op in last.ops if isinstance(op, Label)]
            node.taken = starts.get(labels[0], EXIT) if labels else EXIT
        if last is None or not last.form.is_terminator or last.guard is not None:
            node.next = i + 1 if i + 1 < len(nodes) else EXIT
    return nodes


def by_register(registers: list[list[Reg]]) -> dict[Reg, list[int]]:
    """The records of each register, from the registers of each record."""
    found: dict[Reg, list[int]] = {}
    for index, of_one in enumerate(registers):
        for reg in of_one:
            found.setdefault(reg, []).append(index)
    return found


def _reverse_postorder(nodes: list[Node]) -> list[int]:
    seen: set[int] = set()
    order: list[int] = []
    stack = [(0, False)] if nodes else []
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            targets = (nodes[node].next, nodes[node].taken)
            stack += [(t, False) for t in targets if t is not None and t != EXIT]
    return order[::-1]


def _written_once(records: list[MachineInstr], writers: dict[Reg, list[int]]) -> set[Reg]:
    """The registers that exactly one record writes, unconditionally."""
    return {
        reg for reg, found in writers.items()
        if len(found) == 1 and records[found[0]].guard is None
    }  # fmt: skip
