"""Scale factors that there are not; where the others lie is asked in `published`."""

from __future__ import annotations

import pytest

from intrinsics.layouts.scale_factors import (
    factors_per_row,
    scale_cells,
)
from intrinsics.modifiers import MmaKind as K
from intrinsics.modifiers import ScaleVec as V
from tests.intrinsics.published.scale_factors import FACTORS


def test_scalings_that_do_not_exist():
    known = {(K[kind], V[vector]) for kind, vector, _ in FACTORS}
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
    for parts, rows in ((2, 33), (3, 96)):
        with pytest.raises(ValueError, match=f"{rows} rows in {parts} parts"):
            scale_cells(rows, 4, 0, parts)
