"""Stores of fragments: into swizzled tiles, by stmatrix where possible, to arrays, and as fp8.

Layer: nvgen.builder.  `intrinsics.layouts.register_runs` says which elements go together.  An fp8
multiply takes K-major matrices only, and the columns of an accumulator in a thread are not those of
A.  K may be summed in any order that A and B share: A's is that in which the thread has it, and
`transpose_bytes` permutes B's accordingly.  PTX ISA, stmatrix; st; ldmatrix; prmt; cvt; Shared
Memory Matrix Layouts; Register Fragments of wgmma.mma_async.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir

from intrinsics import catalog
from intrinsics.element import ElementType, Major
from intrinsics.layouts.register_layout import FragmentLayout, warp_layout, warpgroup_layout
from intrinsics.layouts.register_runs import LANE_BITS, MATRIX, blocks, lies_as_matrices, runs
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.matrix import MatrixNum
from nvgen.builder.fragment_layouts import Holders, scaled_bits
from nvgen.builder.llvm_ext import vector_value
from nvgen.builder.number_types import narrow_word, u64
from nvgen.builder.numbers import Int, IntLike, Number
from nvgen.builder.pointers import Pointer, check_pointer, checked_align, store_number
from nvgen.builder.roles import WARP
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile, fitting_swizzle
from nvgen.builder.vectors import Vector, as_words
from nvgen.calling.refusals import described, refuse, whole

Condition: TypeAlias = Callable[[Int, Int], Int]
"""A condition of a row and a column."""

_CHUNK = 16


def store_in_tile(vector: Vector, holders: Holders, tile: SharedTile) -> None:
    """Store each element where the tile has it."""
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
    thread, outer = b.tid_x, (0,) * LANE_BITS
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


def store_in_memory(
    vector: Vector,
    holders: Holders,
    target: Pointer,
    pitch: IntLike,
    where: Condition | None,
    align: int | None,
    kept: Callable[[Int], Int] | None,
) -> None:
    """Store each element to an array whose rows lie `pitch` elements apart."""
    b, layout, type_ = holders.builder, holders.layout, vector.type
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
    rows = {down: begin.at(pitch * down) if down else begin for down in layout.slots}
    together = list(runs(layout, most))
    for down, first in rows.items():
        with b.if_(kept(places[0] + down)) if kept else contextlib.nullcontext():
            for run in (run for run in together if layout.down[run[0]] == down):
                along = layout.along[run[0]]
                place = first.at(along) if along else first
                if len(run) > 1:
                    _store(vector.taken_apart(run), place)
                    continue
                each = where and b.if_(where(places[0] + down, places[1] + along))
                with each or contextlib.nullcontext():
                    store_number(place, type_, vector[run[0]])


# ---- bytes ---------------------------------------------------------------------------------------

_STEP = 32
"""Columns of A in one multiply."""

_GROUP = 16
"""Columns that are permuted among themselves; bytes of a line of a matrix."""

_PAIRS_OF_A = ((0, 4), (2, 6), (8, 12), (10, 14))
"""The first columns of the two pairs in each register of A, among the 16 columns of a step.

Eight columns are a pair of one row and a pair of the row eight further down.
"""

_WAYS = (0x6420, 0x7531)
"""For prmt: the even bytes of two registers, and the odd ones."""

_TYPES = (ElementType.E4M3, ElementType.E5M2)


def packed_bytes(
    b: SharedMemory, vector: Vector, layout: FragmentLayout, dtype: ElementType, what: str
) -> Vector:
    """Sums (`what` in words) rounded to fp8: the registers of A, four for each 32 columns."""
    known = vector.type is ScalarType.F32 and _is_of_a_multiply(layout)
    if not known or dtype not in _TYPES or layout.columns % _STEP:
        raise refuse(
            "no bytes of A",
            got=f"{what} to {dtype.value}",
            expected="sums of one multiply's rows in f32, multiples of 32 columns; e4m3 or e5m2",
        )
    sums = list(vector)
    steps = range(0, len(sums), len(_PAIRS_OF_A) * 4)
    return b.words([_word(b, sums, step, pair, dtype) for step in steps for pair in _PAIRS_OF_A])


def _is_of_a_multiply(layout: FragmentLayout) -> bool:
    """Whether the matrix is what one multiply of a warp or a warpgroup leaves."""
    if layout.threads == WARP:
        return layout == warp_layout(16, layout.columns)
    return layout == warpgroup_layout(64, layout.columns, 32)


def _word(
    b: SharedMemory, sums: list[Number], step: int, pair: tuple[int, int], dtype: ElementType
) -> Int:
    """Two pairs of adjacent elements in a register, the first one in its low bytes."""
    type_ = ScalarType(dtype.value)
    values = ([sums[step + at + i].value for i in (0, 1)] for at in pair)
    halves = (narrow_word(sums[step].builder, low, high, type_) for low, high in values)
    word = vector_value(b.at_caller(), ir.IntType(16), 2, halves)
    return Int(b, b.at_caller().bitcast(word, ir.IntType(32)))


def transpose_bytes(
    b: SharedMemory,
    source: SharedTile,
    target: SharedTile,
    *,
    index: IntLike = 0,
    warps: int = 1,
) -> None:
    """Transpose a tile of K × N bytes into one of N × K, the B of an fp8 multiply.

    K is then in the order of `as_bytes`: in each 16, k = 8j + 2q + e (j, e < 2, q < 4) is at
    position 4q + 2j + e.  `warps` warps share the work, each with its `index`; all their threads
    execute it.  A `fence_proxy_async` and an arrival follow.  From sm_90 on.

    Raises: InputError for tiles of other types and shapes, or that do not divide evenly among the
    warps.
    """
    groups, warps = source.rows // _GROUP, whole(warps, "number of warps")
    bytes_ = source.bits == target.bits == source.dtype.bits == 8 and source.dtype is target.dtype
    shapes = (source.rows, source.k) == (target.k, target.rows)
    majors = source.major is target.major is Major.K
    even = groups * _GROUP == source.rows and groups % warps == 0 and source.k % _STEP == 0
    if not (bytes_ and shapes and majors and even):
        raise refuse(
            "no such transposed tile of bytes",
            got=f"{source!r} to {target!r} by {warps} warps",
            expected=f"K-major tiles of one type of 8 bits, N a multiple of {_STEP}, K one of "
            f"{_GROUP * warps}",
        )
    lane = b.tid_x & 31
    row = (lane & 7) * 2 + (lane >> 3 & 1) + (lane >> 4) * _GROUP
    for column in range(0, source.k, _STEP):
        read = source.chunk(lane & 15, (lane >> 4) + column // _GROUP)
        mine = [index + turn * warps for turn in range(groups // warps)]
        loads = [read + group * (_GROUP * source.width) for group in mine]
        found = [b.ldmatrix(load, MatrixNum.X4, trans=True) for load in loads]
        for group, held in zip(mine, found, strict=True):  # after all loads, which overlap then
            words = [b.prmt(held[i], held[i + 1], way) for i in (0, 2) for way in _WAYS]
            b.stmatrix(target.chunk(row, group) + column * target.width, words)
