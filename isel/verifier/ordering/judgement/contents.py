"""Accesses that depend on contents of global memory, which a run has made up.

Layer: isel.verifier.ordering.  In a run every integer in memory is the same number.  Indices that
are loaded may be a permutation, though, so that threads which met in the run do not meet: two
accesses certainly meet only if both addresses follow from the same loads, and every thread loads
the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush

from intrinsics.mir import MachineInstr, Reg, Special, guard_register
from intrinsics.modifiers import Space
from isel.control_flow import reach
from isel.uniformity import is_same_for_all
from isel.verifier.function.events import Kind
from isel.verifier.function.flow.graph import Graph, by_register
from isel.verifier.ordering.judgement.race_rules import COPIES
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.program import Program, deciding_operands, is_event, loads_argument
from isel.verifier.ordering.run.log import Log

_ELSEWHERE = {Kind.COPY_IN: ("src", "src_size", "ignore_src"), Kind.COPY_OUT: ("dst",)}
"""Operands that do not say which bytes of shared memory are accessed."""


class Contents:
    """The registers of a kernel whose values follow from the contents of global memory.

    `origins` are the loads that a register depends on, a bit for each; `varying` are those of which
    two threads, or one thread at two times, may load different words.
    """

    def __init__(self, program: Program, logs: Iterable[Log]) -> None:
        self._program = program
        self._graph = program.graph
        self._after = [{end.taken, end.next} for end in program.exits]
        self._readers = by_register(self._graph.uses)
        self._of_threads = self._follows(_numbers_of_threads(self._graph))
        self._differing = self._differing_registers()
        self._handed = _handed_on(logs)
        self._loaders = _loaders(self._graph, self._handed)
        self.origins: dict[Reg, int] = {}
        self.varying: set[Reg] = set()
        self._nodes: set[int] = set()  # which a branch on a varying register leads to, or not
        sources = [i for i, mi in enumerate(self._graph.records) if _loads(mi)]
        self._masks = self._masked_by_arguments()
        self._loads = {i: 1 << place for place, i in enumerate([*sources, *self._masks])}
        self._spread()

    def decide(self, records: tuple[int, int], kinds: tuple[Kind, Kind]) -> bool:
        """Whether two records may access different bytes, or threads skip one of them."""
        one, other = records
        return (
            self._varies(one, kinds[0])
            or self._varies(other, kinds[1])
            or self._origins_of(one, kinds[0]) != self._origins_of(other, kinds[1])
        )

    def place(self, records: tuple[int, int]) -> bool:
        """Whether the accesses of two lanes may be to different bytes, where both come to them."""
        one, other = map(self._bytes_of, records)
        return not self.varying.isdisjoint(one | other) or self._of(one) != self._of(other)

    def _bytes_of(self, index: int) -> set[Reg]:
        """The registers that say which bytes of shared memory a lane accesses."""
        mi = self._graph.records[index]
        kind = Kind.COPY_IN if mi.form.row.id in COPIES else Kind.COPY_OUT
        return set(self._placing(mi, kind))

    def _varies(self, index: int, kind: Kind) -> bool:
        mi = self._graph.records[index]
        reads = {*self._placing(mi, kind), *_guards(mi)}
        return self._graph.node_of(index) in self._nodes or not self.varying.isdisjoint(reads)

    def _origins_of(self, index: int, kind: Kind) -> int:
        return self._of(self._placing(self._graph.records[index], kind))

    def _placing(self, mi: MachineInstr, kind: Kind) -> Iterator[Reg]:
        """The registers that give the place of an access."""
        return deciding_operands(mi, _ELSEWHERE.get(kind, ()))

    def _of(self, registers: Iterable[Reg]) -> int:
        found = 0
        for reg in registers:
            found |= self.origins.get(reg, 0)
        return found

    # ---- data flow -----------------------------------------------------------------------------

    def _differing_registers(self) -> set[Reg]:
        """Registers that may differ between the threads of a CTA, or change with time."""
        graph = self._graph
        rewritten = {reg for reg in graph.writers if reg not in graph.single}
        return self._of_threads | self._follows(rewritten)

    def _masked_by_arguments(self) -> list[int]:
        """The records that keep those bits of a thread's number which an argument says."""
        records = self._graph.records
        loads = (i for i, mi in enumerate(records) if loads_argument(mi))
        arguments = self._follows({reg for i in loads for reg in self._graph.defs[i]})
        return [
            index
            for index, mi in enumerate(records)
            if mi.form.row.id == "and"
            and not arguments.isdisjoint(self._graph.uses[index])
            and not self._of_threads.isdisjoint(self._graph.uses[index])
        ]

    def _follows(self, found: set[Reg]) -> set[Reg]:
        """These registers, and all that are computed from them."""
        pending = list(found)
        while pending:
            for index in self._readers.get(pending.pop(), ()):
                fresh = [reg for reg in self._graph.defs[index] if reg not in found]
                found.update(fresh)
                pending += fresh
        return found

    def _spread(self) -> None:
        """Follow loaded numbers through all records that they come to, in program order: most
        records then see all that comes to them at once.
        """
        pending = sorted(self._loads)
        waiting = set(pending)
        while pending:
            index = heappop(pending)
            waiting.remove(index)
            for reached in self._reached_from(index):
                if reached not in waiting:
                    waiting.add(reached)
                    heappush(pending, reached)

    def _reached_from(self, index: int) -> Iterator[int]:
        """The records that read what is newly known of a record's results."""
        for reg, varies in self._follow(index):
            yield from self._readers.get(reg, ())
            yield from self._loaders.get(reg, ())
            if varies or reg in self._of_threads:
                yield from self._chosen_by(reg)

    def _chosen_by(self, reg: Reg) -> Iterator[int]:
        """The records that not all threads reach, as a branch reads this register, in which memory
        has a part: one that varies, or a comparison with a thread's number.
        """
        graph = self._graph
        for index in self._readers.get(reg, ()):
            number = graph.node_of(index)
            if graph.nodes[number].branch is graph.records[index]:
                fresh = self._controlled(number) - self._nodes
                self._nodes |= fresh
                for one in fresh:
                    if one < len(graph.nodes):
                        node = graph.nodes[one]
                        yield from range(node.first, node.first + len(node.records))

    def _follow(self, index: int) -> list[tuple[Reg, bool]]:
        """Follow loaded numbers through a record.

        The registers of which more is known then, and whether they turn out to vary.
        """
        graph, mi = self._graph, self._graph.records[index]
        written, reads = graph.defs[index], graph.uses[index]
        if not written:
            return []
        if is_event(mi):
            data = [reg for store in self._handed.get(index, ()) for reg in graph.uses[store]]
            origins, varies = self._of(data), not self.varying.isdisjoint(data)
        elif index in self._loads:
            varies = index in self._masks or not self._differing.isdisjoint(reads)
            origins = self._loads[index]
        else:
            chosen = not graph.single.issuperset(written) and graph.node_of(index) in self._nodes
            origins, varies = self._of(reads), chosen or not self.varying.isdisjoint(reads)
        changed = []
        for reg in written:
            before, turns = self.origins.get(reg, 0), varies and reg not in self.varying
            if turns or origins & ~before:
                changed.append((reg, turns))
            if origins:
                self.origins[reg] = before | origins
            if varies:
                self.varying.add(reg)
        return changed

    def _controlled(self, number: int) -> set[int]:
        """The nodes between a branch and where its paths join again."""
        program = self._program
        targets = {program.exits[number].taken, program.exits[number].next}
        return reach(self._after, targets, {program.joins[number], len(program.exits)})


def _loaders(graph: Graph, handed: Mapping[int, Iterable[int]]) -> dict[Reg, list[int]]:
    """The loads of shared memory that may load what a register stores."""
    found: dict[Reg, list[int]] = {}
    for load, stores in handed.items():
        for reg in {reg for store in stores for reg in graph.uses[store]}:
            found.setdefault(reg, []).append(load)
    return found


def _guards(mi: MachineInstr) -> Iterator[Reg]:
    if mi.guard is not None:
        yield guard_register(mi.guard)


def _loads(mi: MachineInstr) -> bool:
    """Whether a record loads data, which no thread of the CTA has stored."""
    if mi.form.row.id != "ld" or is_event(mi):
        return False
    return mi.form.attributes.get("space") is not Space.PARAM


def _is_of_thread(mi: MachineInstr) -> bool:
    """Whether a record gives each thread a number of its own."""
    row = mi.form.row.id
    if row == "elect.sync" or (row == "ld" and mi.form.attributes.get("space") is Space.LOCAL):
        return True
    specials = [op.name for op in mi.ops if type(op) is Special]
    return not all(map(is_same_for_all, specials))


def _numbers_of_threads(graph: Graph) -> set[Reg]:
    """The registers that records give a number of each thread's own."""
    own = (index for index, mi in enumerate(graph.records) if _is_of_thread(mi))
    return {reg for index in own for reg in graph.defs[index]}


def _handed_on(logs: Iterable[Log]) -> dict[int, set[int]]:
    """For each load of shared memory, the stores that wrote some of what it reads."""
    stores: dict[int, set[tuple[int, int]]] = {}
    loads: dict[int, set[tuple[int, int]]] = {}
    for log in logs:
        for access in log.accesses:
            if access.kind in (Kind.SHARED_STORE, Kind.SHARED_LOAD):
                by = stores if access.kind is Kind.SHARED_STORE else loads
                by.setdefault(access.index, set()).update(map(_span, _in_shared(access.regions)))
    written = {store: _merged(spans) for store, spans in stores.items()}
    return {
        load: {store for store, there in written.items() if _meet(here, there)}
        for load, here in ((load, _merged(spans)) for load, spans in loads.items())
    }


def _in_shared(regions: Iterable[Region]) -> Iterator[Region]:
    return (region for region in regions if region.memory is Memory.SHARED)


def _span(region: Region) -> tuple[int, int]:
    return region.first, region.last


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in spans that neither meet nor touch, in order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def _meet(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Whether two lists of merged spans have a byte in common."""
    one = other = 0
    while one < len(some) and other < len(others):
        (begin, end), (first, last) = some[one], others[other]
        if begin < last and first < end:
            return True
        if end <= last:
            one += 1
        else:
            other += 1
    return False
