"""Sparse tcgen05.mma: zeros, metadata, its selector; random forms: `tests/oracle/executed`."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.modifiers import MmaKind, ScaleVec
from nvgen.sim.faults import Fault
from tests.sim.kernels import TensorProgram
from tests.sim.tcgen05.mma_case import COLUMNS, IMAGE, Case, image, prepared, run
from tests.sim.tcgen05.mma_inputs import FOUR, TWO, check, dense, indices_for, number
from tests.sim.tcgen05.mma_layouts import expanded, values

pytestmark = pytest.mark.turns(12)


@pytest.mark.parametrize("m", [128, 32])
def test_what_is_not_stored_meets_nothing(m: int):
    """NaN and infinity in B reach the rows that store an element there, and no others."""
    case = Case(MmaKind.F16, m, 64, "f16", "f16", a_place=None, sparse=True, ws=m == 32)
    given = dense(case)
    given.indices = indices_for(case)
    numbers = values(given.b, case.b)
    numbers[3, 5], numbers[60, 9], numbers[60, 31] = np.nan, np.inf, -np.inf
    given.b = numbers.astype(np.float16).view(np.uint16)
    given.a = np.where(given.a & 0x7FFF, given.a, 0x3C00).astype(np.uint16)  # no zero is stored
    whole = expanded(values(given.a, case.a), given.indices, case.kind)
    kept = expanded(np.ones(given.a.shape), given.indices, case.kind) != 0
    with np.errstate(invalid="ignore"):
        expected = np.array(
            [row @ np.where(own, numbers, 0.0).T for row, own in zip(whole, kept, strict=True)]
        )
        assert given.old is not None
        expected += number(given.old, case.d)
    found = number(run(case, given), case.d)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isnan(expected).any()
    assert np.isfinite(expected[:, 3]).any()


@pytest.mark.parametrize("selector", [0, 1])
def test_the_selector_picks_the_column_of_the_metadata(selector: int):
    """The other column holds what has no meaning."""
    case = Case(MmaKind.F16, 128, 8, "f16", "f16", sparse=True, selector=selector)
    given = dense(case)
    given.indices = indices_for(case)
    given.cells[:, 320 + 1 - selector] = 0
    whole = expanded(values(given.a, case.a), given.indices, case.kind)
    check(case, given, whole @ values(given.b, case.b).T)


@pytest.mark.parametrize("kind", [MmaKind.F16, MmaKind.TF32, MmaKind.I8, MmaKind.MXF4])
def test_an_index_without_meaning_is_a_fault(kind: MmaKind):
    """Each of the others of sixteen, in one place."""
    a, d = {
        MmaKind.F16: ("f16", "f32"),
        MmaKind.TF32: ("tf32", "f32"),
        MmaKind.I8: ("s8", "s32"),
        MmaKind.MXF4: ("e2m1", "f32"),
    }[kind]
    vec = ScaleVec.X2 if kind is MmaKind.MXF4 else None
    case = Case(kind, 128, 16, a, a, d, sparse=True, vec=vec)
    known = TWO if kind is MmaKind.TF32 else FOUR
    for index in sorted(set(range(16)) - set(known))[:: 1 if kind is MmaKind.F16 else 4]:
        given = dense(case)
        given.indices = indices_for(case)
        given.indices[77, 3] = index
        if vec is not None:
            given.sfa = given.sfb = np.full((128, 2), 127, np.uint8)
        with pytest.raises(Fault) as caught:
            run(case, given)
        assert caught.value.findings[0].rule == "sim/sparse-metadata"
        assert "row 77, chunk 3" in caught.value.findings[0].message


def test_a_negative_zero_and_a_stored_zero_are_values():
    case = Case(MmaKind.F16, 128, 8, "f16", "f16", sparse=True)
    given = dense(case)
    given.indices = indices_for(case)
    given.a[::3] = 0x8000
    whole = expanded(values(given.a, case.a), given.indices, case.kind)
    check(case, given, whole @ values(given.b, case.b).T)


@pytest.mark.parametrize("m", [32, 64])
def test_each_part_of_n_has_metadata_of_its_own(m: int):
    """Stationary with M = 32 or 64: lanes of another part of N may hold other indices, and another
    A.  FlashMLA multiplies two halves at once so.
    """
    case = Case(MmaKind.I8, m, 128, "s8", "s8", "s32", sparse=True, ws=True, a_place=None)
    parts = [dense(case, seed) for seed in range(128 // m)]
    for seed, part in enumerate(parts):
        part.indices = indices_for(case, seed)
    cells = prepared(case, parts[0])
    for i, part in enumerate(parts):
        lanes = slice(m * i, m * (i + 1))
        cells[lanes, 288:330] = prepared(case, part)[lanes, 288:330]
    program = TensorProgram(COLUMNS, 0, IMAGE, (case.mma(),))
    b = image(parts[0].b, "s8", MmaKind.I8, case.b_place)
    found = program.run(cells, None, b)[case.d_index()].view(np.int32)
    width = 128 * m // 128
    for i, part in enumerate(parts):
        assert part.indices is not None
        whole = expanded(values(part.a, "s8"), part.indices, MmaKind.I8)
        columns = slice(width * i, width * (i + 1))
        expected = whole @ values(parts[0].b, "s8")[columns].T
        assert np.array_equal(found[:, columns], expected)
