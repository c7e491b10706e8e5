"""Scale factors in tensor memory: which byte holds the factor of which row and block.

Layer: intrinsics (numpy).  Factors are bytes.  Row r of A (row r of B, a column of the product) has
its factors in lane r mod 32 and column r div 32 of the matrix, one factor in each byte; the scale
factor id of the instruction descriptor says with which byte an instruction begins.  The same stands
in each of the four partitions of 32 lanes; but in data-path layout B (M = 128 on a CTA pair) the
factors of B's first half stand in the first two, those of its second half in the others.  PTX ISA,
Block Scaling; Scale Factor A ID; Scale Factor B ID.

    scale_vec   factors a row   ids
    1X          1               0, 1, 2, 3
    2X          2               0, 2
    4X          4               0
    K = 96, block32  3          0, 1, 2, 3
    K = 96, block16  6          0, 2

Four factors of all rows make a block of columns: one column for each 32 rows.  Factors of K = 96
that do not fit go on in the next block, four columns on for up to 128 rows, eight for up to 256.

1X, 2X and 4X agree with CuTe's `tmem_sf_frg` (CUTLASS, `mma_traits_sm100.hpp`), with Triton's
`tensorMemoryScalesToLinearLayout` (`LinearLayoutConversions.cpp`) and with torchao's `to_blocked`.
K = 96 agrees with the fragments of CUTLASS's `sm103_blockscaled_mma_warpspecialized.hpp` and with
the numbers of figures that the manual has for N up to 128 and above.  The halves of layout B agree
with CuTe's `ScaleFactorDuplicated2by2` and with the copies of JAX (`mosaic/gpu/tcgen05.py`, whose
comment has the partitions in another order than its code) and TIRx-harness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import SCALED_KINDS, MmaKind, ScaleVec

Indices = NDArray[np.int64]

PARTITIONS = (0, 32, 64, 96)
"""The first lanes of the partitions."""

_LANES = 32
_WORD = 4
_BLOCK_ROWS = 128

_FACTORS = {
    (MmaKind.MXF8F6F4, ScaleVec.X1): 1,
    (MmaKind.MXF8F6F4, ScaleVec.BLOCK32): 1,
    (MmaKind.MXF4, ScaleVec.X2): 2,
    (MmaKind.MXF4, ScaleVec.BLOCK32): 2,
    (MmaKind.MXF4NVF4, ScaleVec.X2): 2,
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK32): 2,
    (MmaKind.MXF4NVF4, ScaleVec.X4): 4,
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK16): 4,
}
_K96_FACTORS = {
    (MmaKind.MXF4, ScaleVec.BLOCK32): 3,
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK32): 3,
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK16): 6,
}
_IDS = {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}


@dataclass(frozen=True, slots=True)
class FactorCells:
    """The bytes of factors: three arrays that broadcast to (rows, factors).

    `lane` is that of the first copy, the others lie `copies` lanes further; `column` is counted
    from the column of the factors' address; `byte` 0 is the lowest of the cell.
    """

    lane: Indices
    column: Indices
    byte: Indices
    copies: tuple[int, ...] = PARTITIONS


def factors_per_row(kind: MmaKind, scale_vec: ScaleVec, k: int) -> int:
    """Factors of one row in an instruction whose K (zeros of a sparse A included) is `k`.

    Table 54; a factor scales k / factors elements.

    Raises: ValueError when `kind` has no such scaling.
    """
    table = _K96_FACTORS if k == 96 else _FACTORS
    found = table.get((kind, scale_vec))
    if found is None:
        what = "block scaling" if kind not in SCALED_KINDS else f".{scale_vec.value} with K = {k}"
        raise ValueError(f"{kind.value} has no {what}")
    return found


def scale_ids(factors: int) -> tuple[int, ...]:
    """The scale factor ids that an instruction with so many factors a row may have.

    Raises: ValueError when no instruction has so many.
    """
    found = _IDS.get(factors)
    if found is None:
        raise ValueError(f"{factors} factors a row: there are 1, 2, 3, 4 or 6")
    return found


def scale_cells(rows: int, factors: int, scale_id: int, parts: int = 1) -> FactorCells:
    """The bytes of the factors of `rows` rows in the tensor memory of one CTA.

    A CTA of a pair has those of its own rows of A and of all N rows of B, counted anew in each from
    0: CuTe gives each of the two a fragment for all of N (CUTLASS, `mma_traits_sm100.hpp`), and so
    do JAX (`mosaic/gpu/tcgen05.py`: A's are sharded, B's replicated) and TIRx-harness
    (`test_tcgen05_block_tmem.py`).

    `parts` is 1, and for the factors of B that of the data path (`DataPath.parts`): 2 in layout B,
    where each half of the rows has two partitions of its own.

    Raises: ValueError when `scale_id` is none that so many factors have, or `rows` are not made of
    one or two equal parts.
    """
    if scale_id not in scale_ids(factors):
        allowed = ", ".join(map(str, scale_ids(factors)))
        raise ValueError(f"scale factor id {scale_id} with {factors} factors a row: {allowed}")
    if parts not in (1, 2) or rows % parts:
        raise ValueError(f"{rows} rows in {parts} parts: one part, or two equal ones")
    size = rows // parts
    part, row = np.divmod(np.arange(rows, dtype=np.int64)[:, None], size)
    place = np.arange(scale_id, scale_id + factors, dtype=np.int64)[None, :]
    column = row // _LANES + place // _WORD * _block_columns(size)
    copies = PARTITIONS[: len(PARTITIONS) // parts]
    lane = part * len(copies) * _LANES + row % _LANES
    return FactorCells(lane, column, place % _WORD, copies)


def columns_of(rows: int, factors: int, scale_id: int = 0, parts: int = 1) -> int:
    """The number of columns, from the address on, that hold factors of an instruction.

    Raises: ValueError as `scale_cells`.
    """
    return int(scale_cells(rows, factors, scale_id, parts).column.max(initial=-1)) + 1


def _block_columns(rows: int) -> int:
    """Columns between two blocks of four factors."""
    return -(-rows // _BLOCK_ROWS) * (_BLOCK_ROWS // _LANES)
