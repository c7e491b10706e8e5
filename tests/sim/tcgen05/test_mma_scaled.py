"""Block-scaled tcgen05.mma: every factor, where they must be; random forms: `oracle/executed`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind, ScaleVec
from nvgen.sim.faults import Fault, NotSimulatedError
from nvgen.sim.semantics.tcgen05.mma_check import MmaModifiers, shape_of
from tests.sim.tcgen05.mma_case import SFA_COLUMN, SFB_COLUMN, Case, Inputs, prepared, run
from tests.sim.tcgen05.mma_inputs import random_codes
from tests.sim.tcgen05.mma_layouts import bits, values

pytestmark = pytest.mark.turns(12)

COUNTS = {ScaleVec.X1: 1, ScaleVec.X2: 2, ScaleVec.X4: 4, ScaleVec.BLOCK16: 4}
KINDS = {
    MmaKind.MXF8F6F4: [(None, "ue8m0"), (ScaleVec.X1, "ue8m0"), (ScaleVec.BLOCK32, "ue8m0")],
    MmaKind.MXF4: [(None, "ue8m0"), (ScaleVec.X2, "ue8m0"), (ScaleVec.BLOCK32, "ue8m0")],
    MmaKind.MXF4NVF4: [
        (ScaleVec.X2, "ue8m0"),
        (ScaleVec.BLOCK32, "ue8m0"),
        (ScaleVec.X4, "ue8m0"),
        (ScaleVec.X4, "ue4m3"),
        (ScaleVec.BLOCK16, "ue4m3"),
    ],
}


def factors_of(case: Case) -> int:
    """Factors of a row (Table 54)."""
    if case.kind is MmaKind.MXF8F6F4:
        return 1
    return 4 if case.vec in (ScaleVec.X4, ScaleVec.BLOCK16) else 2


def inputs(case: Case, seed: int = 0) -> Inputs:
    """Small numbers, factors near one, and a D."""
    random, count = np.random.default_rng(seed), factors_of(case)
    near = np.array([126, 127, 128] if case.scale == "ue8m0" else [0x30, 0x38, 0x3C], np.uint8)
    return Inputs(
        random_codes(case.a, (case.m, case.k), seed),
        random_codes(case.b, (case.n, case.k), seed + 1),
        sfa=random.choice(near, (case.m, count)),
        sfb=random.choice(near, (case.n, count)),
        old=random.integers(-64, 65, (case.m, case.n)).astype(np.float32).view(np.uint32),
    )


def product(case: Case, given: Inputs) -> NDArray[np.float64]:
    """(A · SFA)(B · SFB), factor by factor."""
    assert given.sfa is not None
    assert given.sfb is not None
    step = case.k // factors_of(case)
    left = values(given.a, case.a) * np.repeat(values(given.sfa, case.scale), step, axis=1)
    right = values(given.b, case.b) * np.repeat(values(given.sfb, case.scale), step, axis=1)
    return left @ right.T


CASES = [
    Case(kind, 128, n, a, b, vec=vec, scale=scale, a_place=place)
    for kind, sizes in KINDS.items()
    for vec, scale in sizes  # type: ignore[attr-defined]
    for n, place in [(8, Case.a_place), (104, None)]
    for a, b in [("e5m2", "e2m3") if kind is MmaKind.MXF8F6F4 else ("e2m1", "e2m1")]
]


# ---- values of factors -----------------------------------------------------------------------


@pytest.mark.turns(3)
def test_every_ue8m0_factor():
    """2^-127 to 2^127, and NaN: row i has factor i, column j the factor that brings it back."""
    case = Case(MmaKind.MXF8F6F4, 128, 8, "e4m3", "e4m3")
    for first in (0, 128):
        given = inputs(case)
        given.old = None
        given.sfa = np.arange(first, first + 128, dtype=np.uint8)[:, None]
        given.sfb = np.array(
            [[127], [254 - first], [200], [60], [127], [0], [254], [255]], np.uint8
        )
        found = run(case, given).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = product(case, given).astype(np.float32)
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.isnan(found[:, 7]).all()
        nan = run(case, given)[np.isnan(found)]
        assert set(nan.tolist()) == {0x7FFFFFFF}


def test_every_ue4m3_factor():
    case = Case(MmaKind.MXF4NVF4, 128, 8, "e2m1", "e2m1", vec=ScaleVec.X4, scale="ue4m3")
    given = inputs(case)
    given.old = None
    given.sfa = np.tile(np.arange(128, dtype=np.uint8)[:, None], 4)
    given.sfb = np.arange(32, dtype=np.uint8).reshape(8, 4) * 3
    found = run(case, given).view(np.float32)
    expected = product(case, given).astype(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isnan(found[127]).all()
    assert np.isfinite(found[:127]).all()


@pytest.mark.parametrize("case", [CASES[0], CASES[5], CASES[-1]], ids=lambda case: case.kind.value)
def test_random_factors_and_numbers_are_within_the_bound(case: Case):
    """Products, factors included, are exact; sums as in `test_mma_values`."""
    random, count = np.random.default_rng(3), factors_of(case)
    codes = 1 << bits(case.a), 1 << bits(case.b)
    given = Inputs(
        random.integers(0, codes[0], (case.m, case.k)).astype(np.uint8),
        random.integers(0, codes[1], (case.n, case.k)).astype(np.uint8),
        sfa=random.integers(90, 120, (case.m, count)).astype(np.uint8),
        sfb=random.integers(90, 120, (case.n, count)).astype(np.uint8),
    )
    finite = np.isfinite(values(given.a, case.a)), np.isfinite(values(given.b, case.b))
    given.a[~finite[0]], given.b[~finite[1]] = 0, 0
    assert given.sfa is not None
    assert given.sfb is not None
    step = case.k // count
    left = values(given.a, case.a) * np.repeat(values(given.sfa, case.scale), step, axis=1)
    right = values(given.b, case.b) * np.repeat(values(given.sfb, case.scale), step, axis=1)
    factor = case.k * 2.0**-23
    bound = factor / (1 - factor) * (np.abs(left) @ np.abs(right).T)
    found = run(case, given).view(np.float32).astype(np.float64)
    assert (np.abs(found - left @ right.T) <= bound).all()
    assert np.abs(found).max() > 0


# ---- what is refused -------------------------------------------------------------------------


def with_cells(case: Case, given: Inputs) -> Inputs:
    """The same with all matrices in their cells, so that a test can change them."""
    cells = prepared(case, given)
    return replace(given, cells=cells, sfa=None, sfb=None, old=None)


@pytest.mark.parametrize("column", [SFA_COLUMN, SFB_COLUMN])
@pytest.mark.parametrize("lane", [5, 40, 127])
def test_factors_that_differ_between_partitions_are_a_fault(lane: int, column: int):
    case = Case(MmaKind.MXF4, 128, 40, "e2m1", "e2m1")
    given = with_cells(case, inputs(case))
    given.cells[lane, column] ^= 0x0100
    with pytest.raises(Fault) as caught:
        run(case, given)
    assert caught.value.findings[0].rule == "sim/scale-partitions"


def test_bytes_that_are_not_selected_do_not_count():
    case = Case(MmaKind.MXF4, 128, 40, "e2m1", "e2m1", sfa_id=2)
    whole = inputs(case)
    given = with_cells(case, whole)
    given.cells[:, SFA_COLUMN : SFA_COLUMN + 4] ^= (
        np.random.default_rng(1).integers(0, 1 << 16, (128, 4)).astype(np.uint32)
    )
    found = run(case, given).view(np.float32)
    assert np.array_equal(found, product(case, whole).astype(np.float32))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case(MmaKind.MXF4, 128, 16, "e2m1", "e2m1", sfa_id=1), "scale factor A id"),
        (Case(MmaKind.MXF4, 128, 16, "e2m1", "e2m1", sfb_id=3), "scale factor B id"),
        (
            Case(MmaKind.MXF4NVF4, 128, 16, "e2m1", "e2m1", vec=ScaleVec.X4, sfa_id=2),
            "scale factor A id",
        ),
        (
            Case(MmaKind.MXF4NVF4, 128, 16, "e2m1", "e2m1", vec=ScaleVec.X2, scale="ue4m3"),
            "factors of UE4M3 are for 16 elements",
        ),
    ],
    ids=["id 1 of 2X", "id 3 of 2X", "id 2 of 4X", "ue4m3 with 2X"],
)
def test_ids_and_types_that_do_not_exist(case: Case, words: str):
    with pytest.raises(Fault, match=words) as caught:
        shape_of(case.idesc, MmaModifiers(case.kind, scale_vec=case.vec))
    assert caught.value.findings[0].rule == "sim/idesc"


def test_a_ue4m3_factor_with_a_sign_is_not_guessed():
    case = Case(MmaKind.MXF4NVF4, 128, 16, "e2m1", "e2m1", vec=ScaleVec.X4, scale="ue4m3")
    given = inputs(case)
    assert given.sfa is not None
    given.sfa[3, 2] |= 0x80
    with pytest.raises(NotSimulatedError):
        run(case, given)
