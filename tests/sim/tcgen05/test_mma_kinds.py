"""Every kind of tcgen05.mma with numbers that leave no rounding: equal to numpy in every cell.

Matrices hold small integers, or small multiples of a power of two, so that each sum is exact in the
type of D.  Cells that are not D's are compared, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind
from tests.sim.matrices import Placement
from tests.sim.tcgen05.mma_case import Case, Inputs, run
from tests.sim.tcgen05.mma_layouts import bits, codes_of, values

pytestmark = pytest.mark.turns(12)

STEPS = {"e2m3": 0.5, "e3m2": 0.5, "e2m1": 0.5}
"""Fractions that a type has; the others are given whole numbers."""


def random_codes(name: str, shape: tuple[int, int], seed: int) -> NDArray[np.unsignedinteger]:
    """Small numbers of a type: all of those with few bits."""
    random = np.random.default_rng(seed)
    if bits(name) < 8:
        return random.integers(0, 1 << bits(name), shape).astype(np.uint8)
    low = 0 if name == "u8" else -8
    return codes_of(random.integers(low, 9, shape).astype(np.float64), name)


def dense(case: Case, seed: int = 0) -> Inputs:
    """Random matrices, and a D of small whole numbers."""
    old = np.random.default_rng(seed + 2).integers(-64, 65, (case.m, case.n))
    if case.d == "s32":
        before = old.astype(np.int32).view(np.uint32)
    elif case.d == "f16":
        before = old.astype(np.float16).view(np.uint16).astype(np.uint32)
    else:
        before = old.astype(np.float32).view(np.uint32)
    return Inputs(
        random_codes(case.a, (case.m, case.k_stored), seed),
        random_codes(case.b, (case.n, case.k), seed + 1),
        old=before,
    )


def number(cells: NDArray[np.uint32], d: str) -> NDArray[np.float64]:
    """Cells of D as numbers."""
    if d == "s32":
        return cells.view(np.int32).astype(np.float64)
    if d == "f16":
        assert not (cells >> 16).any()
        return cells.astype(np.uint16).view(np.float16).astype(np.float64)
    return cells.view(np.float32).astype(np.float64)


def check(case: Case, given: Inputs, product: NDArray[np.float64]) -> None:
    """D = product + D before."""
    assert given.old is not None
    expected = product + number(given.old, case.d)
    found = number(run(case, given), case.d)
    wrong = np.argwhere(found != expected)
    assert not wrong.size, (
        f"{len(wrong)} wrong, first {wrong[0]}: {found[tuple(wrong[0])]}, "
        f"expected {expected[tuple(wrong[0])]}"
    )


SIGNS = [(False, False), (True, False), (False, True)]
EIGHT = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")

DENSE = [
    Case(MmaKind.F16, 128, 48, "f16", "f16"),
    Case(MmaKind.F16, 128, 16, "f16", "bf16"),
    Case(MmaKind.F16, 64, 24, "bf16", "bf16", lane=16),
    Case(MmaKind.F16, 128, 8, "f16", "f16", "f16"),
    Case(MmaKind.F16, 128, 256, "bf16", "f16"),
    Case(MmaKind.TF32, 128, 40, "tf32", "tf32"),
    Case(MmaKind.TF32, 64, 8, "tf32", "tf32"),
    Case(MmaKind.I8, 128, 32, "s8", "u8", "s32"),
    Case(MmaKind.I8, 64, 48, "u8", "s8", "s32"),
    Case(MmaKind.F8F6F4, 64, 16, "e4m3", "e5m2", "f16"),
    *(Case(MmaKind.F8F6F4, 128, 8, a, b) for a in EIGHT for b in EIGHT),
    *(
        Case(MmaKind.F16, 128, 16, "f16", "f16", negate_a=a, negate_b=b)
        for a, b in [(True, False), (False, True), (True, True)]
    ),
    Case(MmaKind.F8F6F4, 128, 16, "e2m1", "e3m2", negate_a=True),
]
TENSOR = [
    Case(MmaKind.F16, 128, 16, "bf16", "f16", a_place=None),
    Case(MmaKind.F16, 64, 16, "f16", "f16", a_place=None, lane=16),
    Case(MmaKind.TF32, 64, 16, "tf32", "tf32", a_place=None),
    Case(MmaKind.I8, 128, 16, "s8", "s8", "s32", a_place=None),
    *(Case(MmaKind.F8F6F4, 128, 8, a, "e4m3", a_place=None) for a in EIGHT),
]
STATIONARY = [
    Case(kind, m, n, a, a, d, ws=True, a_place=place)
    for kind, a, d, n in [
        (MmaKind.F16, "f16", "f32", 64),
        (MmaKind.TF32, "tf32", "f32", 128),
        (MmaKind.F8F6F4, "e4m3", "f16", 64),
        (MmaKind.I8, "s8", "s32", 256),
    ]
    for m in (32, 64, 128)
    for place in (Placement(False, 0, 128, 512), None)
]


def name_of(case: Case) -> str:
    """What to call a test."""
    where = "tensor" if case.a_place is None else "shared"
    ws = " ws" if case.ws else ""
    sign = "-" * case.negate_a + "/" * case.negate_b
    return f"{case.kind.value}{ws} {case.m}x{case.n} {case.a} {case.b} {case.d} {where} {sign}"


@pytest.mark.parametrize("case", [*DENSE, *TENSOR, *STATIONARY], ids=name_of)
def test_dense(case: Case):
    given = dense(case)
    product = values(given.a, case.a) @ values(given.b, case.b).T
    if case.negate_a is not case.negate_b:
        product = -product
    check(case, given, product)
