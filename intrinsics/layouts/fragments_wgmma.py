"""Register layouts of wgmma: D, A, and the metadata of A.

Layer: intrinsics (numpy).  A warpgroup has 128 threads; each holds so many 32-bit registers of a
matrix.  Elements of less than 32 bits fill a register from its lowest bits on, along a row.  PTX
ISA, wgmma.mma_async, Register Fragments and Shared Memory Matrix Layouts; Sparse matrix storage.
The manual draws these; they agree with CuTe (CUTLASS, `mma_traits_sm90_gmma.hpp`: CLayout_64xN,
ALayout_64xK; `mma_traits_sm90_gmma_sparse.hpp`: ELayout_64xK).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

THREADS = 128
"""Threads of a warpgroup."""

ROWS = 64
"""M of every multiply."""

A_REGISTERS = 4
"""Registers that hold A in each thread: 32 bytes of a row, in 128 threads."""

_WORD = 32


def accumulator_fragment(n: int, bits: int = 32) -> tuple[Integers, Integers]:
    """The row and the column of D that each register holds; D has 64 rows and `n` columns.

    Two arrays of 128 threads by registers by elements of a register: one of 32 `bits`, two of 16.

    Raises: ValueError when `n` is no multiple of 8, or D has no elements of so many bits.
    """
    if n % 8 or bits not in (16, 32):
        raise ValueError(f"no D has {n} columns of {bits} bits")
    count = _WORD // bits
    thread, register, element = _axes(n * bits // 64, count)
    place = register * count + element  # of 2 columns, 2 rows, and eights of columns
    row = thread // 32 * 16 + thread % 32 // 4 + place // 2 % 2 * 8
    column = place // 4 * 8 + thread % 4 * 2 + place % 2
    return row, np.broadcast_to(column, row.shape)


def a_fragment(bits: int) -> tuple[Integers, Integers]:
    """The row and the column of A that each register holds, for elements of `bits`.

    Two arrays of 128 threads by 4 registers by elements of a register.  Of a sparse A the columns
    count what is stored.

    Raises: ValueError when elements of so many bits do not fill registers.
    """
    if bits < 1 or _WORD % bits:
        raise ValueError(f"elements of {bits} bits do not fill a register")
    count = _WORD // bits
    thread, register, element = _axes(A_REGISTERS, count)
    row = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
    column = (register // 2 * 4 + thread % 4) * count + element
    shape = np.broadcast_shapes(row.shape, column.shape)
    return np.broadcast_to(row, shape), np.broadcast_to(column, shape)


def metadata_fragment(bits: int, selector: int = 0) -> tuple[Integers, Integers]:
    """The thread whose register holds the index of a chunk of a sparse A, and its lowest bit there.

    Two arrays of 64 rows by chunks of a row (8, and 16 for elements of 8 `bits`); an index has four
    bits.  Of four threads beside each other two hold the indices of two rows, threads 0 and 1 for
    `selector` 0, 2 and 3 for 1; for elements of 8 bits all four do.

    Raises: ValueError for a selector that such elements do not have, or for other elements.
    """
    if bits not in (8, 16, 32):
        raise ValueError(f"no sparse matrix has elements of {bits} bits")
    if not 0 <= selector <= (bits != 8):
        raise ValueError(f"elements of {bits} bits have no sparsity selector {selector}")
    row = np.arange(ROWS, dtype=np.int64)[:, None]
    lower = row % 16 // 8  # whether it is one of the lower eight rows of its warp
    four = row // 16 * 32 + row % 8 * 4
    if bits == 8:
        chunk = np.arange(16, dtype=np.int64)[None, :]
        thread, bit = four + lower + chunk // 8 * 2, chunk % 8 * 4
    else:
        chunk = np.arange(8, dtype=np.int64)[None, :]
        thread, bit = four + selector * 2 + chunk // 4, chunk % 4 * 4 + lower * 16
    return thread, np.broadcast_to(bit, thread.shape)


def _axes(registers: int, elements: int) -> tuple[Integers, Integers, Integers]:
    thread = np.arange(THREADS, dtype=np.int64)[:, None, None]
    register = np.arange(registers, dtype=np.int64)[None, :, None]
    return thread, register, np.arange(elements, dtype=np.int64)[None, None, :]
