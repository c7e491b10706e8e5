"""Which elements of a matrix a thread holds, as a formula that instructions can compute.

Layer: intrinsics (numpy).  Input: the tables of `fragments_wgmma`, `fragments_mma` and `fragments`:
the row and the column of each thread's elements.  Output: a place that depends on the thread, and
for each element its distance from there; every layout of a tensor core is so.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.fragments import fragment_cells
from intrinsics.layouts.fragments_mma import fragment_a, fragment_c
from intrinsics.layouts.fragments_wgmma import THREADS, a_fragment, accumulator_fragment
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import LdStShape
from intrinsics.modifiers.mma_sync import MmaShape

Indices = NDArray[np.int64]

_STEP = {16: MmaShape.M16N8K16, 8: MmaShape.M16N8K32, 32: MmaShape.M16N8K8}
"""The multiply of a warp that reads 32 bytes of a row of A, by the bits of an element."""

_SHOWN = 8
_WARP = 32


@dataclass(frozen=True, slots=True)
class FragmentLayout:
    """A matrix of `rows` by `columns` in the registers of `threads`.

    Bit i of a thread's number adds `row_bits[i]` to the row of its elements and `column_bits[i]` to
    their column; element e lies `down[e]` rows and `along[e]` columns from there.
    """

    rows: int
    columns: int
    row_bits: tuple[int, ...]
    column_bits: tuple[int, ...]
    down: tuple[int, ...]
    along: tuple[int, ...]

    @property
    def threads(self) -> int:
        """The number of threads that hold the matrix."""
        return 1 << len(self.row_bits)

    @property
    def count(self) -> int:
        """The number of elements of a thread."""
        return len(self.down)

    @property
    def slots(self) -> tuple[int, ...]:
        """The rows that a thread has elements of, from its first one."""
        return tuple(sorted(set(self.down)))

    @property
    def slot_of(self) -> tuple[int, ...]:
        """The number of its row among them, for each element."""
        return _numbers(self.down, self.slots)

    @property
    def column_slots(self) -> tuple[int, ...]:
        """The columns that a thread has elements of, from its first one."""
        return tuple(sorted(set(self.along)))

    @property
    def column_slot_of(self) -> tuple[int, ...]:
        """The number of its column among them, for each element."""
        return _numbers(self.along, self.column_slots)

    @property
    def sharing(self) -> tuple[int, ...]:
        """The bits of a thread's number in which threads differ that hold elements of one row."""
        return tuple(1 << i for i, row in enumerate(self.row_bits) if row == 0)

    def __str__(self) -> str:
        """The shape, and where the first elements of the first thread lie."""
        places = list(zip(self.down, self.along, strict=True))
        first = " ".join(f"({row}, {column})" for row, column in places[:_SHOWN])
        return (
            f"{self.rows}x{self.columns}, {self.threads} threads with {self.count} elements each; "
            f"thread 0 has (row, column) {first}{' …' * (self.count > _SHOWN)}"
        )

    def stacked(self, times: int) -> FragmentLayout:
        """The layout stacked `times` below each other, each thread's elements in turn."""
        down = tuple(row + number * self.rows for number in range(times) for row in self.down)
        rows = self.rows * times
        return FragmentLayout(
            rows, self.columns, self.row_bits, self.column_bits, down, self.along * times
        )

    def places(self) -> tuple[Indices, Indices]:
        """The row and the column of each thread's elements: threads by elements."""
        thread = np.arange(self.threads)[:, None]
        tables = []
        for bits, offsets in ((self.row_bits, self.down), (self.column_bits, self.along)):
            base = sum((thread >> i & 1) * step for i, step in enumerate(bits))
            tables.append(base + np.array(offsets, np.int64)[None, :])
        return tables[0], tables[1]


def _numbers(offsets: tuple[int, ...], slots: tuple[int, ...]) -> tuple[int, ...]:
    numbers = {offset: number for number, offset in enumerate(slots)}
    return tuple(numbers[offset] for offset in offsets)


def layout_of(row: Indices, column: Indices, rows: int, columns: int) -> FragmentLayout:
    """The layout whose elements have these rows and columns, given as threads by elements.

    Raises: ValueError where no such layout has it.
    """
    threads = row.shape[0]
    bits = range(threads.bit_length() - 1)
    found = FragmentLayout(
        rows,
        columns,
        tuple(int(row[1 << i, 0] - row[0, 0]) for i in bits),
        tuple(int(column[1 << i, 0] - column[0, 0]) for i in bits),
        tuple(int(n) for n in row[0]),
        tuple(int(n) for n in column[0]),
    )
    if not all(np.array_equal(a, b) for a, b in zip(found.places(), (row, column), strict=True)):
        raise ValueError("places that are no sums of a thread's and an element's")
    return found


@functools.cache
def warpgroup_layout(m: int, n: int, bits: int) -> FragmentLayout:
    """D of wgmma.mma_async: `m` rows, a multiple of 64, by `n` columns."""
    row, column = (np.asarray(t).reshape(THREADS, -1) for t in accumulator_fragment(n, bits))
    return layout_of(row, column, 64, n).stacked(m // 64)


@functools.cache
def warp_layout(m: int, n: int) -> FragmentLayout:
    """D of mma.sync in one warp: fragments of 16 x 8, in row-major order."""
    row, column = fragment_c(MmaShape.M16N8K16)
    row, column = np.broadcast_arrays(row, column)
    pieces = [(i, j) for i in range(0, m, 16) for j in range(0, n, 8)]
    rows = np.concatenate([row + i for i, _ in pieces], axis=1)
    columns = np.concatenate([column + j for _, j in pieces], axis=1)
    return layout_of(rows, columns, m, n)


@functools.cache
def warp_grids(warps: int, m: int, n: int) -> list[tuple[int, int]]:
    """The grids (rows, columns) of warps that divide m rows by n columns evenly into multiples of
    16 x 8, the D of one mma.sync."""
    grids = ((rows, warps // rows) for rows in range(1, warps + 1) if warps % rows == 0)
    return [
        (rows, columns)
        for rows, columns in grids
        if min(m, n) > 0 and m % (16 * rows) == 0 and n % (8 * columns) == 0
    ]


def tensor_layout(n: int) -> FragmentLayout:
    """128 lanes of tensor memory and `n` columns, as the four warps of a warpgroup load them."""
    thread, register = np.broadcast_arrays(*fragment_cells(LdStShape.S32X32B, n))
    warp = np.repeat(np.arange(4) * _WARP, _WARP)[:, None]
    return layout_of(np.tile(thread, (4, 1)) + warp, np.tile(register, (4, 1)), 128, n)


@functools.cache
def operand_layout(threads: int, bits: int) -> FragmentLayout:
    """32 bytes of each row of A, as one multiply of a warpgroup or a warp takes them.

    Elements are counted register by register, from the lowest bits of each on.
    """
    if threads == _WARP:
        row, column = np.broadcast_arrays(*fragment_a(_STEP[bits], bits))
        return layout_of(row, column, 16, 256 // bits)
    row, column = (table.reshape(threads, -1) for table in a_fragment(bits))
    return layout_of(row, column, 64, 256 // bits)


def sources(held: FragmentLayout, wanted: FragmentLayout, row: int, column: int) -> list[int]:
    """The numbers of a thread's elements that are those of `wanted`, which begins at row, column.

    Empty where a thread does not hold them itself.
    """
    if (held.row_bits, held.column_bits) != (wanted.row_bits, wanted.column_bits):
        return []
    known = {place: e for e, place in enumerate(zip(held.down, held.along, strict=True))}
    places = zip(wanted.down, wanted.along, strict=True)
    found = [known.get((down + row, along + column)) for down, along in places]
    return [e for e in found if e is not None] if None not in found else []
