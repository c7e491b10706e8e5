"""Tiles in shared memory: matrices that an MMA reads, and the scale factors of block scaling.

Layer: nvgen.builder.  A shared tile is an element type, a shape, a major and a swizzle.  PTX ISA,
Canonical Layouts; Packing formats of elements; Block Scaling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from intrinsics.element import ElementType, Major
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle
from nvgen.builder.tensor_tiles import (
    BLOCK_ROWS,
    WORD_FACTORS,
    ScaleTile,
    check_factors,
    container_bits,
)
from nvgen.builder.values import Int, IntLike, Pointer, index_of, refuse
from nvgen.tensor_map import SWIZZLES

SCALE_BLOCK = 512
"""Bytes of the factors of 128 rows, four for each, as they lie in memory."""


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A matrix in shared memory: `rows` (of M or N) by `k` elements, swizzled.

    K-major, K is contiguous; a row longer than the swizzle span is cut into spans, each a block of
    all rows.  MN-major, the rows are contiguous; more of them than a span holds are cut into
    spans, each a block of all k.  Blocks lie one after the other, as one TMA copy a span leaves
    them.

    A `padded` tile keeps each 16 elements of 4 or 6 bits in 16 bytes, those that are left over
    being padding; 6-bit elements always lie so.
    """

    name: str
    pointer: Pointer
    dtype: ElementType
    rows: int
    k: int
    swizzle: int
    major: Major = Major.K
    padded: bool = False
    whole: int = 0
    """Rows of the tile that this one is a part of; 0 for a tile of its own."""

    @property
    def bits(self) -> int:
        """Bits that an element takes in shared memory."""
        return container_bits(self.dtype, padded=self.padded)

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of the whole tile counts on its mbarrier.

        A copy that makes the padding (elements `…_ALIGN16B`) counts the bytes without it.
        """
        return self.rows * self.k * self.bits // 8

    @property
    def extent(self) -> int:
        """Bytes to the next tile of a ring."""
        return self.nbytes

    @property
    def span(self) -> int:
        """Elements in one swizzle span; without swizzling there is none.

        Raises: InputError then.
        """
        if not self.swizzle:
            raise refuse(f"tile {self.name} is not swizzled", expected="a swizzle of 32, 64 or 128")
        return self.swizzle * 8 // self.bits

    def offset(self, k: IntLike, row: int = 0) -> IntLike:
        """Byte offset of the element (row, k), before swizzling.

        `k` may be computed by the kernel; `row` begins a span where the tile is MN-major.
        """
        if self.major is Major.MN:
            return k * self.swizzle + row // self.span * self.k * self.swizzle
        block = k // self.span * (self.lines * self.swizzle)
        return block + k % self.span * self.bits // 8 + row * self.swizzle

    def part(self, first: IntLike, rows: int) -> SharedTile:
        """Rows `first` to `first + rows`, which lie where they do; `first` may be computed.

        Raises: InputError when there are no such rows, or the swizzling does not begin anew there:
        K-major it does every eight rows, MN-major with each span.
        """
        known = first if isinstance(first, int) else 0
        step = 8 if self.major is Major.K else self.span
        if known % step or (self.major is Major.MN and rows % step):
            raise refuse(
                f"tile {self.name} has no such part",
                got=f"{rows} rows from {known}, {self.major.value}-major",
                expected=f"rows from a multiple of {step}"
                + ("" if self.major is Major.K else ", in whole spans"),
            )
        if known < 0 or known + rows > self.rows:
            raise refuse(
                f"tile {self.name} has no such rows",
                got=f"{known} to {known + rows}",
                expected=f"at most {self.rows}",
            )
        away = first if self.major is Major.K else first // self.span * self.k
        whole = self.whole or self.rows
        return replace(self, pointer=self.pointer + away * self.swizzle, rows=rows, whole=whole)

    def _ask(self) -> None:
        """Where elements lie matters from here on."""
        if self.pointer.layout is not None:
            self.pointer.layout.ask()

    @property
    def lines(self) -> int:
        """Lines of a block in memory: rows, or the k of an MN-major tile."""
        return (self.whole or self.rows) if self.major is Major.K else self.k

    @property
    def line_bytes(self) -> int:
        """Bytes of a line in all its spans."""
        return (self.k if self.major is Major.K else self.rows) * self.bits // 8

    def chunk(self, line: Int, number: IntLike) -> Pointer:
        """Where 16 bytes lie, swizzled: chunk `number` of a line, which is a row, or a k of an
        MN-major tile.

        Eight neighbouring lines have their chunks of one number in eight different places of the
        128 bytes that the banks of shared memory are wide.
        """
        self._ask()
        in_span = self.swizzle // 16
        turns = line >> (128 // self.swizzle).bit_length() - 1
        place = (turns & in_span - 1) ^ number % in_span
        block = number // in_span * (self.lines * self.swizzle)
        return self.pointer + (line * self.swizzle + place * 16 + block)

    def descriptor(self, address: int = 0) -> SharedMemoryDescriptor:
        """The tcgen05 descriptor of the tile at a shared address."""
        self._ask()
        mode = SWIZZLES[self.swizzle]
        lbo = 16 if self.major is Major.K else self.k * self.swizzle
        return SharedMemoryDescriptor(address, lbo=lbo, sbo=8 * self.swizzle, swizzle=mode)


@dataclass(frozen=True, slots=True)
class SharedScales:
    """Scale factors in shared memory: for each of `rows` rows one for `size` elements of its `k`.

    They lie in blocks of 128 rows and four factors: 512 bytes, in which factor f of row r is byte
    f of the four at 16 (r mod 32) + 4 (r div 32).  A row's blocks follow one another, then come
    those of the next 128 rows.  So cuDNN and CUTLASS keep them in global memory too.
    """

    name: str
    pointer: Pointer
    dtype: ElementType
    rows: int
    k: int
    size: int

    @property
    def blocks(self) -> tuple[int, int]:
        """How many blocks along the rows and along K; the last ones may be padding in part."""
        return _blocks(self.rows, self.k, self.size)

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of them all counts on its mbarrier."""
        return scale_bytes(self.rows, self.k, self.size)

    @property
    def extent(self) -> int:
        """Bytes to the next ones of a ring."""
        return self.nbytes


def scale_bytes(rows: int, k: int, size: int) -> int:
    """Bytes of the factors of `rows` rows of `k` elements, one for `size` of them.

    Raises: InputError when there are none.
    """
    check_factors(rows, k, size)
    down, along = _blocks(rows, k, size)
    return down * along * SCALE_BLOCK


def _blocks(rows: int, k: int, size: int) -> tuple[int, int]:
    return -(-rows // BLOCK_ROWS), -(-k // (WORD_FACTORS * size))


Tile = TypeVar("Tile", SharedTile, SharedScales, ScaleTile)


@dataclass(frozen=True, slots=True)
class Tiles(Generic[Tile]):
    """Equal tiles, one after the other: the buffers of a ring."""

    first: Tile
    count: int

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


def swizzle_mode(span: int) -> Swizzle:
    """The swizzle whose span is `span` bytes.

    Raises: InputError when there is none.
    """
    mode = SWIZZLES.get(span)
    if mode is None:
        raise refuse("no such swizzle", got=str(span), expected="0, 32, 64 or 128 bytes")
    return mode
