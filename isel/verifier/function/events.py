"""Events: what a warp does that rules are about, from allocations and copies to waits and fences.

Layer: isel.verifier.function.  Input: the flow of one warp.  Output: events by node, each with the
memory locations that it accesses and the threads that execute it.  PTX ISA, the chapters of
tcgen05, wgmma, mbarrier, barrier, fence and cp.async.bulk.tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto

from intrinsics.descriptors.idesc import n_of
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Sem, Space, ThreadSync, WaitOp
from intrinsics.row import Completion, Effect, Residency, Row
from intrinsics.row import Kind as OperandKind
from isel.verifier.function.flow.evaluate import WAITS, Evaluator
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.flow.threads import Threads
from isel.verifier.function.flow.values import MemoryLocation, Symbol, Value, where
from isel.verifier.function.flow.warp_flow import Condition, WarpFlow

BARRIERS = ("bar.sync", "barrier.sync", "bar.red", "barrier.red")
"""Waits at barriers: of all threads of the CTA, where no count is given."""

ATOMICS = ("atom", "atom.cas", "red")
"""Rows of atomic operations."""

REDUCTIONS = ("cp.reduce.async.bulk.to_cluster", "red.async")
"""Rows of asynchronous operations that combine what they bring with shared memory, atomically."""

CLUSTER = -1
"""The number of the cluster's barrier, beside those of the CTA."""


class Kind(Enum):
    """The kind of an event."""

    ALLOC = auto()
    DEALLOC = auto()
    RELINQUISH = auto()
    TENSOR_LOAD = auto()
    TENSOR_STORE = auto()
    TENSOR_COPY = auto()  # from shared to tensor memory
    SHIFT = auto()
    WAIT_LOADS = auto()
    WAIT_STORES = auto()
    MULTIPLY = auto()
    WARPGROUP_MULTIPLY = auto()  # with its accumulator in registers
    COMMIT = auto()
    FENCE_BEFORE = auto()
    FENCE_AFTER = auto()
    PROXY_FENCE = auto()
    INIT_FENCE = auto()  # makes mbarrier.init visible in the cluster
    INIT = auto()
    INVAL = auto()
    ARRIVE = auto()
    ASK = auto()  # a phase is tested
    DONE = auto()  # and was complete
    BARRIER = auto()
    BARRIER_ARRIVE = auto()
    WARP_SYNC = auto()
    STRONG_LOAD = auto()  # reads a flag that another thread may have set
    SHARED_LOAD = auto()
    SHARED_STORE = auto()
    COPY_IN = auto()  # to shared memory through the async proxy
    COPY_OUT = auto()  # from shared memory through the async proxy
    TRANSACTION = auto()  # completes bytes on an mbarrier, without a copy
    DOUBT = auto()  # no record: a mark that a rule adds for its walk
    OTHER = auto()


TENSOR_USES = (
    Kind.MULTIPLY,
    Kind.TENSOR_LOAD,
    Kind.TENSOR_STORE,
    Kind.TENSOR_COPY,
    Kind.SHIFT,
)
"""Kinds that read or write tensor memory."""

ARRIVING = (Kind.ARRIVE, Kind.COMMIT)
"""Kinds that arrive at an mbarrier."""

MOVES = {Kind.TENSOR_LOAD: Kind.WAIT_LOADS, Kind.TENSOR_STORE: Kind.WAIT_STORES}
"""Kinds that move data between registers and tensor memory, and those that wait for them."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The conditions under which a predicated record is executed, and under which it is skipped."""

    executed: Condition
    skipped: Condition


@dataclass(frozen=True, slots=True)
class Event:
    """One record, as rules see it.

    `place` is the memory location that it is about (the slot of an allocation, tensor memory, an
    mbarrier, a variable), `reads` are further locations in shared memory that it reads, `values`
    its operands by name, `count` its number (columns, N of a multiply, arrivals, a barrier's id,
    the parity of a wait).
    """

    kind: Kind
    index: int
    mi: MachineInstr
    threads: Threads
    place: MemoryLocation | None = None
    reads: tuple[MemoryLocation | None, ...] = ()
    count: int | None = None
    values: tuple[tuple[str, Value], ...] = ()
    guard: Guard | None = None

    def as_done(self) -> Event:
        """The event of a wait whose phase is complete."""
        return replace(self, kind=Kind.DONE, guard=None)

    def value(self, name: str) -> Value | None:
        """The value of an operand."""
        return dict(self.values).get(name)


def eventful(graph: Graph) -> dict[int, set[int]]:
    """The records that may be events, by node."""
    found: dict[int, set[int]] = {}
    for number, node in enumerate(graph.nodes):
        for index, mi in enumerate(node.records, node.first):
            if _maker_of(mi.form.row) is not None:
                found.setdefault(number, set()).add(index)
    return found


def events_of(
    flow: WarpFlow, threads: Sequence[Threads], there: Mapping[int, set[int]]
) -> dict[int, list[Event]]:
    """The events of a warp by node, in program order; `threads` are those that execute each node,
    `there` the events of its graph.
    """
    found: dict[int, list[Event]] = {}
    for node in flow.reached():
        events = []
        for index, mi, evaluator in flow.visit(node, there[node]) if node in there else ():
            make = _maker_of(mi.form.row)
            assert make is not None
            event = make(index, mi, evaluator, threads[node])
            if event is not None and index in flow.first:
                event = _as_first(event, *flow.first[index])
            event = guarded(flow, node, event, evaluator) if event is not None else None
            if event is not None:
                events.append(event)
        if events:
            found[node] = events
    return found


def _as_first(event: Event, mbar: Value, phase: Value) -> Event:
    """A wait with the mbarrier and phase of its first execution."""
    return replace(event, values=(*event.values, ("first_mbar", mbar), ("first_phase", phase)))


def first_parity(event: Event) -> int | None:
    """The parity of a wait's first execution, where it is known."""
    value = event.value("first_phase")
    number = value.number if value is not None else None
    return number & 1 if isinstance(number, int) else None


def first_place(event: Event) -> MemoryLocation | None:
    """The mbarrier of a wait's first execution."""
    value = event.value("first_mbar")
    return where(value) if value is not None else None


def signalled(event: Event) -> MemoryLocation | None:
    """The mbarrier that a copy completes on."""
    value = event.value("mbar")
    return where(value) if value is not None and isinstance(value.base, Symbol) else None


def guarded(flow: WarpFlow, node: int, event: Event, evaluator: Evaluator) -> Event | None:
    """The event with its guard's conditions; None where the warp never executes it."""
    guard = event.mi.guard
    if guard is None:
        return event
    executed, may = flow.condition(guard, evaluator.operand(guard), True, node)
    skipped, may_skip = flow.condition(guard, evaluator.operand(guard), False, node)
    if not may:
        return None
    threads = event.threads.with_guard(executed)
    if not may_skip:
        return replace(event, threads=threads)
    return replace(event, threads=threads, guard=Guard(executed, skipped))


Maker = Callable[[int, MachineInstr, Evaluator, Threads], Event | None]


def _number(value: Value) -> int | None:
    return value.number if isinstance(value.number, int) else None


def _simple(kind: Kind, place: str = "", *, count: str = "", otherwise: int | None = None) -> Maker:
    """A maker of events about the location in one operand, with the number in another."""

    def make(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
        about = e.slot(mi, place) if place else None
        number = otherwise
        if count and mi.get(count) is not None:
            number = _number(e.slot(mi, count))
        return Event(
            kind,
            index,
            mi,
            threads,
            where(about) if about is not None else None,
            count=number,
            values=((place, about),) if about is not None else (),
        )

    return make


def _multiply(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    names = [n for n in ("d", "a", "b", "sp_meta", "sfa", "sfb", "idesc") if mi.get(n) is not None]
    values = tuple((name, e.slot(mi, name)) for name in names)
    shared = (where(v) for n, v in values if n == "b" or (n == "a" and _is_descriptor(mi)))
    idesc = _number(e.slot(mi, "idesc"))
    return Event(
        Kind.MULTIPLY,
        index,
        mi,
        threads,
        where(e.slot(mi, "d")),
        tuple(shared),
        n_of(idesc) if idesc is not None else None,
        values,
    )


def _warpgroup_multiply(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    """The matrices that the descriptors of a wgmma.mma_async give.

    Registers have rules of their own.
    """
    values = tuple((name, e.slot(mi, name)) for name in ("a", "b") if type(mi.get(name)) is int)
    reads = tuple(where(value) for _, value in values)
    return Event(Kind.WARPGROUP_MULTIPLY, index, mi, threads, reads=reads, values=values)


def _is_descriptor(mi: MachineInstr) -> bool:
    return mi.form.attributes.get("a") is not Residency.TENSOR


def _to_tensor(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    """tcgen05.cp: to `taddr`, from the shared memory of its descriptor."""
    names = [o.name for o in mi.form.operands if o is not None and o.name != "taddr"]
    values = tuple((name, e.slot(mi, name)) for name in ("taddr", *names))
    reads = tuple(where(value) for name, value in values[1:])
    return Event(
        Kind.TENSOR_COPY, index, mi, threads, where(e.slot(mi, "taddr")), reads, None, values
    )


def _fence(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    before = mi.form.attributes.get("side") is ThreadSync.BEFORE
    return Event(Kind.FENCE_BEFORE if before else Kind.FENCE_AFTER, index, mi, threads)


def _wait(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    loads = mi.form.attributes.get("op") is WaitOp.LD
    return Event(Kind.WAIT_LOADS if loads else Kind.WAIT_STORES, index, mi, threads)


def _arrival_of_copies(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    """The arrival of a thread's cp.async copies when they are complete.

    With .noinc it counts as one of the expected arrivals; without, it raises the pending count by
    one first, so that the phase only completes later.
    """
    expected = mi.form.attributes.get("noinc") is not None
    mbar = e.slot(mi, "mbar")
    return Event(
        Kind.ARRIVE,
        index,
        mi,
        threads,
        where(mbar),
        count=1 if expected else 0,
        values=(("mbar", mbar),),
    )


_SHARED = (None, Space.SHARED, Space.SHARED_CTA)
_SHARED_OF_CLUSTER = (*_SHARED, Space.SHARED_CLUSTER)
_WEAK = (None, Sem.WEAK)


def _load(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event | None:
    strong = mi.form.attributes.get("sem") not in _WEAK
    return Event(Kind.STRONG_LOAD, index, mi, threads) if strong else None


def _store(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event | None:
    if mi.form.attributes.get("space") not in _SHARED:
        return None
    return Event(Kind.SHARED_STORE, index, mi, threads, where(e.slot(mi, "a")))


def _read_modify_write(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    """A write of shared memory; elsewhere, a strong access by which threads synchronise."""
    if mi.form.attributes.get("space") in _SHARED_OF_CLUSTER:
        place = where(e.slot(mi, "a"))
        if place is not None:
            return Event(Kind.SHARED_STORE, index, mi, threads, place)
    return Event(Kind.STRONG_LOAD, index, mi, threads)


def _copy(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    """A bulk copy: to shared memory when it names a destination there, else from it."""
    if mi.get("mbar") is not None:
        values = (("mbar", e.slot(mi, "mbar")),)
        return Event(Kind.COPY_IN, index, mi, threads, where(e.slot(mi, "dst")), values=values)
    return Event(Kind.COPY_OUT, index, mi, threads, reads=(where(e.slot(mi, "src")),))


def _other(index: int, mi: MachineInstr, e: Evaluator, threads: Threads) -> Event:
    return Event(Kind.OTHER, index, mi, threads)


_MAKERS: dict[str, Maker] = {
    "tcgen05.alloc": _simple(Kind.ALLOC, "dst", count="ncols"),
    "tcgen05.dealloc": _simple(Kind.DEALLOC, "taddr", count="ncols"),
    "tcgen05.relinquish_alloc_permit": _simple(Kind.RELINQUISH),
    **dict.fromkeys(
        ("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress"),
        _simple(Kind.TENSOR_LOAD, "taddr"),
    ),
    "tcgen05.st": _simple(Kind.TENSOR_STORE, "taddr"),
    "tcgen05.cp": _to_tensor,
    "tcgen05.shift": _simple(Kind.SHIFT, "taddr"),
    "tcgen05.wait": _wait,
    "tcgen05.fence": _fence,
    "tcgen05.commit": _simple(Kind.COMMIT, "mbar", otherwise=1),
    **dict.fromkeys(
        ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"), _multiply
    ),
    **dict.fromkeys(("fence.proxy.async", "fence.proxy.async::generic"), _simple(Kind.PROXY_FENCE)),
    "fence.mbarrier_init": _simple(Kind.INIT_FENCE),
    "mbarrier.init": _simple(Kind.INIT, "mbar", count="count"),
    "mbarrier.inval": _simple(Kind.INVAL, "mbar"),
    **dict.fromkeys(
        ("mbarrier.arrive", "mbarrier.arrive_drop"),
        _simple(Kind.ARRIVE, "mbar", count="count", otherwise=1),
    ),
    **dict.fromkeys(
        ("mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx"),
        _simple(Kind.ARRIVE, "mbar", otherwise=1),
    ),
    "cp.async.mbarrier.arrive": _arrival_of_copies,
    **dict.fromkeys(
        ("st.async", "red.async", "mbarrier.complete_tx"), _simple(Kind.TRANSACTION, "mbar")
    ),
    **dict.fromkeys(WAITS, _simple(Kind.ASK, "mbar", count="phase")),
    **dict.fromkeys(BARRIERS, _simple(Kind.BARRIER, count="barrier")),
    **dict.fromkeys(
        ("bar.arrive", "barrier.arrive"), _simple(Kind.BARRIER_ARRIVE, count="barrier")
    ),
    "barrier.cluster.arrive": _simple(Kind.BARRIER_ARRIVE, otherwise=CLUSTER),
    "barrier.cluster.wait": _simple(Kind.BARRIER, otherwise=CLUSTER),
    "bar.warp.sync": _simple(Kind.WARP_SYNC),
    "ld": _load,
    "st": _store,
    **dict.fromkeys(ATOMICS, _read_modify_write),
}


@functools.cache
def _maker_of(row: Row) -> Maker | None:
    """The maker of events for a row; None for a row that does not synchronise."""
    return _MAKERS.get(row.id) or _by_effect(row)


def _by_effect(row: Row) -> Maker | None:
    """The maker for a row without one of its own, by its effects."""
    effects = row.effects
    if effects.completion is Completion.WGMMA_GROUP:
        return _warpgroup_multiply
    if effects.effect & Effect.ASYNC_PROXY and effects.completion is not Completion.COMMIT:
        return _copy
    return _other if effects.effect & Effect.ALIGNED else None


def tensor_operands(event: Event) -> list[tuple[str, Value]]:
    """The operands of an event that are tensor memory addresses, by name."""
    kinds = (OperandKind.TENSOR_ADDRESS, OperandKind.MATRIX)
    names = {o.name for o in event.mi.form.operands if o is not None and o.kind in kinds} | {
        "taddr"
    }
    matrix = "" if not _is_descriptor(event.mi) else "a"
    return [(name, value) for name, value in event.values if name in names and name != matrix]
