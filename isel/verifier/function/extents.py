"""Which cells of tensor memory an instruction reads and writes, as lanes and columns.

Layer: isel.verifier.function.  Input: an event.  Output: regions whose place is known, relative to
an allocation's address; of each at least the cells that it certainly touches.  PTX ISA, Data
Movement Shape, Data Path Layout Organization, Block Scaling, Sparse Matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intrinsics.idesc import DENSE_K, SCALED_KINDS
from intrinsics.mir import Imm
from intrinsics.modifiers import LdStNum, LdStShape, MmaKind
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.matrices import Shape, shape_of
from isel.verifier.function.values import Loaded, Parameter, Value

ALL_LANES = (1 << 128) - 1
_HALF_LANES = sum(0xFFFF << quarter for quarter in (0, 32, 64, 96))
"""Lanes 0 to 15 of each quarter: a layout that uses half of the datapath."""


@dataclass(frozen=True, slots=True)
class Region:
    """`count` columns from `column` on in the lanes of the mask `lanes`, behind an address.

    `base` is what the address is relative to, `lane` the lane in the address itself.
    """

    name: str
    base: Loaded | Parameter
    lane: int
    lanes: int
    column: int
    count: int
    writes: bool = False

    def overlaps(self, other: Region) -> bool:
        """Whether both certainly have a cell in common."""
        return (
            self.base == other.base
            and self.lanes & other.lanes != 0
            and self.column < other.column + other.count
            and other.column < self.column + self.count
        )

    def __str__(self) -> str:
        return f"{self.name}: {_columns(self.column, self.count)}"


def _columns(first: int, count: int) -> str:
    return f"column {first}" if count == 1 else f"columns {first} to {first + count - 1}"


def regions(event: Event) -> list[Region]:
    """The regions that an event touches, as far as they are known."""
    match event.kind:
        case Kind.TENSOR_LOAD | Kind.TENSOR_STORE:
            return list(_moved(event))
        case Kind.TENSOR_COPY:
            count, lanes = _COPIES.get(shape_name(event), (0, 0))
            return _at(event, "taddr", "the copy", count, lanes, writes=True) if count else []
        case Kind.SHIFT:
            return _at(event, "taddr", "the rows", _SHIFTED, ALL_LANES, writes=True)
        case Kind.MULTIPLY:
            return list(_multiplied(event))
    return []


def _at(
    event: Event, operand: str, name: str, count: int, lanes: int, *, writes: bool = False
) -> list[Region]:
    """The region at an operand's address, whose lanes begin with the address's own."""
    place = place_of(event.value(operand))
    if place is None:
        return []
    base, lane, column = place
    if name in SCALES:
        lane &= 0x3FFF  # programs keep the scale factor's id in the upper two bits
    shifted = lanes << max(lane, 0) & ALL_LANES if lanes != ALL_LANES else lanes
    return [Region(name, base, lane, shifted, column, count, writes)]


def place_of(value: Value | None) -> tuple[Loaded | Parameter, int, int] | None:
    """What an address is relative to, its lane and its column; None where one is not known."""
    if value is None or not isinstance(value.base, (Loaded, Parameter)):
        return None
    if not isinstance(value.offset, int):
        return None
    column = value.offset & 0xFFFF
    if column >> 15:
        column -= 1 << 16  # an address before the allocation's
    return value.base, value.offset - column >> 16, column


# ---- ld and st -------------------------------------------------------------------------------

_BITS = {
    LdStShape.S16X64B: 64,
    LdStShape.S16X128B: 128,
    LdStShape.S16X256B: 256,
    LdStShape.S32X32B: 32,
    LdStShape.S16X32BX2: 32,
}
"""Bits of a lane that one repetition of a shape moves."""


def _moved(event: Event) -> Iterator[Region]:
    facts = event.mi.form.facts
    shape, num = facts.get("shape"), facts.get("num")
    if not isinstance(shape, LdStShape) or not isinstance(num, LdStNum):
        return
    packed = facts.get("pack") is not None or facts.get("unpack") is not None
    count = _BITS[shape] // 32 * num.times * (2 if packed else 1)
    lanes = (1 << (32 if shape is LdStShape.S32X32B else 16)) - 1
    writes = event.kind is Kind.TENSOR_STORE
    name = "the store" if writes else "the load"
    found = _at(event, "taddr", name, count, lanes, writes=writes)
    yield from found
    split = event.mi.get("half_split")
    if isinstance(split, Imm):
        yield from (
            Region(f"{name}'s second half", r.base, r.lane, r.lanes, r.column + split.value, count,
                   writes)
            for r in found
        )  # fmt: skip


# ---- cp and shift ----------------------------------------------------------------------------

_COPIES = {
    "128x256b": (8, ALL_LANES),
    "4x256b": (8, 1),
    "128x128b": (4, ALL_LANES),
    "64x128b": (4, ALL_LANES),
    "32x128b": (4, ALL_LANES),
}
"""Columns and lanes of a copy; the shapes of 64 and 32 rows are multicast to all lanes."""

_SHIFTED = 8
"""Columns of the 32-byte elements that a shift moves."""


def shape_name(event: Event) -> str:
    """The shape of a copy, as it is spelled."""
    shape = event.mi.form.facts.get("shape")
    return str(getattr(shape, "value", shape)).lstrip(".")


# ---- mma -------------------------------------------------------------------------------------

SCALES = ("scale A", "scale B")
"""Names of the regions of scale factors."""


def _multiplied(event: Event) -> Iterator[Region]:
    shape = shape_of(event)
    if shape is None:
        return
    parts, lanes = accumulator(shape)
    if parts:
        yield from _at(event, "d", "D", shape.n // parts, lanes, writes=True)
    if parts and shape.kind in DENSE_K:
        yield from _at(event, "a", "A", 12 if shape.k96 else 8, lanes)
        yield from _at(event, "sp_meta", "the metadata", _metadata(shape), lanes)
    if shape.kind in SCALED_KINDS:
        rows = shape.m // shape.ctas
        yield from _at(event, "sfa", "scale A", max(rows // 32, 1), ALL_LANES)
        yield from _at(event, "sfb", "scale B", -(-shape.n // 32), ALL_LANES)


def accumulator(shape: Shape) -> tuple[int, int]:
    """Into how many parts D's columns are folded, and the lanes that it takes; 0 if unknown.

    Layouts A, D: as they are; B, E, G: halves or quarters side by side in the lanes; C, F: every
    second group of 16 lanes.
    """
    if shape.stationary:
        return {32: 4, 64: 2, 128: 1}.get(shape.m, 0), ALL_LANES
    rows = shape.m // shape.ctas
    if rows == 128:
        return 1, ALL_LANES
    if rows != 64:
        return 0, 0
    return (2, ALL_LANES) if shape.ctas == 2 and not shape.sparse else (1, _HALF_LANES)


def _metadata(shape: Shape) -> int:
    """Columns of metadata: 4 bits for each chunk of A, of which there are 8 or 16 in a row."""
    return 1 if shape.kind in (MmaKind.F16, MmaKind.TF32) else 2


def lanes_of(shape: Shape | None) -> int:
    """The lanes of D, as a mask, where it begins at lane 0; all where that is not known."""
    parts, lanes = accumulator(shape) if shape is not None else (0, ALL_LANES)
    return lanes if parts else ALL_LANES


def lane_alignment(shape: Shape) -> tuple[int, ...]:
    """The lanes at which D may begin; PTX ISA, Tensor Memory Datapath Lane Alignment."""
    parts, lanes = accumulator(shape)
    if not parts:
        return ()
    return (0, 16) if lanes == _HALF_LANES else (0,)
