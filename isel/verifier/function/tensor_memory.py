"""Rules about the life of tensor memory: allocated, published, used, freed.

Layer: isel.verifier.function.  An allocation is known by the slot in shared memory that its address
is written to.  PTX ISA, tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from intrinsics.findings import Severity
from isel.verifier.function.events import Event, Kind, tensor_operands
from isel.verifier.function.order import Order, before_all
from isel.verifier.function.paths import Walk
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.rule import FunctionRule
from isel.verifier.function.values import Loaded, Parameter, Symbol, Where

_USES = (Kind.MULTIPLY, Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
_ALLOC, _DEALLOC = "tcgen05.alloc", "tcgen05.dealloc"

CTA_GROUPS = FunctionRule(
    "tcgen05/cta-groups",
    "a kernel uses cta_group::1 and cta_group::2",
    _ALLOC,
    expected="the same .cta_group in all its tcgen05 instructions",
    misses=False,
    ptxas="refuses, as it generates code",
)
UNALLOCATED = FunctionRule(
    "tcgen05/unallocated",
    "tensor memory is used, and nothing allocates it",
    "Tensor Memory Allocation",
    expected="tcgen05.alloc before the first use",
)
MAYBE_UNALLOCATED = FunctionRule(
    "tcgen05/unallocated",
    "tensor memory is used, and was not allocated on every way here",
    "Tensor Memory Allocation",
    expected="tcgen05.alloc before the first use",
)
WARPS = FunctionRule(
    "{op}/warps",
    "{op} is executed by more than one warp",
    "tcgen05, Issue Granularity",
    expected="one warp",
    hint="branch to it in one warp only, as with tid.x / 32 == 0",
    misses=False,
)
AGAIN = FunctionRule(
    "tcgen05.alloc/again",
    "tensor memory is allocated again before it was freed",
    _ALLOC,
    expected="tcgen05.dealloc first, or another slot",
    hint="the earlier address is lost, and the columns with it",
)
ADDRESS = FunctionRule(
    "tcgen05.dealloc/address",
    "what is freed is not an address that an allocation gave",
    _DEALLOC,
    misses=False,
)
COUNT = FunctionRule(
    "tcgen05.dealloc/count",
    "other columns are freed than were allocated",
    _DEALLOC,
    misses=False,
)
FREED_TWICE = FunctionRule(
    "tcgen05.dealloc/twice",
    "tensor memory is freed twice",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED_UNALLOCATED = FunctionRule(
    "tcgen05.dealloc/unallocated",
    "tensor memory is freed before it is allocated",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED = FunctionRule(
    "tcgen05/freed",
    "tensor memory is used after it was freed",
    _DEALLOC,
    expected="tcgen05.dealloc after the last use",
    misses=False,
)
NEVER_FREED = FunctionRule(
    "tcgen05.alloc/never-freed",
    "tensor memory is not freed on every way to the end",
    _ALLOC,
    expected="tcgen05.dealloc before the kernel exits",
)
AFTER_RELINQUISH = FunctionRule(
    "tcgen05.alloc/after-relinquish",
    "tensor memory is allocated after the permit to do so was given up",
    "tcgen05.relinquish_alloc_permit",
    expected="all allocations before it",
    misses=False,
)
PUBLISHED = FunctionRule(
    "tcgen05.alloc/published",
    "the address of tensor memory is read before it is there",
    _ALLOC,
    expected="a barrier between tcgen05.alloc and the load",
    hint="tcgen05.alloc; tcgen05.fence::before_thread_sync; bar.sync; "
    "tcgen05.fence::after_thread_sync; ld.shared",
)
FENCE = FunctionRule(
    "tcgen05.alloc/fence",
    "tensor memory of another warp's allocation is used without a fence",
    "tcgen05.fence",
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the barrier and the first use",
)
UNUSED = FunctionRule(
    "tcgen05.alloc/unused",
    "tensor memory is allocated, and nothing uses it",
    _ALLOC,
    Severity.WARNING,
)
RULES = (
    CTA_GROUPS, UNALLOCATED, MAYBE_UNALLOCATED, WARPS, AGAIN, ADDRESS, COUNT, FREED_TWICE,
    FREED_UNALLOCATED, FREED, NEVER_FREED, AFTER_RELINQUISH, PUBLISHED, FENCE, UNUSED,
)  # fmt: skip

Slot: TypeAlias = Loaded
"""Where an allocation's address stands in shared memory."""


def slot_of(event: Event) -> Slot | None:
    """The slot that an allocation writes."""
    place = event.place
    if place is None or place.offset is None or not isinstance(place.base, Symbol):
        return None
    return Loaded(place.base.name, place.offset)


def check(report: Report) -> None:
    """Run the rules."""
    _one_group(report)
    _allocated_at_all(report)
    if report.analysis.block:
        _one_warp_allocates(report)
        for role in report.analysis.roles:
            _life(report, role)
        _relinquished_elsewhere(report)
        for slot in {slot_of(e) for e in report.analysis.events(Kind.ALLOC)} - {None}:
            assert slot is not None
            _published(report, slot)
            _used(report, slot)


# ---- anywhere in the function ----------------------------------------------------------------


def _one_group(report: Report) -> None:
    """All tcgen05 instructions of a kernel have the same `.cta_group`."""
    first: tuple[int, object] | None = None
    for index, mi in enumerate(report.analysis.graph.records):
        group = mi.form.facts.get("cta_group")
        if mi.row.words is not None:
            group = mi.facts().get("cta_group")
        if group is None or not mi.row.head.startswith("tcgen05."):
            continue
        if first is None:
            first = index, group
        elif group is not first[1]:
            report.add(
                CTA_GROUPS,
                index,
                got=f".{_spelled(group)}, after {report.line(first[0])} with .{_spelled(first[1])}",
            )


def _spelled(group: object) -> str:
    return str(getattr(group, "ptx", group)).lstrip(".")


def _allocated_at_all(report: Report) -> None:
    """Tensor memory that a kernel uses, and no instruction of the module allocates."""
    if not report.analysis.function.is_kernel or _module_allocates(report):
        return
    for event in report.analysis.events(*_USES):
        given = [v for _, v in tensor_operands(event) if isinstance(v.base, Parameter)]
        report.add(
            UNALLOCATED,
            event.index,
            severity=Severity.REVIEW if given else Severity.ERROR,
            got="no tcgen05.alloc in the module",
        )


def _module_allocates(report: Report) -> bool:
    return any(
        mi.row.id == _ALLOC
        for function in report.module.functions
        for mi in function.instructions()
    )


# ---- one warp --------------------------------------------------------------------------------


def _one_warp_allocates(report: Report) -> None:
    for index, sites in report.analysis.sites.items():
        event = sites[0][1]
        found = [(warp, e) for warp, e in sites if not e.threads.perhaps]
        if event.kind not in (Kind.ALLOC, Kind.DEALLOC) or len(found) < 2:
            continue
        if len({e.place for _, e in found}) > 1 or event.place is None:
            continue  # each warp at a place of its own
        report.add(WARPS, index, got=", ".join(f"warp {warp}" for warp, _ in found))


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
            case _ if event.kind in _USES:
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
        _after_relinquish(report, event, "a tcgen05.relinquish_alloc_permit on the way here")
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
    elsewhere = _freed_by_others(report, role)
    for point, life in walk.at_exit():
        for slot, _, index in life.live:
            if life.unclear or slot in elsewhere:
                continue
            report.add(
                NEVER_FREED, index, got="a way through " + " → ".join(_short(walk.way(point)))
            )


def _freed_by_others(report: Report, role: Role) -> set[Slot]:
    return {
        e.place.base
        for other in report.analysis.roles
        if other is not role
        for e in other.events()
        if e.kind is Kind.DEALLOC and e.place is not None and isinstance(e.place.base, Loaded)
    }


def _short(way: list[str]) -> list[str]:
    return way if len(way) <= 6 else [*way[:2], "…", *way[-3:]]


# ---- between warps ---------------------------------------------------------------------------


def _relinquished_elsewhere(report: Report) -> None:
    """Another warp gives up the permit before a barrier that the allocation stands behind."""
    roles = report.analysis.roles
    given_up = [(role, e) for role in roles for e in role.events() if e.kind is Kind.RELINQUISH]
    for role in roles:
        elsewhere = [event for other, event in given_up if other is not role]
        allocs = [e for e in role.events() if e.kind is Kind.ALLOC]
        for alloc in allocs if elsewhere else ():
            for index in before_all(report.analysis, elsewhere, partial(_is, alloc)):
                _after_relinquish(report, alloc, f"{report.line(index)}, before a barrier")


def _is(event: Event, other: Event) -> bool:
    return event.index == other.index


def _after_relinquish(report: Report, event: Event, got: str) -> None:
    report.add(AFTER_RELINQUISH, event.index, got=got)


def _published(report: Report, slot: Slot) -> None:
    """Who reads the slot came through a barrier after the allocation."""
    order = Order(report.analysis, lambda e: e.kind is Kind.ALLOC and slot_of(e) == slot)
    reads = Where(Symbol(slot.variable), slot.offset)
    for role, event, known in order.unaware(lambda e: _is_read(e, reads)):
        if not known.knows:
            report.add(
                PUBLISHED,
                event.index,
                got=f"{role} reads {slot.variable}, and no barrier after the allocation orders it",
            )
    for role, event, known in order.unaware(lambda e: _uses(e, slot)):
        if known.knows and not known.fenced:
            report.add(
                FENCE,
                event.index,
                got=f"{role}: a barrier, and no tcgen05.fence::after_thread_sync after it",
            )


def _is_read(event: Event, slot: Where) -> bool:
    return event.kind is Kind.SHARED_LOAD and event.place == slot


def _uses(event: Event, slot: Slot) -> bool:
    return event.kind in _USES and any(v.base == slot for _, v in tensor_operands(event))


def _used(report: Report, slot: Slot) -> None:
    """An allocation that nothing but its dealloc refers to."""
    if any(_may_use(report, e, slot) for e in report.analysis.events(*_USES)):
        return
    for event in report.analysis.events(Kind.ALLOC):
        if slot_of(event) == slot:
            report.add(
                UNUSED,
                event.index,
                got=f"no tcgen05.mma, ld or st at an address from [{slot.variable}]",
            )


def _may_use(report: Report, event: Event, slot: Slot) -> bool:
    """Whether an event is in this allocation, unless it is certainly in another one."""
    others = {slot_of(e) for e in report.analysis.events(Kind.ALLOC)} - {slot}
    return any(v.base not in others for _, v in tensor_operands(event))
