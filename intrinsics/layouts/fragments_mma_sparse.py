"""A sparse A of warp-level multiplies: what is stored of it, and where its metadata lie.

Layer: intrinsics (numpy).  Of each chunk of a row half is stored; four bits of metadata, an index,
say which: see `sparse`.  Chunks have 2 elements of tf32, 8 of four bits, else 4.  A
register holds eight indices, the first lowest.  Of each four threads beside each other, which hold
two rows, t / 4 and the one eight below, so many give metadata as are needed, the sparsity selector
says which:

    4 chunks a row     one thread: the upper row's indices in the lower half of its register, the
                       lower row's in the upper half
    8 chunks a row     two threads: the same, of the first four chunks and of the last four; of
                       bytes and of four bits one of each row, with all chunks
    16 chunks a row    all four: of the upper row and of the lower row the first eight chunks, of
                       both the last eight

PTX ISA, Sparse matrix storage; Matrix fragments for multiply-accumulate operation with sparse
matrix A.  The manual says how many threads, and draws the rest.  8 chunks of 16 and 32 bits agree
with TileLang (`mma_sp_layout.py`) and MLIR (its integration test of mma.sp), and are the figures of
wgmma; 16 chunks agree with CuTe's ELayout (CUTLASS, `mma_traits_sm120_sparse.hpp`, of bytes and of
four bits) and with TileLang, but not with TIRx-harness, which numbers them as if they were four
times 4 chunks; 4 chunks agree with TIRx-harness alone.  8 chunks of bytes and of four bits are as
an H100 has them, asked with one index changed at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers.mma_sync import MmaShape

Indices = NDArray[np.int64]

ROWS = 16
"""M of every sparse multiply."""

_INDEX = 4


def chunk_size(bits: int) -> int:
    """Elements of a row, zeros included, that share an index; `bits` are those in a register."""
    return {32: 2, 4: 8}.get(bits, 4)


def selectors(shape: MmaShape, bits: int) -> range:
    """The sparsity selectors of a shape with elements of `bits`."""
    return range(16 * chunk_size(bits) // shape.k)


def stored(shape: MmaShape) -> MmaShape:
    """The shape of what is stored of A: half of K."""
    return MmaShape(f"m{shape.m}n{shape.n}k{shape.k // 2}")


def metadata_fragment(shape: MmaShape, bits: int, selector: int = 0) -> tuple[Indices, Indices]:
    """The thread whose register holds the index of a chunk, and the index's lowest bit there.

    Two arrays of 16 rows by chunks of a row.

    Raises: ValueError for a selector that there is not.
    """
    allowed = selectors(shape, bits)
    if selector not in allowed:
        raise ValueError(f"sparsity selector {selector} of {shape.value}: 0 to {allowed[-1]}")
    chunks = shape.k // chunk_size(bits)
    row = np.arange(ROWS, dtype=np.int64)[:, None]
    chunk = np.arange(chunks, dtype=np.int64)[None, :]
    four, lower = row % 8 * 4, row // 8
    if chunks == 16:
        thread, bit = four + lower + chunk // 8 * 2, chunk % 8 * _INDEX
    elif chunks == 8 and bits < 16:
        thread, bit = four + selector * 2 + lower, chunk * _INDEX
    else:
        thread = four + selector * (chunks // 4) + chunk // 4
        bit = chunk % 4 * _INDEX + lower * 16
    shape_ = (ROWS, chunks)
    return np.broadcast_to(thread, shape_), np.broadcast_to(bit, shape_)
