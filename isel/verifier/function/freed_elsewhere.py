"""Rules about tensor memory that another warp has freed: nobody uses it any more.

Layer: isel.verifier.function.  PTX ISA, tcgen05.dealloc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from isel.verifier.function.allocation import Slot, slot_of, slots
from isel.verifier.function.events import TENSOR_USES, Event, Kind, tensor_operands
from isel.verifier.function.lifetime import FREED
from isel.verifier.function.order import before_all
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.rule import VerifierRule

_ARRIVALS = (Kind.ARRIVE, Kind.BARRIER, Kind.BARRIER_ARRIVE)

RULES: tuple[VerifierRule, ...] = ()
"""None of its own: what it finds is a breach of `lifetime.FREED`."""


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if not report.analysis.block or len(report.analysis.roles) < 2:
        return
    for slot in slots(report):
        for role, event in _frees(report, slot):
            _used_after(report, slot, role, event)


def _frees(report: Report, slot: Slot) -> Iterator[tuple[Role, Event]]:
    for role in report.analysis.roles:
        for event in role.events():
            if event.kind is Kind.DEALLOC and event.place is not None and event.place.base == slot:
                yield role, event


def _uses(event: Event, slot: Slot) -> bool:
    return event.kind in TENSOR_USES and any(v.base == slot for _, v in tensor_operands(event))


def _used_after(report: Report, slot: Slot, role: Role, free: Event) -> None:
    """A use behind a barrier that the freeing warp comes to when it has freed."""
    if not _tells(role, free) or not _allocated_once(report, slot):
        return
    for other in report.analysis.roles:
        for use in other.events() if other is not role else ():
            if _uses(use, slot) and before_all(report.analysis, [free], _same(use)):
                report.add(
                    FREED,
                    use.index,
                    got=f"[{slot.variable}], which {report.line(free.index)} frees before a "
                    f"barrier that {other} waits at",
                )


def _tells(role: Role, free: Event) -> bool:
    """Whether the warp arrives anywhere after it has freed."""
    told: list[int] = []

    def step(freed: bool, event: Event) -> bool:
        if freed and event.kind in _ARRIVALS:
            told.append(event.index)
        return freed or event.index == free.index

    role.walker.walk(False, step)
    return bool(told)


def _allocated_once(report: Report, slot: Slot) -> bool:
    """Whether no allocation can give the slot a new address after it was freed."""
    found = [
        (warp, event)
        for sites in report.analysis.sites.values()
        for warp, event in sites
        if event.kind is Kind.ALLOC and slot_of(event) in (slot, None)
    ]
    repeated = report.analysis.repeated
    return len({e.index for _, e in found}) == 1 and not any(
        e.index in repeated[w] for w, e in found
    )


def _same(event: Event) -> Callable[[Event], bool]:
    return lambda other: other.index == event.index
