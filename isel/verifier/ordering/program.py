"""The slice of a kernel that decides about order: events, branches, and what these depend on.

Layer: isel.verifier.ordering.  Input: the control-flow graph of a function.  Output: for each node
the records to execute; all others compute data, and are left out.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form, Imm, MachineInstr, Mem, Not, Op, Reg, Sym, guard_register
from intrinsics.modifiers import Compare, ScalarType, Sem, Space
from isel.control_flow import components, nodes_of, post_dominators
from isel.verifier.function.events import BARRIERS
from isel.verifier.function.flow.decisive import SHARED, STORES, synchronises
from isel.verifier.function.flow.evaluate import WAITS
from isel.verifier.function.flow.graph import EXIT, Graph, Node
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.tensor_memory.collectors import usages
from isel.verifier.ordering.integers.calculations import (
    COMPUTED,
    Calculation,
    Results,
    Straight,
    calculates,
    calculation_of,
    is_straight,
)
from isel.verifier.ordering.matrices import Multiplied, Operands
from isel.verifier.ordering.unknown_indices import variable_of

BULK_STORES = ("st.bulk", "st.bulk.size32")
MEMORY = (
    *("ld", "st", *BULK_STORES, "atom", "atom.cas", "red"),
    *("ldmatrix", "stmatrix", "cp.async"),
)


@dataclass(slots=True)
class Step:
    """A record of the slice; `is_event` says that it accesses memory or synchronises.

    `calculation` is there for a pure record; `written` are the registers it writes that the slice
    reads; `straight` are the calculations that begin with this one, if there are several.
    """

    index: int
    mi: MachineInstr
    is_event: bool
    calculation: Calculation | None = None
    written: Sequence[Reg] = ()
    straight: Straight | None = None


@dataclass(frozen=True, slots=True)
class NodeEnd:
    """The end of a node: its `branch`, the record `index`, if it has one, and both successors.

    `taken` is the successor where the branch is taken, `next` the other one.
    """

    branch: MachineInstr | None
    index: int
    taken: int
    next: int


@dataclass(slots=True)
class Program:
    """The slice of a function's control-flow graph.

    `wanted` are the registers in the slice, `events` the records that access memory or synchronise;
    `joins` has for each node its immediate post-dominator, where threads that diverge at the node
    reconverge (the function's exit has the number after the last node); `loops` the strongly
    connected component of each node; `back` says whether a CFG
    path leads back to the node if its branch is taken, and if not; `numbers` are constants that
    arguments are compared with, which decide branches; `sizes` has, by its address, the size that
    an argument is tested to equal, `divisors` the addresses of arguments that others are divided
    by; `exits` has the end of each node; `reads_bytes` says that single bytes of shared memory are
    read, `reads_flags` that memory is read strongly or atomically, `by_barriers` that warps meet at
    barriers of all threads of the CTA alone; `allocates` says that tensor memory is allocated,
    `invalidates` that mbarriers are, `collects` that collector buffers are used;
    `unread` are waits whose result nothing reads; `touched` caches the regions of multiplies by
    record, CTA and operands; `boxes` are the bytes that tensor stores read, by record, where they
    are known; `flows` are those of the warps; `reached` caches the records that are reachable, by
    node and warp, `anywhere` the variables that records access at unknown indices.
    """

    graph: Graph
    wanted: set[Reg] = field(default_factory=set)
    steps: list[list[Step]] = field(default_factory=list)
    events: set[int] = field(default_factory=set)
    joins: list[int] = field(default_factory=list)
    loops: list[int] = field(default_factory=list)
    back: list[tuple[bool, bool]] = field(default_factory=list)
    calls: bool = False
    allocates: bool = False
    invalidates: bool = False
    collects: bool = False
    unread: set[int] = field(default_factory=set)
    reads_bytes: bool = False
    reads_flags: bool = False
    by_barriers: bool = False
    numbers: list[int] = field(default_factory=list)
    sizes: dict[Op, int] = field(default_factory=dict)
    divisors: set[Op] = field(default_factory=set)
    exits: list[NodeEnd] = field(default_factory=list)
    touched: dict[Operands, Multiplied] = field(default_factory=dict)
    boxes: Mapping[int, int] = field(default_factory=dict)
    flows: Sequence[WarpFlow] = ()
    reached: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    anywhere: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> Program:
        """The slice of a graph."""
        found = cls(graph, _wanted(graph) - _never_known(graph))
        results: dict[Form, Results] = defaultdict(dict)
        keeps = any(_loads_locally(mi, found.wanted) for mi in graph.records)
        for node in graph.nodes:
            steps = []
            for index, mi in enumerate(node.records, node.first):
                event = is_event(mi)
                written = [reg for reg in graph.defs[index] if reg in found.wanted]
                if event or written or (keeps and _keeps_locally(mi)):
                    what = None if event else calculation_of(mi, results[mi.form])
                    steps.append(Step(index, mi, event, what, written))
            _straighten(steps)
            found.steps.append(steps)
            found.events.update(step.index for step in steps if step.is_event)
        rows = {mi.form.row.id for mi in graph.records}
        found.allocates = "tcgen05.alloc" in rows
        found.invalidates = "mbarrier.inval" in rows
        found.collects = any(map(_reads_collector, graph.records))
        found.unread = _unread_waits(graph)
        found.calls = graph.has_unknown_calls
        successors = [
            [len(graph.nodes) if t == EXIT else t for t in (n.taken, n.next) if t is not None]
            for n in graph.nodes
        ]
        successors.append([])
        found.exits = [_node_end(node, len(graph.nodes)) for node in graph.nodes]
        found.joins = _joins(successors)
        arguments = _arguments(graph)
        found.numbers, found.sizes = _deciding(graph, arguments)
        found.divisors = _divisors(graph, arguments)
        forms = {mi.form for mi in graph.records}
        found.reads_bytes = any(map(_reads_byte, forms))
        found.reads_flags = any(map(_reads_flag, forms))
        found.by_barriers = not found.reads_flags and all(map(_is_by_barriers, graph.records))
        found.loops = loops = components(successors)
        found.back = [_back(loops, n, node.taken, node.next) for n, node in enumerate(graph.nodes)]
        return found

    def reachable_events(self) -> set[int]:
        """The events that some warp can come to, but for waits, of which many are only polled when
        another has failed.
        """
        reached = set[int]().union(*(flow.reached() for flow in self.flows))
        steps = (step for node in reached if node < len(self.steps) for step in self.steps[node])
        return {step.index for step in steps if step.is_event and step.mi.row.id not in WAITS}

    def indexed(self, index: int) -> str:
        """The variable of shared memory that a record accesses at an index which follows from data;
        "" if it accesses none so.
        """
        if index not in self.anywhere:
            self.anywhere[index] = variable_of(self.graph, index)
        return self.anywhere[index]

    def reachable(self, node: int, warp: int) -> frozenset[int]:
        """The records of a node, and of those that a CFG path of a warp leads to from it."""
        known = self.reached.get((node, warp))
        if known is None:
            known = self.reached[node, warp] = frozenset(
                step.index for here in self._behind(node, warp) for step in self.steps[here]
            )
        return known

    def _behind(self, node: int, warp: int) -> set[int]:
        """A node, and those that a CFG path of a warp leads to from it."""
        edges, end = self.flows[warp].edges, len(self.steps)
        found, work = {node}, [node]
        while work:
            here = work.pop()
            after = {e.target for e in edges[here]} - found if here < end else set[int]()
            found |= after
            work += after - {EXIT}
        return found - {EXIT, end}


def _straighten(steps: list[Step]) -> None:
    """Find the calculations that follow each other among the steps of a node."""
    for alike, group in itertools.groupby(steps, _is_calculation):
        together = list(group)
        if alike and len(together) > 1:
            found = [step.calculation for step in together if step.calculation is not None]
            together[0].straight = Straight.of(found)


def _is_calculation(step: Step) -> bool:
    what = step.calculation
    return what is not None and step.mi.guard is None and is_straight(what)


def _unread_waits(graph: Graph) -> set[int]:
    """The waits for an mbarrier whose result no record reads."""
    waits = [index for index, mi in enumerate(graph.records) if mi.form.row.id in WAITS]
    if not waits:
        return set()
    read = set[Reg]().union(*graph.uses)
    return {index for index in waits if read.isdisjoint(graph.defs[index])}


def _node_end(node: Node, end: int) -> NodeEnd:
    """The end of a node; `end` is the number of the function's exit."""

    def place(target: int | None) -> int:
        return end if target is None or target == EXIT else target

    taken, following = place(node.taken), place(node.next)
    last = node.records[-1] if node.records else None
    goes = last is not None and last.form.is_terminator and node.taken is not None
    if goes and node.branch is None:
        following = taken
    return NodeEnd(node.branch, node.first + len(node.records) - 1, taken, following)


def _arguments(graph: Graph) -> dict[Op | None, Op | None]:
    """The registers that arguments are loaded into, and the addresses of their parameters."""
    return {mi.get("d"): mi.get("a") for mi in graph.records if loads_argument(mi)}


def loads_argument(mi: MachineInstr) -> bool:
    """Whether a record loads an argument of the kernel."""
    return mi.row.id == "ld" and mi.form.attributes.get("space") is Space.PARAM


def _divisors(graph: Graph, arguments: Mapping[Op | None, Op | None]) -> set[Op]:
    """The addresses of arguments that others are divided by, as they are or of another width."""
    found: set[Op] = set()
    for mi in graph.records:
        if mi.row.id not in ("div.int", "rem.int"):
            continue
        reg = mi.get("b")
        while reg not in arguments and type(reg) is int and reg in graph.single:
            writer = graph.records[graph.writers[reg][0]]
            reg = writer.get("a") if writer.row.id in ("mov", "cvt.int") else None
        address = arguments.get(reg)
        if address is not None:
            found.add(address)
    return found


def _deciding(
    graph: Graph, arguments: Mapping[Op | None, Op | None]
) -> tuple[list[int], dict[Op, int]]:
    """The constants that arguments are compared with, and their neighbours; and sizes.

    A size is a constant that an argument is tested to equal, from 2 on: 0 and 1 are flags.
    """
    found: list[int] = []
    sizes: dict[Op, int] = {}
    for mi in graph.records:
        if mi.row.id != "setp.int":
            continue
        for one, other in ((mi.get("a"), mi.get("b")), (mi.get("b"), mi.get("a"))):
            if one in arguments and one in graph.single and isinstance(other, Imm):
                exact = mi.form.attributes.get("cmp") in (Compare.EQ, Compare.NE)
                found += [other.value] if exact else [other.value - 1, other.value, other.value + 1]
                address = arguments[one]
                if exact and other.value > 1 and address is not None:
                    sizes.setdefault(address, other.value)
    return [n for n in dict.fromkeys(found) if 0 <= n < 1 << 31], sizes


def is_one_place(graph: Graph, address: Op | None) -> bool:
    """Whether an address is a variable or parameter plus a constant offset."""
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


def has_loaded_index(graph: Graph) -> bool:
    """Whether global memory holds what says where threads load or store in shared memory."""
    accesses = [mi for mi in graph.records if mi.form.attributes.get("space") in SHARED]
    addresses = [reg for mi in accesses if mi.row.id in MEMORY for reg in deciding_operands(mi)]
    return any(
        mi.row.id == "ld" and mi.form.attributes.get("space") is Space.GLOBAL
        for reg in graph.behind(addresses)
        for mi in graph.writing(reg)
    )


def _reads_byte(form: Form) -> bool:
    type_ = form.attributes.get("type")
    narrow = isinstance(type_, ScalarType) and type_.bits == 8
    return form.row.id == "ld" and narrow and form.attributes.get("space") in SHARED


def _reads_collector(mi: MachineInstr) -> bool:
    """Whether a record multiplies by a matrix that a collector buffer holds."""
    return mi.form.row.id.startswith("tcgen05.mma") and any(usage.reads for usage in usages(mi))


def _reads_flag(form: Form) -> bool:
    """Whether records of a form read memory strongly, or atomically."""
    is_strong = form.attributes.get("sem") not in (None, Sem.WEAK)
    return form.row.id.startswith(("atom", "red")) or (form.row.id == "ld" and is_strong)


def _is_by_barriers(mi: MachineInstr) -> bool:
    """Whether a record synchronises a thread with no other, or at a barrier of all threads."""
    row = mi.form.row.id
    if row in BARRIERS:
        return mi.get("count") is None
    return row in _ALONE or row.startswith("wgmma.") or not is_event(mi)


_ALONE = (
    *("ld", "st", "ldmatrix", "stmatrix", "bar.warp.sync", "fence.proxy.async"),
    *("cp.async", "cp.async.ignore_src"),
    *("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"),
)
"""Rows of events that order a thread's own accesses, or those of its warp."""


def is_event(mi: MachineInstr) -> bool:
    """Whether a record accesses shared or tensor memory, or synchronises."""
    return _is_event(mi.form)


@functools.cache
def _is_event(form: Form) -> bool:
    row = form.row
    if row.id not in MEMORY:
        return synchronises(row)
    if form.attributes.get("space") in SHARED or row.id.startswith(("atom", "red")):
        return True
    return form.attributes.get("sem") not in (None, Sem.WEAK)


def deciding_operands(mi: MachineInstr, but: Container[str] = ()) -> Iterator[Reg]:
    """The registers of an event that decide what it does; not those that hold data it moves, and
    without the operands `but`.
    """
    for operand, op in zip(mi.form.operands, mi.ops, strict=True):
        if operand is not None and operand.name in but:
            continue
        if operand is None or operand.name in ("r", "d", "b", "coords", "policy", "cache_policy"):
            data = mi.row.id in MEMORY or mi.row.id.startswith(("tcgen05.ld", "tcgen05.st"))
            if operand is not None and (data or isinstance(op, tuple)):
                continue
        yield from _plain(op)


_OF_CP_ASYNC = ("src", "src_size", "ignore_src")
_WITHOUT_MEANING = {"cp.async": _OF_CP_ASYNC, "cp.async.ignore_src": _OF_CP_ASYNC}
"""Operands that events do not read: what a copy brings from global memory, and how much of it."""


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


def _wanted(graph: Graph) -> set[Reg]:
    wanted: set[Reg] = set()
    stores: dict[Space, list[int]] = defaultdict(list)
    for index, mi in enumerate(graph.records):
        if is_event(mi):
            wanted.update(deciding_operands(mi, _WITHOUT_MEANING.get(mi.form.row.id, ())))
            wanted.update(_guard(mi))
        elif mi.form.is_terminator:
            wanted.update(_guard(mi))
        if mi.form.row.id in STORES and (memory := _memory_of_threads(mi)) is not None:
            stores[memory].append(index)

    def read(index: int) -> Iterator[Reg]:
        mi = graph.records[index]
        yield from _sources(mi, graph.uses[index])
        if mi.form.row.id in _LOADS and (memory := _memory_of_threads(mi)) is not None:
            yield from (reg for store in stores.pop(memory, ()) for reg in graph.uses[store])

    return {*graph.behind(wanted, read)}


_LOADS = ("ld", "atom", "atom.cas")


def _memory_of_threads(mi: MachineInstr) -> Space | None:
    """The memory that holds what threads of the CTA stored: shared, local, or neither."""
    space = mi.form.attributes.get("space")
    return Space.LOCAL if space is Space.LOCAL else Space.SHARED if space in SHARED else None


def _keeps_locally(mi: MachineInstr) -> bool:
    return mi.form.row.id == "st" and mi.form.attributes.get("space") is Space.LOCAL


def _loads_locally(mi: MachineInstr, wanted: Container[Reg]) -> bool:
    """Whether a record loads local memory into a register that is wanted."""
    if mi.form.row.id != "ld" or mi.form.attributes.get("space") is not Space.LOCAL:
        return False
    return any(reg in wanted for reg in mi.defs())


def _sources(mi: MachineInstr, uses: Iterable[Reg]) -> Iterable[Reg]:
    """The registers that a wanted one depends on; results of waits and copies depend on none."""
    return uses if _has_sources(mi.form) else _guard(mi)


@functools.cache
def _has_sources(form: Form) -> bool:
    row = form.row.id
    if row in WAITS or row.startswith("tcgen05.ld") or not _is_known(form):
        return False
    return row != "ld" or _is_event(form) or form.attributes.get("space") is Space.LOCAL


@functools.cache
def _is_known(form: Form) -> bool:
    """Whether a run may know the results of records of a form."""
    return form.row.id in COMPUTED or calculates(form.row) or _is_event(form)


def _never_known(graph: Graph) -> set[Reg]:
    """Registers that can only hold unknown data, so that no run needs to write them."""
    known: set[Reg] = set()
    for index, mi in enumerate(graph.records):
        if _is_known(mi.form):
            known.update(graph.defs[index])
    return graph.writers.keys() - known


def _joins(successors: list[list[int]]) -> list[int]:
    """The immediate post-dominator of each node."""
    after = post_dominators(successors)
    end = len(successors) - 1
    counts = [bits.bit_count() for bits in after]
    found = []
    for node in range(end):
        nearest = max(nodes_of(after[node] & ~(1 << node)), key=counts.__getitem__, default=end)
        found.append(nearest)
    return found


def _back(
    loops: list[int], node: int, taken: int | None, following: int | None
) -> tuple[bool, bool]:
    """Whether a CFG path leads back to a node from either successor of its branch."""
    return _is_in(loops, node, taken), _is_in(loops, node, following)


def _is_in(loops: list[int], node: int, target: int | None) -> bool:
    """Whether a CFG path leads back to a node from a successor."""
    return target is not None and target != EXIT and loops[target] == loops[node]
