"""Sparsity metadata in tensor memory: where the four bits of each chunk of A lie.

Layer: intrinsics (numpy).  PTX ISA, Sparsity selector.  An instruction reads 8 chunks of a row for
kind::f16 and kind::tf32, and 16 for the others (two columns).

    f16, tf32   Rows go by sixteen, which share sixteen lanes and one column.  Lanes 0 to 7 hold
                chunks 0 to 3, lanes 8 to 15 chunks 4 to 7; row r has its own lane r mod 8, rows 0
                to 7 in bits 0 to 15 and rows 8 to 15 in bits 16 to 31.  The sparsity selector (0
                or 1) picks one column of an even pair.
    others      Row r has its own lane and two columns, eight chunks in each, the first in the
                lowest bits.  The selector is 0.

The manual only draws this.  M = 128 and M = 256 agree with CuTe's `tmem_e_frg` (CUTLASS,
`mma_traits_sm100.hpp`) and with what JAX puts there (`tests/mosaic/gpu_test.py`), and so does the
selector (JAX, `mosaic/gpu/tcgen05.py`); layouts C and F (64 rows in a CTA) with the manual's rule
that metadata, A and D begin at the same lane, and with TIRx-harness (`tests/numsim/runtime`,
`test_tcgen05_sparse_narrow.py` and others); E and G with CuTe's `tmem_e_frg_ws` alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.layouts.data_paths import DataPath, operand_cells
from intrinsics.layouts.sparse import CHUNK_BITS, chunk
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MmaKind

Indices = NDArray[np.int64]

_SHARING = (MmaKind.F16, MmaKind.TF32)
"""The kinds whose rows share lanes, and that have a selector."""


@dataclass(frozen=True, slots=True)
class MetadataCells:
    """The lowest bits of the indices of chunks: arrays that broadcast to (m, k / chunk).

    `lane` is counted from the lane of the metadata's address, `column` from its column, `bit` 0 is
    the lowest of the cell; `rank` is that of the CTA in its pair.
    """

    rank: Indices
    lane: Indices
    column: Indices
    bit: Indices


def metadata_cells(
    path: DataPath, m: int, kind: MmaKind, k: int, selector: int = 0
) -> list[MetadataCells]:
    """The cells that hold one instruction's metadata: one entry for each copy of A.

    The first copy is the canonical one; layouts E and G read others for other parts of N, as of A
    itself (see `operand_cells`).

    Raises: ValueError when `path` has another M, `kind` another K, or no such selector;
    NotImplementedError for selectors 2 and 3 of kind::f16 and kind::tf32, which no text describes.
    """
    wanted = 2 * DENSE_K[kind]
    if k != wanted:
        raise ValueError(f"a sparse {kind.value} has K = {wanted}, not {k}")
    _check_selector(kind, selector)
    number = np.arange(k // chunk(kind), dtype=np.int64)[None, :]
    found = []
    for cells in operand_cells(path, m, 1):
        if kind in _SHARING:
            row = np.arange(m, dtype=np.int64)[:, None]
            lane = cells.lane - row % 16 + row % 8 + number // 4 * 8
            bit = row % 16 // 8 * 16 + number % 4 * CHUNK_BITS
            column = np.full((1, 1), selector, np.int64)
        else:
            lane, column, bit = cells.lane, number // 8, number % 8 * CHUNK_BITS
        found.append(MetadataCells(cells.rank, lane, column, bit))
    return found


def _check_selector(kind: MmaKind, selector: int) -> None:
    if not 0 <= selector <= 3:
        raise ValueError(f"sparsity selector {selector}: it has two bits")
    if kind not in _SHARING and selector:
        raise ValueError(f"the sparsity selector of {kind.value} must be 0, not {selector}")
    if selector > 1:
        raise NotImplementedError(f"sparsity selector {selector} of {kind.value}")
