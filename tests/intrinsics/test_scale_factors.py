"""Scale factors: against the blocks of 512 bytes that libraries copy into tensor memory.

Such a block has 128 rows by four factors: 32 lines of 16 bytes, line r for rows r, r + 32, r + 64
and r + 96 (cuBLAS' 128x4 layout; torchao's `to_blocked`).  A copy of 32 lanes by 128 bits puts a
line into four columns of one lane.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.scale_factors import (
    PARTITIONS,
    columns_of,
    factors_per_row,
    scale_cells,
    scale_ids,
)
from intrinsics.modifiers import MmaKind as K
from intrinsics.modifiers import ScaleVec as V
from tests.each import each


def blocked(row: int, factor: int, rows: int) -> tuple[int, int, int]:
    """Lane, column and byte of a factor; four factors of all rows come before the next four."""
    block_row, block_factor = row // 128, factor // 4
    offset = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
    lane, within = divmod(offset, 16)
    blocks = block_factor * ((rows + 127) // 128) + block_row
    return lane, blocks * 4 + within // 4, within % 4


CASES = [(factors, id_) for factors in (1, 2, 3, 4, 6) for id_ in scale_ids(factors)]


@each("factors, id_", CASES)
@each("rows", [8, 32, 40, 64, 128, 136, 192, 256])
def test_every_factor(factors: int, id_: int, rows: int):
    """An instruction begins with the id-th factor of the block."""
    cells = scale_cells(rows, factors, id_)
    shape = (rows, factors)
    lane, column, byte = (np.broadcast_to(x, shape) for x in (cells.lane, cells.column, cells.byte))
    for row, factor in np.ndindex(shape):
        found = (lane[row, factor], column[row, factor], byte[row, factor])
        assert found == blocked(row, id_ + factor, rows)  # type: ignore[comparison-overlap]
    places = {
        *zip(lane.ravel().tolist(), column.ravel().tolist(), byte.ravel().tolist(), strict=True)
    }
    assert len(places) == rows * factors
    assert columns_of(rows, factors, id_) == int(column.max()) + 1


@pytest.mark.parametrize("factors", [1, 2, 4])
def test_the_ids_of_one_word_share_nothing_and_leave_nothing(factors: int):
    """1X has four instructions' factors in a word, 2X two, 4X one."""
    used = [
        (int(byte), int(lane), int(column))
        for id_ in scale_ids(factors)
        for cells in [scale_cells(128, factors, id_)]
        for lane, column, byte in np.nditer([cells.lane, cells.column, cells.byte])
    ]
    assert len(set(used)) == len(used) == 128 * 4


@pytest.mark.parametrize(("factors", "steps"), [(3, 4), (6, 2)])
def test_instructions_of_k_96_take_their_factors_one_behind_the_other(factors: int, steps: int):
    """12 factors of a row are three blocks; the id and the block say where each one begins."""
    found = []
    for step in range(steps):
        block, id_ = divmod(step * factors, 4)
        cells = scale_cells(128, factors, id_)
        place = np.broadcast_to(cells.column, (128, factors))[0] + block * 4
        found += [(int(c), int(b)) for c, b in zip(place, cells.byte[0], strict=True)]
    assert found == [(4 * block, byte) for block in range(3) for byte in range(4)]


def test_all_partitions_hold_the_factors():
    cells = scale_cells(256, 4, 0)
    assert cells.copies == PARTITIONS == (0, 32, 64, 96)
    assert int(cells.lane.max()) == 31


@pytest.mark.parametrize("n", [32, 64, 128, 160, 256])
def test_a_pair_with_64_rows_each_has_halves_of_b_in_partitions_of_their_own(n: int):
    """As a copy 64x128b.warpx2::01_23 brings them: 64 lines, 32 for each half of N (JAX)."""
    cells = scale_cells(n, 4, 0, parts=2)
    assert cells.copies == (0, 32)
    found = np.zeros((128, 4, 4), np.int64) - 1
    for copy in cells.copies:
        found[cells.lane + copy, cells.column, cells.byte] = np.arange(n)[:, None]
    lines = np.zeros((64, 4), np.int64) - 1
    for row in range(n):
        half, within = divmod(row, n // 2)
        lines[half * 32 + within % 32, within // 32] = row
    partitions = [lines[:32], lines[:32], lines[32:], lines[32:]]
    assert np.array_equal(found, np.repeat(np.concatenate(partitions)[..., None], 4, axis=2))
    assert columns_of(n, 4, parts=2) == (n // 2 + 31) // 32
    for parts, rows in ((2, 33), (3, 96)):
        with pytest.raises(ValueError, match=f"{rows} rows in {parts} parts"):
            scale_cells(rows, 4, 0, parts)


TABLE_54 = [  # kind, scale_vec, K, factors of a row
    (K.MXF8F6F4, V.X1, 32, 1),
    (K.MXF8F6F4, V.BLOCK32, 32, 1),
    (K.MXF8F6F4, V.BLOCK32, 64, 1),
    (K.MXF4, V.X2, 64, 2),
    (K.MXF4, V.BLOCK32, 64, 2),
    (K.MXF4, V.BLOCK32, 96, 3),
    (K.MXF4, V.BLOCK32, 128, 2),
    (K.MXF4NVF4, V.X2, 64, 2),
    (K.MXF4NVF4, V.BLOCK32, 64, 2),
    (K.MXF4NVF4, V.BLOCK32, 96, 3),
    (K.MXF4NVF4, V.X4, 64, 4),
    (K.MXF4NVF4, V.BLOCK16, 64, 4),
    (K.MXF4NVF4, V.BLOCK16, 96, 6),
    (K.MXF4NVF4, V.BLOCK16, 128, 4),
]


@each("kind, vector, k, factors", TABLE_54)
def test_factors_of_a_row(kind: K, vector: V, k: int, factors: int):
    assert factors_per_row(kind, vector, k) == factors


def test_scalings_that_do_not_exist():
    known = {row[:2] for row in TABLE_54}
    for kind in K:
        for vector in V:
            if (kind, vector) not in known:
                with pytest.raises(ValueError, match="has no"):
                    factors_per_row(kind, vector, 64)
    with pytest.raises(ValueError, match=r"scale_vec::4X with K = 96"):
        factors_per_row(K.MXF4NVF4, V.X4, 96)
    with pytest.raises(ValueError, match="5 factors a row"):
        scale_cells(128, 5, 0)
    with pytest.raises(ValueError, match="scale factor id 1 with 2 factors a row: 0, 2"):
        scale_cells(128, 2, 1)
