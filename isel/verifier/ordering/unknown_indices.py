"""Variables of shared memory that a record accesses at an index which no run knows.

Layer: isel.verifier.ordering.  An address is the beginning of a variable and an index that follows
from data of global memory and from the lane: any thread may then access any element.  Of an index
that depends on which warp it is, on arguments, on the turn of a loop, or on what threads hand to
each other, nothing is said: it may keep each thread to a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.mir import Imm, MachineInstr, Mem, Op, Reg, Special, Sym
from intrinsics.modifiers import Space
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.flow.values import LANES

_DATA = (Space.GLOBAL, Space.CONST)


def variable_of(graph: Graph, index: int) -> str:
    """The variable that a record accesses at an index which follows from data; "" if none is."""
    address = graph.records[index].get("a")
    if isinstance(address, Mem) and address.offset == 0:
        address = address.base
    if type(address) is not int:
        return ""
    return _Sources(graph).variable(address)


class _Sources:
    """What the value of a register follows from, back to data of global memory."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._open: set[Reg] = set()
        self._done: set[Reg] = set()
        self._variables: set[str] = set()

    def variable(self, address: Reg) -> str:
        """The only variable that an address is one of; "" if something else decides it, too."""
        return min(self._variables) if self._follow(address) and len(self._variables) == 1 else ""

    def _follow(self, start: Reg) -> bool:
        """Whether a register follows from a variable's address, data, and lanes, without a turn."""
        work: list[tuple[Reg, Iterator[Reg]]] = []
        reg: Reg | None = start
        while True:
            if reg is not None and reg not in self._done:
                before = self._before(reg)
                if reg in self._open or before is None:
                    return False
                self._open.add(reg)
                work.append((reg, before))
            if not work:
                return True
            reg = next(work[-1][1], None)
            if reg is None:
                closed, _ = work.pop()
                self._open.discard(closed)
                self._done.add(closed)

    def _before(self, reg: Reg) -> Iterator[Reg] | None:
        """The registers that a register follows from; None where it follows from something else."""
        found: set[Reg] = set()
        for index in self._graph.writers.get(reg, ()):
            mi = self._graph.records[index]
            if _is_of_lane(mi) or (mi.row.id == "ld" and mi.form.attributes.get("space") in _DATA):
                continue
            if (
                mi.row.id == "ld"
                or mi.row.id.startswith("atom")
                or not all(map(self._is_said, mi.ops))
            ):
                return None
            found.update(self._graph.uses[index])
        return iter(found)

    def _is_said(self, op: Op) -> bool:
        """Whether an operand is no special register that parts the threads of a CTA."""
        if type(op) is Sym:
            self._variables.add(op.name)
            return op.offset == 0
        return type(op) is not Special or op.name == "laneid"


def _is_of_lane(mi: MachineInstr) -> bool:
    """Whether a record keeps the low bits of a number alone, those of the lane in its warp."""
    mask = mi.get("b")
    return mi.row.id == "and" and isinstance(mask, Imm) and 0 <= mask.value < LANES
