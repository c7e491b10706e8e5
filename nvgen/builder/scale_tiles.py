"""Scale factors of block-scaled matrices, in shared and in tensor memory; the tiles of a ring.

Layer: nvgen.builder.  PTX ISA, Block Scaling.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, TypeVar

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.tensor_shapes import row_blocks
from nvgen.builder.numbers import IntLike
from nvgen.builder.pointers import Pointer, index_of
from nvgen.builder.tiles import SharedTile
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse

WORD_FACTORS = 4
"""Factors of a row, along K, in one 32-bit cell."""

WORD_COLUMNS = 4
"""What scale factors and metadata are aligned to: the columns that one copy of them fills."""

SCALE_BLOCK = 512
"""Bytes of the factors of 128 rows, four for each, as they lie in memory."""


@guarded
@dataclass(frozen=True, slots=True)
class SharedScales:
    """Scale factors in shared memory: for each of `rows` rows one for `size` elements of its `k`.

    They are in blocks of 128 rows by four factors: 512 bytes, in which factor f of row r is at byte
    16 (r mod 32) + 4 (r div 32) + f.  The blocks of the same rows follow one another, then those of
    the next 128 rows: the layout of cuDNN and CUTLASS in global memory.

    With 2 `parts` (see `ScaleTile`) the blocks of the two parts alternate.
    """

    name: str
    pointer: Pointer
    dtype: ElementType
    rows: int
    k: int
    size: int
    parts: int = 1

    def __repr__(self) -> str:
        down, along = self.blocks
        lies = f"{down}x{along} blocks of 128 rows by {WORD_FACTORS}, {self.nbytes} bytes"
        of = f"one {self.dtype.value} for {self.size} elements"
        return f"<scale factors {self.name} of {self.rows}x{self.k}, {of}: {lies}>"

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks of a part along the rows and along K; the last ones may be padding."""
        return _blocks(self.rows // self.parts, self.k, self.size)

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of them all counts on its mbarrier."""
        return scale_bytes(self.rows, self.k, self.size, self.parts)

    @property
    def extent(self) -> int:
        """Bytes to the next ones of a ring."""
        return self.nbytes


def scale_bytes(rows: int, k: int, size: int, parts: int = 1) -> int:
    """Bytes of the factors of `rows` rows of `k` elements, one for `size` of them."""
    check_factors(rows, k, size, parts)
    down, along = _blocks(rows // parts, k, size)
    return down * along * parts * SCALE_BLOCK


def _blocks(rows: int, k: int, size: int) -> tuple[int, int]:
    return row_blocks(rows), -(-k // (WORD_FACTORS * size))


@guarded
@dataclass(frozen=True, slots=True)
class ScaleTile:
    """Scale factors in tensor memory: for each of `rows` rows one for `size` elements of its `k`.

    Four along K make a word.  Word w of row r is at lane r mod 32, in all four groups of 32 lanes,
    and column r div 32 of the columns of w; these are four for 128 rows.

    B in a CTA pair with M = 128 has 2 `parts`: the factors of the even CTA's rows of B, in the
    first two groups of lanes, and those of the odd CTA's, in the last two; `rows` counts those of
    one part.
    """

    pointer: Pointer
    rows: int
    k: int
    dtype: ElementType = ElementType.UE8M0
    size: int = 32
    name: str = "the scale factors"
    parts: int = 1

    def __repr__(self) -> str:
        lies = f"{self.columns} columns of tensor memory, row r in lane r mod 32"
        of = f"one {self.dtype.value} for {self.size} elements"
        return f"<scale factors of {self.rows}x{self.k}, {of}: {lies}>"

    @property
    def pitch(self) -> int:
        """Columns of one word of all rows."""
        return _pitch(self.rows // self.parts)

    @property
    def columns(self) -> int:
        """Columns of all of them."""
        return scale_columns(self.rows, self.k, self.size, self.parts)

    @property
    def extent(self) -> int:
        """Columns to the next ones of a ring."""
        return self.columns

    @property
    def nbytes(self) -> int:
        """Bytes without the copies for the other groups of lanes."""
        return self.columns * 128 * self.parts


def scale_columns(rows: int, k: int, size: int, parts: int = 1) -> int:
    """Columns that the factors of `rows` rows of `k` elements take, one for `size` of them."""
    check_factors(rows, k, size, parts)
    return -(-k // (WORD_FACTORS * size)) * _pitch(rows // parts)


def check_factors(rows: int, k: int, size: int, parts: int = 1) -> None:
    """Whether there are scale factors of `rows` rows of `k` elements, one for `size` of them."""
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


Tile = TypeVar("Tile", SharedTile, SharedScales, ScaleTile)


@guarded
@dataclass(frozen=True, slots=True)
class Tiles(Generic[Tile]):
    """Equal tiles, one after the other: the buffers of a ring."""

    first: Tile
    count: int

    def __repr__(self) -> str:
        return f"<{self.count} times {self.first!r}>"

    @property
    def nbytes(self) -> int:
        """Size in bytes of one of them."""
        return self.first.nbytes

    def __getitem__(self, number: IntLike) -> Tile:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for what is no number, or one that is known and too large.
        """
        away = index_of(number, self.count, self.first.name) * self.first.extent
        return replace(self.first, pointer=self.first.pointer + away)
