"""Block-scaled tcgen05.mma of a CTA pair with 64 rows each: where its scale factors lie.

As CUTLASS has it (mma_traits_sm100.hpp, `tmem_sf_frg`): each CTA has the factors of its own rows of
A in all four partitions of 32 lanes; of B those of the first half of N in lanes 0 to 63, those of
the second in lanes 64 to 127, each in two partitions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind, ScaleVec
from nvgen.sim.faults import Fault
from tests.sim.tcgen05.mma_layouts import place_factors
from tests.sim.tcgen05.mma_pair import PairProgram
from tests.sim.tcgen05.mma_pair_case import (
    COLUMNS,
    SFA_COLUMN,
    SFB_COLUMN,
    SIZE,
    Data,
    Pair,
    data,
    images,
    prepared,
    product,
)

pytestmark = pytest.mark.turns(6)

PAIRS = [
    Pair(MmaKind.MXF8F6F4, 128, 256, "e4m3", "e5m2"),
    Pair(MmaKind.MXF8F6F4, 128, 48, "e2m3", "e2m1", tensor=True),
    Pair(MmaKind.MXF8F6F4, 128, 16, "e3m2", "e4m3", vec=ScaleVec.X1),
    Pair(MmaKind.MXF4, 128, 64, "e2m1", "e2m1", vec=ScaleVec.X2),
    Pair(MmaKind.MXF4NVF4, 128, 144, "e2m1", "e2m1", vec=ScaleVec.X4, scale="ue4m3"),
    Pair(MmaKind.MXF4NVF4, 128, 32, "e2m1", "e2m1", vec=ScaleVec.BLOCK16, tensor=True),
]


def cells_of(pair: Pair, given: Data) -> NDArray[np.uint32]:
    """All cells before the multiply."""
    assert given.sfa is not None
    assert given.sfb is not None
    cells = prepared(pair, replace(given, sfa=None, sfb=None))
    for rank in (0, 1):
        place_factors(cells[rank], SFA_COLUMN, given.sfa[64 * rank :][:64], 0)
        for half, factors in enumerate(np.split(given.sfb, 2)):
            here = cells[rank].copy()
            place_factors(here, SFB_COLUMN, factors, 0)
            cells[rank, 64 * half :][:64] = here[64 * half :][:64]
    return cells


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind.value} {p.n} {p.a} {p.b}")
def test_each_half_of_b_has_its_factors_in_two_partitions(pair: Pair):
    given = data(pair)
    before = cells_of(pair, given)
    after = PairProgram(COLUMNS, SIZE, (pair.mma(),)).run(before, *images(pair, given))
    at = pair.d_index()
    assert np.array_equal(after[at].view(np.float32), product(pair, given))
    after[at] = before[at]
    assert np.array_equal(after, before)


@pytest.mark.parametrize(
    ("rank", "lane", "column", "rule"),
    [
        (0, 37, SFB_COLUMN, "sim/scale-partitions"),
        (1, 101, SFB_COLUMN, "sim/scale-partitions"),
        (1, 70, SFA_COLUMN + 1, "sim/scale-partitions"),
    ],
)
def test_copies_of_factors_that_differ_are_a_fault(rank: int, lane: int, column: int, rule: str):
    pair = PAIRS[0]
    given = data(pair)
    before = cells_of(pair, given)
    before[rank, lane, column] ^= 1
    with pytest.raises(Fault) as caught:
        PairProgram(COLUMNS, SIZE, (pair.mma(),)).run(before, *images(pair, given))
    assert caught.value.findings[0].rule == rule


def test_ctas_with_other_factors_of_b_are_a_fault():
    pair = PAIRS[0]
    given = data(pair)
    before = cells_of(pair, given)
    before[1, 64:, SFB_COLUMN] ^= 1
    with pytest.raises(Fault) as caught:
        PairProgram(COLUMNS, SIZE, (pair.mma(),)).run(before, *images(pair, given))
    assert caught.value.findings[0].rule == "sim/scale-pair"
