"""Data paths that there are not, and what a layout says of itself; `published` has the others."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.data_paths import (
    DataPath,
    accumulator_cells,
    data_path,
    operand_cells,
    shared_rows,
)
from tests.intrinsics.published.data_paths import TABLE

P = DataPath
M = {P.A: 256, P.B: 128, P.C: 128, P.D: 128, P.E: 64, P.F: 64, P.G: 32}


def test_no_other_instruction_has_one():
    known = {(row.m, row.group, sparse, row.ws) for row in TABLE.values() for sparse in row.sparse}
    known |= {(128, 1, sparse, True) for sparse in (False, True)}  # M = 128 is D with .ws, too
    for m in (16, 32, 64, 96, 128, 256, 512):
        for group in (1, 2, 3):
            for sparse in (False, True):
                for ws in (False, True):
                    if (m, group, sparse, ws) not in known:
                        with pytest.raises(ValueError, match=f"M = {m} with cta_group::{group}"):
                            data_path(m, group=group, ws=ws, sparse=sparse)


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


def test_ctas_that_there_are_not():
    for group, rank in ((1, 1), (2, 2), (2, -1), (4, 0)):
        with pytest.raises(ValueError, match="no CTA"):
            shared_rows(group, rank, 128, 64)


@pytest.mark.parametrize("path", [P.A, P.B, P.C])
def test_a_cta_of_a_pair_has_the_rows_of_d_whose_rows_of_a_it_holds(path: DataPath):
    rank = np.broadcast_to(accumulator_cells(path, M[path], 64).rank, (M[path], 64))
    for cta in (0, 1):
        rows = shared_rows(2, cta, M[path], 64)[0]
        assert (rank[rows.start : rows.stop] == cta).all()
