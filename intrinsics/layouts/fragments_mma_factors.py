"""Scale factors of warp-level multiplies: which byte of which thread's register has which factor.

Layer: intrinsics (numpy).  A factor is a byte, and a register holds four.  Of each four threads
beside each other those that the thread selector names give factors, the others' registers count for
nothing:

    A    two threads, 0 and 1 or 2 and 3: of row t / 4 the first, of the row eight below the second
    B    one thread: of column t / 4

The byte selector says where the first factor of a row (of A; a column of B) stands; those of the
following blocks of K stand above it.

    .scale_vec    factors    byte selectors
    1X            1          0, 1, 2, 3
    2X            2          0, 2
    4X            4          0

PTX ISA, Block Scaling for mma.sync.  The manual says which threads and bytes, and draws which
thread of A's pair has which row: as CuTe's SFALayout and SFBLayout have it (CUTLASS,
`mma_traits_sm120.hpp`) and Triton's `getSM120DotScaledScaleLayout` (`LinearLayoutConversions.cpp`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import ScaleVec

Indices = NDArray[np.int64]

FACTORS = {ScaleVec.X1: 1, ScaleVec.X2: 2, ScaleVec.X4: 4}
"""Factors of a row of A, or a column of B, in one multiply."""

PROVIDERS = {"a": 2, "b": 4}
"""How many thread selectors a matrix has."""

_BYTES = 4


def factor_bytes(factors: int) -> range:
    """The byte selectors that so many factors a row have."""
    return range(0, _BYTES, factors)


def factor_fragment(
    matrix: str, factors: int, byte: int = 0, thread: int = 0
) -> tuple[Indices, Indices]:
    """The thread and the byte of its register that hold each factor of `matrix`, "a" or "b".

    Two arrays, (rows, 1) and (1, factors), of 16 rows of A or 8 columns of B; byte 0 is the lowest.

    Raises: ValueError for selectors that there are not.
    """
    if byte not in factor_bytes(factors):
        allowed = ", ".join(map(str, factor_bytes(factors)))
        raise ValueError(f"byte {byte} with {factors} factors: {allowed}")
    if not 0 <= thread < PROVIDERS[matrix]:
        raise ValueError(f"thread {thread} for {matrix.upper()}: 0 to {PROVIDERS[matrix] - 1}")
    place = np.arange(byte, byte + factors, dtype=np.int64)[None, :]
    row = np.arange(16 if matrix == "a" else 8, dtype=np.int64)[:, None]
    if matrix == "a":
        return row % 8 * 4 + 2 * thread + row // 8, place
    return row * 4 + thread, place
