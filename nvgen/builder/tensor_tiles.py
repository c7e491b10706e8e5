"""Tiles in tensor memory: accumulators, A, sparse A with its metadata, scale factors.

Layer: nvgen.builder.  A tile is an element type, a shape and the columns from a pointer on; lanes
are given by the data path of the instruction.  PTX ISA, Data Path Layout Organization; Packing
formats of elements; Block Scaling; Sparse Matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType
from intrinsics.layouts.sparse import SparseColumns
from intrinsics.modifiers import CtaGroup
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse

BLOCK_ROWS = 128
"""Rows whose factors lie together: four columns of 32 lanes."""

WORD_FACTORS = 4
"""Factors of a row, along K, in one 32-bit cell."""

WORD_COLUMNS = 4
"""What scale factors and metadata are aligned to: the columns that one copy of them fills."""

_CELL = 32


def container_bits(dtype: ElementType, *, padded: bool) -> int:
    """Bits that an element takes where an MMA reads it: 6 bits always take 8, 4 where `padded`.

    Raises: InputError for what is no element type.
    """
    check_element(dtype)
    return 8 if dtype.bits == 6 or (padded and dtype.bits == 4) else dtype.bits


def check_element(dtype: object) -> None:
    """Whether something is a type of elements.

    Raises: InputError.
    """
    if not isinstance(dtype, ElementType):
        known = ", ".join(element.name for element in ElementType)
        raise refuse(
            "no type of elements",
            got=repr(dtype),
            expected=f"ElementType: {known}",
            hint="from intrinsics.element import ElementType",
        )


@dataclass(frozen=True, slots=True)
class TensorTile:
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


@dataclass(frozen=True, slots=True)
class ScaleTile:
    """Scale factors in tensor memory: for each of `rows` rows one for `size` elements of its `k`.

    Four along K make a word.  Word w of row r is at lane r mod 32, in all four groups of 32 lanes,
    and column r div 32 of the columns of w; these are four for 128 rows.

    Of 2 `parts`, which B has on a pair with M = 128, the first are the factors of the even CTA's
    rows of B, in the first two groups of lanes, and the others those of the odd CTA's, in the last
    two; the rows are counted in each.
    """

    pointer: Pointer
    rows: int
    k: int
    dtype: ElementType = ElementType.UE8M0
    size: int = 32
    name: str = "the scale factors"
    parts: int = 1

    @property
    def pitch(self) -> int:
        """Columns of one word of all rows."""
        return _pitch(self.rows // self.parts)

    @property
    def columns(self) -> int:
        """Columns that they all take."""
        return scale_columns(self.rows, self.k, self.size, self.parts)

    @property
    def extent(self) -> int:
        """Columns to the next ones of a ring."""
        return self.columns

    @property
    def nbytes(self) -> int:
        """Bytes that they are, without the copies for the other groups of lanes."""
        return self.columns * 128 * self.parts


def scale_columns(rows: int, k: int, size: int, parts: int = 1) -> int:
    """Columns that the factors of `rows` rows of `k` elements take, one for `size` of them.

    Raises: InputError when there are none.
    """
    check_factors(rows, k, size, parts)
    return -(-k // (WORD_FACTORS * size)) * _pitch(rows // parts)


def check_factors(rows: int, k: int, size: int, parts: int = 1) -> None:
    """Whether there are scale factors of `rows` rows of `k` elements, one for `size` of them.

    Raises: InputError when there are none.
    """
    if min(rows, k, size) < 1:
        raise refuse(
            "no scale factors",
            got=f"{rows} rows of K {k}, one for {size} elements",
            expected="one row, one element and one of a factor at least",
        )
    if parts not in (1, 2) or rows % parts:
        raise refuse(
            "no such parts of scale factors",
            got=f"{rows} rows in {parts}",
            expected="one part; two equal ones of B on a pair with M = 128",
        )


def _pitch(rows: int) -> int:
    return row_blocks(rows) * 4


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


def row_blocks(m: int) -> int:
    """How many blocks of 128 rows hold `m` rows of a CTA."""
    return -(-m // BLOCK_ROWS)
