"""Fragments of warp-level multiplies: which element of A, B, C and D each thread's registers hold.

Layer: intrinsics (numpy).  Elements are counted register by register, in each from the lowest bits.
PTX ISA, Warp Level Matrix Instructions, Matrix Fragments for mma.  The manual draws them; they
agree with CuTe's traits (CUTLASS, `mma_traits_sm80.hpp`, `mma_traits_sm89.hpp`,
`mma_traits_sm90.hpp`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers.mma_sync import MmaShape

Indices = NDArray[np.int64]

_THREAD = np.arange(32, dtype=np.int64)[:, None]
_EIGHT = 8  # rows or columns that the threads of a warp share, four threads for each


def fragment_a(shape: MmaShape, bits: int) -> tuple[Indices, Indices]:
    """The row and the column (of K) of each thread's elements of A, `bits` each in a register.

    Two arrays of 32 threads by elements.  An element of 64 bits has a register for itself.  Where A
    is sparse, `shape` is the one of what is stored: half of K.
    """
    each, register, element = _numbered(shape.m * shape.k, bits)
    rows = shape.m // _EIGHT
    row = _THREAD // 4 + _EIGHT * (register % rows)
    return row, _column(register // rows, element, each)


def fragment_b(shape: MmaShape, bits: int) -> tuple[Indices, Indices]:
    """The row (of K) and the column of each thread's elements of B; see `fragment_a`."""
    each, register, element = _numbered(shape.n * shape.k, bits)
    row = _column(register, element, each)
    return row, np.broadcast_to(_THREAD // 4, row.shape)


def fragment_c(shape: MmaShape) -> tuple[Indices, Indices]:
    """The row and the column of each thread's elements of C and D, of any type."""
    number = np.arange(shape.m * shape.n // 32, dtype=np.int64)[None, :]
    return _THREAD // 4 + _EIGHT * (number // 2), _THREAD % 4 * 2 + number % 2


def _numbered(elements: int, bits: int) -> tuple[int, Indices, Indices]:
    """Elements in a register, and the register and the place in it of each of a thread's."""
    each = max(32 // bits, 1)
    number = np.arange(elements // 32, dtype=np.int64)[None, :]
    return each, number // each, number % each


def _column(block: Indices, element: Indices, each: int) -> Indices:
    """Along K four threads hold neighbouring registers; the next block follows behind them."""
    return block * (4 * each) + _THREAD % 4 * each + element
