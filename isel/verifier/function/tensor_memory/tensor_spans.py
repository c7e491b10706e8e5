"""The columns of tensor memory that an event certainly accesses.

Layer: isel.verifier.function.  Input: events.  Output: spans of columns, and whether two of them
overlap.  Columns that may not be accessed are left out: rules that ask here report what is certain.
PTX ISA, tcgen05: Tensor Memory Addressing, Matrix and Data Movement Shapes.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm
from intrinsics.modifiers import CopyShape
from isel.verifier.function.events import Event, Kind, tensor_operands
from isel.verifier.function.flow.values import MemoryBase, MemoryLocation, where
from isel.verifier.function.tensor_memory.matrices import MmaExtents, shape_of
from isel.verifier.function.tensor_memory.widths import (
    ALL_LANES,
    COPIED,
    SHIFTED,
    a_columns,
    accumulator,
    lanes_of,
    metadata_columns,
    moved_columns,
    scale_columns,
)

_SCALES = ("sfa", "sfb")
_ALL = 512


@dataclass(frozen=True, slots=True)
class Span:
    """`width` columns from `first` on, None where that is not known, in the lanes of a mask."""

    base: MemoryBase
    first: int | None
    width: int
    writes: bool
    lanes: int = ALL_LANES

    def meets(self, other: Span) -> bool | None:
        """Whether both have a column in common: True, False for perhaps, None for no."""
        if self.base != other.base or not (self.writes or other.writes):
            return None
        if not self.lanes & other.lanes:
            return None
        if self.first is None or other.first is None:
            return False
        apart = self.first >= other.first + other.width or other.first >= self.first + self.width
        return None if apart else True


def spans(event: Event) -> list[Span]:
    """The spans of tensor memory that an event accesses."""
    match event.kind:
        case Kind.DEALLOC:
            place = event.place
            return [] if place is None else [Span(place.base, 0, _ALL, True)]
        case Kind.TENSOR_LOAD | Kind.TENSOR_STORE:
            return _moved(event)
        case Kind.TENSOR_COPY:
            return _span(event.place, _copied(event), writes=True)
        case Kind.SHIFT:
            return _span(event.place, SHIFTED, writes=True)
        case Kind.MULTIPLY:
            return [*written_by(event), *read_by(event)]
    return []


def touch(one: Event, other: Event) -> bool | None:
    """Whether two events conflict, one of them writing: True, False for perhaps, None for no."""
    return meet(spans(one), spans(other))


def meet(one: list[Span], other: list[Span]) -> bool | None:
    """Whether two lists of spans conflict."""
    found = [a.meets(b) for a in one for b in other]
    if True in found:
        return True
    return False if False in found else None


def _span(
    place: MemoryLocation | None, width: int, *, writes: bool, lanes: int = ALL_LANES
) -> list[Span]:
    """A span at a location; its lane shifts the `lanes` of a layout that does not use all."""
    if place is None:
        return []
    if place.offset is None:
        return [Span(place.base, None, width, writes)]
    if lanes != ALL_LANES:
        lanes = lanes << (place.offset >> 16 & 0x7F) & ALL_LANES
    return [Span(place.base, place.offset & 0xFFFF, width, writes, lanes)]


def written_by(event: Event) -> list[Span]:
    """The accumulator of an MMA."""
    shape = shape_of(event)
    return _span(event.place, _accumulator(shape), writes=True, lanes=lanes_of(shape))


def read_by(event: Event) -> list[Span]:
    """The operands that an MMA reads in tensor memory, without its accumulator."""
    return [span for _, span in _operands(event)]


def scales_of(event: Event) -> list[Span]:
    """The scale factors that an MMA reads."""
    return [span for name, span in _operands(event) if name in _SCALES]


def _operands(event: Event) -> list[tuple[str, Span]]:
    """The operands of an MMA in tensor memory, by name, without its accumulator."""
    shape = shape_of(event)
    widths = {"a": a_columns(shape)}
    if shape is not None:
        widths["sp_meta"] = metadata_columns(shape)
    scales = scale_columns(shape) if shape is not None else None
    if scales is not None:
        widths["sfa"], widths["sfb"] = scales
    return [
        (name, span)
        for name, value in tensor_operands(event)
        if name != "d"
        for span in _span(
            where(value),
            widths.get(name, 1),
            writes=False,
            lanes=ALL_LANES if name in _SCALES else lanes_of(shape),
        )
    ]


def _accumulator(shape: MmaExtents | None) -> int:
    """Columns of an accumulator; some layouts put halves or quarters of it side by side."""
    if shape is None:
        return 1
    return shape.n // (accumulator(shape)[0] or 1)


def _moved(event: Event) -> list[Span]:
    """The span of a load or store; a split one has a second half at an offset of columns."""
    writes = event.kind is Kind.TENSOR_STORE
    found = _span(event.place, moved_columns(event.mi.form) or 1, writes=writes)
    split = event.mi.get("half_split")
    if not isinstance(split, Imm):
        return found
    known = [(s, s.first) for s in found]
    return found + [replace(s, first=f + split.value) for s, f in known if f is not None]


def _copied(event: Event) -> int:
    shape = event.mi.form.attributes.get("shape")
    return COPIED[shape][0] if isinstance(shape, CopyShape) else 1
