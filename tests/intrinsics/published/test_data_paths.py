"""D and A in tensor memory: the published layouts A to G, and ours."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.data_paths import (
    Cells,
    DataPath,
    accumulator_cells,
    data_path,
    operand_cells,
    shared_rows,
)
from tests.each import each
from tests.intrinsics.published.cute import Ints
from tests.intrinsics.published.data_paths import TABLE, accumulator, fragment, operand, triton

CASES = [(letter, n) for letter, row in TABLE.items() for n in row.columns]


def arrays(cells: Cells, shape: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """The three arrays in full."""
    return (
        np.broadcast_to(cells.rank, shape),
        np.broadcast_to(cells.lane, shape),
        np.broadcast_to(cells.column, shape),
    )


@pytest.mark.parametrize(("letter", "rows"), [("D", 128), ("F", 64)])
def test_the_sources_agree(letter: str, rows: int) -> None:
    assert np.array_equal(fragment(letter, 64), triton(rows, 64))


@pytest.mark.parametrize("letter", TABLE)
def test_which_layout(letter: str) -> None:
    row = TABLE[letter]
    for sparse in row.sparse:
        ways = (False, True) if letter == "D" else (row.ws,)  # M = 128 is D with .ws and without
        for ws in ways:
            got = data_path(row.m, group=row.group, ws=ws, sparse=sparse)
            assert got is DataPath[letter]


@pytest.mark.parametrize("letter", TABLE)
def test_lane_alignment(letter: str) -> None:
    assert tuple(DataPath[letter].lane_starts) == TABLE[letter].starts


@each("letter, n", CASES)
def test_accumulator(letter: str, n: int) -> None:
    m = TABLE[letter].m
    got = arrays(accumulator_cells(DataPath[letter], m, n), (m, n))
    for one, expected in zip(got, accumulator(letter, n), strict=True):
        assert np.array_equal(one, expected)


@each("letter", TABLE)
@each("columns", [4, 8])
def test_operand(letter: str, columns: int) -> None:
    """Every copy of A that the lane groups read; the first is the one at the address itself."""
    m, copies = TABLE[letter].m, TABLE[letter].copies
    got = operand_cells(DataPath[letter], m, columns)
    assert len(got) == len(copies)
    for index, cells in enumerate(got):
        expected = operand(letter, index, columns)
        for one, other in zip(arrays(cells, (m, columns)), expected, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("m", [128, 256])
@pytest.mark.parametrize("n", [16, 256])
def test_a_pair_halves_the_rows_of_a_and_b(m: int, n: int) -> None:
    """CUTLASS, mma_traits_sm100.hpp: ALayout (2, (M/2, K)):(M/2, ...), BLayout (2, (N/2, K))."""
    assert shared_rows(2, 0, m, n) == (range(m // 2), range(n // 2))
    assert shared_rows(2, 1, m, n) == (range(m // 2, m), range(n // 2, n))


def test_one_cta_has_all_rows() -> None:
    assert shared_rows(1, 0, 128, 256) == (range(128), range(256))
