"""Where elements lie, read from the manual and written down as plain formulas.

Nothing of nvgen's is used here.  Sections are those of the PTX ISA's chapter on tcgen05; "shared
memory offset" is in bytes, "cell" is a (lane, column) of tensor memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Cell = tuple[int, int]

SPANS = (0, 32, 64, 128)
"""Swizzle spans in bytes; 0 is no swizzling."""

REPEATS = {0: 128, 32: 256, 64: 512, 128: 1024}
"""Bytes after which a swizzle repeats (Table 41): the alignment of a tile."""


# ---- shared memory ---------------------------------------------------------------------------


def swizzled(address: int, span: int) -> int:
    """Where swizzling puts the byte that would be at `address` without it.

    Canonical Layouts: Swizzle<B, 4, 3> with B = 1, 2, 3 for 32, 64 and 128 bytes.  The B bits above
    the 16-byte chunk are exchanged by exclusive or with the B bits that number the 128-byte lines.
    """
    bits = {0: 0, 32: 1, 64: 2, 128: 3}[span]
    line = address >> 7 & ((1 << bits) - 1)
    return address ^ line << 4


def k_major(row: int, byte: int, *, span: int, lbo: int, sbo: int) -> int:
    """The unswizzled offset of a byte of a row in a K-major matrix (Canonical Layouts).

    Rows come in groups of 8, `sbo` bytes from one to the next.  Swizzled, a row is `span` bytes
    long; otherwise each 16-byte column of 8 rows is on its own, `lbo` bytes from one to the next.
    """
    group, within = divmod(row, 8)
    chunk, rest = divmod(byte, 16)
    if span == 0:
        return group * sbo + within * 16 + chunk * lbo + rest
    return group * sbo + within * span + chunk * 16 + rest


def mn_major(mn: int, k: int, size: int, *, span: int, lbo: int, sbo: int) -> int:
    """The unswizzled offset of element (mn, k) of `size` bytes in an MN-major matrix.

    Canonical Layouts: 16 bytes along M or N are contiguous, a line of `span` bytes (16 without
    swizzling) holds one k, and 8 of k make a block.  Without swizzling blocks are `lbo` apart along
    K and `sbo` apart along MN; with it, it is the other way around.
    """
    width = span or 16
    across, within = divmod(mn * size, width)
    block, line = divmod(k, 8)
    along_mn, along_k = (sbo, lbo) if span == 0 else (lbo, sbo)
    return along_mn * across + along_k * block + line * width + within


def tma_elements(
    shape: Sequence[int], box: Sequence[int], start: Sequence[int]
) -> Iterator[tuple[int, int, tuple[int, ...] | None]]:
    """Each element of a box: its row in the box, its place in the row, its index in the tensor.

    Shapes and indices are in the array's own order of dimensions, outermost first.  The index is
    None outside of the tensor, where the copy fills in zeros.
    """
    for number, within in enumerate(np.ndindex(*box)):
        index = tuple(s + w for s, w in zip(start, within, strict=True))
        inside = all(0 <= i < n for i, n in zip(index, shape, strict=True))
        row, place = divmod(number, box[-1])
        yield row, place, index if inside else None


def tma_tile(
    array: Array, box: Sequence[int], start: Sequence[int], *, span: int, base: int, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """What a copy of a box writes into `size` bytes of shared memory, and which bytes it writes.

    Rows of the box (its innermost dimension) are packed without swizzling; with it each begins a
    span, also when the box is narrower.  `base` is the destination's offset from a multiple of
    1024.  These rules were tried on an H200.
    """
    item = array.dtype.itemsize
    pitch = span or box[-1] * item
    memory, written = np.zeros(size, np.uint8), np.zeros(size, np.bool_)
    for row, place, index in tma_elements(array.shape, box, start):
        element = bytes(item) if index is None else array[index].tobytes()
        for i, value in enumerate(element):
            at = swizzled(base + row * pitch + place * item + i, span)
            memory[at] = value
            written[at] = True
    return memory, written


def tma_stored(
    array: Array,
    memory: NDArray[np.uint8],
    box: Sequence[int],
    start: Sequence[int],
    *,
    span: int,
    base: int,
) -> Array:
    """The tensor after a store of a box that lies in shared memory as a copy would leave it.

    Elements of the box outside of the tensor are dropped.
    """
    item = array.dtype.itemsize
    pitch = span or box[-1] * item
    found = array.copy()
    for row, place, index in tma_elements(array.shape, box, start):
        if index is not None:
            at = base + row * pitch + place * item
            data = bytes(int(memory[swizzled(at + i, span)]) for i in range(item))
            found[index] = np.frombuffer(data, array.dtype)[0]
    return found


# ---- tensor memory ---------------------------------------------------------------------------

REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""32-bit registers of a thread in one repetition of a shape (Table 47)."""

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


def register_count(shape: str, num: int) -> int:
    """Registers of a thread in `shape.xNUM`."""
    return REGISTERS[shape] * num


def column_count(shape: str, num: int) -> int:
    """Columns that `shape.xNUM` reaches over, both halves of .16x32bx2 apart from each other."""
    return {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}[shape] * num


def cell(shape: str, thread: int, register: int, half_split: int = 0) -> Cell:
    """The cell, counted from the instruction's address, that a thread's register stands for.

    Matrix fragments (Figures 183 to 187).  In the shapes of 16 lanes, four threads share a row and
    the rows 8 to 15 are a second register's, except in .16x64b, where a row's two columns belong
    to the second lowest bit of the thread's number and the lowest bit chooses the half of rows.
    """
    four, in_four = divmod(thread, 4)
    match shape:
        case "32x32b":
            return thread, register
        case "16x64b":
            return four + 8 * (in_four % 2), 2 * register + in_four // 2
        case "16x128b":
            again, half = divmod(register, 2)
            return four + 8 * half, 4 * again + in_four
        case "16x256b":
            again, within = divmod(register, 4)
            half, low = divmod(within, 2)
            return four + 8 * half, 8 * again + 2 * in_four + low
        case "16x32bx2":
            second, lane = divmod(thread, 16)
            return lane, register + second * half_split
    raise AssertionError(shape)


def accumulator_lane(row: int, m: int) -> int:
    """The lane of a row of D, counted from D's address, with cta_group::1 and without .ws.

    Data Path Layout Organization: with M = 128 (Layout D) row i is lane i.  With M = 64 (Layout F)
    half the lanes are used: each quarter of the rows begins at a multiple of 32 lanes.
    """
    if m == 128:
        return row
    quarter, within = divmod(row, 16)
    return 32 * quarter + within


# ---- CuTe ------------------------------------------------------------------------------------


def cute(shape: Sequence[int], stride: Sequence[int], number: int) -> int:
    """The value of a CuTe layout of flat shape and strides at an index.

    The index is split in column-major order, and each part multiplied by its stride.
    """
    found = 0
    for size, step in zip(shape, stride, strict=True):
        number, part = divmod(number, size)
        found += part * step
    return found
