"""Products with a sparse A, straight from what is stored: values and indices.

PTX ISA, Sparse Matrices.  A chunk has half of its elements stored; two bits say which element (of
mxf4 kinds, which pair) of the chunk a stored one is, the lower two bits of the first.  For tf32 a
chunk is two elements and a 4-bit index 0b0100 the first, 0b1110 the second: in halves of an
element, (0, 1) and (2, 3).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.oracle.exact_sums import Matrix, exact_matmul

Indices = npt.NDArray[np.integer]

CHUNKS = {"tf32": 2, "f16": 4, "f8f6f4": 4, "mxf8f6f4": 4, "i8": 4, "mxf4": 8, "mxf4nvf4": 8}
"""Elements of a chunk, by kind."""


def places(metadata: Indices, kind: str) -> npt.NDArray[np.int64]:
    """The column of A of each stored value: (M, chunks) indices give (M, K / 2) columns."""
    chunk = CHUNKS[kind]
    index = np.asarray(metadata, dtype=np.int64)
    first, second = index & 3, index >> 2 & 3
    if chunk == 2:
        assert np.isin(index, (0b0100, 0b1110)).all(), "an index without meaning"
        inside = (first // 2)[..., None]
    else:
        assert (first != second).all(), "an index without meaning"
        pair = np.stack([first, second], axis=-1)
        width = chunk // 4
        inside = (pair[..., None] * width + np.arange(width)).reshape(*index.shape, 2 * width)
    start = chunk * np.arange(index.shape[1])[None, :, None]
    return (start + inside).reshape(index.shape[0], -1)


def sparse_matmul(
    values: Matrix, metadata: Indices, b: Matrix, kind: str, c: Matrix | None = None
) -> npt.NDArray[np.float32]:
    """values (M, K / 2) with metadata (M, K / chunk), times b (N, K) transposed, plus c.

    Each stored value meets the row of B that its index names; rounded once.
    """
    columns = places(metadata, kind)
    rows = []
    for row, (stored, where) in enumerate(zip(np.asarray(values), columns, strict=True)):
        start = None if c is None else c[row : row + 1]
        rows.append(exact_matmul(stored[None, :], np.asarray(b)[:, where], start))
    return np.concatenate(rows)


def sparse_integers(
    values: npt.NDArray[np.integer], metadata: Indices, b: npt.NDArray[np.integer]
) -> npt.NDArray[np.int64]:
    """The same of integers (kind::i8), without wrapping or saturation."""
    columns = places(metadata, "i8")
    wide = np.asarray(b, dtype=np.int64)
    return np.stack(
        [wide[:, where] @ np.asarray(stored, dtype=np.int64)
         for stored, where in zip(values, columns, strict=True)]
    )  # fmt: skip
