"""Which accesses the contents of global memory decide, which a run has made up.

Layer: isel.verifier.ordering.  In a run every integer in memory is the same number.  Indices that
are loaded may be a permutation, though, so that threads which met in the run do not meet: two
accesses certainly meet only if both addresses follow from the same loads, and every thread loads
the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intrinsics.mir import MachineInstr, Reg, Special, guard_register
from intrinsics.modifiers import Space
from isel.control_flow import reach
from isel.passes.uniformity import is_same_for_all
from isel.verifier.function.events import Kind
from isel.verifier.ordering.log import Log, Memory, Region
from isel.verifier.ordering.program import Program, deciding_operands, is_event
from isel.verifier.ordering.races import Race

_ELSEWHERE = {Kind.COPY_IN: ("src", "src_size", "ignore_src"), Kind.COPY_OUT: ("dst",)}
"""Operands that do not say which bytes of shared memory are accessed."""
_NOTHING: frozenset[int] = frozenset()


class Contents:
    """The registers of a kernel whose values follow from the contents of global memory.

    `origins` are the loads that a register depends on; `varying` are those of which two threads, or
    one thread at two times, may load different words.
    """

    def __init__(self, program: Program, logs: Iterable[Log]) -> None:
        self._program = program
        self._graph = program.graph
        self._differing = self._differing_registers()
        self._handed = _handed_on(logs)
        self.origins: dict[Reg, frozenset[int]] = {}
        self.varying: set[Reg] = set()
        self._nodes: set[int] = set()  # which a branch on a varying register leads to, or not
        while self._spread():
            pass

    def decide(self, race: Race) -> bool:
        """Whether the accesses of a race may be to different bytes, or by threads that skip one."""
        one, other = race.records
        kinds = race.first.kind, race.second.kind
        return (
            self._varies(one, kinds[0])
            or self._varies(other, kinds[1])
            or self._origins_of(one, kinds[0]) != self._origins_of(other, kinds[1])
        )

    def _varies(self, index: int, kind: Kind) -> bool:
        mi = self._graph.records[index]
        reads = {*self._placing(mi, kind), *_guards(mi)}
        return self._graph.node_of(index) in self._nodes or not self.varying.isdisjoint(reads)

    def _origins_of(self, index: int, kind: Kind) -> frozenset[int]:
        return self._of(self._placing(self._graph.records[index], kind))

    def _placing(self, mi: MachineInstr, kind: Kind) -> Iterator[Reg]:
        """The registers that give the place of an access."""
        return deciding_operands(mi, _ELSEWHERE.get(kind, ()))

    def _of(self, registers: Iterable[Reg]) -> frozenset[int]:
        return frozenset().union(*(self.origins.get(reg, _NOTHING) for reg in registers))

    # ---- data flow -----------------------------------------------------------------------------

    def _differing_registers(self) -> set[Reg]:
        """Registers that may differ between the threads of a CTA, or change with time."""
        graph = self._graph
        found = {reg for reg in graph.writers if reg not in graph.single}
        changed = True
        while changed:
            changed = False
            for mi in graph.records:
                fresh = set(mi.defs()) - found
                if fresh and (not found.isdisjoint(mi.uses()) or _is_of_thread(mi)):
                    found |= fresh
                    changed = True
        return found

    def _spread(self) -> bool:
        """Follow loaded numbers through all records once; whether there was anything new."""
        before = len(self.varying), len(self._nodes), sum(map(len, self.origins.values()))
        for number, node in enumerate(self._graph.nodes):
            for index, mi in enumerate(node.records, node.first):
                self._follow(index, mi, chosen=number in self._nodes)
            if node.branch is not None and not self.varying.isdisjoint(node.branch.uses()):
                self._nodes |= self._controlled(number)
        return before != (len(self.varying), len(self._nodes), sum(map(len, self.origins.values())))

    def _follow(self, index: int, mi: MachineInstr, *, chosen: bool) -> None:
        """Follow loaded numbers through a record; `chosen` says that not all threads come here."""
        written = mi.defs()
        if not written:
            return
        reads = [*mi.uses()]
        origins, varies = _NOTHING, chosen and any(r not in self._graph.single for r in written)
        if is_event(mi):
            stores = self._handed.get(index, ())
            data = [reg for store in stores for reg in self._graph.records[store].uses()]
            origins, varies = self._of(data), not self.varying.isdisjoint(data)
        elif _loads(mi):
            origins, varies = frozenset((index,)), not self._differing.isdisjoint(reads)
        else:
            origins, varies = self._of(reads), varies or not self.varying.isdisjoint(reads)
        for reg in written:
            if origins:
                self.origins[reg] = self.origins.get(reg, _NOTHING) | origins
            if varies:
                self.varying.add(reg)

    def _controlled(self, number: int) -> set[int]:
        """The nodes between a branch and where its paths join again."""
        program = self._program
        targets = {program.exits[number].taken, program.exits[number].next}
        stops = {program.joins[number], len(program.exits)}
        after = [{end.taken, end.next} for end in program.exits]
        return reach(after, targets, stops)


def _guards(mi: MachineInstr) -> Iterator[Reg]:
    if mi.guard is not None:
        yield guard_register(mi.guard)


def _loads(mi: MachineInstr) -> bool:
    return mi.row.id == "ld" and mi.form.attributes.get("space") is not Space.PARAM


def _is_of_thread(mi: MachineInstr) -> bool:
    """Whether a record gives each thread a number of its own."""
    if mi.row.id == "ld" and mi.form.attributes.get("space") is Space.LOCAL:
        return True
    return mi.row.id == "elect.sync" or any(
        isinstance(op, Special) and not is_same_for_all(op.name) for op in mi.ops
    )


def _handed_on(logs: Iterable[Log]) -> dict[int, set[int]]:
    """For each load of shared memory, the stores that wrote some of what it reads."""
    stores: dict[int, set[tuple[int, int]]] = {}
    loads: dict[int, set[tuple[int, int]]] = {}
    for log in logs:
        for access in log.accesses:
            if access.kind in (Kind.SHARED_STORE, Kind.SHARED_LOAD):
                by = stores if access.kind is Kind.SHARED_STORE else loads
                by.setdefault(access.index, set()).update(map(_span, _in_shared(access.regions)))
    return {
        load: {store for store, written in stores.items() if _meet(read, written)}
        for load, read in loads.items()
    }


def _in_shared(regions: Iterable[Region]) -> Iterator[Region]:
    return (region for region in regions if region.memory is Memory.SHARED)


def _span(region: Region) -> tuple[int, int]:
    return region.first, region.last


def _meet(some: set[tuple[int, int]], others: set[tuple[int, int]]) -> bool:
    """Whether two sets of spans have a byte in common."""
    spans = sorted([*((a, b, 0) for a, b in some), *((a, b, 1) for a, b in others)])
    ends = [0, 0]
    for first, last, side in spans:
        if ends[1 - side] > first:
            return True
        ends[side] = max(ends[side], last)
    return False
