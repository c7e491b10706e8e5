"""Rules about tensor memory between warps: its address published, its permit given up.

Layer: isel.verifier.function.  PTX ISA, tcgen05.alloc, tcgen05.relinquish_alloc_permit,
tcgen05.fence.
"""

from __future__ import annotations

from functools import partial

from intrinsics.findings import Severity
from isel.verifier.function.allocation import Slot, slot_of, slots
from isel.verifier.function.events import TENSOR_USES, Event, Kind, tensor_operands
from isel.verifier.function.lifetime import after_relinquish
from isel.verifier.function.order import Order, before_all
from isel.verifier.function.report import Report
from isel.verifier.function.values import Symbol, Where
from isel.verifier.rule import VerifierRule

_ALLOC = "tcgen05.alloc"

PUBLISHED = VerifierRule(
    "tcgen05.alloc/published",
    "the address of tensor memory is read before it is there",
    _ALLOC,
    expected="a barrier between tcgen05.alloc and the load",
    hint="tcgen05.alloc; tcgen05.fence::before_thread_sync; bar.sync; "
    "tcgen05.fence::after_thread_sync; ld.shared",
)
FENCE = VerifierRule(
    "tcgen05.alloc/fence",
    "tensor memory of another warp's allocation is used without a fence",
    "tcgen05.fence",
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the barrier and the first use",
)
RULES = (PUBLISHED, FENCE)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if report.analysis.block:
        _relinquished_elsewhere(report)
        for slot in slots(report):
            _published(report, slot)


def _relinquished_elsewhere(report: Report) -> None:
    """Another warp gives up the permit before a barrier that the allocation stands behind."""
    roles = report.analysis.roles
    given_up = [(role, e) for role in roles for e in role.events() if e.kind is Kind.RELINQUISH]
    for role in roles:
        elsewhere = [event for other, event in given_up if other is not role]
        allocs = [e for e in role.events() if e.kind is Kind.ALLOC]
        for alloc in allocs if elsewhere else ():
            for index in before_all(report.analysis, elsewhere, partial(_is, alloc)):
                after_relinquish(report, alloc, f"{report.line(index)}, before a barrier")


def _is(event: Event, other: Event) -> bool:
    return event.index == other.index


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
    return event.kind in TENSOR_USES and any(v.base == slot for _, v in tensor_operands(event))
