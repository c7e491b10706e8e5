"""Data paths: each layout's cells, written out row by row from the names of the manual."""

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

P = DataPath
M = {P.A: 256, P.B: 128, P.C: 128, P.D: 128, P.E: 64, P.F: 64, P.G: 32}
COPIES = {P.A: 1, P.B: 2, P.C: 1, P.D: 1, P.E: 2, P.F: 1, P.G: 4}


def place(path: DataPath, row: int, column: int, n: int) -> tuple[int, int, int]:
    """CTA, lane and column of an element of D."""
    match path:
        case P.A:
            return (0, row, column) if row < 128 else (1, row - 128, column)
        case P.B:
            lane = row % 64 if column < n // 2 else 64 + row % 64
            return row // 64, lane, column % (n // 2)
        case P.C:
            return row // 64, [0, 32, 64, 96][row % 64 // 16] + row % 16, column
        case P.D:
            return 0, row, column
        case P.E:
            return 0, row if column < n // 2 else 64 + row, column % (n // 2)
        case P.F:
            return 0, [0, 32, 64, 96][row // 16] + row % 16, column
        case P.G:
            return 0, column // (n // 4) * 32 + row, column % (n // 4)


def flat(cells: Cells, shape: tuple[int, int]) -> set[tuple[int, int, int]]:
    """All cells, as (rank, lane, column)."""
    arrays = [np.broadcast_to(x, shape).ravel() for x in (cells.rank, cells.lane, cells.column)]
    return set(zip(*(array.tolist() for array in arrays), strict=True))


@each("path", DataPath)
@each("n", [64, 128, 256])
def test_every_element_of_an_accumulator(path: DataPath, n: int):
    m = M[path]
    cells = accumulator_cells(path, m, n)
    rank, lane, column = (
        np.broadcast_to(x, (m, n)) for x in (cells.rank, cells.lane, cells.column)
    )
    for at in np.ndindex(m, n):
        assert (rank[at], lane[at], column[at]) == place(path, *at, n)  # type: ignore[call-arg]
    assert len(flat(cells, (m, n))) == m * n
    assert int(lane.max()) + max(path.lane_starts) < 128
    assert int(column.max()) + 1 == n // COPIES[path]


@pytest.mark.parametrize("path", DataPath)
def test_a_in_tensor_memory_has_the_lanes_of_every_part_of_n(path: DataPath):
    """Copy i lies in the lanes of the D that it makes: those of part i of N."""
    m, n = M[path], 256
    copies = operand_cells(path, m, 8)
    assert len(copies) == COPIES[path] == path.parts
    d = accumulator_cells(path, m, n)
    lanes = np.broadcast_to(d.lane, (m, n)).reshape(m, path.parts, n // path.parts)
    for part, cells in enumerate(copies):
        assert np.array_equal(np.broadcast_to(cells.lane, (m, 1))[:, 0], lanes[:, part, 0])
        assert np.array_equal(cells.rank, d.rank)
        assert np.array_equal(np.broadcast_to(cells.column, (m, 8)), np.tile(range(8), (m, 1)))
    places = [flat(cells, (m, 8)) for cells in copies]
    assert len(set().union(*places)) == m * 8 * len(copies)


TABLE = [  # M, cta_group, A sparse, .ws: the manual's table of layouts
    (32, 1, False, True, P.G),
    (32, 1, True, True, P.G),
    (64, 1, False, True, P.E),
    (64, 1, True, True, P.E),
    (64, 1, False, False, P.F),
    (64, 1, True, False, P.F),
    (128, 1, False, False, P.D),
    (128, 1, True, False, P.D),
    (128, 1, False, True, P.D),
    (128, 1, True, True, P.D),
    (128, 2, False, False, P.B),
    (128, 2, True, False, P.C),
    (256, 2, False, False, P.A),
    (256, 2, True, False, P.A),
]


@each("m, group, sparse, ws, path", TABLE)
def test_which_layout_an_instruction_has(
    m: int, group: int, sparse: bool, ws: bool, path: DataPath
):
    assert data_path(m, group=group, ws=ws, sparse=sparse) is path


def test_no_other_instruction_has_one():
    known = {row[:4] for row in TABLE}
    for m in (16, 32, 64, 96, 128, 256, 512):
        for group in (1, 2, 3):
            for sparse in (False, True):
                for ws in (False, True):
                    if (m, group, sparse, ws) not in known:
                        with pytest.raises(ValueError, match=f"M = {m} with cta_group::{group}"):
                            data_path(m, group=group, ws=ws, sparse=sparse)


def test_where_matrices_may_begin():
    """The table's lane alignment: 0 or 16 where half of the lanes are used."""
    assert {p: p.lane_starts for p in P if p.lane_starts != (0,)} == {P.C: (0, 16), P.F: (0, 16)}


@pytest.mark.parametrize("path", DataPath)
def test_titles_and_sizes(path: DataPath):
    assert str(M[path]) in path.title
    assert path.m == M[path]
    assert path.ctas == (2 if path in (P.A, P.B, P.C) else 1)
    with pytest.raises(ValueError, match=f"M = {M[path]}, not 96"):
        accumulator_cells(path, 96, 64)
    with pytest.raises(ValueError, match="not 96"):
        operand_cells(path, 96, 4)


def test_an_n_that_cannot_be_cut():
    with pytest.raises(ValueError, match="4 equal parts, not 66"):
        accumulator_cells(P.G, 32, 66)


@pytest.mark.parametrize(("m", "n"), [(128, 32), (256, 64), (256, 256)])
def test_shared_memory_of_a_pair_holds_halves(m: int, n: int):
    even, odd = shared_rows(2, 0, m, n), shared_rows(2, 1, m, n)
    assert [*even[0], *odd[0]] == list(range(m))
    assert [*even[1], *odd[1]] == list(range(n))
    assert len(even[0]) == len(odd[0])
    assert len(even[1]) == len(odd[1])
    assert shared_rows(1, 0, m, n) == (range(m), range(n))
    for group, rank in ((1, 1), (2, 2), (2, -1), (4, 0)):
        with pytest.raises(ValueError, match="no CTA"):
            shared_rows(group, rank, m, n)


@pytest.mark.parametrize("path", [P.A, P.B, P.C])
def test_a_cta_of_a_pair_has_the_rows_of_d_whose_rows_of_a_it_holds(path: DataPath):
    rank = np.broadcast_to(accumulator_cells(path, M[path], 64).rank, (M[path], 64))
    for cta in (0, 1):
        rows = shared_rows(2, cta, M[path], 64)[0]
        assert (rank[rows.start : rows.stop] == cta).all()
