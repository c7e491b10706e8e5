"""Rules about the allocation of tensor memory: by one warp, of one `.cta_group`, and used.

Layer: isel.verifier.function.  An allocation is identified by the slot in shared memory that its
address is written to.  PTX ISA, tcgen05.alloc, Tensor Memory Allocation, Issue Granularity.
"""

from __future__ import annotations

from typing import TypeAlias

from intrinsics.findings import Severity
from intrinsics.modifiers import Space
from isel.verifier.function.events import TENSOR_USES, Event, Kind, tensor_operands
from isel.verifier.function.flow.values import Loaded, Parameter, Symbol
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

_ALLOC = "tcgen05.alloc"

CTA_GROUPS = VerifierRule(
    "tcgen05/cta-groups",
    "a kernel uses cta_group::1 and cta_group::2",
    _ALLOC,
    expected="the same .cta_group in all its tcgen05 instructions",
    misses=False,
    ptxas="refuses, as it generates code",
)
UNALLOCATED = VerifierRule(
    "tcgen05/unallocated",
    "tensor memory is used, and nothing allocates it",
    "Tensor Memory Allocation",
    expected="tcgen05.alloc before the first use",
)
WARPS = VerifierRule(
    "{op}/warps",
    "{op} is executed by more than one warp",
    "tcgen05, Issue Granularity",
    expected="one warp",
    hint="branch to it in one warp only, as with tid.x / 32 == 0",
    misses=False,
)
UNUSED = VerifierRule(
    "tcgen05.alloc/unused",
    "tensor memory is allocated, and nothing uses it",
    _ALLOC,
    Severity.WARNING,
)
WINDOW = VerifierRule(
    "{op}/window",
    "what is signalled or written lies outside of shared memory",
    expected="an address of shared memory",
    hint="cvta.shared.u64 makes a generic address of an address in shared memory",
    misses=False,
)
RULES = (CTA_GROUPS, UNALLOCATED, WARPS, UNUSED, WINDOW)

Slot: TypeAlias = Loaded
"""The shared memory location of an allocation's address."""


def slot_of(event: Event) -> Slot | None:
    """The slot that an allocation writes."""
    place = event.place
    if place is None or place.offset is None or not isinstance(place.base, Symbol):
        return None
    return Loaded(place.base.name, place.offset)


def slots(report: Report) -> list[Slot]:
    """The slots that allocations of the function write."""
    found = (slot_of(e) for e in report.analysis.events(Kind.ALLOC))
    return list(dict.fromkeys(slot for slot in found if slot is not None))


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    _one_group(report)
    _allocated_at_all(report)
    _in_shared_memory(report)
    if report.analysis.block:
        _one_warp_allocates(report)
        for slot in slots(report):
            _used(report, slot)


def _one_group(report: Report) -> None:
    """All tcgen05 instructions of a kernel have the same `.cta_group`."""
    first: tuple[int, object] | None = None
    for index, mi in enumerate(report.analysis.graph.records):
        group = mi.form.attributes.get("cta_group")
        if mi.row.packed_fields is not None:
            group = mi.attributes().get("cta_group")
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


def _in_shared_memory(report: Report) -> None:
    """Generic addresses of slots and mbarriers are those of shared memory.

    What a parameter holds is not known, but it is the same for all CTAs.
    """
    variables = (*report.module.variables, *report.analysis.function.variables)
    spaces = {variable.name: variable.space for variable in variables}
    for event in report.analysis.events(Kind.ALLOC, Kind.COMMIT):
        base = None if event.place is None else event.place.base
        if event.mi.form.attributes.get("space") is not None or base is None:
            continue
        if isinstance(base, Symbol) and spaces.get(base.name, Space.SHARED) is not Space.SHARED:
            report.add(WINDOW, event.index, got=str(event.place))
        elif isinstance(base, Parameter) and report.analysis.function.is_kernel:
            report.add(WINDOW, event.index, got=str(event.place), severity=Severity.REVIEW)


def _allocated_at_all(report: Report) -> None:
    """Tensor memory that is used although no instruction of the module allocates any."""
    if not report.analysis.function.is_kernel or _module_allocates(report):
        return
    for event in report.analysis.events(*TENSOR_USES):
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


def _one_warp_allocates(report: Report) -> None:
    for index, sites in report.analysis.sites.items():
        event = sites[0][1]
        found = [(warp, e) for warp, e in sites if not e.threads.perhaps]
        if event.kind not in (Kind.ALLOC, Kind.DEALLOC) or len(found) < 2:
            continue
        if len({e.place for _, e in found}) > 1 or event.place is None:
            continue  # each warp has a slot of its own
        report.add(WARPS, index, got=", ".join(f"warp {warp}" for warp, _ in found))


def _used(report: Report, slot: Slot) -> None:
    """An allocation that only its dealloc refers to."""
    if any(_may_use(report, e, slot) for e in report.analysis.events(*TENSOR_USES)):
        return
    for event in report.analysis.events(Kind.ALLOC):
        if slot_of(event) == slot:
            report.add(
                UNUSED,
                event.index,
                got=f"no tcgen05.mma, ld, st, cp or shift at an address from [{slot.variable}]",
            )


def _may_use(report: Report, event: Event, slot: Slot) -> bool:
    """Whether an event may access this allocation: it is not known to access another one."""
    others = {slot_of(e) for e in report.analysis.events(Kind.ALLOC)} - {slot}
    return any(v.base not in others for _, v in tensor_operands(event))
