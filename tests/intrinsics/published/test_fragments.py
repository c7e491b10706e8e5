"""tcgen05.ld and st: CUTLASS's and Triton's fragments, and ours."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.fragments import fragment_cells
from intrinsics.modifiers import LdStShape
from tests.each import each
from tests.intrinsics.published.fragments import LARGEST, REGISTERS, cutlass, triton

CASES = [
    (shape, 1 << i) for shape in REGISTERS for i in range(LARGEST[shape].bit_length())
]  # .x1 to the largest


@each("shape, n", [case for case in CASES if case[0] != "S16X32BX2"])
def test_the_sources_agree(shape: str, n: int) -> None:
    for one, other in zip(cutlass(shape, n), triton(shape, n), strict=True):
        assert np.array_equal(one, other)


@each("shape, n", CASES)
def test_fragments(shape: str, n: int) -> None:
    registers = REGISTERS[shape] * n
    cells = fragment_cells(LdStShape[shape], registers, n)
    for got, expected in zip(cells, cutlass(shape, n), strict=True):
        assert np.array_equal(np.broadcast_to(got, (32, registers)), expected)


@pytest.mark.parametrize("split", [0, 1, 16, 100])
def test_the_half_split_moves_threads_16_to_31(split: int) -> None:
    """PTX ISA: the second access of 16 lanes starts `immHalfSplitoff` columns further on."""
    lane, column = fragment_cells(LdStShape.S16X32BX2, 4, split)
    expected_lane, expected_column = cutlass("S16X32BX2", 4)
    moved = expected_column + np.where(np.arange(32) >= 16, split - 4, 0)[:, None]
    assert np.array_equal(np.broadcast_to(lane, (32, 4)), expected_lane)
    assert np.array_equal(np.broadcast_to(column, (32, 4)), moved)
