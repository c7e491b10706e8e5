"""A warpgroup's multiply, sparse A: metadata from registers, and the matrix that it stands for.

Layer: nvgen.sim.semantics.  Of each chunk of a row half is stored; four bits of metadata say which:
of four elements the places of two, which differ, in either order; of two tf32 the one (as places of
16-bit halves).  Metadata is read when the multiply is issued.  PTX ISA, wgmma.mma_async.sp, Sparse
matrix storage.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.fragments_wgmma import ROWS, metadata_fragment
from intrinsics.layouts.sparse import HALF_INDICES
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.faults import fault
from nvgen.sim.semantics.tcgen05.mma_operands import Codes

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Metadata:
    """The indices of a sparse A of elements of `bits`: 64 rows by chunks."""

    bits: int
    indices: NDArray[np.uint8]

    @classmethod
    def of(cls, words: Words, bits: int, selector: int) -> Metadata:
        """The metadata that the registers of 128 threads hold."""
        thread, place = metadata_fragment(bits, selector)
        return cls(bits, (words[thread] >> place.astype(np.uint32) & 15).astype(np.uint8))


def expand(stored: Codes, metadata: Metadata, agent: str) -> Codes:
    """The whole of A, 64 × K, from its stored elements, 64 × K/2.

    Raises: Fault for an index that has no meaning.
    """
    indices = metadata.indices
    first, second = indices & 3, indices >> 2
    halves = metadata.bits == 32
    wrong = ~np.isin(indices, HALF_INDICES) if halves else first == second
    if wrong.any():
        row, chunk = np.argwhere(wrong)[0]
        raise fault(
            "sparse-metadata",
            f"{agent}: row {row}, chunk {chunk}: index {int(indices[row, chunk]):#06b} has no "
            "meaning",
            expected="0b0100 or 0b1110" if halves else "two places that differ",
            section="wgmma.mma_async.sp, Sparse matrix storage",
        )
    kept = np.stack([first // 2], axis=-1) if halves else np.stack([first, second], axis=-1)
    chunks, count = indices.shape[1], kept.shape[-1]
    found = np.zeros((ROWS, chunks, 2 * count), stored.dtype)
    np.put_along_axis(found, kept.astype(np.int64), stored.reshape(ROWS, chunks, count), axis=2)
    return found.reshape(ROWS, chunks * 2 * count)
