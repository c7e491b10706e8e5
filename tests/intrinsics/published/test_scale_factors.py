"""Scale factors in tensor memory: CUTLASS's and Triton's layouts, and ours."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.modifiers import MmaKind, ScaleVec
from intrinsics.scale_factors import columns_of, factors_per_row, scale_cells
from tests.intrinsics.published.scale_factors import CASES, CASES_K96, FACTORS, cells, triton


@pytest.mark.parametrize("rows", [32, 64, 128, 256])
def test_the_sources_agree(rows: int) -> None:
    lane, column, byte = cells(rows, 4, 0)
    other_lane, other_byte = triton(rows)
    assert np.array_equal(lane, other_lane)
    assert np.array_equal(4 * column + byte, other_byte)


@pytest.mark.parametrize(("key", "factors"), FACTORS.items())
def test_factors_per_row(key: tuple[str, str, int], factors: int) -> None:
    kind, vector, k = key
    assert factors_per_row(MmaKind[kind], ScaleVec[vector], k) == factors


@pytest.mark.parametrize(("rows", "factors", "scale_id"), CASES + CASES_K96)
def test_scale_cells(rows: int, factors: int, scale_id: int) -> None:
    got = scale_cells(rows, factors, scale_id)
    expected = cells(rows, factors, scale_id)
    for one, other in zip((got.lane, got.column, got.byte), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, (rows, factors)), other)


@pytest.mark.parametrize("rows", [32, 64, 128, 256])
@pytest.mark.parametrize("factors", [1, 2, 4])
def test_columns(rows: int, factors: int) -> None:
    """32 rows a column, whatever of the column's word is read."""
    assert columns_of(rows, factors) == rows // 32
