"""Fragments: which bytes of a matrix each thread of an ldmatrix, stmatrix or movmatrix holds.

Layer: intrinsics (numpy).  PTX ISA, ldmatrix; stmatrix; movmatrix.  The manual draws them.  They
agree with CuTe's traits (CUTLASS, `copy_traits_sm75.hpp`, `copy_traits_sm100.hpp`), that of m16n16
once the bytes are undone that `copy_sm100.hpp` exchanges behind the instruction.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers.matrix import MatrixShape

Indices = NDArray[np.int64]

LINE = 16
"""Bytes of a matrix at one address."""

_ONLY_TRANSPOSED = (MatrixShape.M16N16, MatrixShape.M16N8)


def matrix_bytes(
    shape: MatrixShape, count: int = 1, *, transposed: bool = False
) -> tuple[Indices, Indices]:
    """The line in memory, and the byte in it, of each byte of a thread's registers.

    Two arrays of 32 threads by 4 bytes a register, for `count` matrices.  Line i of matrix j counts
    as line `j * shape.lines + i`: so is the thread called that gives its address.  A thread holds
    two neighbouring elements of 16 bits, or four of 8, of the row that its number over 4 is;
    transposed, what is a row in memory is a column.  Elements of 6 or 4 bits, which are bytes in
    registers, count as bytes in memory too.  m16n16 and m16n8 exist transposed only, m8n16 never.

    Raises: ValueError for what there is not.
    """
    if shape is not MatrixShape.M8N8 and transposed is not (shape in _ONLY_TRANSPOSED):
        raise ValueError(f"{shape.value} is never {'' if transposed else 'not '}transposed")
    line, byte = np.broadcast_arrays(*_of_one(shape, transposed=transposed))
    lines = [line + number * shape.lines for number in range(count)]
    return np.concatenate(lines, axis=1), np.concatenate([byte] * count, axis=1)


def _of_one(shape: MatrixShape, *, transposed: bool) -> tuple[Indices, Indices]:
    """Lines and bytes of one matrix, which broadcast."""
    row, column = np.divmod(np.arange(32, dtype=np.int64)[:, None], 4)
    byte = np.arange(4 * shape.registers, dtype=np.int64)[None, :]
    match shape:
        case MatrixShape.M8N8 if transposed:
            return 2 * column + byte // 2, 2 * row + byte % 2
        case MatrixShape.M8N8 | MatrixShape.M8N16:
            return row, 4 * column + byte
        case MatrixShape.M16N16:
            return 4 * column + byte % 4, row + 8 * (byte // 4)
        case MatrixShape.M16N8:
            return 2 * column + byte % 2, row + 8 * (byte // 2)
    assert_never(shape)
