"""Sparse matrices: values and metadata of A, and how much they take in tensor memory.

Layer: intrinsics (numpy, where matrices are compressed).  Of each chunk of a row only some elements
are stored; four bits of metadata, the *index*, say which: the place of the one in two, or of each
of the two (pairs) in four.  PTX ISA, Sparse Matrices.

    tf32                          1 of 2
    f16, f8f6f4, mxf8f6f4, i8     2 of 4
    mxf4, mxf4nvf4                4 of 8, in pairs

The lower two bits of an index are the place of what is stored first.  For tf32 the places are those
of 16-bit halves, so 0b0100 is the first element and 0b1110 the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, MmaKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from intrinsics.layouts.packing import Codes

CHUNK_BITS = 4
"""Bits of metadata for a chunk."""

_CELL = 32

PAIR_INDICES = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
"""The indices that mean something where two of four are stored.

0b0110 exchanges the two that 0b1001 names; the manual lists it, and nothing here produces it.
"""

ASCENDING_INDICES = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)
"""Those of them whose places ascend: the only ones that ordered metadata may have."""

HALF_INDICES = (0b0100, 0b1110)
"""The indices that mean something for tf32: the first of two, and the second."""


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


def indices(kind: MmaKind) -> tuple[int, ...]:
    """The indices that have a meaning; others are undefined behaviour."""
    return HALF_INDICES if kind is MmaKind.TF32 else PAIR_INDICES


def compress(codes: Codes, kind: MmaKind) -> tuple[Codes, NDArray[np.uint8]]:
    """Values and indices of a sparse matrix: (m, k) codes to (m, k / 2) and (m, k / chunk).

    A code is zero when all its bits are (so a negative zero is stored).  Where a chunk has fewer
    non-zeros than are stored, the first of its zeros are stored too; indices ascend.

    Raises: ValueError when K is not made of whole chunks, or a chunk has too many non-zeros.
    """
    import numpy as np

    units = _units(codes, kind)
    m, chunks, places, width = units.shape
    kept = places // 2
    filled: NDArray[np.bool_] = np.asarray(units.any(axis=-1))
    crowded = np.argwhere(filled.sum(axis=-1) > kept)
    if len(crowded):
        row, number = crowded[0]
        what = "pairs that are not zero" if width == 2 else "non-zeros"
        raise ValueError(
            f"row {row}, elements {number * chunk(kind)} to {(number + 1) * chunk(kind) - 1}: "
            f"{int(filled[row, number].sum())} {what}, at most {kept} fit"
        )
    first = np.argsort(~filled, axis=-1, kind="stable")[..., :kept]
    chosen = np.sort(first, axis=-1)
    stored = np.take_along_axis(units, chosen[..., None], axis=2)
    values: Codes = stored.reshape(m, chunks * kept * width)
    if kind is MmaKind.TF32:
        return values, np.asarray(HALF_INDICES, np.uint8)[chosen[..., 0]]
    return values, (chosen[..., 0] | chosen[..., 1] << 2).astype(np.uint8)


def decompress(values: Codes, metadata: NDArray[np.uint8], kind: MmaKind) -> Codes:
    """The matrix that values and indices stand for: (m, k / 2) and (m, k / chunk) to (m, k) codes.

    Raises: ValueError when the shapes do not fit, or an index has no meaning.
    """
    import numpy as np

    m, chunks = metadata.shape
    size = chunk(kind)
    if values.shape != (m, chunks * size // 2):
        raise ValueError(f"{values.shape} values for {metadata.shape} indices of {size} elements")
    wrong = np.argwhere(~np.isin(metadata, indices(kind)))
    if len(wrong):
        row, number = wrong[0]
        raise ValueError(
            f"row {row}, chunk {number}: index {int(metadata[row, number]):#06b} has no meaning"
        )
    places, width = _places(kind)
    chosen = np.stack([metadata & 3, metadata >> 2], axis=-1).astype(np.int64)
    if kind is MmaKind.TF32:
        chosen = chosen[..., :1] // 2
    units = np.zeros((m, chunks, places, width), values.dtype)
    stored = values.reshape(m, chunks, places // 2, width)
    np.put_along_axis(units, chosen[..., None], stored, axis=2)
    return units.reshape(m, chunks * size)


def _places(kind: MmaKind) -> tuple[int, int]:
    """How many places a chunk has that are kept or dropped as a whole, and elements in each."""
    if kind in FP4_KINDS:
        return 4, 2
    return chunk(kind), 1


def _units(codes: Codes, kind: MmaKind) -> Codes:
    """A matrix as (m, chunks, places, elements of a place)."""
    m, k = codes.shape
    if k % chunk(kind):
        raise ValueError(f"K = {k} is no multiple of {chunk(kind)}")
    return codes.reshape(m, k // chunk(kind), *_places(kind))
