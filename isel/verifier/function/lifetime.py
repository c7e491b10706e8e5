"""Rules about the life of tensor memory in one warp: allocated, used, freed, once each.

Layer: isel.verifier.function.  PTX ISA, tcgen05.alloc, tcgen05.dealloc,
tcgen05.relinquish_alloc_permit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isel.verifier.function.allocation import Slot, freed_by_others, slot_of
from isel.verifier.function.events import TENSOR_USES, Event, Kind, tensor_operands
from isel.verifier.function.paths import Walk
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.values import Loaded
from isel.verifier.rule import VerifierRule

_ALLOC, _DEALLOC = "tcgen05.alloc", "tcgen05.dealloc"

MAYBE_UNALLOCATED = VerifierRule(
    "tcgen05/unallocated",
    "tensor memory is used, and was not allocated on every way here",
    "Tensor Memory Allocation",
    expected="tcgen05.alloc before the first use",
)
AGAIN = VerifierRule(
    "tcgen05.alloc/again",
    "tensor memory is allocated again before it was freed",
    _ALLOC,
    expected="tcgen05.dealloc first, or another slot",
    hint="the earlier address is lost, and the columns with it",
)
ADDRESS = VerifierRule(
    "tcgen05.dealloc/address",
    "what is freed is not an address that an allocation gave",
    _DEALLOC,
    misses=False,
)
COUNT = VerifierRule(
    "tcgen05.dealloc/count",
    "other columns are freed than were allocated",
    _DEALLOC,
    misses=False,
)
FREED_TWICE = VerifierRule(
    "tcgen05.dealloc/twice",
    "tensor memory is freed twice",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED_UNALLOCATED = VerifierRule(
    "tcgen05.dealloc/unallocated",
    "tensor memory is freed before it is allocated",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED = VerifierRule(
    "tcgen05/freed",
    "tensor memory is used after it was freed",
    _DEALLOC,
    expected="tcgen05.dealloc after the last use",
    misses=False,
)
NEVER_FREED = VerifierRule(
    "tcgen05.alloc/never-freed",
    "tensor memory is not freed on every way to the end",
    _ALLOC,
    expected="tcgen05.dealloc before the kernel exits",
)
AFTER_RELINQUISH = VerifierRule(
    "tcgen05.alloc/after-relinquish",
    "tensor memory is allocated after the permit to do so was given up",
    "tcgen05.relinquish_alloc_permit",
    expected="all allocations before it",
    misses=False,
)
RULES = (
    MAYBE_UNALLOCATED, AGAIN, ADDRESS, COUNT, FREED_TWICE, FREED_UNALLOCATED, FREED, NEVER_FREED,
    AFTER_RELINQUISH,
)  # fmt: skip


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if report.analysis.block:
        for role in report.analysis.roles:
            _life(report, role)


@dataclass(frozen=True, slots=True)
class _Life:
    """What a warp has allocated and freed on its way: (slot, columns, record)."""

    live: frozenset[tuple[Slot, int | None, int]] = frozenset()
    freed: frozenset[Slot] = frozenset()
    relinquished: bool = False
    unclear: bool = False  # something was freed that is not known


def _life(report: Report, role: Role) -> None:
    """An allocation is freed once on every way to the end, with its count, and used in between."""
    own = {slot_of(e) for e in role.events() if e.kind is Kind.ALLOC and _is_whole(role, e)}
    all_slots = {slot_of(e) for e in report.analysis.events(Kind.ALLOC)}

    def step(life: _Life, event: Event) -> _Life:
        match event.kind:
            case Kind.ALLOC:
                return _allocate(report, life, event)
            case Kind.DEALLOC:
                if event.place is None or event.place.base not in all_slots:
                    return replace(life, unclear=True)  # an address that went another way
                return _free(report, life, event, own)
            case Kind.RELINQUISH:
                return replace(life, relinquished=True)
            case _ if event.kind in TENSOR_USES:
                _check_use(report, life, event, own)
        return life

    walk = role.walker.walk(_Life(), step)
    if all(_is_whole(role, e) for e in role.events() if e.kind is Kind.DEALLOC):
        _check_end(report, role, walk)


def _is_whole(role: Role, event: Event) -> bool:
    """Whether the whole warp executes a record; that it must is a rule of its own."""
    threads = event.threads
    return not threads.one and not threads.part and threads.lanes == role.walker.flow.warp.lanes


def _allocate(report: Report, life: _Life, event: Event) -> _Life:
    if life.relinquished:
        after_relinquish(report, event, "a tcgen05.relinquish_alloc_permit on the way here")
    slot = slot_of(event)
    if slot is None:
        return replace(life, unclear=True)
    if any(s == slot for s, _, _ in life.live) and not life.unclear:
        report.add(
            AGAIN,
            event.index,
            got=f"{slot.variable} still holds the address of an allocation",
        )
    live = {entry for entry in life.live if entry[0] != slot}
    return replace(
        life, live=frozenset(live | {(slot, event.count, event.index)}), freed=life.freed - {slot}
    )


def _free(report: Report, life: _Life, event: Event, own: set[Slot | None]) -> _Life:
    place = event.place
    assert place is not None
    assert isinstance(place.base, Loaded)
    slot = place.base
    if place.offset:
        report.add(ADDRESS, event.index, got=str(place), expected=f"[{slot.variable}], unchanged")
    entry = next((e for e in life.live if e[0] == slot), None)
    if entry is None:
        _check_free_of_nothing(report, life, event, slot, own)
    elif None not in (entry[1], event.count) and entry[1] != event.count:
        report.add(
            COUNT,
            event.index,
            got=f"{event.count} columns",
            expected=f"{entry[1]} columns, as {report.line(entry[2])}",
        )
    return replace(
        life, live=life.live - {entry} if entry else life.live, freed=life.freed | {slot}
    )


def _check_free_of_nothing(
    report: Report, life: _Life, event: Event, slot: Slot, own: set[Slot | None]
) -> None:
    if life.unclear or slot not in own:
        return
    twice = slot in life.freed
    report.add(
        FREED_TWICE if twice else FREED_UNALLOCATED,
        event.index,
        got=f"a way on which [{slot.variable}] " + ("was freed" if twice else "is not allocated"),
    )


def _check_use(report: Report, life: _Life, event: Event, own: set[Slot | None]) -> None:
    live = {slot for slot, _, _ in life.live}
    for name, value in tensor_operands(event):
        slot = value.base
        if not isinstance(slot, Loaded) or slot in live:
            continue
        if slot in own and slot not in life.freed and not life.unclear:
            report.add(MAYBE_UNALLOCATED, event.index, got=f"{name} in [{slot.variable}]")
        if slot in life.freed:
            report.add(FREED, event.index, got=f"{name} in [{slot.variable}]")


def _check_end(report: Report, role: Role, walk: Walk[_Life]) -> None:
    elsewhere = freed_by_others(report, role)
    for point, life in walk.at_exit():
        for slot, _, index in life.live:
            if life.unclear or slot in elsewhere:
                continue
            report.add(NEVER_FREED, index, got=walk.way(point))


def after_relinquish(report: Report, event: Event, got: str) -> None:
    """An allocation behind the end of the permit; `got` says where that is."""
    report.add(AFTER_RELINQUISH, event.index, got=got)
