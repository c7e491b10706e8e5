"""Tiles in shared memory, their scale factors, and the buffers of a ring.

Layer: nvgen.shared_memory.  A tile has a type, a shape, a major and a swizzle.  PTX ISA, Canonical
Layouts; Packing formats of elements; Block Scaling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, Protocol, TypeAlias, TypeVar

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType, Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.tensor_shapes import row_blocks
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import OF_TILES, Named, described, refuse
from nvgen.launching.tensor_map import SWIZZLES
from nvgen.values.number_types import constant, f32
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer, index_below

PLAIN_SPAN = 16
"""Bytes that lie together without swizzling, and in most swizzlings."""

_BYTE = 8
_WIDE_ATOM = 32
"""Bytes that 128-byte swizzling for transposed matrices of kind::tf32 keeps together."""


def container_bits(dtype: ElementType, *, padded: bool) -> int:
    """Bits that an element takes where an MMA reads it: 6 bits always take 8, 4 where `padded`."""
    check_element(dtype)
    return 8 if dtype.bits == 6 or (padded and dtype.bits == 4) else dtype.bits


def check_element(dtype: object) -> None:
    """Whether something is a type of elements."""
    if not isinstance(dtype, ElementType):
        known = "ElementType: " + ", ".join(element.name for element in ElementType)
        hint = "from nvgen import ElementType"
        raise refuse("no type of elements", got=described(dtype), expected=known, hint=hint)


@guarded
@dataclass(frozen=True, slots=True)
class SharedTile(Named):
    """A matrix in shared memory: `rows` (of M or N) by `k` elements, swizzled or not.

    K-major: K is contiguous; a row longer than the swizzle span is split into spans, each a block
    of all rows.  MN-major: M or N is contiguous, and split into spans likewise, each a block of all
    k.  Blocks follow one another, one TMA copy each.  Without swizzling a span is 16 bytes.  `atom`
    is how many bytes swizzling keeps together: 16, or 32 for MN-major kind::tf32.

    A `padded` tile has 16 elements of 4 or 6 bits in each 16 bytes, the rest being padding; 6-bit
    elements are always padded.
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

    a_thing: ClassVar[str] = "a tile"
    elsewhere: ClassVar[Mapping[str, str]] = OF_TILES
    instead: ClassVar[str] = (
        "b.shared_tile(…) is a tile; an array is filled by "
        "b.cp_async_bulk_tensor_g2s_tile(array, mbarrier, map, coordinates)"
    )

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getitem__(self, *_: object) -> NoReturn:
            expected = "an address: tile.at(row, k)[0]"
            raise refuse("a tile is not indexed", got=f"tile {self.name}[…]", expected=expected)

        __setitem__ = __getitem__

    @property
    def bits(self) -> int:
        """Bits of an element in shared memory."""
        return container_bits(self.dtype, padded=self.padded)

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of the whole tile counts on its mbarrier.

        A copy that inserts the padding (elements `…_ALIGN16B`) counts the bytes without it.
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
        """Bytes of a swizzle span."""
        return self.swizzle or PLAIN_SPAN

    @property
    def span(self) -> int:
        """Elements of a swizzle span."""
        return self.width * 8 // self.bits

    def __repr__(self) -> str:
        shape = f"{self.rows}x{self.k} of {self.dtype.value}, {self.major.value}-major"
        return f"<tile {self.name}: {shape}, {self.mode.words}, {self.nbytes} bytes>"

    def offset(self, k: IntLike, row: int = 0) -> IntLike:
        """Byte offset of the element (row, k), before swizzling.

        The kernel may compute `k`; in an MN-major tile `row` begins a span.
        """
        if self.major is Major.MN:
            return k * self.width + row // self.span * self.lines * self.width
        block = k // self.span * (self.lines * self.width)
        return block + k % self.span * self.bits // 8 + row * self.width

    def part(self, first: IntLike, rows: int) -> SharedTile:
        """A view of rows `first` to `first + rows` - 1; the kernel may compute `first`.

        Raises: InputError for rows out of range, and where the swizzling pattern does not restart:
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
            got, expected = f"{known} to {known + rows}", f"at most {self.rows}"
            raise refuse(f"tile {self.name} has no such rows", got=got, expected=expected)
        away = first if self.major is Major.K else first // self.span * self.lines
        return replace(self, pointer=self.pointer + away * self.width, rows=rows, whole=self.lines)

    def part_of_k(self, first: IntLike, k: int) -> SharedTile:
        """A view of K from `first` to `first + k` - 1, of all rows; the kernel may compute `first`.

        Raises: InputError for K out of range, and where it is not whole spans (K-major) or a
        multiple of eight (MN-major), where the swizzling pattern restarts.
        """
        step = self.span if self.major is Major.K else 8
        known = first if isinstance(first, int) else 0
        if known % step or k % step or k < 1 or known < 0 or known + k > self.k:
            got = f"{known} to {known + k}, {self.major.value}-major"
            expected = f"multiples of {step}, {self.k} at most"
            raise refuse(f"tile {self.name} has no such part of K", got=got, expected=expected)
        away = first // self.span * self.lines if self.major is Major.K else first
        return replace(self, pointer=self.pointer + away * self.width, k=k, whole=self.lines)

    @property
    def transposed(self) -> SharedTile:
        """The same memory as the transposed matrix: a K-major tile is an MN-major one of it.

        Of keys × d, say, `keys.transposed` is d × keys, for P·K behind Q·Kᵀ.
        """
        major = Major.MN if self.major is Major.K else Major.K
        return replace(self, rows=self.k, k=self.rows, major=major, whole=self.lines)

    def _ask(self) -> None:
        """Where elements lie matters from here on."""
        if self.pointer.layout is not None:
            self.pointer.layout.ask()

    @property
    def lines(self) -> int:
        """Lines of a block in memory: rows, or the k of an MN-major tile."""
        return self.whole or self.in_lines[0]

    @property
    def in_lines(self) -> tuple[int, int]:
        """Its lines, and the elements of a line: rows and K, or of an MN-major tile K and rows."""
        return (self.rows, self.k) if self.major is Major.K else (self.k, self.rows)

    @property
    def line_bytes(self) -> int:
        """Bytes of a line in all its spans."""
        return self.in_lines[1] * self.bits // 8

    def chunk(self, line: Int, number: IntLike) -> Pointer:
        """The swizzled address of 16 bytes: chunk `number` of a line, which is a row, or a k of an
        MN-major tile.

        The chunks of one number of eight consecutive lines are in different banks.

        Raises: InputError where swizzling keeps 32 bytes together, and where lines are no whole
        spans.
        """
        if self.atom != PLAIN_SPAN:
            raise refuse(f"tile {self.name} keeps {self.atom} bytes together", expected="16 bytes")
        check_spans(self)
        self._ask()
        in_span = self.width // 16
        turns = line >> (128 // self.width).bit_length() - 1
        place = (turns & in_span - 1) ^ number % in_span
        block = number // in_span * (self.lines * self.width)
        return self.pointer + (line * self.width + place * 16 + block)

    def at(self, row: IntLike, k: IntLike) -> Pointer:
        """The swizzled address of element (row, k): `tile.at(row, k)[0]` loads it.

        Elements that follow one another within 16 bytes do so here, too.

        Raises: InputError for elements of less than a byte, for one that is known and not there,
        and as `chunk`.
        """
        if self.bits != self.dtype.bits or self.bits < _BYTE:
            got = f"{self.dtype.value}, {self.bits} bits each"
            raise refuse(f"tile {self.name} has no elements with addresses", got=got)
        row, k = index_below(row, self.rows, self.name), index_below(k, self.k, self.name)
        line, along = (row, k) if self.major is Major.K else (k, row)
        number = line if isinstance(line, Int) else Int(self.pointer.builder, constant(line, 32))
        byte = along * (self.bits // _BYTE)
        begin = self.chunk(number, byte // PLAIN_SPAN) + byte % PLAIN_SPAN
        return begin.of(f32 if self.dtype is ElementType.TF32 else self.dtype)

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


def check_spans(tile: SharedTile) -> None:
    """Check that a tile's lines are whole spans: the rest of a last one is not the tile's memory.

    Raises: InputError.
    """
    if tile.line_bytes % tile.width:
        raise refuse(
            f"the lines of tile {tile.name} end within a swizzle span, and overlap",
            rule="swizzle-span",
            got=f"{tile.line_bytes} bytes in a line, {tile.mode.words}",
            expected=f"a multiple of {tile.width} bytes",
            hint=fitting_swizzle(tile.line_bytes),
        )


def fitting_swizzle(*lines: int) -> str:
    """The widest swizzling whose spans are whole in lines of so many bytes, in words."""
    spans = sorted(SWIZZLES, reverse=True)
    fits = [s for s in spans if all(line % (s or PLAIN_SPAN) == 0 for line in lines)]
    return f"swizzle={fits[0]} has whole spans" if fits else ""


def swizzle_mode(span: int, atom: int = PLAIN_SPAN) -> Swizzle:
    """The swizzle whose span is `span` bytes, and that keeps `atom` bytes together."""
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


# ---- scale factors -------------------------------------------------------------------------------

WORD_FACTORS = 4
"""Factors of a row, along K, in one 32-bit cell."""

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
    """Bytes of the factors of `rows` rows of `k` elements, one for `size` of them.

    Raises: InputError where there are no such factors.
    """
    if min(rows, k, size) < 1:
        got = f"{rows} rows of K {k}, one for {size} elements"
        expected = "one row, one element and one of a factor at least"
        raise refuse("no scale factors", got=got, expected=expected)
    if parts not in (1, 2) or rows % parts:
        got = f"{rows} rows in {parts}"
        expected = "one part; two equal ones of B on a pair with M = 128"
        raise refuse("no such parts of scale factors", got=got, expected=expected)
    down, along = _blocks(rows // parts, k, size)
    return down * along * parts * SCALE_BLOCK


def _blocks(rows: int, k: int, size: int) -> tuple[int, int]:
    return row_blocks(rows), -(-k // (WORD_FACTORS * size))


if TYPE_CHECKING:

    class RingTile(SharedTile, SharedScales):  # type: ignore[misc]  # it is one of the two
        """A tile or scale factors of a ring's buffer, to a type checker both."""

else:
    RingTile: TypeAlias = SharedTile | SharedScales

# ---- rings ---------------------------------------------------------------------------------------


class Placed(Protocol):
    """A tile at an address, and what lies between it and the next one of a ring."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def pointer(self) -> Pointer:
        """Where it begins."""

    @property
    def nbytes(self) -> int:
        """Size in bytes, of one without copies of its elements."""

    @property
    def extent(self) -> int:
        """Bytes, or columns of tensor memory, to the next one."""


Tile = TypeVar("Tile", bound=Placed)


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

    def __iter__(self) -> Iterator[Tile]:
        return (self[number] for number in range(self.count))

    def __getitem__(self, number: IntLike) -> Tile:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for what is no number, or one that is known and too large.
        """
        away = index_below(number, self.count, self.first.name) * self.first.extent
        return replace(self.first, pointer=self.first.pointer + away)  # type: ignore[type-var]  # tiles are dataclasses
