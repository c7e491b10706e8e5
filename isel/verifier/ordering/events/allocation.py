"""Events of tcgen05.alloc, dealloc and relinquish_alloc_permit.

Layer: isel.verifier.ordering.events.  Columns are not allocated twice in a run, so that a use after
the deallocation is known by its address.  PTX ISA, tcgen05.alloc, tcgen05.dealloc,
tcgen05.relinquish_alloc_permit; Tensor Memory Allocation.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.limits import COLUMNS
from isel.verifier.function.barriers.clusters import is_of_pair
from isel.verifier.function.events import Kind
from isel.verifier.ordering import lifetimes
from isel.verifier.ordering.events import regions
from isel.verifier.ordering.events.execution import Event, Execution
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.clocks import source_of
from isel.verifier.ordering.run.machine import Allocation

_COLUMN = 0xFFFF


def _allocate(e: Execution) -> bool:
    to, count = e.number("dst"), _columns(e)
    if to is None or count is None:
        return e.is_unknown("tcgen05.alloc")
    mine = e.machine.allocations.setdefault(e.strand.rank, [])
    _judge(e, mine, to, count)

    before = e.machine.allocated.get(e.strand.rank, 0)

    def has_room() -> bool:
        return _held(mine) + count <= COLUMNS

    def resume() -> bool:
        first = _place(mine, count)
        e.log(Kind.SHARED_STORE, [regions.shared(to, 4, writes=True, name="slot")])
        mine.append(Allocation(first, count, to, e.index, e.strand.actor, e.here()))
        e.machine.memory[to] = first
        e.machine.allocated[e.strand.rank] = before + 1
        e.machine.changed = True
        return True

    def come() -> bool:
        return _peers_come(e, before) and has_room()

    if come():
        return resume()
    room = f"{lifetimes.ROOM}: {count}, beside {_held(mine)} that are held"
    return e.wait(come, resume, "tcgen05.alloc of the peer CTA" if has_room() else room)


def _columns(e: Execution) -> int | None:
    """The number of columns, where it is known; all threads of the warp have to give the same."""
    given = sorted(regions.union_lanes(e.slot("ncols"), e.mask))
    if len(given) > 1:
        got = f"{e}: {given[0]}, {given[1]}" + ", …" * (len(given) > 2)
        e.run.log.breach(lifetimes.UNIFORM_COUNT, e.index, got)
    return e.number("ncols")


def _peers_come(e: Execution, before: int) -> bool:
    """Whether the peer CTA has reached its allocation, if both allocate together."""
    asked, rank = e.machine.asked, e.strand.rank
    if not is_of_pair(e.mi) or rank ^ 1 >= e.run.launch.ctas:
        return True
    asked[rank] = before + 1
    return asked.get(rank ^ 1, 0) > before


def _held(mine: list[Allocation]) -> int:
    """How many columns a CTA holds."""
    return sum(a.count for a in mine if a.freed is None)


def _place(mine: list[Allocation], count: int) -> int:
    """Columns that were never allocated; when there are none left, some that are free."""
    first = max((a.first + a.count for a in mine), default=0)
    if first + count <= _COLUMN:
        return first
    mine[:] = [a for a in mine if a.freed is None]
    free = sorted([0, *(a.first + a.count for a in mine)])
    return next(
        at for at in free if all(at + count <= a.first or a.first + a.count <= at for a in mine)
    )


def _judge(e: Execution, mine: list[Allocation], to: int, count: int) -> None:
    """Check an allocation against the earlier ones and the peer's, as the manual demands."""
    log, knows = e.run.log, e.knows
    for other in mine:
        if other.slot == to and other.freed is None:
            got = "its slot still holds the address that {line} gave"
            log.breach(lifetimes.AGAIN, e.index, got, other.index)
        if other.count < count and knows(other.made):
            got = f"{count} columns, after {other.count} by {{line}}"
            log.breach(lifetimes.GROWING, e.index, got, other.index)
    for index, point in e.machine.relinquished.get(e.strand.rank, ()):
        if knows(point):
            log.breach(lifetimes.AFTER_RELINQUISH, e.index, "{line} comes before it", index)
    peer = e.strand.rank ^ 1
    if is_of_pair(e.mi) and peer < e.run.launch.ctas and not knows((source_of("cta", peer), 1)):
        log.breach(lifetimes.PEER_RUNS, e.index, f"{e}: a way here without a cluster barrier")


def _free(e: Execution) -> bool:
    first, count = e.number("taddr"), _columns(e)
    mine = e.machine.allocations.setdefault(e.strand.rank, [])
    if first is None or count is None:
        if not mine and e.run.program.allocates:
            e.run.log.breach(
                lifetimes.FREED_UNALLOCATED, e.index, f"{e}: nothing is allocated here yet"
            )
        for one in mine:
            one.lost = True  # the columns freed may be these
        return True
    lane, first = first >> 16, first & _COLUMN
    ranks = (e.strand.rank & ~1, e.strand.rank | 1) if is_of_pair(e.mi) else (e.strand.rank,)
    end = first + min(max(count, 0), COLUMNS)  # a larger count frees no more than there is
    found = [Region(Memory.TENSOR, r, first, end, writes=True) for r in ranks]
    e.log(Kind.DEALLOC, found)
    _judge_free(e, mine, first, count, lane)
    e.machine.changed = True
    return True


def _judge_free(e: Execution, mine: list[Allocation], first: int, count: int, lane: int) -> None:
    log = e.run.log
    one = next((a for a in mine if a.first <= first < a.first + a.count), None)
    if one is None:
        log.breach(
            lifetimes.FREED_UNALLOCATED, e.index, f"column {first}, where nothing is allocated"
        )
    elif one.freed is not None:
        log.breach(lifetimes.FREED_TWICE, e.index, "{line} has freed it", one.freed_by)
    elif one.first != first or lane:
        got = f"column {first - one.first} in lane {lane} of what {{line}} gave"
        log.breach(lifetimes.ADDRESS, e.index, got, one.index)
        one.lost = True
    else:
        if one.count != count:
            got = f"{count} columns of the {one.count} that {{line}} gave"
            log.breach(lifetimes.COUNT, e.index, got, one.index)
        one.freed, one.freed_by = e.here(), e.index


def _relinquish(e: Execution) -> bool:
    e.counters.next("warp")
    found = e.machine.relinquished.setdefault(e.strand.rank, [])
    found.append((e.index, e.here()))
    return True


def touch(e: Execution, touched: Sequence[Region]) -> None:
    """Check that columns are not used after their deallocation."""
    for region in touched:
        if region.memory is not Memory.TENSOR:
            continue
        for one in e.machine.allocations.get(region.rank, ()):
            if region.last <= one.first or one.first + one.count <= region.first:
                continue
            if one.freed is not None and e.knows(one.freed):
                e.run.log.breach(
                    lifetimes.FREED, e.index, f"{e}: {{line}} has freed it", one.freed_by
                )


def is_nowhere(e: Execution) -> bool:
    """Log a use at an unknown address; whether it is unknown because nothing is allocated."""
    if not e.machine.allocations.get(e.strand.rank) and e.run.program.allocates:
        e.run.log.breach(
            lifetimes.MAYBE_UNALLOCATED, e.index, f"{e}: nothing is allocated here yet"
        )
    return e.is_unknown("tensor memory address")


EVENTS: dict[str, Event] = {
    "tcgen05.alloc": _allocate,
    "tcgen05.dealloc": _free,
    "tcgen05.relinquish_alloc_permit": _relinquish,
}
"""By row."""
