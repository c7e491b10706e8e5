"""Stores of fragments: into swizzled tiles, by stmatrix where possible, and to arrays.

Layer: nvgen.builder.  `intrinsics.layouts.register_runs` says which elements go together.  PTX ISA,
stmatrix; st; Shared Memory Matrix Layouts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeAlias

from intrinsics import catalog
from intrinsics.element import Major
from intrinsics.layouts.register_runs import LANE_BITS, MATRIX, blocks, lies_as_matrices, runs
from nvgen.builder.fragments.layouts import Holders, OfThreads, scaled_bits
from nvgen.builder.shared_memory.tiles import PLAIN_SPAN, SharedTile, fitting_swizzle
from nvgen.builder.values.number_types import u64
from nvgen.builder.values.numbers import Int, IntLike
from nvgen.builder.values.pointers import Pointer, check_pointer, checked_align, store_number
from nvgen.builder.values.vectors import Vector, as_words
from nvgen.calling.refusals import described, refuse

Condition: TypeAlias = Callable[[Int, Int], Int]
"""A condition of a row and a column."""

_CHUNK = 16


def store_in_tile(matrix: OfThreads, tile: SharedTile) -> None:
    """Store each element where the tile has it."""
    vector, holders = matrix.vector, matrix.holders
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
    if tile.line_bytes % tile.width:
        raise refuse(
            f"the lines of tile {tile.name} end within a swizzle span, and overlap",
            got=f"{tile.line_bytes} bytes in a line, {tile.mode.words}",
            expected=f"a multiple of {tile.width} bytes",
            hint=fitting_swizzle(tile.line_bytes),
        )
    able = holders.builder.target in catalog.row("stmatrix").needs.targets
    if able and vector.type is not None and vector.type.bits == 16 and lies_as_matrices(layout):
        _store_matrices(vector, holders, tile)
    else:
        _store_pieces(vector, holders, tile)


# ---- stmatrix ----------------------------------------------------------------------------------


def _store_matrices(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """The matrices of each warp; lane i gives the address of line i."""
    b, layout = holders.builder, holders.layout
    thread, outer = b.thread, (0,) * LANE_BITS
    row = scaled_bits(thread, outer + layout.row_bits[LANE_BITS:])
    column = scaled_bits(thread, outer + layout.column_bits[LANE_BITS:])
    if holders.first is not None:
        down, along = holders.first()
        row, column = row + down, column + along
    line, second, third = thread % MATRIX, thread // 8 % 2, thread // 16 % 2
    k_major = tile.major is Major.K
    for block in blocks(layout):
        values = as_words(vector.taken_apart(block.elements))
        words = values if block.several else [values[0]]
        lower, right = (second, third) if block.several else (b.const(0), b.const(0))
        if k_major:
            begin = row + line + lower * MATRIX
            number = (column + block.along) // MATRIX + right
            place = tile.chunk(begin, number) + block.down * tile.width
        else:
            number = (row + block.down) // MATRIX + lower
            place = tile.chunk(column + line + right * MATRIX, number) + block.along * tile.width
        b.stmatrix(place, words, trans=not k_major)


# ---- stores ------------------------------------------------------------------------------------


def _store_pieces(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """A chunk of 16 bytes, two neighbours, or single elements at a time."""
    layout = holders.layout
    size = tile.bits // 8
    row, column = holders.corner()
    if tile.major is Major.K:
        for run in runs(layout, _CHUNK // size):
            down, along = layout.down[run[0]], layout.along[run[0]]
            byte = (column + along) * size
            line = row + down if down else row
            place = tile.chunk(line, byte // _CHUNK) + byte % _CHUNK
            _store(vector.taken_apart(run), place)
        return
    assert vector.type is not None
    for element, number in enumerate(vector):
        byte = (row + layout.down[element]) * size
        place = tile.chunk(column + layout.along[element], byte // _CHUNK) + byte % _CHUNK
        store_number(place, vector.type, number)


def _store(values: Vector, place: Pointer) -> None:
    """Numbers side by side, at an address that is a multiple of their size."""
    assert values.type is not None
    size = values.count * values.type.bits // 8
    value = as_words(values).value if size == _CHUNK else values.typed
    values.builder.at_caller().store(value, place.value, align=size)


def store(
    self: OfThreads,
    target: Pointer,
    pitch: IntLike,
    *,
    where: Condition | None = None,
    align: int | None = None,
    rows: Callable[[Int], Int] | None = None,
) -> None:
    """Store the matrix to memory, rows `pitch` elements apart; `target` is its first element's
    address.

    `align` (bytes) is the known alignment of rows, which bounds the width of a store.
    `where(row, column)` selects single elements, stored one by one; `rows(row)` selects whole
    rows.

    Raises: InputError for a pointer to numbers of another type, and an alignment that is not a
    power of two.
    """
    b, vector, holders = self.builder, self.vector, self.holders
    layout, type_ = holders.layout, vector.type
    check_pointer(b, target)
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
    size, places = type_.bits // 8, holders.corner()
    most = 1 if where else max(min(checked_align(align, size), _CHUNK) // size, 1)
    wide = [place.to(u64) for place in places]
    pitch = b.u64(pitch) if isinstance(pitch, int) else pitch.to(u64)
    begin = target.of(type_).at(wide[0] * pitch + wide[1])
    lines = {down: begin.at(pitch * down) if down else begin for down in layout.slots}
    together = list(runs(layout, most))
    for down, first in lines.items():
        with b.if_(rows(places[0] + down)) if rows else contextlib.nullcontext():
            for run in (run for run in together if layout.down[run[0]] == down):
                along = layout.along[run[0]]
                place = first.at(along) if along else first
                if len(run) > 1:
                    _store(vector.taken_apart(run), place)
                    continue
                each = where and b.if_(where(places[0] + down, places[1] + along))
                with each or contextlib.nullcontext():
                    store_number(place, type_, vector[run[0]])
