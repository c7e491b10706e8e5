"""Layouts of fragments: the threads that hold a matrix, and its way to memory and back.

Layer: nvgen.fragments.  `intrinsics.layouts.register_layout` gives the elements of each thread, and
`register_runs` says which of them go together; here their numbers become instructions.  Reductions
along a row use shuffles between the threads that share the row.  PTX ISA, shfl.sync; stmatrix;
ldmatrix; st; ld; Shared Memory Matrix Layouts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self, TypeAlias

from llvmlite import ir

from intrinsics import catalog
from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import FragmentLayout
from intrinsics.layouts.register_runs import (
    LANE_BITS,
    MATRIX,
    MatrixBlock,
    blocks,
    is_stmatrix_layout,
    runs,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import AtomicOp, ScalarType, Space
from intrinsics.modifiers.matrix import MatrixNum
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import OF_MATRICES, Named, described, refuse
from nvgen.instructions.roles import WARPGROUP, ExecutionScope, check_scope
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.copies import copies
from nvgen.shared_memory.reductions import Reductions
from nvgen.shared_memory.tiles import PLAIN_SPAN, SharedTile, check_spans
from nvgen.values.number_types import constant, is_float, u64
from nvgen.values.numbers import Int, IntLike, Number
from nvgen.values.pointers import Pointer, check_pointer, checked_align, load_numbers, store_number
from nvgen.values.regions import Host
from nvgen.values.vectors import Elementwise, Vector, as_words, from_words, vector_of

Joined: TypeAlias = Callable[[Number, Number], Number]
"""An associative and commutative function of two numbers."""


def scaled_bits(number: Int, steps: Sequence[int]) -> Int:
    """The sum of `steps[i]` for each bit i of a number; neighbours that double go together."""
    total: Int | None = None
    i = 0
    while i < len(steps):
        last = i
        while last + 1 < len(steps) and steps[last + 1] == 2 * steps[last] != 0:
            last += 1
        if steps[i]:
            part = (number >> i) & ((1 << last - i + 1) - 1) if i else number & (2 << last) - 1
            part = part * steps[i] if steps[i] != 1 else part
            total = part if total is None else total + part
        i = last + 1
    return Int(number.builder, constant(0, 32)) if total is None else total


@dataclass(frozen=True, slots=True)
class Holders:
    """The threads that hold a matrix, and the position of this thread's part in it.

    A matrix of several warps, rows × columns of them, is divided; `first` gives the first row and
    column of a warp.
    """

    builder: SharedMemory
    layout: FragmentLayout
    first: Callable[[], tuple[IntLike, IntLike]] | None = None
    across: bool = False
    """Whether several warps hold elements of one row."""

    def corner(self) -> tuple[Int, Int]:
        """The row and the column that this thread's elements are counted from."""
        thread = self.builder.thread
        row = scaled_bits(thread, self.layout.row_bits)
        column = scaled_bits(thread, self.layout.column_bits)
        if self.first is not None:
            down, along = self.first()
            row, column = row + down, column + along
        return row, column


# ---- numbers of threads --------------------------------------------------------------------------


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class OfThreads(Named, Elementwise):
    """Numbers that several threads hold, in a layout."""

    vector: Vector = field()
    holders: Holders
    kind: ClassVar[str]
    """What the numbers are of."""
    elsewhere: ClassVar[Mapping[str, str]] = OF_MATRICES

    if not TYPE_CHECKING:  # to a type checker there is no such method

        def __getitem__(self, *_: object) -> NoReturn:
            expected = "x.part_of_columns(first, count); x.vector[i] of a thread's own"
            raise refuse(
                "a matrix in registers is not indexed", got="x[…]", expected=expected,
                hint="x.coordinates() says which elements a thread has",
            )  # fmt: skip

    @property
    def builder(self) -> SharedMemory:
        """The kernel that it is of."""
        return self.holders.builder

    @property
    def value(self) -> ir.Value:
        """A thread's numbers as llvmlite's."""
        return self.vector.value

    @property
    def words(self) -> str:
        """A description for messages and `repr`."""
        return f"{self.kind}: {self.vector.words}"

    def __repr__(self) -> str:
        return f"<{self.words}; layout {self.holders.layout}>"

    def like(self, value: ir.Value) -> Self:
        """Other values of llvmlite's as such numbers."""
        return replace(self, vector=self.vector.like(value))

    def taken(self, other: object) -> ir.Value:
        """Numbers of the same layout and type, or one number for all, as llvmlite's."""
        found = self._operand(other).typed
        return self.builder.at_caller().bitcast(found, self.vector.value.type)

    def made(self, vector: Vector) -> Self:
        """Other numbers in the same layout."""
        return replace(self, vector=vector)


# ---- A of a multiply ---------------------------------------------------------------------------


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """A in registers: `fragments[i][s]` are the four of rows i·`each` and following, and of step s
    of K.

    A register holds 32 bits of a row along K, laid out as in the manual's figures of A. One
    multiply has `each` rows: 64 of a warpgroup, 16 of a warp.
    """

    fragments: tuple[tuple[Vector, ...], ...]
    dtype: ElementType
    each: int = WARPGROUP_ROWS

    def __repr__(self) -> str:
        fragments = f"{len(self.fragments)} times {len(self.fragments[0])} fragments"
        return f"<A in registers: {self.m}x{self.k} of {self.dtype.value}, {fragments}>"

    @property
    def m(self) -> int:
        """Rows."""
        return len(self.fragments) * self.each

    @property
    def k(self) -> int:
        """Columns."""
        return len(self.fragments[0]) * 256 // self.dtype.bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.dtype.bits

    @property
    def builder(self) -> Host:
        """The kernel that it is of."""
        return self.fragments[0][0].builder


# ---- memory ------------------------------------------------------------------------------------

Condition: TypeAlias = Callable[[Int, Int], Int]
"""A condition of a row and a column."""

_CHUNK = 16


def store_in_tile(matrix: OfThreads, tile: SharedTile) -> None:
    """Store each element where the tile has it, floats rounded to the tile's type."""
    if not isinstance(tile, SharedTile):
        raise refuse("no tile", got=described(tile), expected="b.shared_tile(…)")
    if is_float(matrix.vector.type or ScalarType.U32):
        matrix = matrix.to(tile.dtype)
    vector, holders = matrix.vector, matrix.holders
    type_ = vector.type
    same = type_ is not None and type_.value == tile.dtype.value
    _check(tile, holders, matrix.words, same)
    able = holders.builder.target in catalog.row("stmatrix").needs.targets
    if able and tile.bits == 16 and is_stmatrix_layout(holders.layout):
        for elements, place_of in _matrices(holders, tile):
            words = as_words(vector.taken_apart(elements))
            given = words if words.count > 1 else [words[0]]
            holders.builder.stmatrix(place_of(), given, trans=tile.major is not Major.K)
    else:
        for place, elements in _pieces(holders, tile):
            _store(vector.taken_apart(elements), place)


def load_from_tile(holders: Holders, tile: SharedTile) -> Vector:
    """The elements of a tile that each of the threads holds."""
    _check(tile, holders, f"{holders.layout.rows}x{holders.layout.columns}", same=True)
    type_, found = ScalarType(tile.dtype.value), dict[int, Number]()
    if tile.bits == 16 and is_stmatrix_layout(holders.layout):
        for elements, place_of in _matrices(holders, tile):
            num = MatrixNum(f"x{len(elements) // 2}")
            words = holders.builder.ldmatrix(place_of(), num, trans=tile.major is not Major.K)
            found |= zip(elements, from_words(words, type_), strict=True)
    else:
        for place, elements in _pieces(holders, tile):
            size = len(elements) * tile.bits // 8
            found |= zip(elements, load_numbers(place, type_, len(elements), size), strict=True)
    return vector_of([found[element] for element in range(holders.layout.count)])


def _check(tile: SharedTile, holders: Holders, words: str, same: bool) -> None:
    """Whether a tile holds a matrix of such a layout, and of its type."""
    layout = holders.layout
    fits = (tile.rows, tile.k) == (layout.rows, layout.columns) or holders.first is not None
    if not fits or not same or tile.bits != tile.dtype.bits or tile.atom != PLAIN_SPAN:
        got = f"{tile.rows}x{tile.k} of {tile.dtype.value}, {tile.mode.words}"
        raise refuse(f"tile {tile.name} does not hold this matrix", got=got, expected=words)
    check_spans(tile)


def _matrices(
    holders: Holders, tile: SharedTile
) -> Iterator[tuple[tuple[int, ...], Callable[[], Pointer]]]:
    """The matrices of each warp: a thread's elements, and the address of line i for lane i."""
    b, layout = holders.builder, holders.layout
    thread, outer = b.thread, (0,) * LANE_BITS
    row = scaled_bits(thread, outer + layout.row_bits[LANE_BITS:])
    column = scaled_bits(thread, outer + layout.column_bits[LANE_BITS:])
    if holders.first is not None:
        down, along = holders.first()
        row, column = row + down, column + along
    line, second, third = thread % MATRIX, thread // 8 % 2, thread // 16 % 2

    def place_of(block: MatrixBlock) -> Pointer:
        lower, right = (second, third) if block.several else (b.const(0), b.const(0))
        if tile.major is Major.K:
            begin = row + line + lower * MATRIX
            number = (column + block.along) // MATRIX + right
            return tile.chunk(begin, number) + block.down * tile.width
        number = (row + block.down) // MATRIX + lower
        return tile.chunk(column + line + right * MATRIX, number) + block.along * tile.width

    return ((block.elements, partial(place_of, block)) for block in blocks(layout))


def _pieces(holders: Holders, tile: SharedTile) -> Iterator[tuple[Pointer, tuple[int, ...]]]:
    """A chunk of 16 bytes, two neighbours, or single elements at a time."""
    layout, size = holders.layout, tile.bits // 8
    row, column = holders.corner()
    k_major = tile.major is Major.K
    for run in runs(layout, _CHUNK // size if k_major else 1):
        down, along = layout.down[run[0]], layout.along[run[0]]
        line, major = (row + down if down else row), column + along
        if not k_major:
            line, major = column + along, row + down
        byte = major * size
        yield tile.chunk(line, byte // _CHUNK) + byte % _CHUNK, run


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
    layout, type_ = holders.layout, _stored_type(self, target)
    size, places = type_.bits // 8, holders.corner()
    most = 1 if where else max(min(checked_align(align, size), _CHUNK) // size, 1)
    together = list(runs(layout, most))
    for down, first in list(_lines(holders, target.of(type_), pitch)):
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


def load_from_memory(
    holders: Holders, source: Pointer, pitch: IntLike, align: int | None
) -> Vector:
    """The elements of a matrix in memory that each of the threads holds."""
    check_pointer(holders.builder, source)
    layout, type_, found = holders.layout, source.typed(), dict[int, Number]()
    size = type_.bits // 8
    together = list(runs(layout, max(min(checked_align(align, size), _CHUNK) // size, 1)))
    for down, first in list(_lines(holders, source, pitch)):
        for run in (run for run in together if layout.down[run[0]] == down):
            count = len(run)
            numbers = load_numbers(first.at(layout.along[run[0]]), type_, count, count * size)
            found |= zip(run, numbers, strict=True)
    return vector_of([found[element] for element in range(layout.count)])


def _lines(holders: Holders, first: Pointer, pitch: IntLike) -> Iterator[tuple[int, Pointer]]:
    """Where each row of a thread begins in memory, from its own first column on."""
    row, column = (place.to(u64) for place in holders.corner())
    pitch = pitch.to(u64) if isinstance(pitch, Int) else holders.builder.u64(pitch)
    begin = first.at(row * pitch + column)
    for down in holders.layout.slots:
        yield down, begin.at(pitch * down) if down else begin


def _stored_type(self: OfThreads, target: Pointer) -> ScalarType:
    """The type of the numbers, which may be stored there."""
    type_ = self.vector.type
    check_pointer(self.builder, target)
    assert type_ is not None
    if target.dtype not in (None, type_):
        expected = target.dtype.value if target.dtype else ""
        raise refuse(
            "numbers of another type are stored", got=type_.value, expected=expected, hint="x.to(…)"
        )
    return type_


def store_through(
    self: OfThreads,
    tile: SharedTile,
    target: Pointer,
    coordinates: Sequence[IntLike],
    *,
    barrier: IntLike = 0,
    in_flight: int = 0,
    op: AtomicOp | None = None,
) -> None:
    """Store the matrix by TMA: into a tile of its shape, and from there through a tensor map.

    All threads that hold the matrix execute it, and meet at `barrier`: 0 of the whole CTA, of a
    warpgroup a number that no other one uses.  Before it is written, all but the `in_flight` latest
    stores have read their tiles, so that tiles may come by turns.  Numbers are rounded to the
    tile's type.  The rest is as in `b.store_tile`; at the end `cp_async_bulk_wait_group(0)` waits,
    by all threads.

    Raises: InputError for a matrix of a warp, and what `as_tile` and `b.store_tile` raise.
    """
    b = self.builder
    assert isinstance(b, Reductions)
    group = b.scope is ExecutionScope.WARPGROUP
    check_scope(b, "a matrix is stored by TMA", ExecutionScope.WARPGROUP, ExecutionScope.CTA)
    threads = WARPGROUP if group else b.threads
    first = b.thread // WARPGROUP * WARPGROUP if group else 0
    with b.if_thread(first):
        b.cp_async_bulk_wait_group_read(in_flight)
    b.barrier_cta_sync_aligned(barrier, threads)
    store_in_tile(self, tile)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned(barrier, threads)
    with b.if_thread(first):
        copies(b, tile, target, coordinates).store(op)
