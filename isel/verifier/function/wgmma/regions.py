"""Whether two records access the same part of shared memory.

Layer: isel.verifier.function.  Addresses are known by variable and offset; descriptors give the
first byte of a matrix, and not its extent.
"""

from __future__ import annotations

from isel.verifier.function.events import Kind
from isel.verifier.function.flow.values import MemoryLocation, Sixteenth, Symbol
from isel.verifier.function.report import Report

_LARGEST_TILE = 1 << 16
"""Bytes that one descriptor's matrix may span."""


def overlap(report: Report, written: MemoryLocation, read: MemoryLocation) -> bool | None:
    """Whether a write overlaps a read: True, False for perhaps, None for no."""
    name = variable_of(read)
    if name is None or not isinstance(written.base, Symbol) or written.base.name != name:
        return None
    start = _start(read)
    if written.offset is not None and start is not None:
        return True if start <= written.offset < start + _LARGEST_TILE else None
    return not holds_other_things(report, name)


def variable_of(place: MemoryLocation) -> str | None:
    """The variable that contains a location, or that a descriptor points into."""
    base = place.base
    return base.variable if isinstance(base, Sixteenth) else getattr(base, "name", None)


def _start(place: MemoryLocation) -> int | None:
    """The first byte that is read, as an offset from the variable's start."""
    if place.offset is None:
        return None
    return place.offset * 16 if isinstance(place.base, Sixteenth) else place.offset


def holds_other_things(report: Report, name: str) -> bool:
    """Whether a variable has mbarriers or slots in it, which a store may be for."""
    places = (e.place for e in report.analysis.events(Kind.INIT, Kind.ALLOC))
    unsized = any(v.name == name and not v.size for v in report.module.variables)
    return unsized or any(p is not None and p.base == Symbol(name) for p in places)
