"""Sparse matrices: how much the values and the metadata of A take in tensor memory.

Layer: intrinsics.  Of each chunk of a row only some elements are stored; four bits of metadata say
which: the place of the one in two, or of each of the two (pairs) in four.  PTX ISA, Sparse
Matrices.

    tf32                          1 of 2
    f16, f8f6f4, mxf8f6f4, i8     2 of 4
    mxf4, mxf4nvf4                4 of 8, in pairs
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.idesc import DENSE_K, FP4_KINDS
from intrinsics.modifiers import MmaKind

CHUNK_BITS = 4
"""Bits of metadata for a chunk."""

_CELL = 32


@dataclass(frozen=True, slots=True)
class SparseColumns:
    """Columns of tensor memory for `k` elements of each row of a sparse A."""

    values: int
    metadata: int


def chunk(kind: MmaKind) -> int:
    """Elements of a row, zeros included, that share four bits of metadata."""
    if kind in FP4_KINDS:
        return 8
    return 2 if kind is MmaKind.TF32 else 4


def sparse_columns(kind: MmaKind, k: int, bits: int) -> SparseColumns:
    """The columns for K = `k`, zeros included, of elements that take `bits` each.

    Raises: ValueError when `k` is no multiple of what one sparse instruction multiplies.
    """
    step = 2 * DENSE_K[kind]
    if k <= 0 or k % step:
        raise ValueError(f"K = {k} is no multiple of {step}")
    return SparseColumns(k // 2 * bits // _CELL, k // chunk(kind) * CHUNK_BITS // _CELL)
