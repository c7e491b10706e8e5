"""Matrices in tensor memory: accumulators, A, sparse A with its metadata; and what multiplies them.

Layer: nvgen.builder.  A tile is an element type, a shape and the columns from a pointer on; lanes
are given by the data path of the instruction.  A family are the element types that one kind of MMA
multiplies.  PTX ISA, Data Path Layout Organization; Packing formats of elements; Sparse Matrices;
Matrix Shape (Table 39).
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.descriptors.idesc import DENSE_K, FP4_KINDS, SCALED_KINDS
from intrinsics.element import ElementType
from intrinsics.layouts.sparse import SparseColumns
from intrinsics.modifiers import CtaGroup, MmaKind
from intrinsics.multiplies.block_scale import block_scale
from nvgen.builder.pointers import Pointer
from nvgen.builder.tiles import BLOCK_ROWS, WORD_COLUMNS, container_bits, row_blocks

_CELL = 32


@dataclass(frozen=True, slots=True)
class AccumulatorColumns:
    """An accumulator in tensor memory: `m` rows and `n` columns of a type, from `pointer` on.

    Each 128 rows of a CTA are a block of `n` columns, one behind the other.  Of a CTA pair's each
    CTA holds its half at the same address.  `columns` are those that it has in each CTA, where
    that is known.
    """

    pointer: Pointer
    m: int
    n: int
    dtype: ElementType = ElementType.F32
    columns: int | None = None


@dataclass(frozen=True, slots=True)
class OperandTile:
    """A in tensor memory: `m` rows of one CTA by `k` elements, packed into cells along K.

    Each 128 rows are a block of `pitch` columns, one behind the other.
    A `padded` tile keeps a 4-bit element in a byte; 6-bit elements always lie so.  Where the data
    path has M = 32 or 64, or half of a pair's 128, the tensor core may read A from several groups
    of lanes: whoever writes it writes them all.
    """

    pointer: Pointer
    m: int
    k: int
    dtype: ElementType
    padded: bool = False

    @property
    def bits(self) -> int:
        """Bits that an element takes in tensor memory."""
        return container_bits(self.dtype, padded=self.padded)

    @property
    def pitch(self) -> int:
        """Columns of all k of a row."""
        return self.k * self.bits // _CELL

    @property
    def columns(self) -> int:
        """Columns that it takes."""
        return self.pitch * row_blocks(self.m)


@dataclass(frozen=True, slots=True)
class SparseTile:
    """A sparse A in tensor memory: `m` rows of `k` elements, of which the half at `values` is
    stored, and its metadata; both are taken from one allocation and lie at the same lanes.

    Each 128 rows are a block of `pitch` columns, values and then metadata.
    """

    values: Pointer
    metadata: Pointer
    m: int
    k: int
    dtype: ElementType
    columns: SparseColumns

    @property
    def bits(self) -> int:
        """Bits that an element takes in tensor memory."""
        return self.columns.values * _CELL * 2 // self.k

    @property
    def pitch(self) -> int:
        """Columns of a block: whole copies of metadata."""
        return whole_words(self.columns.values + self.columns.metadata)


def whole_words(columns: int) -> int:
    """Columns, rounded up to those that copies of scale factors or metadata fill."""
    return -(-columns // WORD_COLUMNS) * WORD_COLUMNS


def accumulator_columns(
    m: int, n: int, *, cta_group: CtaGroup, stationary: bool, sparse: bool
) -> int:
    """Columns of tensor memory that an accumulator of m rows and n columns takes in each CTA.

    Each 128 rows of a CTA take n columns, one block behind the other.  M = 64 and 32 of a
    weight-stationary MMA, and M = 128 of a pair with a dense A, lie in groups of lanes side by
    side: layouts E, G and B.
    """
    blocks, rest = block_of(m // (2 if cta_group is CtaGroup.TWO else 1))
    if not rest:
        return blocks * n
    if stationary:
        return blocks * n + n * rest // BLOCK_ROWS
    halves = cta_group is CtaGroup.TWO and rest == BLOCK_ROWS // 2 and not sparse
    return blocks * n + (n // 2 if halves else n)


def block_of(row: int) -> tuple[int, int]:
    """The block of 128 rows that a row of a CTA is in, and its number there."""
    return divmod(row, BLOCK_ROWS)


# ---- families ----------------------------------------------------------------------------------

E = ElementType
_NARROW = (E.E4M3, E.E5M2, E.E2M3, E.E3M2, E.E2M1)


@dataclass(frozen=True, slots=True)
class Family:
    """Element types that one kind of MMA multiplies."""

    kind: MmaKind
    types: tuple[ElementType, ...]

    @property
    def k(self) -> int:
        """K of one dense instruction; of a sparse one it is twice as much."""
        return DENSE_K[self.kind]

    @property
    def scaled(self) -> bool:
        """Whether A and B come with scale factors."""
        return self.kind in SCALED_KINDS

    def holds(self, dtype: ElementType, bits: int) -> bool:
        """Whether it multiplies elements of `dtype` that take `bits` each."""
        narrow = self.types == _NARROW
        return dtype in self.types and bits == (8 if narrow else dtype.bits)

    def __str__(self) -> str:
        types = " or ".join(t.value for t in self.types)
        if self.kind in FP4_KINDS:
            types += ", two in a byte"
        elif self.types == _NARROW:
            types += ", 16 in 16 bytes"
        return types + (" with scale factors" if self.scaled else "")


FAMILIES = (
    Family(MmaKind.F16, (E.F16, E.BF16)),
    Family(MmaKind.TF32, (E.TF32,)),
    Family(MmaKind.F8F6F4, _NARROW),
    Family(MmaKind.I8, (E.S8, E.U8)),
    Family(MmaKind.MXF8F6F4, _NARROW),
    Family(MmaKind.MXF4, (E.E2M1,)),
    Family(MmaKind.MXF4NVF4, (E.E2M1,)),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


def family_of(
    a: tuple[ElementType, int], b: tuple[ElementType, int], scale_size: int = 0
) -> Family | None:
    """The family that multiplies A by B, each a type and the bits that an element takes.

    `scale_size` is how many elements share a factor, zeros of a sparse A not counted; 0 for none.
    """
    able = [f for f in FAMILIES if f.holds(*a) and f.holds(*b) and f.scaled is (scale_size > 0)]
    for family in able:
        scaling = block_scale(family.k, scale_size)
        if scaling is not None and family.kind in scaling.kinds:
            return family
    return able[0] if able else None
