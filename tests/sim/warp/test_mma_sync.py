"""What mma computes: each of LLVM's dense forms against numpy.

Small integers give exact sums in any order, on the simulator as on a GPU.  Other numbers are
compared within the bound of `tests.oracle.exact_sums`.  PTX ISA, mma.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from nvgen import NvgenError
from tests.each import each
from tests.oracle.exact_sums import exact_matmul, tolerance
from tests.oracle.test_mma_sync_names import NAMES
from tests.sim.warp.mma_sync_case import Bits, Case

pytestmark = pytest.mark.turns(3)

FLOATS: dict[str, DTypeLike] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32,
    "f64": np.float64, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
RANGES = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}
OTHERS = re.compile(r"mma\.(m8n8k4|sp|block)|.*\.kind\.")
"""What has tests of its own: four multiplies in one, a sparse A, kinds, and scale factors."""
CASES = [Case.of(name) for name in NAMES if name.endswith(".f64") or not OTHERS.match(name)]
OF_FLOATS = [case for case in CASES if case.a in FLOATS]
OF_INTEGERS = [case for case in CASES if case.a in RANGES]
HARD = [case for case in OF_FLOATS if case.a != "f64"]

Numbers = NDArray[np.float64]


def bits(values: NDArray[np.generic], type_: str) -> Bits:
    """The bits of numbers that a type has."""
    typed = values.astype(FLOATS[type_])
    return typed.view(UNSIGNED[typed.dtype.itemsize])


def numbers(found: Bits, type_: str) -> Numbers:
    """What bits stand for."""
    dtype = np.dtype(FLOATS[type_])
    return found.astype(UNSIGNED[dtype.itemsize]).view(dtype).astype(np.float64)


def seeded(case: Case) -> np.random.Generator:
    return np.random.default_rng(sum(map(ord, case.name)))


OF_SHAPES = {(case.m, case.n, case.k): case for case in reversed(OF_FLOATS)}
"""One of each shape."""


@each("case", OF_SHAPES.values(), ids=lambda case: case.name)
def test_each_shape_is_multiplied_every_day(case: Case) -> None:
    check_small_integers(case)


@pytest.mark.gpu
@pytest.mark.parametrize("case", OF_FLOATS, ids=lambda case: case.name)
def test_sums_of_small_integers_are_exact(case: Case) -> None:
    check_small_integers(case)


def check_small_integers(case: Case) -> None:
    rng = seeded(case)
    a = rng.integers(-3, 4, (case.m, case.k)).astype(np.float64)
    b = rng.integers(-3, 4, (case.n, case.k)).astype(np.float64)
    c = rng.integers(-50, 51, (case.m, case.n)).astype(np.float64)
    found = case.run(bits(a, case.a), bits(b, case.b), bits(c, case.c))
    assert np.array_equal(numbers(found, case.d), a @ b.T + c)


@pytest.mark.gpu
@pytest.mark.parametrize("case", HARD, ids=lambda case: case.name)
def test_other_sums_are_within_the_bound(case: Case) -> None:
    """Numbers of all sizes that the types have, with products that do not overflow."""
    rng = seeded(case)
    spread = 6 if case.d == "f32" else 2
    drawn = [
        rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread, shape)
        for shape in ((case.m, case.k), (case.n, case.k), (case.m, case.n))
    ]
    codes = [bits(x, t) for x, t in zip(drawn, (case.a, case.b, case.c), strict=True)]
    for at, type_ in enumerate((case.a, case.b)):
        if type_ == "tf32":
            codes[at] = codes[at] & np.uint32(0xFFFFE000)
    a, b, c = (numbers(x, t) for x, t in zip(codes, (case.a, case.b, case.c), strict=True))
    found = numbers(case.run(*codes), case.d)
    near = exact_matmul(a, b, c).astype(np.float64)
    assert (np.abs(found - near) <= tolerance(a, b, case.k + 1, case.d, c=c)).all()
    assert not np.array_equal(near, np.round(near))


@pytest.mark.gpu
@pytest.mark.parametrize("case", [c for c in CASES if c.a == "f64"], ids=lambda case: case.name)
def test_sums_of_f64_are_close(case: Case) -> None:
    """Within what any order of fused multiply-adds may do: (k + 1) halves of a last place."""
    rng = seeded(case)
    a, b, c = (rng.standard_normal(s) for s in ((case.m, case.k), (case.n, case.k), (case.m, 8)))
    found = numbers(case.run(*(bits(x, "f64") for x in (a, b, c))), "f64")
    wide = a.astype(np.longdouble) @ b.T.astype(np.longdouble) + c
    sizes = np.abs(a) @ np.abs(b).T + np.abs(c)
    assert (np.abs(found - wide.astype(np.float64)) <= sizes * (case.k + 1) * 2.0**-52).all()


@pytest.mark.gpu
@pytest.mark.parametrize("case", OF_INTEGERS, ids=lambda case: case.name)
def test_integers_are_exact_and_wrap_or_saturate(case: Case) -> None:
    """All values of the types; some sums pass the ends of s32."""
    rng = seeded(case)
    a = rng.integers(*RANGES[case.a], (case.m, case.k))
    b = rng.integers(*RANGES[case.b], (case.n, case.k))
    c = rng.integers(-(1 << 31), 1 << 31, (case.m, case.n))
    c[:2] = [[(1 << 31) - 1], [-(1 << 31)]]
    products = a @ b.T
    if case.a == "b1":
        either = a[:, None] ^ b[None] if "xor" in case.name else a[:, None] & b[None]
        products = either.sum(axis=2)
    total = products + c
    if ".satfinite" in case.name:
        expected = np.clip(total, -(1 << 31), (1 << 31) - 1)
    else:
        expected = (total + (1 << 31)) % (1 << 32) - (1 << 31)
    mask = (1 << case.bits) - 1
    found = case.run(
        (a & mask).astype(np.uint32),
        (b & mask).astype(np.uint32),
        c.astype(np.int32).view(np.uint32),
    )
    assert np.array_equal(found.astype(np.uint32).view(np.int32), expected)
    if case.a != "b1":
        assert not np.array_equal(expected, total)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_what_is_not_finite(dtype: str) -> None:
    """Infinities and NaNs as IEEE 754 has them."""
    case = Case.of(f"mma.m16n8k16.row.col.{dtype}.{dtype}")
    a, b, c = np.ones((16, 16)), np.ones((8, 16)), np.zeros((16, 8))
    a[1, 3], a[2, 4], c[3, 5], a[4, 6], a[4, 7] = np.inf, np.nan, -np.inf, np.inf, -np.inf
    c[1, 1] = -np.inf
    found = numbers(case.run(bits(a, "f16"), bits(b, "f16"), bits(c, dtype)), dtype)
    expected = np.full((16, 8), 16.0)
    expected[1], expected[2], expected[4] = np.inf, np.nan, np.nan
    expected[3, 5], expected[1, 1] = -np.inf, np.nan
    assert np.array_equal(found, expected, equal_nan=True)


def test_a_part_of_a_warp_cannot_multiply() -> None:
    import nvgen
    from tests.sim.warp.mma_sync_case import module

    compiled = nvgen.compile(module("mma.m16n8k8.row.col.f32.f32"), target="sm_90a")
    a, b = np.zeros((32, 2), np.uint32), np.zeros((32, 1), np.uint32)
    c, d = np.zeros((32, 4), np.uint32), np.zeros((32, 4), np.uint32)
    with pytest.raises(NvgenError) as caught:
        compiled.run(a, b, c, d, block=16, device="sim")
    assert [f.rule for f in caught.value.findings] == ["sim/partial-warp"]
