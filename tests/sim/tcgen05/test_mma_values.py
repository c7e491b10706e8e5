"""tcgen05.mma by numbers: every code of every type, random numbers within a bound, NaN, limits.

The bound.  Products are exact.  A sum of k products and D, added in binary32 in any order, each
addition rounded or truncated, is off by at most (k + 1)·u·S / (1 - (k + 1)·u), u = 2^-23 and S the
sum of the magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2, with the
unit roundoff of truncation).  The simulator rounds twice; it lies well inside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind
from tests.sim.matrices import Placement
from tests.sim.tcgen05.mma_case import Case, Inputs, run
from tests.sim.tcgen05.mma_inputs import check, dense
from tests.sim.tcgen05.mma_layouts import DTYPES, FP4, bits, codes_of, values

pytestmark = pytest.mark.turns(12)

F16, TF32, F8, I8 = MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8
TYPES = [
    (F8, "e4m3"),
    (F8, "e5m2"),
    (F8, "e2m3"),
    (F8, "e3m2"),
    (F8, "e2m1"),
    (I8, "s8"),
    (I8, "u8"),
]
UNIT = 2.0**-23


def every_code(case: Case, *, in_a: bool) -> Inputs:
    """All codes of a type in one matrix, one in each row; the other matrix picks column 5."""
    count = 1 << bits(case.a if in_a else case.b)
    a = np.zeros((case.m, case.k), np.uint8)
    b = np.zeros((case.n, case.k), np.uint8)
    ones = {name: int(codes_of(np.ones(1), name)[0]) for name in (case.a, case.b)}
    if in_a:
        a[np.arange(case.m), 5] = np.arange(case.m) % count
        b[:, 5] = ones[case.b]
    else:
        b[np.arange(case.n), 5] = np.arange(case.n) % count
        a[:, 5] = ones[case.a]
    return Inputs(a, b)


@pytest.mark.parametrize(("kind", "name"), TYPES)
def test_every_code_of_a_type(kind: MmaKind, name: str):
    """One times x, for all x of B, and the first 128 and the others of A."""
    d = "s32" if kind is I8 else "f32"
    case = Case(kind, 128, 256, name, name, d)
    given = every_code(case, in_a=False)
    expected = values(given.b[:, 5], name)
    found = run(case, given)
    numbers = found.view(np.int32 if kind is I8 else np.float32).astype(np.float64)
    assert np.array_equal(numbers, np.broadcast_to(expected, (128, 256)), equal_nan=True)
    narrow = replace(case, n=32)
    given = every_code(narrow, in_a=True)
    for first in range(0, 1 << bits(name), 128):
        part = replace_codes(given, first)
        numbers = run(narrow, part).view(found_type(kind)).astype(np.float64)
        expected = values(part.a[:, 5], name)
        assert np.array_equal(numbers, np.tile(expected[:, None], 32), equal_nan=True)


def found_type(kind: MmaKind) -> type:
    """What D is made of."""
    return np.int32 if kind is I8 else np.float32


def replace_codes(given: Inputs, first: int) -> Inputs:
    """The same with codes of A that are so much higher."""
    a = given.a.copy()
    a[:, 5] += np.uint8(first)
    return Inputs(a, given.b)


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32"])
def test_codes_of_wider_types(name: str):
    """Zeros, subnormals, the largest, infinity, NaN, and random ones, times one."""
    kind = TF32 if name == "tf32" else F16
    case = Case(kind, 128, 256, name, name)
    size = {"f16": 16, "bf16": 16, "tf32": 32}[name]
    codes = np.random.default_rng(5).integers(0, 1 << size, 256).astype(f"u{size // 8}")
    top = {"f16": 0x7C00, "bf16": 0x7F80, "tf32": 0x7F800000}[name]
    lowest = 0x2000 if name == "tf32" else 1
    sign = 1 << size - 1
    codes[:8] = [0, sign, lowest, sign | lowest, top, sign | top, top - lowest, top | top >> 1]
    b = np.zeros((256, case.k), codes.dtype)
    b[:, 3] = codes
    a = np.zeros((128, case.k), codes.dtype)
    a[:, 3] = codes_of(np.ones(1), name)[0]
    found = run(case, Inputs(a, b))
    with np.errstate(invalid="ignore"):
        expected = np.broadcast_to(values(codes, name), (128, 256)).astype(np.float32)
    assert np.array_equal(found.view(np.float32), expected, equal_nan=True)
    assert set(found[np.isnan(expected)].tolist()) == {0x7FFFFFFF}


def test_nothing_between_nan_and_infinity():
    """Infinity times zero, and infinities of both signs, are NaN; f16 overflows to infinity."""
    case = Case(F16, 128, 8, "f16", "f16", "f16")
    a, b = np.zeros((128, 16), np.uint16), np.zeros((8, 16), np.uint16)
    a[:, 0], a[:, 1] = 0x7BFF, 0x7BFF
    b[0, 0] = 0x3C00  # 65504
    b[1, 0], b[1, 1] = 0x3C00, 0x0C00  # 65504 and 15.99 more
    b[2, 0], b[2, 1] = 0x3C00, 0x3C00
    b[3, 0], b[3, 1] = 0x7C00, 0xFC00
    b[4, 2] = 0x7C00
    b[5, 0] = 0xFC00
    found = run(case, Inputs(a, b))
    assert found[0].tolist() == [0x7BFF, 0x7BFF, 0x7C00, 0x7FFF, 0x7FFF, 0xFC00, 0, 0]
    assert (found == found[0]).all()


# ---- random numbers --------------------------------------------------------------------------

RANDOM = [
    Case(F16, 128, 64, "f16", "f16"),
    Case(F16, 128, 64, "bf16", "bf16"),
    Case(F16, 128, 64, "f16", "f16", "f16"),
    Case(TF32, 128, 64, "tf32", "tf32"),
    Case(F8, 128, 64, "e5m2", "e4m3"),
]


@pytest.mark.parametrize("case", RANDOM, ids=lambda c: f"{c.a} {c.d}")
@pytest.mark.parametrize("spread", [0.0, 6.0], ids=["normal", "of all sizes"])
def test_random_numbers_are_within_the_bound(case: Case, spread: float):
    random = np.random.default_rng(int(spread))

    def draw(rows: int, name: str) -> NDArray[np.unsignedinteger]:
        numbers = random.normal(size=(rows, case.k)) * 2.0 ** random.normal(
            scale=spread, size=(rows, case.k)
        )
        size = f"u{max(bits(name), 8) // 8}"
        return np.clip(numbers, -400, 400).astype(DTYPES[name]).view(size)

    old = random.normal(size=(case.m, case.n))
    if case.d == "f16":
        before = old.astype(np.float16).view(np.uint16).astype(np.uint32)
        start = before.astype(np.uint16).view(np.float16).astype(np.float64)
    else:
        before = old.astype(np.float32).view(np.uint32)
        start = before.view(np.float32).astype(np.float64)
    given = Inputs(draw(case.m, case.a), draw(case.n, case.b), old=before)
    a, b = values(given.a, case.a), values(given.b, case.b)
    exact = a @ b.T + start
    size = np.abs(a) @ np.abs(b).T + np.abs(start)
    factor = (case.k + 1) * UNIT
    bound = factor / (1 - factor) * size
    cells = run(case, given)
    if case.d == "f16":
        found = cells.astype(np.uint16).view(np.float16).astype(np.float64)
        bound = bound + (np.abs(exact) + bound) * 2.0**-11 + 2.0**-25
        finite = np.abs(exact) + bound < 65504
        assert (np.abs(found - exact)[finite] <= bound[finite]).all()
        assert finite.any()
        return
    found = cells.view(np.float32).astype(np.float64)
    assert (np.abs(found - exact) <= bound).all()


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_at_their_limits(*, saturate: bool):
    case = Case(I8, 128, 16, "u8", "u8", "s32", saturate=saturate)
    a = np.full((128, 32), 255, np.uint8)
    b = np.repeat(np.arange(16, dtype=np.uint8)[:, None] * 17, 32, axis=1)
    old = np.full((128, 16), 2**31 - 1 - 32 * 255 * 17 * 8, np.int32)
    found = run(case, Inputs(a, b, old=old.view(np.uint32))).view(np.int32)
    exact = old.astype(np.int64) + (255 * 32 * 17 * np.arange(16))[None]
    expected = np.clip(exact, -(2**31), 2**31 - 1) if saturate else exact.astype(np.int32)
    assert np.array_equal(found, expected)
    assert saturate or (found[:, 9:] < 0).all()


@pytest.mark.parametrize("kind", [F16, TF32])
@pytest.mark.parametrize("shift", [0, 1, 15])
def test_d_is_scaled_before_it_is_added(kind: MmaKind, shift: int):
    name = "f16" if kind is F16 else "tf32"
    case = Case(kind, 128, 16, name, name, shift=shift)
    given = dense(case)
    assert given.old is not None
    old = given.old.view(np.float32) * 2.0**-shift
    product = values(given.a, name) @ values(given.b, name).T
    found = run(case, given).view(np.float32)
    assert np.array_equal(found, (product + old).astype(np.float32))


# ---- layouts of shared memory ----------------------------------------------------------------

PLACES = [
    Placement(False, 32, 16, 256),
    Placement(False, 64, 16, 512),
    Placement(False, 128, 16, 1024),
    Placement(False, 0, 2048, 128),
]
NARROW = [
    Case(kind, 128, 32, a, b)
    for kind, a, b in [
        (F8, "e2m1", "e3m2"),
        (MmaKind.MXF4, "e2m1", "e2m1"),
        (MmaKind.MXF8F6F4, "e2m3", "e2m1"),
    ]
]


def unscaled(case: Case) -> Inputs:
    """Random numbers, and factors of one."""
    given = dense(case)
    if case.scaled:
        count = 2 if case.kind in FP4 else 1
        given.sfa = np.full((case.m, count), 127, np.uint8)
        given.sfb = np.full((case.n, count), 127, np.uint8)
    return given


@pytest.mark.parametrize("case", NARROW, ids=lambda c: f"{c.kind.value} {c.a} {c.b}")
@pytest.mark.parametrize("place", PLACES, ids=lambda p: f"swizzle {p.span}")
def test_narrow_types_in_every_swizzling(case: Case, place: Placement):
    """Sixteen elements, or thirty-two of mxf4, stay together in sixteen bytes."""
    case = replace(case, a_place=place, b_place=place)
    given = unscaled(case)
    check(case, given, values(given.a, case.a) @ values(given.b, case.b).T)


TRANSPOSED = [
    Placement(True, 0, 1024, 128),  # 16 bytes of MN further on: sbo; 8 of K: lbo
    Placement(True, 32, 1024, 256),  # 32 bytes of MN: lbo; 8 of K: sbo
    Placement(True, 64, 2048, 512),
    Placement(True, 128, 4096, 1024),
]


@pytest.mark.parametrize("place", TRANSPOSED, ids=lambda p: f"swizzle {p.span}")
@pytest.mark.parametrize(("kind", "name", "d"), [(F8, "e5m2", "f32"), (I8, "s8", "s32")])
def test_bytes_transposed(kind: MmaKind, name: str, d: str, place: Placement):
    """M and N of 128, so that a span of 128 bytes is filled."""
    case = Case(kind, 128, 128, name, name, d, a_place=place, b_place=place)
    given = dense(case)
    check(case, given, values(given.a, name) @ values(given.b, name).T)


def test_tf32_transposed_has_atoms_of_32_bytes():
    """CUTLASS: Swizzle<2,5,2>, and four of K in a group: the 32 bytes exchanged are numbered by
    bits 7 and 8 of the address.
    """

    class Atoms(Placement):
        """Lines of 128 bytes along MN, four of K in 512 bytes."""

        @property
        def descriptor(self) -> int:
            plain = Placement(True, 128, self.lbo, self.sbo).descriptor
            return plain & ~(7 << 61) | 1 << 61

        def offset(self, mn: int, k: int, size: int) -> int:
            line, within = divmod(mn * size, 128)
            plain = line * self.lbo + k // 4 * self.sbo + k % 4 * 128 + within
            return plain ^ (plain >> 7 & 3) << 5

    place = Atoms(True, 128, 1024, 512)
    case = Case(TF32, 128, 64, "tf32", "tf32", a_place=place, b_place=place)
    given = dense(case)
    check(case, given, values(given.a, "tf32") @ values(given.b, "tf32").T)
