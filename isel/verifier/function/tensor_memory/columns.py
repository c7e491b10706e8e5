"""Rules about columns and lanes: every access is inside its allocation, at a lane that exists.

Layer: isel.verifier.function.  Checked where address and shape are known.  PTX ISA, Tensor Memory
Allocation, Data Path Layout Organization, tcgen05.shift.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from isel.verifier.function.events import TENSOR_USES, Event, Kind
from isel.verifier.function.flow.values import Loaded, MemoryLocation, Symbol
from isel.verifier.function.report import Report
from isel.verifier.function.tensor_memory.allocation import Slot, slot_of
from isel.verifier.function.tensor_memory.extents import ColumnRange, place_of, regions
from isel.verifier.function.tensor_memory.matrices import shape_of
from isel.verifier.function.tensor_memory.widths import lane_alignment
from isel.verifier.rule import VerifierRule

_LAYOUTS = "tcgen05, Data Path Layout Organization"

BEYOND = VerifierRule(
    "{op}/beyond-allocation",
    "columns outside the allocation are accessed",
    "Tensor Memory Allocation",
    hint="allocate more columns, a power of 2 from 32 to 512, or begin at a lower one",
    misses=False,
)
LANES = VerifierRule(
    "{op}/lane-alignment",
    "an operand begins at a lane that its layout does not allow",
    _LAYOUTS,
    hint="the lane stands in bits 16 to 31 of the address",
    misses=False,
)
SAME_LANES = VerifierRule(
    "{op}/same-lanes",
    "operands of a layout of half the lanes begin at different lanes",
    _LAYOUTS,
    hint="A, D and the sparsity metadata all begin at lane 0, or all at lane 16",
    misses=False,
)
SHIFTED_LANE = VerifierRule(
    "tcgen05.shift/lane",
    "the lane of a shift is not aligned to 32",
    "tcgen05.shift",
    expected="lane 0, 32, 64 or 96",
    misses=False,
)
RULES = (BEYOND, LANES, SAME_LANES, SHIFTED_LANE)


def check(report: Report) -> None:
    """Report the accesses that break a rule of this module.

    They hold for a thread of any number.
    """
    allocated = _allocated(report)
    for event in _uses(report):
        for region in regions(event):
            if region.base in allocated:
                _inside(report, event, region, *allocated[region.base])
        if event.kind is Kind.MULTIPLY:
            _lanes(report, event, allocated.keys())
        if event.kind is Kind.SHIFT:
            _shifted(report, event, allocated.keys())


def _uses(report: Report) -> Iterator[Event]:
    """The accesses of each warp to tensor memory.

    Warps of one role may have different addresses.
    """
    for sites in report.analysis.sites.values():
        if sites[0][1].kind in TENSOR_USES:
            yield from (event for _, event in sites)


def _allocated(report: Report) -> dict[object, tuple[int, int]]:
    """The largest number of columns of each slot's allocation, and its record, where that is
    certain.
    """
    found: dict[object, tuple[int, int]] = {}
    unclear: set[Slot | None] = set()
    for event in report.analysis.events(Kind.ALLOC):
        slot = slot_of(event)
        if slot is None or event.count is None:
            unclear.add(slot)
        else:
            found[slot] = max(found.get(slot, (0, 0)), (event.count, event.index))
    if None in unclear:
        return {}
    stored = [e.place for e in report.analysis.events(Kind.SHARED_STORE)]
    return {
        slot: known
        for slot, known in found.items()
        if isinstance(slot, Loaded) and slot not in unclear
        if not any(_is_slot(place, slot) for place in stored)
    }


def _is_slot(place: MemoryLocation | None, slot: Slot) -> bool:
    """Whether a store may overwrite a slot."""
    return place is not None and place.meets(MemoryLocation(Symbol(slot.variable), slot.offset))


def _inside(report: Report, event: Event, region: ColumnRange, columns: int, alloc: int) -> None:
    if region.column >= 0 and region.column + region.count <= columns:
        return
    report.add(
        BEYOND,
        event.index,
        got=f"{region} of [{_name(region)}]",
        expected=f"columns 0 to {columns - 1}, as {report.line(alloc)} allocates {columns}",
    )


def _name(region: ColumnRange) -> str:
    return getattr(region.base, "variable", getattr(region.base, "name", ""))


def _lanes(report: Report, event: Event, allocated: Container[object]) -> None:
    """D, A and the metadata begin at a lane that their layout allows."""
    shape = shape_of(event)
    found = [(name, place_of(event.value(operand))) for name, operand in _OPERANDS]
    places = {name: p for name, p in found if p is not None and p[0] in allocated}
    allowed = lane_alignment(shape) if shape is not None else ()
    if shape is None or not allowed or "D" not in places:
        return
    lane = places["D"][1]
    if lane not in allowed:
        report.add(
            LANES,
            event.index,
            got=f"D at lane {lane}, M = {shape.m}",
            expected=" or ".join(f"lane {a}" for a in allowed),
        )
        return
    for name, (_, other, _) in places.items():
        if other != lane:
            report.add(SAME_LANES, event.index, got=f"D at lane {lane}, {name} at lane {other}",
                       expected=f"{name} at lane {lane}")  # fmt: skip


_OPERANDS = (("D", "d"), ("A", "a"), ("the metadata", "sp_meta"))


def _shifted(report: Report, event: Event, allocated: Container[object]) -> None:
    place = place_of(event.value("taddr"))
    if place is not None and place[0] in allocated and place[1] % 32:
        report.add(SHIFTED_LANE, event.index, got=f"lane {place[1]}")
