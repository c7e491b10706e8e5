"""Tiles in shared memory, and the scale factors of block scaling there and in tensor memory.

Layer: nvgen.builder.  A shared tile is an element type, a shape, a major and a swizzle.  PTX ISA,
Canonical Layouts; Packing formats of elements; Block Scaling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType, Major
from intrinsics.multiplies.tensor_shapes import row_blocks
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer, index_of
from nvgen.builder.refusals import refuse
from nvgen.tensor_map import SWIZZLES

WORD_FACTORS = 4
"""Factors of a row, along K, in one 32-bit cell."""

WORD_COLUMNS = 4
"""What scale factors and metadata are aligned to: the columns that one copy of them fills."""

PLAIN_SPAN = 16
"""Bytes that lie together without swizzling, and in most swizzlings."""

_WIDE_ATOM = 32
"""Bytes that 128-byte swizzling for transposed matrices of kind::tf32 keeps together."""

SCALE_BLOCK = 512
"""Bytes of the factors of 128 rows, four for each, as they lie in memory."""


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
class SharedTile:
    """A matrix in shared memory: `rows` (of M or N) by `k` elements, swizzled or not.

    K-major, K is contiguous; a row longer than the swizzle span is cut into spans, each a block of
    all rows.  MN-major, the rows are contiguous; more of them than a span holds are cut into
    spans, each a block of all k.  Blocks lie one after the other, as one TMA copy a span leaves
    them.  Without swizzling a span is 16 bytes.  `atom` is how many bytes the swizzling keeps
    together: 16, or 32 as kind::tf32 has them where it is MN-major.

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
    """Lines of the tile that this one is a part of; 0 for a tile of its own."""
    atom: int = 16

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
    def mode(self) -> Swizzle:
        """Its swizzling."""
        return swizzle_mode(self.swizzle, self.atom)

    @property
    def width(self) -> int:
        """Bytes of a span."""
        return self.swizzle or PLAIN_SPAN

    @property
    def span(self) -> int:
        """Elements in one span."""
        return self.width * 8 // self.bits

    def __repr__(self) -> str:
        shape = f"{self.rows}x{self.k} of {self.dtype.value}, {self.major.value}-major"
        return f"<tile {self.name}: {shape}, {self.mode.words}, {self.nbytes} bytes>"

    def offset(self, k: IntLike, row: int = 0) -> IntLike:
        """Byte offset of the element (row, k), before swizzling.

        `k` may be computed by the kernel; `row` begins a span where the tile is MN-major.
        """
        if self.major is Major.MN:
            return k * self.width + row // self.span * self.lines * self.width
        block = k // self.span * (self.lines * self.width)
        return block + k % self.span * self.bits // 8 + row * self.width

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
        away = first if self.major is Major.K else first // self.span * self.lines
        return replace(self, pointer=self.pointer + away * self.width, rows=rows, whole=self.lines)

    def part_of_k(self, first: IntLike, k: int) -> SharedTile:
        """K from `first` to `first + k` of all rows, where they lie; `first` may be computed.

        Raises: InputError when there is no such K, or it is not made of whole spans (K-major), or
        of whole eights (MN-major), after which the swizzling begins anew.
        """
        step = self.span if self.major is Major.K else 8
        known = first if isinstance(first, int) else 0
        if known % step or k % step or k < 1 or known < 0 or known + k > self.k:
            raise refuse(
                f"tile {self.name} has no such part of K",
                got=f"{known} to {known + k}, {self.major.value}-major",
                expected=f"multiples of {step}, {self.k} at most",
            )
        away = first // self.span * self.lines if self.major is Major.K else first
        return replace(self, pointer=self.pointer + away * self.width, k=k, whole=self.lines)

    def _ask(self) -> None:
        """Where elements lie matters from here on."""
        if self.pointer.layout is not None:
            self.pointer.layout.ask()

    @property
    def lines(self) -> int:
        """Lines of a block in memory: rows, or the k of an MN-major tile."""
        return self.whole or (self.rows if self.major is Major.K else self.k)

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
        if self.atom != PLAIN_SPAN:
            raise refuse(f"tile {self.name} keeps {self.atom} bytes together", expected="16 bytes")
        self._ask()
        in_span = self.width // 16
        turns = line >> (128 // self.width).bit_length() - 1
        place = (turns & in_span - 1) ^ number % in_span
        block = number // in_span * (self.lines * self.width)
        return self.pointer + (line * self.width + place * 16 + block)

    def descriptor(self, address: int = 0) -> SharedMemoryDescriptor:
        """The tcgen05 descriptor of the tile at a shared address."""
        self._ask()
        mode, group = self.mode, self.mode.rows * self.width
        if self.major is Major.K:
            plain = self.lines * self.width
            lbo, sbo = (16 if self.swizzle else plain), group
        else:
            spans = self.lines * self.width
            lbo, sbo = (spans, group) if self.swizzle else (group, spans)
        return SharedMemoryDescriptor(address, lbo=lbo, sbo=sbo, swizzle=mode)


@dataclass(frozen=True, slots=True)
class SharedScales:
    """Scale factors in shared memory: for each of `rows` rows one for `size` elements of its `k`.

    They lie in blocks of 128 rows and four factors: 512 bytes, in which factor f of row r is byte
    f of the four at 16 (r mod 32) + 4 (r div 32).  A row's blocks follow one another, then come
    those of the next 128 rows.  So cuDNN and CUTLASS keep them in global memory too.

    Of 2 `parts` (see `ScaleTile`) each has such blocks of its own, and each block of the first is
    followed by that of the second.
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
        """How many blocks of a part along the rows and along K; the last ones may be padding."""
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
    """Bytes of the factors of `rows` rows of `k` elements, one for `size` of them.

    Raises: InputError when there are none.
    """
    check_factors(rows, k, size, parts)
    down, along = _blocks(rows // parts, k, size)
    return down * along * parts * SCALE_BLOCK


def _blocks(rows: int, k: int, size: int) -> tuple[int, int]:
    return row_blocks(rows), -(-k // (WORD_FACTORS * size))


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


Tile = TypeVar("Tile", SharedTile, SharedScales, ScaleTile)


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


def swizzle_mode(span: int, atom: int = PLAIN_SPAN) -> Swizzle:
    """The swizzle whose span is `span` bytes, and that keeps `atom` bytes together.

    Raises: InputError when there is none.
    """
    mode = SWIZZLES.get(span)
    if atom == _WIDE_ATOM and mode is Swizzle.B128:
        return Swizzle.B128_ATOM32
    if mode is None or atom != PLAIN_SPAN:
        raise refuse(
            "no such swizzle",
            got=str(span) + (f" with atoms of {atom} bytes" if atom != PLAIN_SPAN else ""),
            expected="0, 32, 64 or 128 bytes"
            + ("; atoms of 32 bytes with 128" if atom != PLAIN_SPAN else ""),
        )
    return mode
