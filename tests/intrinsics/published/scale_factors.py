"""Where scale factors lie in tensor memory.

Sources: CUTLASS, include/cute/atom/mma_traits_sm100_frag.hpp (tmem_sf_frg) and
include/cutlass/gemm/collective/sm103_blockscaled_mma_warpspecialized.hpp (K = 96: one factor at a
time, three or six further on for each MMA, the last block of N filled up to 128); Triton,
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp (tensorMemoryScalesToLinearLayout); PTX ISA,
Layout of the Scale Factor A/B Matrix (ids are bytes of a word; SFB of K = 96 has figures of its own
for N <= 128 and N > 128).

Byte b of a row, counted from the word's first, is in word b // 4 of that row; a row's words are as
many columns apart as the rows' blocks of 128 take.  (For 1X, 2X and 4X no row reaches a second
word.)  All four groups of 32 lanes hold the same.
"""

from __future__ import annotations

import numpy as np

from tests.intrinsics.published.cute import Ints, grid

FACTORS = {
    ("MXF8F6F4", "X1", 32): 1,
    ("MXF8F6F4", "X1", 64): 1,
    ("MXF8F6F4", "BLOCK32", 32): 1,
    ("MXF8F6F4", "BLOCK32", 64): 1,
    ("MXF4", "X2", 64): 2,
    ("MXF4", "X2", 128): 2,
    ("MXF4", "BLOCK32", 64): 2,
    ("MXF4", "BLOCK32", 128): 2,
    ("MXF4", "BLOCK32", 96): 3,
    ("MXF4NVF4", "X2", 64): 2,
    ("MXF4NVF4", "X4", 64): 4,
    ("MXF4NVF4", "X4", 128): 4,
    ("MXF4NVF4", "BLOCK32", 64): 2,
    ("MXF4NVF4", "BLOCK16", 64): 4,
    ("MXF4NVF4", "BLOCK16", 128): 4,
    ("MXF4NVF4", "BLOCK32", 96): 3,
    ("MXF4NVF4", "BLOCK16", 96): 6,
}
"""Factors of a row by (kind, scale vector, K): PTX ISA, Table 54."""

CASES = [
    *[(rows, 1, id_) for rows in (8, 32, 40, 128, 256) for id_ in range(4)],
    *[(rows, 2, id_) for rows in (16, 128, 200, 256) for id_ in (0, 2)],
    *[(rows, 4, 0) for rows in (8, 40, 64, 128, 136, 192, 256)],
]
"""(rows, factors, id) of 1X, 2X and 4X, with the ids of the manual's figures."""

CASES_K96 = [
    *[(rows, 3, id_) for rows in (16, 128, 192, 256) for id_ in range(4)],
    *[(rows, 6, id_) for rows in (16, 128, 192, 256) for id_ in (0, 2)],
]
"""The same of K = 96."""

IDS = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,), 3: (0, 1, 2, 3), 6: (0, 2)}
"""The ids that the manual's figures have, by factors of a row."""


def cells(rows: int, factors: int, scale_id: int) -> tuple[Ints, Ints, Ints]:
    """Lane (0 to 31), column and byte of each factor, shape (rows, factors).

    CUTLASS's virtual address is lane + 128 * byte: ((32, rows / 32), words of 4 bytes) with strides
    ((1, 512), ...); a word more is 512 * 4 for each block of 128 rows.
    """
    blocks = -(-rows // 128)
    shape, stride = ((32, 4 * blocks), (4, 3)), ((1, 512), (128, 512 * 4 * blocks))
    whole = grid(shape, stride)[:rows, scale_id : scale_id + factors]
    lane, byte = whole % 128, whole // 128
    return lane, byte // 4, byte % 4


COPIES = {1: (0, 32, 64, 96), 2: (0, 32)}
"""How far apart the copies are: of all rows in four lane groups, of half the rows in two."""


def halves(rows: int, factors: int, scale_id: int) -> tuple[Ints, Ints, Ints]:
    """The first copy of SFB of a pair with M = 128: half of B's columns in lanes 0 to 63.

    tmem_sf_frg with ScaleFactorDuplicated2by2: ((32, rows / 64), 2, 2) with strides
    ((1, 512), 64, 32), the last for the copy.  So columns of B from N / 2 on are 64 lanes on.  The
    public TIRx emulator (tcgen05/layouts.rs, ScaleLayout::SplitB) has the same.
    """
    words = -(-rows // 64)
    shape, stride = ((32, words, 2), 4), ((1, 512, 64), 128)
    whole = grid(shape, stride).reshape(2, 32 * words, 4)[:, : rows // 2]
    part = whole.reshape(rows, 4)[:, scale_id : scale_id + factors]
    lane, byte = part % 128, part // 128
    return lane, byte // 4, byte % 4


def triton(rows: int) -> tuple[Ints, Ints]:
    """Lane and byte column of 4 factors of each row: 32 lanes, then 4 bytes, then rows again."""
    row, factor = np.arange(rows)[:, None], np.arange(4)[None, :]
    return row % 32 + 0 * factor, row // 32 * 4 + factor
