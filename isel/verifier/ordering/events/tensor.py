"""Events of tcgen05: multiplies, copies, loads and stores, commits, waits and fences.

Layer: isel.verifier.ordering.events.  PTX ISA, tcgen05: Memory Consistency Model, Tensor Memory
Allocation and Management Instructions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from intrinsics.mir import Imm
from intrinsics.modifiers import LdStShape, ThreadSync, WaitOp
from intrinsics.row import Residency
from isel.verifier.function.barriers.clusters import is_of_pair
from isel.verifier.function.events import Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.tensor_memory import lanes
from isel.verifier.function.tensor_memory.widths import moved_columns
from isel.verifier.ordering import matrices
from isel.verifier.ordering.events import regions
from isel.verifier.ordering.events.allocation import is_nowhere, touch
from isel.verifier.ordering.events.collected import collect
from isel.verifier.ordering.events.execution import Event, Execution
from isel.verifier.ordering.integers.windows import offset_of, rank_of
from isel.verifier.ordering.matrices import Multiplied
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.clocks import Clock, Release, joined, source_of
from isel.verifier.ordering.run.log import Remote
from isel.verifier.ordering.run.synchronisation import Delivery

_COLUMN = 0xFFFF
_LANE = 0x7F


def _ranks(e: Execution) -> tuple[int, ...]:
    """The CTAs whose tensor memory a record uses."""
    rank = e.strand.rank
    return (rank & ~1, rank | 1) if is_of_pair(e.mi) else (rank,)


def _move(kind: Kind) -> Event:
    done = "ld" if kind is Kind.TENSOR_LOAD else "st"

    def move(e: Execution) -> bool:
        address = e.number("taddr")
        e.forget_all()
        if address is None:
            _note_addresses(e)
            return is_nowhere(e)
        _note_lane(e, address >> 16 & 0xFFFF)
        found = _moved(e, address, writes=kind is Kind.TENSOR_STORE)
        touch(e, found)
        e.log(kind, found, done=done)
        return True

    return move


def _note_addresses(e: Execution) -> None:
    """Report the addresses of threads that do not all give the same one."""
    given = e.slot("taddr")
    if isinstance(given, tuple) and None not in given:
        got = f"addresses {given[0]:#x}, {given[1]:#x}, …"
        e.run.log.breach(lanes.UNIFORM_ADDRESS, e.index, got)


def _note_lane(e: Execution, lane: int) -> None:
    warp, log = e.strand.warp, e.run.log
    place = e.index, warp, lane
    if place not in log.lanes:
        log.lanes[place] = lanes.LaneAccess(e.index, e.mi, warp, lane, log.certain is not None)


def _moved(e: Execution, address: int, *, writes: bool) -> tuple[Region, ...]:
    """The regions of a load or store; a split one has a second half at an offset of columns.

    The lanes are the warp's own, whichever quarter the address names: see the rule lane-quarter.
    """
    rows = LANES if e.mi.form.attributes.get("shape") is LdStShape.S32X32B else 16
    lane = e.strand.warp % 4 * LANES + (address >> 16 & _LANE) % LANES
    lanes = ((1 << rows) - 1) << lane
    first, width = address & _COLUMN, moved_columns(e.mi.form) or 1
    split = e.mi.get("half_split")
    second = first + split.value & _COLUMN if isinstance(split, Imm) else None
    return _pieces(e.strand.rank, first, second, width, lanes, writes)


@functools.lru_cache(1024)  # warps repeat the same columns
def _pieces(
    rank: int, first: int, second: int | None, width: int, lanes: int, writes: bool
) -> tuple[Region, ...]:
    starts = (first,) if second is None else (first, second)
    return tuple([Region(Memory.TENSOR, rank, at, at + width, lanes, writes) for at in starts])


# ---- what tcgen05.commit tracks ----------------------------------------------------------------


def _issue(e: Execution, kind: Kind, found: Sequence[Region], *, accumulates: bool = False) -> None:
    """Log an operation that tcgen05.commit of the same thread tracks."""
    thread, issued = e.thread, e.machine.issued
    count = issued[thread] = issued.get(thread, 0) + 1
    source = source_of("tc", thread)
    ahead = {
        source_of("tc", s.of): n for s, n in e.strand.clocks.fenced.items() if s.kind == "issued"
    }
    e.machine.fenced[thread] = joined(e.machine.fenced.get(thread, {}), ahead)
    touch(e, found)
    e.log(kind, found, count=count, source=source, by_proxy=True, accumulates=accumulates)


def _multiply(e: Execution) -> bool:
    numbers: dict[str, int] = {
        name: number for name in ("d", "a", "b", "sp_meta", "sfa", "sfb", "idesc")
        if name in e.mi.form.index and (number := e.number(name)) is not None
    }  # fmt: skip
    if "d" not in numbers:
        return is_nowhere(e)
    key = e.index, e.strand.rank, *numbers.items()
    found = e.run.program.touched.get(key)
    if found is None:
        found = e.run.program.touched[key] = _multiplied(e, numbers)
    e.run.log.multiplied[key] = None
    if e.run.program.collects:
        collect(e, numbers)
    _issue(e, Kind.MULTIPLY, found.touched, accumulates=e.number("enable_d") == 1)
    return True


def _multiplied(e: Execution, numbers: dict[str, int]) -> Multiplied:
    """The regions of a multiply with these operands."""
    in_tensor = e.mi.form.attributes.get("a") is Residency.TENSOR
    described = ("b",) if in_tensor else ("a", "b")
    ranks = _ranks(e)
    touched = {n: v for n, v in numbers.items() if n not in described}
    found = regions.columns(e.mi, e.index, Kind.MULTIPLY, touched, ranks)
    in_shared = {
        n: v for n, v in numbers.items()
        if n == "idesc" or (n in described and e.machine.has_variable_at(matrices.start_of(v)))
    }  # fmt: skip
    read = matrices.of_tensor_core(e.mi, e.index, in_shared, e.strand.rank, len(ranks))
    return Multiplied.of(found, read)


def _copy(e: Execution) -> bool:
    address, descriptor = e.number("taddr"), e.number("s_desc")
    if address is None:
        return is_nowhere(e)
    found = regions.columns(e.mi, e.index, Kind.TENSOR_COPY, {"taddr": address}, _ranks(e))
    if descriptor is not None and e.machine.has_variable_at(matrices.start_of(descriptor)):
        for rank in _ranks(e):
            found += matrices.of_copy(e.mi, descriptor, rank)
    _issue(e, Kind.TENSOR_COPY, found)
    return True


def _shift(e: Execution) -> bool:
    address = e.number("taddr")
    if address is None:
        return is_nowhere(e)
    _issue(e, Kind.SHIFT, regions.columns(e.mi, e.index, Kind.SHIFT, {"taddr": address}, _ranks(e)))
    return True


def _commit(e: Execution) -> bool:
    source, clocks = source_of("tc", e.thread), e.strand.clocks
    ahead = e.machine.fenced.get(e.thread, {})  # its own operations are pipelined after these
    clock = {**ahead, source: e.machine.issued.get(e.thread, 0)}
    e.run.log.committed = dict(joined(e.run.log.committed, clock))
    fenced = Release(fenced=clocks.known)
    release = e.release().and_(fenced).completing({**clock, **_arrival(e)})
    for mbarrier, threads in e.mbarriers():
        e.run.track(source, clock[source], mbarrier)
        e.deliver(mbarrier, Delivery(release, 0, threads))
    return True


def _arrival(e: Execution) -> Clock:
    """The epoch of a commit's arrival, where it is in another CTA, which must not have exited.

    It is complete for who waits for the phase in any of the CTAs: a phase of another mbarrier says
    nothing of it.
    """
    named = e.named()
    others = {rank_of(at) for at in named} - {e.strand.rank}
    if not others:
        return {}
    source = source_of(f"arrival at {offset_of(min(named)):#x}", e.thread)
    arrived = source, e.counters.next(source.kind)
    e.run.log.remote += [Remote(e.index, e.strand.actor, rank, arrived) for rank in sorted(others)]
    return dict([arrived])


# ---- waits and fences --------------------------------------------------------------------------


def _wait(e: Execution) -> bool:
    kind = "ld" if e.mi.form.attributes.get("op") is WaitOp.LD else "st"
    clocks, source = e.strand.clocks, e.source(kind)
    clocks.complete(e.issued(kind))
    if source in clocks.ordered:  # issued before a fence that precedes the wait
        clocks.late = joined(clocks.late, {source: clocks.ordered[source]})
    return True


def _fence(e: Execution) -> bool:
    clocks = e.strand.clocks
    if e.mi.form.attributes.get("side") is ThreadSync.BEFORE:
        clocks.before = joined(joined(clocks.before, clocks.fenced), _own(e))
        clocks.ordered = joined(e.issued("ld"), e.issued("st"))
    else:
        clocks.fenced = joined(clocks.fenced, clocks.acquired)
        clocks.complete(clocks.acquired)
    return True


def _own(e: Execution) -> Clock:
    """The accesses of these threads that tcgen05.fence::before_thread_sync orders."""
    actor, known = e.strand.actor, e.strand.clocks.known
    own = {s: n for s, n in known.items() if s.of == actor and s.kind in ("ld", "st")}
    own |= {s: n for s, n in known.items() if s.kind == "tc" and s.of // LANES == actor}
    own |= e.issued("warp")
    for thread in range(actor * LANES, (actor + 1) * LANES):
        if thread in e.machine.issued and e.strand.mask >> thread % LANES & 1:
            own[source_of("issued", thread)] = e.machine.issued[thread]
    return own


EVENTS: dict[str, Event] = {
    **dict.fromkeys(
        ("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress"),
        _move(Kind.TENSOR_LOAD),
    ),
    "tcgen05.st": _move(Kind.TENSOR_STORE),
    "tcgen05.cp": _copy,
    "tcgen05.shift": _shift,
    "tcgen05.commit": _commit,
    "tcgen05.wait": _wait,
    "tcgen05.fence": _fence,
    **dict.fromkeys(
        ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"), _multiply
    ),
}
"""By row."""
