"""Fragments: which cell of tensor memory each register of a tcgen05.ld or .st holds.

Layer: intrinsics (numpy).  PTX ISA, Matrix Fragments.  The manual draws them; they agree with
CuTe's traits of tensor-memory copies (CUTLASS, `copy_traits_sm100.hpp`).
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import LdStShape


def fragment_cells(
    shape: LdStShape, registers: int, half_split: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lane and the column of each thread's registers, counted from the instruction's address.

    Two arrays of 32 threads by `registers`, which broadcast where they do not depend on both.  In a
    shape of 16 lanes, what four threads hold is a row of one repetition, and rows 8 to 15 come from
    the next registers (in .16x64b from the odd threads); `half_split` is how many columns the
    second half of a .16x32bx2 lies behind the first.
    """
    thread = np.arange(32, dtype=np.int64)[:, None]
    register = np.arange(registers, dtype=np.int64)[None, :]
    match shape:
        case LdStShape.S32X32B:
            return thread, register
        case LdStShape.S16X64B:
            return thread // 4 + thread % 2 * 8, register * 2 + thread // 2 % 2
        case LdStShape.S16X128B:
            return thread // 4 + register % 2 * 8, register // 2 * 4 + thread % 4
        case LdStShape.S16X256B:
            column = register // 4 * 8 + thread % 4 * 2 + register % 2
            return thread // 4 + register // 2 % 2 * 8, column
        case LdStShape.S16X32BX2:
            return thread % 16, register + thread // 16 * half_split
    assert_never(shape)
