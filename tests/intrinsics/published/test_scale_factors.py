"""Scale factors in tensor memory: CUTLASS's and Triton's layouts, and ours."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.scale_factors import (
    columns_of,
    factors_per_row,
    scale_cells,
    scale_ids,
)
from intrinsics.modifiers import MmaKind, ScaleVec
from tests.each import each
from tests.intrinsics.published.scale_factors import (
    CASES,
    CASES_K96,
    COPIES,
    FACTORS,
    IDS,
    cells,
    halves,
    triton,
)


@pytest.mark.parametrize("rows", [32, 64, 128, 256])
def test_the_sources_agree(rows: int) -> None:
    lane, column, byte = cells(rows, 4, 0)
    other_lane, other_byte = triton(rows)
    assert np.array_equal(lane, other_lane)
    assert np.array_equal(4 * column + byte, other_byte)


@each("key, factors", FACTORS.items())
def test_factors_per_row(key: tuple[str, str, int], factors: int) -> None:
    kind, vector, k = key
    assert factors_per_row(MmaKind[kind], ScaleVec[vector], k) == factors


@each("rows, factors, scale_id", CASES + CASES_K96)
def test_scale_cells(rows: int, factors: int, scale_id: int) -> None:
    got = scale_cells(rows, factors, scale_id)
    expected = cells(rows, factors, scale_id)
    for one, other in zip((got.lane, got.column, got.byte), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, (rows, factors)), other)
    assert tuple(got.copies) == COPIES[1]
    assert columns_of(rows, factors, scale_id) == int(expected[1].max()) + 1


@each("rows", [16, 64, 96, 128, 256])
@each("factors, scale_id", [(1, 0), (1, 3), (2, 0), (2, 2), (4, 0)])
def test_scale_cells_in_two_halves(rows: int, factors: int, scale_id: int) -> None:
    """SFB of a pair with M = 128, whose halves of N are in lane groups of their own."""
    got = scale_cells(rows, factors, scale_id, 2)
    expected = halves(rows, factors, scale_id)
    for one, other in zip((got.lane, got.column, got.byte), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, (rows, factors)), other)
    assert tuple(got.copies) == COPIES[2]
    assert columns_of(rows, factors, scale_id, 2) == int(expected[1].max()) + 1


@each("rows", [32, 64, 128, 256])
@each("factors", [1, 2, 4])
def test_columns(rows: int, factors: int) -> None:
    """32 rows a column, whatever of the column's word is read."""
    assert columns_of(rows, factors) == rows // 32


@pytest.mark.parametrize(("factors", "ids"), IDS.items())
def test_ids(factors: int, ids: tuple[int, ...]) -> None:
    assert tuple(scale_ids(factors)) == ids


def test_a_row_in_steps_of_k96_is_one_run_of_factors() -> None:
    """CUTLASS's sm103 mainloop: MMA i begins 3 (or 6) factors further on, in word and id."""
    lane, column, byte = cells(256, 12, 0)
    for factors in (3, 6):
        for mma in range(12 // factors):
            word, scale_id = divmod(factors * mma, 4)
            got = scale_cells(256, factors, scale_id)
            part = slice(factors * mma, factors * (mma + 1))
            assert np.array_equal(np.broadcast_to(got.lane, (256, factors)), lane[:, part])
            assert np.array_equal(got.column + 8 * word + 0 * got.lane, column[:, part])
            assert np.array_equal(np.broadcast_to(got.byte, (256, factors)), byte[:, part])
