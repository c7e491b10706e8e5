"""Known bits of registers: a backward data-flow analysis, on demand.

Layer: isel.verifier.descriptors.  Input: a function, in SSA form or out of it.  Output: the known
bits of a register at a record.  Only what a query needs is evaluated, and results are cached.  A
register that several reaching definitions write has the bits on which all of them agree; loops are
evaluated to a fixed point.  A loop's counter would lose one bit each time: after a few it loses all
from there on (widening), and what a mask in the loop leaves known is then regained (narrowing).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from intrinsics.known_bits import UNKNOWN, KnownBits, exactly, meet, multiple_of, total
from intrinsics.mir import Imm, MachineFunction, MachineInstr, Mem, Op, Reg, Sym, successors
from isel.verifier.descriptors.transfer import copied_operands, written

_Node: TypeAlias = tuple[Reg, int, int]
"""A definition: register `[0]`, written by record `[2]` of block `[1]`; -1 is the block's entry."""

_Sources: TypeAlias = dict[Reg, _Node | None] | list[_Node | None]
"""What a definition depends on: by register for a record, by predecessor for a block's entry."""

_ENTRY = -1
_CHANGES = 4
"""Changes of a value after which it is widened."""

_BY_16 = 4
"""The shift from bytes to the 16-byte units of a descriptor."""
_ADDRESS = Imm(0x3FFF0)
"""The bits of an address that a descriptor holds."""


class Constants:
    """The known bits of the registers of one function.

    `align_of` gives the alignment of a symbol.
    """

    def __init__(self, function: MachineFunction, align_of: Callable[[str], int]) -> None:
        self.function = function
        self.align_of = align_of
        self._writes: dict[Reg, dict[int, list[int]]] = {}
        self._known: dict[_Node, KnownBits] = {}
        self._before: list[list[int]] | None = None
        self._has_opaque = False
        for i, block in enumerate(function.blocks):
            for at, mi in enumerate(block.instrs):
                opaque = mi.form.row.id == "opaque"
                self._has_opaque |= opaque
                for reg in mi.uses() if opaque else mi.defs():
                    self._writes.setdefault(reg, {}).setdefault(i, []).append(at)

    def operand(self, op: Op | None, block: int, at: int) -> KnownBits:
        """The known bits of an operand of record number `at` of block number `block`."""
        if type(op) is not int:
            return self._constant(op)
        node = self._reaching(op, block, at)
        if node is None:
            return UNKNOWN
        if node not in self._known:
            self._solve(node)
        return self._known[node]

    def address(self, mem: Mem, block: int, at: int) -> KnownBits:
        """The known bits of an address."""
        return total(self.operand(mem.base, block, at), exactly(mem.offset)).low(32)

    def _constant(self, op: Op | None) -> KnownBits:
        if type(op) is Imm:
            return exactly(op.value)
        if type(op) is Sym:
            return multiple_of(self.align_of(op.name), op.offset)
        return UNKNOWN

    def behind(self, op: Op | None, block: int, at: int) -> Iterator[KnownBits]:
        """The addresses that were shifted right by four, as descriptors encode them, to make `op`.

        Only operations that copy the lowest bits, or add a constant to them, are traced.
        """
        seen: set[_Node] = set()
        work = [(op, block, at)]
        while work:
            op, block, at = work.pop()
            node = self._reaching(op, block, at) if type(op) is int else None
            if node is None or node[2] == _ENTRY or node in seen:
                continue
            seen.add(node)
            _, block, at = node
            mi = self.function.blocks[block].instrs[at]
            if mi.row.id in ("shr", "bfe"):
                if self.operand(mi["b"], block, at).field(0, 8) == _BY_16:
                    yield self._cut(mi["a"], block, at)
            else:
                work += [(source, block, at) for source in copied_operands(mi)]

    def _cut(self, op: Op, block: int, at: int) -> KnownBits:
        """The address of which `op` is the part that a descriptor holds.

        Compilers cut off the bits that a shift would lose, too.
        """
        node = self._reaching(op, block, at) if type(op) is int else None
        if node is not None and node[2] != _ENTRY:
            mi = self.function.blocks[node[1]].instrs[node[2]]
            if mi.row.id == "and" and mi["b"] == _ADDRESS:
                return self.operand(mi["a"], node[1], node[2])
        return self.operand(op, block, at)

    # ---- which writes reach a place ----------------------------------------------------------

    def _reaching(self, reg: Reg, block: int, at: int) -> _Node | None:
        """The definition that reaches a record; None where there is none."""
        writes = self._writes.get(reg)
        if writes is None:
            return None
        here = writes.get(block)
        if here is not None and (n := bisect_left(here, at)):
            return reg, block, here[n - 1]
        if len(writes) == 1:
            ((only, places),) = writes.items()
            if len(places) == 1 and self.function.blocks[only].instrs[places[0]].guard is None:
                return reg, only, places[0]
        return reg, block, _ENTRY

    def _predecessors(self, block: int) -> list[int]:
        if self._before is None:
            self._before = [[] for _ in self.function.blocks]
            for i, after in enumerate(successors(self.function)):
                for target in after:
                    self._before[target].append(i)
        return self._before[block]

    def _sources(self, node: _Node) -> _Sources:
        """The definitions that a node depends on."""
        reg, block, at = node
        if at == _ENTRY and self._has_opaque:  # unparsed text may branch anywhere
            return [(reg, i, n) for i, places in self._writes[reg].items() for n in places]
        if at == _ENTRY:
            blocks = self.function.blocks
            found = [
                self._reaching(reg, i, len(blocks[i].instrs)) for i in self._predecessors(block)
            ]
            return [*found, None] if block == 0 else found
        mi = self.function.blocks[block].instrs[at]
        read = {r: self._reaching(r, block, at) for r in mi.uses()}
        if mi.guard is not None:
            read[reg] = self._reaching(reg, block, at)
        return read

    # ---- evaluation --------------------------------------------------------------------------

    def _solve(self, start: _Node) -> None:
        """Evaluate a node and its dependencies to a fixed point."""
        order, sources = self._needed(start)
        users: dict[_Node, list[_Node]] = {}
        for node in order:
            found = sources[node]
            for source in found.values() if isinstance(found, dict) else found:
                if source is not None and source not in self._known:
                    users.setdefault(source, []).append(node)
        values: dict[_Node, KnownBits] = {}
        changes = dict.fromkeys(order, 0)
        place = {node: n for n, node in enumerate(order)}
        work = list(range(len(order)))  # a heap: a loop is done before what depends on it
        waiting = set(work)
        while work:
            at = heappop(work)
            waiting.discard(at)
            node = order[at]
            new = self._evaluate(node, sources[node], values)
            old = values.get(node)
            if new is None or (old is not None and (new := meet(old, new)) == old):
                continue
            changes[node] += 1
            if changes[node] > _CHANGES:
                new = _widened(values[node], new).low(self.function.regs.classes[node[0]].bits)
            values[node] = new
            for user in users.get(node, ()):
                if place[user] not in waiting:
                    waiting.add(place[user])
                    heappush(work, place[user])
        if max(changes.values()) > _CHANGES:
            for node in (*order, *order):  # from what is known too little of, without any loss
                if (new := self._evaluate(node, sources[node], values)) is not None:
                    values[node] = new
        for node in order:
            self._known[node] = values.get(node, UNKNOWN)

    def _needed(self, start: _Node) -> tuple[list[_Node], dict[_Node, _Sources]]:
        """The dependencies that are not evaluated yet, in topological order but for cycles."""
        order: list[_Node] = []
        sources = {start: self._sources(start)}
        stack = [(start, self._waiting(sources[start]))]
        while stack:
            node, waiting = stack[-1]
            while waiting:
                source = waiting.pop()
                if source not in sources and source not in self._known:
                    sources[source] = self._sources(source)
                    stack.append((source, self._waiting(sources[source])))
                    break
            else:
                order.append(node)
                stack.pop()
        return order, sources

    @staticmethod
    def _waiting(sources: _Sources) -> list[_Node]:
        nodes = sources.values() if isinstance(sources, dict) else sources
        return [node for node in nodes if node is not None]

    def _evaluate(
        self,
        node: _Node,
        sources: _Sources,
        values: dict[_Node, KnownBits],
    ) -> KnownBits | None:
        """The known bits of a node; None while its dependencies are not evaluated."""

        def value(source: _Node | None) -> KnownBits | None:
            if source is None:
                return UNKNOWN
            return values.get(source) or self._known.get(source)

        if isinstance(sources, list):
            return _met([v for v in map(value, sources) if v is not None])
        reg, block, at = node
        mi = self.function.blocks[block].instrs[at]
        given = {r: v for r, source in sources.items() if (v := value(source)) is not None}
        if any(r not in given for r in _inputs(mi)):
            return None
        found = written(mi, reg, lambda op: given[op] if type(op) is int else self._constant(op))
        found = found.low(self.function.regs.classes[reg].bits)
        if mi.guard is None:
            return found
        before = given.get(reg)
        return found if before is None else meet(found, before)


def _inputs(mi: MachineInstr) -> list[Reg]:
    """The registers that a record computes with; not its guard, which is the last one it uses."""
    used = mi.uses()
    return used if mi.guard is None else used[:-1]


def _widened(old: KnownBits, new: KnownBits) -> KnownBits:
    """What is known when all bits from the first on that `new` has lost are unknown."""
    lost = old.mask & ~new.mask
    kept = (lost & -lost) - 1
    return KnownBits(new.mask & kept, new.value & kept)


def _met(values: list[KnownBits]) -> KnownBits | None:
    found = None
    for value in values:
        found = value if found is None else meet(found, value)
    return found
