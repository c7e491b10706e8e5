"""Data paths: in which cells of tensor memory the rows of D, and of A, lie (layouts A to G).

Layer: intrinsics (numpy).  A lane is counted from the lane of the matrix' address (0, or 16 where
`DataPath.lane_starts` has it), a column from its column.  A cell holds one element of D, one of 16
bits in its lower half.  PTX ISA, Data Path Layout Organization; Packing format for matrix D.

    A   M = 256, pair           CTA 0 has rows 0 to 127, CTA 1 the others; row r in lane r mod 128
    B   M = 128, pair, dense    64 rows a CTA, in lanes 0 to 63; lanes 64 to 127 have the other N/2
    C   M = 128, pair, sparse   64 rows a CTA, sixteen lanes of each warp's 32
    D   M = 128                 row r in lane r
    E   M = 64, .ws             rows in lanes 0 to 63; lanes 64 to 127 have the other N/2
    F   M = 64                  sixteen lanes of each warp's 32
    G   M = 32, .ws             rows in lanes 0 to 31; each further 32 lanes have the next N/4

The manual draws the layouts.  A, B, D and F agree with CuTe's `tmem_frg` (CUTLASS,
`mma_traits_sm100.hpp`) and with Triton's `tensorMemoryToLinearLayout`
(`LinearLayoutConversions.cpp`); E and G with CuTe's `tmem_frg_ws` and with the kernels of
TIRx-harness (`test_tcgen05_ti16.py`); C with the same kernels and the manual's table, where its
half data path is that of layout F, in each of the two CTAs.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass

Indices = NDArray[np.int64]

_WARP_LANES = 32
_HALF = 16


class DataPath(Enum):
    """The distribution of an MMA's rows over lanes and CTAs; the value is the manual's letter."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    E = "E"
    F = "F"
    G = "G"

    @property
    def title(self) -> str:
        """The layout in words."""
        return _SHAPES[self].title

    @property
    def m(self) -> int:
        """M of the instructions that have it."""
        return _SHAPES[self].m

    @property
    def ctas(self) -> int:
        """The number of CTAs."""
        return _SHAPES[self].ctas

    @property
    def parts(self) -> int:
        """The number of parts that N is split into, each in lanes of its own."""
        return _SHAPES[self].parts

    @property
    def lane_starts(self) -> tuple[int, ...]:
        """The lanes at which D, A and sparsity metadata may begin; it is one for all three."""
        return (0, _HALF) if self in (DataPath.C, DataPath.F) else (0,)


@dataclass(frozen=True, slots=True)
class _Shape:
    title: str
    m: int
    ctas: int
    parts: int


_SHAPES = {
    DataPath.A: _Shape("M = 256 on a CTA pair", 256, 2, 1),
    DataPath.B: _Shape("M = 128 on a CTA pair, dense A", 128, 2, 2),
    DataPath.C: _Shape("M = 128 on a CTA pair, sparse A", 128, 2, 1),
    DataPath.D: _Shape("M = 128", 128, 1, 1),
    DataPath.E: _Shape("M = 64, weight-stationary", 64, 1, 2),
    DataPath.F: _Shape("M = 64", 64, 1, 1),
    DataPath.G: _Shape("M = 32, weight-stationary", 32, 1, 4),
}


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of tensor memory: three arrays that broadcast to one shape.

    `rank` is 0 for the even CTA of a pair (and for a CTA of its own), 1 for the odd one.
    """

    rank: Indices
    lane: Indices
    column: Indices


def data_path(m: int, *, group: int = 1, ws: bool = False, sparse: bool = False) -> DataPath:
    """The layout of an MMA with M = `m` (256 for a full pair) on `group` CTAs.

    Raises: ValueError when there is no such MMA.
    """
    found: DataPath | None = None
    match group, ws:
        case 2, False:
            pair = DataPath.C if sparse else DataPath.B
            found = {256: DataPath.A, 128: pair}.get(m)
        case 1, True:
            found = {128: DataPath.D, 64: DataPath.E, 32: DataPath.G}.get(m)
        case 1, False:
            found = {128: DataPath.D, 64: DataPath.F}.get(m)
    if found is None:
        stationary = ".ws with " if ws else ""
        raise ValueError(f"there is no {stationary}M = {m} with cta_group::{group}")
    return found


def accumulator_cells(path: DataPath, m: int, n: int) -> Cells:
    """The cells of D, in arrays that broadcast to (m, n).

    Raises: ValueError when `path` has another M, or N is not cut into equal parts.
    """
    rank, lane = _rows(path, m)
    if n % path.parts:
        raise ValueError(f"layout {path.value} cuts N into {path.parts} equal parts, not {n}")
    part, column = np.divmod(np.arange(n, dtype=np.int64), n // path.parts)
    lanes = lane[:, None] + part[None, :] * _part_lanes(path)
    return Cells(rank[:, None], lanes, column[None, :])


def operand_cells(path: DataPath, m: int, columns: int) -> list[Cells]:
    """The cells of A, `columns` of 32 bits for each row: one entry for each copy.

    In layouts B, E and G the lanes of every part of N need rows of A of their own: copy i of A is
    multiplied with part i of B, whatever stands in the others.  A program that means one product
    writes the same A into all of them; the first is the canonical one.  For layout B this is CuTe's
    `TmemAllocMode::Duplicated` (CUTLASS, `mma_traits_sm100.hpp`), for E FlashMLA's
    `kerutils/device/sm100/gemm.cuh`, which multiplies two different halves at once; the kernels of
    TIRx-harness (`test_tcgen05_ti16.py`) give each part a "bank" of A, in G too.

    Raises: ValueError when `path` has another M.
    """
    rank, lane = _rows(path, m)
    column = np.arange(columns, dtype=np.int64)[None, :]
    step = _part_lanes(path)
    return [Cells(rank[:, None], lane[:, None] + part * step, column) for part in range(path.parts)]


def shared_rows(group: int, rank: int, m: int, n: int) -> tuple[range, range]:
    """Which rows of A and which of B (columns of the product) the shared memory of a CTA holds.

    A CTA of its own holds all; of a pair, CTA `rank` holds half of M and half of N.  Agrees with
    CuTe's ALayout and BLayout of the 2x1SM atoms and with Triton's `MMAv5.cpp`.

    Raises: ValueError when there is no such CTA.
    """
    if group not in (1, 2) or not 0 <= rank < group:
        raise ValueError(f"no CTA {rank} in cta_group::{group}")
    rows, columns = m // group, n // group
    return (
        range(rank * rows, (rank + 1) * rows),
        range(rank * columns, (rank + 1) * columns),
    )


def _part_lanes(path: DataPath) -> int:
    """How many lanes lie between two parts of N."""
    return 128 // path.parts


def _rows(path: DataPath, m: int) -> tuple[Indices, Indices]:
    """The CTA and the first lane of each row."""
    if m != path.m:
        raise ValueError(f"layout {path.value} has M = {path.m}, not {m}")
    rank, row = np.divmod(np.arange(m, dtype=np.int64), m // path.ctas)
    if len(path.lane_starts) > 1:
        return rank, row // _HALF * _WARP_LANES + row % _HALF
    return rank, row
