"""What of a kernel decides about order: its events, its branches, and the records they depend on.

Layer: isel.verifier.ordering.  Input: the flow graph of a function.  Output: for each node the
records that are executed; all others compute data, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from intrinsics.mir import Form, Imm, MachineInstr, Mem, Not, Op, Reg, Sym, guard_register
from intrinsics.modifiers import Compare, ScalarType, Sem, Space
from isel.control_flow import components, post_dominators
from isel.verifier.function.decisive import SHARED, synchronises
from isel.verifier.function.evaluate import WAITS
from isel.verifier.function.flow import EXIT, Graph, Node
from isel.verifier.ordering.calculations import (
    COMPUTED,
    Calculation,
    Results,
    calculates,
    calculation_of,
)
from isel.verifier.ordering.log import Operands
from isel.verifier.ordering.matrices import Multiplied

MEMORY = ("ld", "st", "atom", "atom.cas", "red", "ldmatrix", "stmatrix", "cp.async")


@dataclass(slots=True)
class Step:
    """A record that is executed; `is_event` says that it is more than arithmetic.

    `calculation` is there where its results depend on its operands alone; `written` are the
    registers that it writes and that somebody asks for.
    """

    index: int
    mi: MachineInstr
    is_event: bool
    calculation: Calculation | None = None
    written: Sequence[Reg] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """How a node ends: at `branch`, the record `index`, if it has one; where it is taken to, and
    where it goes on else."""

    branch: MachineInstr | None
    index: int
    taken: int
    next: int


@dataclass(slots=True)
class Program:
    """A function's graph with what is executed of each node.

    `wanted` are the registers whose numbers somebody asks for; `joins` has for each node the one
    where threads that part at it are together again (the end of the function is the number behind
    the last node); `back` whether a way leads back to it if its branch is taken, and if not;
    `reads_bytes` says that single bytes of shared memory are read, `allocates` that tensor memory
    is allocated;
    `numbers` are those that decide branches on arguments; `ways` has how each node ends; `touched`
    what multiplies touch, by record, CTA and operands, which runs come to again and again.
    """

    graph: Graph
    wanted: set[Reg] = field(default_factory=set)
    steps: list[list[Step]] = field(default_factory=list)
    joins: list[int] = field(default_factory=list)
    back: list[tuple[bool, bool]] = field(default_factory=list)
    calls: bool = False
    allocates: bool = False
    reads_bytes: bool = False
    numbers: list[int] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    touched: dict[Operands, Multiplied] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> Program:
        """The program of a graph."""
        wanted = _wanted(graph.records)
        found = cls(graph, wanted - _never_known(graph))
        results: dict[Form, Results] = {}
        for node in graph.nodes:
            steps = []
            for index, mi in enumerate(node.records, node.first):
                event, written = is_event(mi), [r for r in mi.defs() if r in found.wanted]
                if event or written:
                    known = results.setdefault(mi.form, {})
                    what = None if event else calculation_of(mi, known)
                    steps.append(Step(index, mi, event, what, written))
            found.steps.append(steps)
        found.allocates = any(mi.row.id == "tcgen05.alloc" for mi in graph.records)
        found.calls = graph.has_unknown_calls
        ways = [
            [len(graph.nodes) if t == EXIT else t for t in (n.taken, n.next) if t is not None]
            for n in graph.nodes
        ]
        ways.append([])
        found.ways = [_way(node, len(graph.nodes)) for node in graph.nodes]
        found.joins = _joins(ways)
        found.numbers = _deciding(graph)
        found.reads_bytes = any(map(_reads_byte, graph.records))
        loops = components(ways)
        found.back = [_back(loops, n, node.taken, node.next) for n, node in enumerate(graph.nodes)]
        return found


def _way(node: Node, end: int) -> Way:
    """How a node ends; `end` is the end of the function."""

    def place(target: int | None) -> int:
        return end if target is None or target == EXIT else target

    taken, following = place(node.taken), place(node.next)
    last = node.records[-1] if node.records else None
    goes = last is not None and last.form.is_terminator and node.taken is not None
    if goes and node.branch is None:
        following = taken
    return Way(node.branch, node.first + len(node.records) - 1, taken, following)


def _deciding(graph: Graph) -> list[int]:
    """The numbers on either side of what arguments are compared with."""
    arguments = {
        mi.get("d") for mi in graph.records
        if mi.row.id == "ld" and mi.form.attributes.get("space") is Space.PARAM
    }  # fmt: skip
    found: list[int] = []
    for mi in graph.records:
        if mi.row.id != "setp.int":
            continue
        for one, other in ((mi.get("a"), mi.get("b")), (mi.get("b"), mi.get("a"))):
            if one in arguments and one in graph.single and isinstance(other, Imm):
                exact = mi.form.attributes.get("cmp") in (Compare.EQ, Compare.NE)
                found += [other.value] if exact else [other.value - 1, other.value, other.value + 1]
    return [n for n in dict.fromkeys(found) if 0 <= n < 1 << 31]


def is_one_place(graph: Graph, address: Op | None) -> bool:
    """Whether an address is a variable's or parameter's, at an offset that the text has."""
    while isinstance(address, Mem) or type(address) is int:
        reg = address.base if isinstance(address, Mem) else address
        if type(reg) is not int:
            address = reg
        elif reg not in graph.single:
            return False
        else:
            mi = graph.records[graph.writers[reg][0]]
            is_sum = mi.row.id == "add.int" and isinstance(mi.get("b"), Imm)
            address = mi.get("a") if is_sum or mi.row.id in ("mov", "cvta") else None
    return isinstance(address, Sym)


def _reads_byte(mi: MachineInstr) -> bool:
    type_ = mi.form.attributes.get("type")
    narrow = isinstance(type_, ScalarType) and type_.bits == 8
    return mi.row.id == "ld" and narrow and mi.form.attributes.get("space") in SHARED


def is_event(mi: MachineInstr) -> bool:
    """Whether a record accesses shared or tensor memory, or has to do with order."""
    if mi.row.id in MEMORY:
        space, sem = mi.form.attributes.get("space"), mi.form.attributes.get("sem")
        return (
            space in SHARED or sem not in (None, Sem.WEAK) or mi.row.id.startswith(("atom", "red"))
        )
    return synchronises(mi.row)


def _operands(mi: MachineInstr) -> Iterator[Reg]:
    """The registers of an event that decide what it does; data that it moves does not."""
    for operand, op in zip(mi.form.operands, mi.ops, strict=True):
        if operand is None or operand.name in ("r", "d", "b", "coords", "policy", "cache_policy"):
            data = mi.row.id in MEMORY or mi.row.id.startswith(("tcgen05.ld", "tcgen05.st"))
            if operand is not None and (data or isinstance(op, tuple)):
                continue
        yield from _plain(op)


def _plain(op: Op) -> Iterator[Reg]:
    if isinstance(op, tuple):
        for one in op:
            yield from _plain(one)
        return
    if isinstance(op, Mem):
        op = op.base
    if isinstance(op, Not):
        op = op.reg
    if type(op) is int:
        yield op


def _guard(mi: MachineInstr) -> Iterator[Reg]:
    if mi.guard is not None:
        yield guard_register(mi.guard)


def _wanted(records: list[MachineInstr]) -> set[Reg]:
    writers: dict[Reg, list[MachineInstr]] = {}
    wanted: set[Reg] = set()
    for mi in records:
        for reg in mi.defs():
            writers.setdefault(reg, []).append(mi)
        if is_event(mi):
            wanted.update(_operands(mi))
            wanted.update(_guard(mi))
        elif mi.form.is_terminator:
            wanted.update(_guard(mi))
    stores = [mi for mi in records if mi.row.id in _STORES and _may_be_shared(mi)]
    seen: set[Reg] = set()
    while seen != wanted:
        fresh = wanted - seen
        seen |= fresh
        for reg in fresh:
            for mi in writers.get(reg, ()):
                wanted.update(_sources(mi))
                if mi.row.id in _LOADS and _may_be_shared(mi) and stores:
                    for store in stores:
                        wanted.update(store.uses())
                    stores = []
    return wanted


_LOADS = ("ld", "atom", "atom.cas")
_STORES = ("st", "atom", "atom.cas", "red")


def _may_be_shared(mi: MachineInstr) -> bool:
    return mi.form.attributes.get("space") in SHARED


def _sources(mi: MachineInstr) -> Iterable[Reg]:
    """What a wanted register depends on; results of waits and copies depend on no register."""
    if mi.row.id in WAITS or mi.row.id.startswith("tcgen05.ld") or not _is_known(mi):
        return _guard(mi)
    if mi.row.id == "ld" and not is_event(mi):
        return _guard(mi)
    return mi.uses()


def _is_known(mi: MachineInstr) -> bool:
    """Whether a run may know what a record writes."""
    return mi.row.id in COMPUTED or calculates(mi) or is_event(mi)


def _never_known(graph: Graph) -> set[Reg]:
    """Registers that hold data whatever happens: nobody needs to write them."""
    known = {reg for mi in graph.records if _is_known(mi) for reg in mi.defs()}
    return graph.writers.keys() - known


def _joins(ways: list[list[int]]) -> list[int]:
    """For each node the nearest other one that all ways from it come to."""
    after = post_dominators(ways)
    end = len(ways) - 1
    counts = [bits.bit_count() for bits in after]
    found = []
    for node in range(end):
        nearest = max(_bits(after[node] & ~(1 << node)), key=counts.__getitem__, default=end)
        found.append(nearest)
    return found


def _bits(number: int) -> Iterator[int]:
    """The places of its bits, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _back(
    loops: list[int], node: int, taken: int | None, following: int | None
) -> tuple[bool, bool]:
    """Whether a way leads back to a node behind its branch when that is taken, and when not."""
    return _is_in(loops, node, taken), _is_in(loops, node, following)


def _is_in(loops: list[int], node: int, target: int | None) -> bool:
    """Whether a way leads back from a node that follows another one."""
    return target is not None and target != EXIT and loops[target] == loops[node]
