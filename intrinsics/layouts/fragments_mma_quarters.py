"""Fragments of mma.m8n8k4 of f16, by which a warp makes four multiplies.

Layer: intrinsics (numpy).  Multiply q has the threads 4q to 4q + 3 and 4q + 16 to 4q + 19; each
holds four elements of A and of B and eight of C and D, counted register by register, in each from
the lowest bits.  PTX ISA, Matrix Fragments for mma.m8n8k4 with .f16 floating point type.  The
manual's formulas; they agree with CuTe's traits (CUTLASS, `mma_traits_sm70.hpp`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers.mma_sync import MmaLayout

Indices = NDArray[np.int64]
Cells = tuple[Indices, Indices, Indices]

QUARTERS = 4
"""Multiplies of a warp."""

_LANE = np.arange(32, dtype=np.int64)[:, None]
_FOUR = np.arange(4, dtype=np.int64)[None, :]
_EIGHT = np.arange(8, dtype=np.int64)[None, :]


def quarter_a(layout: MmaLayout) -> Cells:
    """The multiply, the row and the column (of K) of each thread's elements of A.

    Three arrays of 32 threads by 4 elements.
    """
    return _cells(*_factor(layout is MmaLayout.ROW))


def quarter_b(layout: MmaLayout) -> Cells:
    """The multiply, the column and the row (of K) of each thread's elements of B."""
    return _cells(*_factor(layout is MmaLayout.COL))


def quarter_c(bits: int) -> Cells:
    """The multiply, the row and the column of each thread's elements of C or D, of `bits` each.

    Three arrays of 32 threads by 8 elements.
    """
    lower = _LANE // 16 * 4
    if bits == 16:
        return _cells(_LANE % 4 + lower, _EIGHT)
    row = _LANE % 2 + _EIGHT // 2 % 2 * 2 + lower
    return _cells(row, _EIGHT // 4 * 4 + _LANE // 2 % 2 * 2 + _EIGHT % 2)


def _factor(along: bool) -> tuple[Indices, Indices]:
    """Where a thread's elements lie: `along` K, or four in a column of K."""
    lower = _LANE // 16 * 4
    return (_LANE % 4 + lower, _FOUR) if along else (_FOUR + lower, _LANE % 4)


def _cells(row: Indices, column: Indices) -> Cells:
    quarter, rows, columns = np.broadcast_arrays(_LANE % 16 // 4, row, column)
    return quarter, rows, columns
