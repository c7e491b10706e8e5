"""The cells of tensor memory that an instruction accesses, as lanes and columns.

Layer: isel.verifier.function.  Input: an event.  Output: regions at known addresses, relative to
that of an allocation; each contains cells that are certainly accessed.  PTX ISA, Data Movement
Shape, Data Path Layout Organization, Block Scaling, Sparse Matrices.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm
from intrinsics.modifiers import CopyShape, LdStShape
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.values import Loaded, Parameter, Value
from isel.verifier.function.tensor_memory.matrices import shape_of
from isel.verifier.function.tensor_memory.widths import (
    ALL_LANES,
    COPIED,
    SHIFTED,
    a_columns,
    accumulator,
    metadata_columns,
    moved_columns,
    scale_columns,
)


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """`count` columns from `column` on, in the lanes of the mask `lanes`, relative to the address
    `base`.

    `lane` is the lane in the address itself.
    """

    name: str
    base: Loaded | Parameter
    lane: int
    lanes: int
    column: int
    count: int
    writes: bool = False

    def overlaps(self, other: ColumnRange) -> bool:
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


def regions(event: Event) -> list[ColumnRange]:
    """The regions that an event accesses, where they are known."""
    match event.kind:
        case Kind.TENSOR_LOAD | Kind.TENSOR_STORE:
            return list(_moved(event))
        case Kind.TENSOR_COPY:
            return _copied(event)
        case Kind.SHIFT:
            return _at(event, "taddr", "the rows", SHIFTED, ALL_LANES, writes=True)
        case Kind.MULTIPLY:
            return list(_multiplied(event))
    return []


def _at(
    event: Event, operand: str, name: str, count: int, lanes: int, *, writes: bool = False
) -> list[ColumnRange]:
    """The region at an operand's address; `lanes` count from the address's lane."""
    place = place_of(event.value(operand))
    if place is None:
        return []
    base, lane, column = place
    if name in SCALES:
        lane &= 0x3FFF  # the upper two bits are the scale factor id
    shifted = lanes << min(max(lane, 0), 128) & ALL_LANES if lanes != ALL_LANES else lanes
    return [ColumnRange(name, base, lane, shifted, column, count, writes)]


def place_of(value: Value | None) -> tuple[Loaded | Parameter, int, int] | None:
    """The base, lane and column of an address; None where one of them is not known."""
    if value is None or not isinstance(value.base, (Loaded, Parameter)):
        return None
    if not isinstance(value.offset, int):
        return None
    column = value.offset & 0xFFFF
    if column >> 15:
        column -= 1 << 16  # an address below the allocation's
    return value.base, value.offset - column >> 16, column


# ---- ld and st -------------------------------------------------------------------------------


def _moved(event: Event) -> Iterator[ColumnRange]:
    count = moved_columns(event.mi.form)
    if not count:
        return
    all_lanes = event.mi.form.attributes["shape"] is LdStShape.S32X32B
    lanes = (1 << (32 if all_lanes else 16)) - 1
    writes = event.kind is Kind.TENSOR_STORE
    name = "the store" if writes else "the load"
    found = _at(event, "taddr", name, count, lanes, writes=writes)
    yield from found
    split = event.mi.get("half_split")
    if isinstance(split, Imm):
        yield from (
            ColumnRange(
                f"{name}'s second half", r.base, r.lane, r.lanes, r.column + split.value, count,
                writes)
            for r in found
        )  # fmt: skip


# ---- cp --------------------------------------------------------------------------------------


def _copied(event: Event) -> list[ColumnRange]:
    shape = event.mi.form.attributes.get("shape")
    if not isinstance(shape, CopyShape):
        return []
    count, lanes = COPIED[shape]
    return _at(event, "taddr", "the copy", count, lanes, writes=True)


# ---- mma -------------------------------------------------------------------------------------

SCALES = ("scale A", "scale B")
"""Names of the regions of scale factors."""


def _multiplied(event: Event) -> Iterator[ColumnRange]:
    shape = shape_of(event)
    if shape is None:
        return
    parts, lanes = accumulator(shape)
    if parts:
        yield from _at(event, "d", "D", shape.n // parts, lanes, writes=True)
    if parts and shape.kind in DENSE_K:
        yield from _at(event, "a", "A", a_columns(shape), lanes)
        yield from _at(event, "sp_meta", "the metadata", metadata_columns(shape), lanes)
    scales = scale_columns(shape)
    if scales is not None:
        yield from _at(event, "sfa", "scale A", scales[0], ALL_LANES)
        yield from _at(event, "sfb", "scale B", scales[1], ALL_LANES)
