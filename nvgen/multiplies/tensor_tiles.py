"""Matrices and scale factors in tensor memory: what is copied there from shared memory, and columns
of it to and from registers.

Layer: nvgen.multiplies.  A tile is an element type, a shape and the columns from a pointer on;
lanes are given by the data path of the instruction.  Each warp of a warpgroup has the 32 lanes of
its number modulo 4, a thread a lane.  PTX ISA, tcgen05.cp; tcgen05.ld; tcgen05.st; tcgen05.wait;
Data Path Layout Organization; Block Scaling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType
from intrinsics.layouts.register_layout import (
    FragmentLayout,
    sources,
    tensor_layout,
    warpgroup_layout,
)
from intrinsics.layouts.sparse import SparseColumns
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import REGISTERS
from intrinsics.modifiers import CopyMulticast, CopyShape, CtaGroup, LdStNum, LdStShape
from intrinsics.multiplies.tensor_shapes import row_blocks
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse
from nvgen.fragments.fragment import Fragment
from nvgen.instructions.roles import WARPGROUP, ExecutionScope, Roles
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import (
    SCALE_BLOCK,
    SharedScales,
    SharedTile,
    container_bits,
    scale_bytes,
)
from nvgen.values.pointers import Pointer, descriptor_at
from nvgen.values.vectors import Vector, as_words

WORD_COLUMNS = 4
"""What scale factors and metadata are aligned to: the columns that one copy of them fills."""

_CELL, _LANES, _HALF = 32, 128, 64
_WIDTHS = tuple(sorted((num.times for num in LdStNum), reverse=True))


@guarded
@dataclass(frozen=True, slots=True)
class OperandTile:
    """A in tensor memory: `m` rows of one CTA by `k` elements, packed into 32-bit cells along K.

    Each 128 rows are a block of `pitch` columns, one after the other.  A `padded` tile keeps a
    4-bit element in a byte; 6-bit elements always are.  For M = 32 or 64, or half of a pair's 128,
    the tensor core may read A from several groups of lanes: write all of them.
    """

    pointer: Pointer
    m: int
    k: int
    dtype: ElementType
    padded: bool = False

    def __repr__(self) -> str:
        lies = f"{self.pitch} columns for each 128 rows, row r in lane r mod 128"
        return f"<A in tensor memory: {self.m}x{self.k} of {self.dtype.value}, {lies}>"

    @property
    def bits(self) -> int:
        """Bits of an element in tensor memory."""
        return container_bits(self.dtype, padded=self.padded)

    @property
    def pitch(self) -> int:
        """Columns of one row, which holds all of K."""
        return self.k * self.bits // _CELL

    @property
    def columns(self) -> int:
        """Columns of all of it."""
        return self.pitch * row_blocks(self.m)

    def take_fragment(self, fragment: Fragment, first: int) -> None:
        """Store all rows of some columns of it, rounded to the tile's type, and wait for that.

        `first` is the first column, of elements.  PTX ISA, tcgen05.st.
        """
        b, layout = fragment.builder, fragment.layout
        made = fragment.to(self.dtype).vector
        begin, cells = first * self.bits, layout.columns * self.bits
        inside = first >= 0 and first + layout.columns <= self.k
        order = sources(layout, lanes_layout(self.m, layout.columns), 0, 0)
        rows = bool(order) and self.m == layout.rows
        whole = begin % _CELL == cells % _CELL == 0 and (self.m == _LANES or self.bits == 16)
        if not (inside and rows and whole and by_warpgroup(b)):
            raise refuse(
                "no columns of an A in tensor memory",
                got=f"{fragment.words}, from column {first} on",
                expected=f"whole cells of {self.m}x{self.k}, of 64 rows 16 bits each, in the "
                "threads that load(…) of an accumulator gives them to",
            )
        access = CELLS_OF_64 if self.m == _HALF else ROW_IN_THREAD
        if order != [*range(layout.count)]:
            made = made.taken_apart(order)
        store_columns(b, self.pointer, begin // _CELL, made, access)


@guarded
@dataclass(frozen=True, slots=True)
class SparseTile:
    """A sparse A in tensor memory: `m` rows of `k` elements, of which half are stored, at `values`,
    and its metadata; both are of one allocation and in the same lanes.

    Each 128 rows are a block of `pitch` columns, values and then metadata.
    """

    values: Pointer
    metadata: Pointer
    m: int
    k: int
    dtype: ElementType
    columns: SparseColumns

    def __repr__(self) -> str:
        lies = f"{self.columns.values} columns of values and {self.columns.metadata} of metadata"
        return f"<sparse A in tensor memory: {self.m}x{self.k} of {self.dtype.value}, {lies}>"

    @property
    def bits(self) -> int:
        """Bits of an element in tensor memory."""
        return self.columns.values * _CELL * 2 // self.k

    @property
    def pitch(self) -> int:
        """Columns of a block, a multiple of a metadata copy's."""
        return whole_words(self.columns.values + self.columns.metadata)


def whole_words(columns: int) -> int:
    """Columns, rounded up to those that copies of scale factors or metadata fill."""
    return -(-columns // WORD_COLUMNS) * WORD_COLUMNS


LeftTile: TypeAlias = SharedTile | OperandTile | SparseTile
"""What A may be."""

# ---- scale factors -------------------------------------------------------------------------------


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
        return row_blocks(self.rows // self.parts) * WORD_COLUMNS

    @property
    def columns(self) -> int:
        """Columns of all of them."""
        return scale_columns(self.rows, self.k, self.size, self.parts)

    extent = columns

    @property
    def nbytes(self) -> int:
        """Bytes without the copies for the other groups of lanes."""
        return scale_bytes(self.rows, self.k, self.size, self.parts)


def scale_columns(rows: int, k: int, size: int, parts: int = 1) -> int:
    """Columns that the factors of `rows` rows of `k` elements take, one for `size` of them."""
    return scale_bytes(rows, k, size, parts) // (_LANES * parts)


_ROWS_OF_16 = SharedMemoryDescriptor(0, lbo=16, sbo=128, swizzle=Swizzle.NONE).encode()
"""Rows of 16 bytes, one after the other: a matrix without swizzling, one piece wide."""

_COPIES = {
    1: (CopyShape.S32X128B, CopyMulticast.WARPX4),
    2: (CopyShape.S64X128B, CopyMulticast.WARPX2_01_23),
}
"""What copies a block of each part: to all groups of 32 lanes, or of two to two of them each."""


def copy_scales(
    b: Roles, target: ScaleTile, source: SharedScales, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start copies of scale factors into tensor memory, by one thread.

    MMAs that this thread issues later see them; with `cta_group` 2 each CTA of the pair copies from
    its own shared memory.  Factors that an earlier MMA reads are overwritten behind a wait for its
    commit and `tcgen05_fence_after_thread_sync`, in a ring behind `take`: stages have factors of
    their own.

    Raises: InputError when the two are of different shapes or types.
    """
    got, expected = _shape(source), _shape(target)
    if got != expected:
        raise refuse("scale factors of another shape", got=got, expected=expected)
    first = descriptor_at(b, source.pointer, _ROWS_OF_16)
    down, along = source.blocks
    shape, multicast = _COPIES[source.parts]
    for row in range(down):
        for word in range(along):
            block, columns = row * along + word, word * target.pitch + row * 4
            b.tcgen05_cp(
                target.pointer + columns if columns else target.pointer,
                first + (block * source.parts * SCALE_BLOCK >> 4) if block else first,
                shape=shape,
                multicast=multicast,
                cta_group=cta_group,
            )


def _shape(scales: ScaleTile | SharedScales) -> str:
    parts = f", in {scales.parts} parts" if scales.parts > 1 else ""
    rows = f"{scales.rows} rows of K {scales.k}"
    return f"{rows}, one for {scales.size} {scales.dtype.value}{parts}"


def copy_metadata(
    b: Roles, target: Pointer, source: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start a copy of 128 rows of 16 bytes from shared memory into four columns.

    Row r goes to lane r: four words of metadata of a sparse A.
    """
    b.tcgen05_cp(
        target,
        descriptor_at(b, source, _ROWS_OF_16),
        shape=CopyShape.S128X128B,
        cta_group=cta_group,
    )


# ---- columns -------------------------------------------------------------------------------------


def by_warpgroup(b: SharedMemory) -> bool:
    """Whether the code being built is executed by one warpgroup, which reaches all 128 lanes."""
    whole = b.scope is ExecutionScope.CTA and b.threads == WARPGROUP
    return whole or b.scope is ExecutionScope.WARPGROUP


@dataclass(frozen=True, slots=True)
class Access:
    """How a warpgroup loads and stores columns: of one repetition the registers of a thread, and
    the columns that they fill.
    """

    shape: LdStShape
    registers: int
    columns: int

    def pieces(self, b: SharedMemory, columns: int) -> Iterator[tuple[int, int]]:
        """The first repetition and the number of them of each instruction, the widest first; a
        thread of such a block has its registers at once.
        """
        able = (width for width in _WIDTHS if width * b.threads < REGISTERS)
        widths = tuple(width // self.registers for width in able if width >= self.registers)
        return in_pieces(columns // self.columns, widths)


ROW_IN_THREAD = Access(LdStShape.S32X32B, 1, 1)
"""128 rows: a row in each thread."""

NUMBERS_OF_64 = Access(LdStShape.S16X256B, 4, 8)
"""64 rows of 32-bit numbers, in the layout of wgmma's D."""

CELLS_OF_64 = Access(LdStShape.S16X128B, 2, 4)
"""64 rows of pairs of 16-bit numbers, in the same layout."""


def access_of(m: int) -> Access:
    """How the 32-bit numbers of 64 or 128 rows are loaded and stored."""
    return NUMBERS_OF_64 if m == _HALF else ROW_IN_THREAD


def lanes_layout(m: int, columns: int) -> FragmentLayout:
    """Which elements of 64 or 128 rows the threads of a warpgroup load and store."""
    return warpgroup_layout(_HALF, columns, 32) if m == _HALF else tensor_layout(columns)


def load_columns(
    b: SharedMemory, pointer: Pointer, first: int, columns: int, access: Access = ROW_IN_THREAD
) -> list[Vector]:
    """Load some columns into registers, and wait; several loads where one is not so wide."""
    base, found = _from(b, pointer, first), []
    for at, count in access.pieces(b, columns):
        place = base + at * access.columns if at else base
        found.append(b.tcgen05_ld(place, shape=access.shape, num=LdStNum(f"x{count}")))
    b.tcgen05_wait_ld()
    return found


def store_columns(
    b: SharedMemory, pointer: Pointer, first: int, numbers: Vector, access: Access = ROW_IN_THREAD
) -> None:
    """Store the numbers of each thread, 32 bits in a register, and wait for the stores."""
    assert numbers.type is not None
    base, each = _from(b, pointer, first), _CELL // numbers.type.bits * access.registers
    for at, count in access.pieces(b, numbers.count // each * access.columns):
        part = as_words(numbers.taken_apart(range(at * each, (at + count) * each)))
        place = base + at * access.columns if at else base
        b.tcgen05_st(place, part, shape=access.shape, num=LdStNum(f"x{count}"))
    b.tcgen05_wait_st()


def lanes_of_warp(b: SharedMemory, pointer: Pointer) -> Pointer:
    """The address of this warp's first lane, in the column of `pointer`."""
    return pointer + ((b.thread >> 5 & 3) << 21)


def _from(b: SharedMemory, pointer: Pointer, first: int) -> Pointer:
    lanes = lanes_of_warp(b, pointer)
    return lanes + first if first else lanes


def in_pieces(columns: int, widths: tuple[int, ...] = _WIDTHS) -> Iterator[tuple[int, int]]:
    """The first column and the number of columns of each load or store, the widest first."""
    at = 0
    for width in widths:
        while columns - at >= width:
            yield at, width
            at += width
