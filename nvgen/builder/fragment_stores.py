"""Matrices from registers to memory: into swizzled tiles, by stmatrix where it can, and to arrays.

Layer: nvgen.builder.  Which threads hold what a matrix of stmatrix has is `intrinsics`'.  PTX ISA,
stmatrix; st; Shared Memory Matrix Layouts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_matrix import matrix_bytes
from intrinsics.layouts.register_layout import FragmentLayout, layout_of
from intrinsics.multiplies.matrix import MatrixShape
from nvgen.builder.fragment_layouts import Holders, scaled_bits
from nvgen.builder.number_types import u64
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer, check_pointer, store_number
from nvgen.builder.refusals import described, refuse
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile
from nvgen.builder.vectors import Vector, as_words

Condition: TypeAlias = Callable[[Int, Int], Int]
"""A condition of a row and a column."""

_MATRIX = 8
"""Rows, and elements of 16 bits in a row, of one matrix of stmatrix."""

_LANE_BITS = 5
_CHUNK = 16
_FIRST_WITH_STMATRIX = 90


def store_in_tile(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """Store each element where the tile has it.

    Raises: InputError for a tile of another shape or type, or of atoms that are not 16 bytes.
    """
    layout, type_ = holders.layout, vector.type
    shape = (layout.rows, layout.columns)
    share = holders.first is not None
    fits = (tile.rows, tile.k) == shape or share
    same = type_ is not None and type_.value == tile.dtype.value and tile.bits == type_.bits
    if not fits or not same or tile.atom != PLAIN_SPAN:
        raise refuse(
            f"tile {tile.name} does not hold this matrix",
            got=f"{tile.rows}x{tile.k} of {tile.dtype.value}, {tile.mode.words}",
            expected=f"{shape[0]}x{shape[1]} of {type_.value if type_ else 'a known type'}",
        )
    target = holders.builder.target
    if (
        target is not None
        and target.number >= _FIRST_WITH_STMATRIX
        and _lies_as_matrices(vector, holders)
    ):
        _store_matrices(vector, holders, tile)
    else:
        _store_pieces(vector, holders, tile)


# ---- stmatrix ----------------------------------------------------------------------------------


@functools.cache
def _matrix_layout() -> FragmentLayout:
    """One matrix of stmatrix in the registers of a warp."""
    line, byte = (table[:, ::2] for table in matrix_bytes(MatrixShape.M8N8))
    return layout_of(line, byte // 2, _MATRIX, _MATRIX)


def _lies_as_matrices(vector: Vector, holders: Holders) -> bool:
    """Whether the warp's threads hold what stmatrix takes of them."""
    layout, one = holders.layout, _matrix_layout()
    bits = vector.type.bits if vector.type else 0
    of_lanes = layout.row_bits[:_LANE_BITS], layout.column_bits[:_LANE_BITS]
    beyond = (*layout.row_bits[_LANE_BITS:], *layout.column_bits[_LANE_BITS:])
    aligned = all(n % _MATRIX == 0 for n in (*beyond, *layout.down))
    return bits == 16 and aligned and of_lanes == (one.row_bits, one.column_bits)


@dataclass(frozen=True, slots=True)
class _Block:
    """One matrix, or four of 16 by 16: where it begins, and the thread's elements of it."""

    down: int
    along: int
    elements: tuple[int, ...]

    @property
    def several(self) -> bool:
        """Whether these are four."""
        return len(self.elements) > 2


def _blocks(layout: FragmentLayout) -> Iterator[_Block]:
    """All matrices, by fours where they lie so."""
    places = zip(layout.down, layout.along, strict=True)
    at = {place: e for e, place in enumerate(places)}
    left = sorted(place for place in at if place[1] % _MATRIX == 0)
    while left:
        down, along = left[0]
        four = [(down + d, along + a) for a in (0, _MATRIX) for d in (0, _MATRIX)]
        chosen = four if all(place in left for place in four) else four[:1]
        left = [place for place in left if place not in chosen]
        pairs = tuple(e for d, a in chosen for e in (at[d, a], at[d, a + 1]))
        yield _Block(down, along, pairs)


def _store_matrices(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """The matrices of each warp; lane i gives the address of line i."""
    b, layout = holders.builder, holders.layout
    thread, outer = b.tid_x, (0,) * _LANE_BITS
    row = scaled_bits(thread, outer + layout.row_bits[_LANE_BITS:])
    column = scaled_bits(thread, outer + layout.column_bits[_LANE_BITS:])
    if holders.first is not None:
        down, along = holders.first()
        row, column = row + down, column + along
    line, second, third = thread % _MATRIX, thread // 8 % 2, thread // 16 % 2
    k_major = tile.major is Major.K
    for block in _blocks(layout):
        values = as_words(vector.taken_apart(block.elements))
        words = values if block.several else [values[0]]
        lower, right = (second, third) if block.several else (b.const(0), b.const(0))
        if k_major:
            begin = row + line + lower * _MATRIX
            number = (column + block.along) // _MATRIX + right
            place = tile.chunk(begin, number) + block.down * tile.width
        else:
            number = (row + block.down) // _MATRIX + lower
            place = tile.chunk(column + line + right * _MATRIX, number) + block.along * tile.width
        b.stmatrix(place, words, trans=not k_major)


# ---- stores ------------------------------------------------------------------------------------


def _pairs(layout: FragmentLayout) -> Iterator[tuple[int, ...]]:
    """Elements that lie side by side in a row, two or one of them."""
    e = 0
    while e < layout.count:
        both = e + 1 < layout.count and (layout.down[e], layout.along[e] + 1) == (
            layout.down[e + 1],
            layout.along[e + 1],
        )
        both = both and layout.along[e] % 2 == 0 and all(n % 2 == 0 for n in layout.column_bits)
        yield (e, e + 1) if both else (e,)
        e += 1 + both


def _store_pieces(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """Two neighbours, or single elements, at a time."""
    layout = holders.layout
    size = tile.bits // 8
    row, column = holders.place()
    if tile.major is Major.K:
        for pair in _pairs(layout):
            down, along = layout.down[pair[0]], layout.along[pair[0]]
            byte = (column + along) * size
            line = row + down if down else row
            place = tile.chunk(line, byte // _CHUNK) + byte % _CHUNK
            _store(vector.taken_apart(pair), place)
        return
    assert vector.type is not None
    for element, number in enumerate(vector):
        byte = (row + layout.down[element]) * size
        place = tile.chunk(column + layout.along[element], byte // _CHUNK) + byte % _CHUNK
        store_number(place, vector.type, number)


def _store(values: Vector, place: Pointer) -> None:
    assert values.type is not None
    align = values.count * values.type.bits // 8
    values.builder.at_caller().store(values.typed, place.value, align=align)


def store_in_memory(
    vector: Vector, holders: Holders, target: Pointer, pitch: IntLike, where: Condition | None
) -> None:
    """Store each element to an array whose rows lie `pitch` elements apart.

    Raises: InputError for a pointer to numbers of another type.
    """
    b, layout = holders.builder, holders.layout
    check_pointer(b, target)
    type_ = vector.type
    assert type_ is not None
    if not isinstance(pitch, (int, Int)):
        raise refuse("no pitch", got=described(pitch), expected="elements from row to row")
    if target.dtype not in (None, type_):
        raise refuse(
            "numbers of another type are stored",
            got=type_.value,
            expected=target.dtype.value if target.dtype else "",
            hint="x.to(…)",
        )
    to, places = target.of(type_), holders.place()
    wide = [place.to(u64) for place in places]
    row_size = b.u64(pitch) if isinstance(pitch, int) else pitch.to(u64)
    begin = to.at(wide[0] * row_size + wide[1])
    for e, number in enumerate(vector):
        down, along = layout.down[e], layout.along[e]
        place = begin.at(row_size * down + along)
        if where is None:
            store_number(place, type_, number)
            continue
        with b.if_(where(places[0] + down, places[1] + along)):
            store_number(place, type_, number)


# ---- sums, converted on the way ----------------------------------------------------------------

_HALVES = (ElementType.F16, ElementType.BF16)


@dataclass(frozen=True, slots=True)
class RowMajor:
    """A matrix in global memory: the address of an element, the elements of a row, their type.

    Rows begin at multiples of 16 bytes, the last one less than 4 GiB behind the first.
    """

    builder: SharedMemory
    origin: Pointer
    pitch: IntLike
    dtype: ElementType

    def store(self, sums: Vector, row: Int, column: IntLike) -> None:
        """Store neighbouring sums of a row: two, or a multiple of eight; so is `column`."""
        values = sums if self.dtype.bits == 32 else narrowed(self.builder, sums, self.dtype)
        size = self.dtype.bits // 8
        offset = row * (self.pitch * size) + column * size
        place = self.origin + offset.zext(64)
        self.builder.store(values, place, align=min(sums.count * size, 16))


def check_stored(sums: ElementType, dtype: ElementType) -> None:
    """Whether sums of one type are stored as another.

    Raises: InputError.
    """
    possible = (sums, *_HALVES) if sums is ElementType.F32 else (sums,)
    if dtype not in possible:
        raise refuse(
            f"sums in {sums.value} are not stored so",
            got=dtype.value,
            expected=" or ".join(t.value for t in possible),
        )


def narrowed(builder: SharedMemory, sums: Vector, dtype: ElementType) -> Vector | Int:
    """Sums in f32 as pairs of f16 or bf16, rounded to nearest even, the first in the lower half."""
    pack = builder.pack_f16x2 if dtype is ElementType.F16 else builder.pack_bf16x2
    values = list(sums.f32)
    words = [pack(low, high) for low, high in zip(values[::2], values[1::2], strict=True)]
    return builder.words(words) if len(words) > 1 else words[0]
