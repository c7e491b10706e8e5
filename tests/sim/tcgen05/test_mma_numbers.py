"""Sums of products, and what is added to D: against exact fractions and Python's integers."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.element import ElementType
from nvgen.sim.semantics.tcgen05.mma_numbers import (
    accumulate,
    accumulate_integers,
    integer_sums,
    sums,
)

F32_MAX = Fraction(float(np.finfo(np.float32).max))
BIT32 = Fraction(1, 2**149)
"""The smallest number above zero of binary32."""


def nearest_f32(value: Fraction) -> float:
    """The nearest binary32, ties to even, found with integers."""
    sign, size = (-1, -value) if value < 0 else (1, value)
    if size == 0:
        return 0.0
    step = BIT32
    while size / step >= 2**24:
        step *= 2
    whole, rest = divmod(size, step)
    whole += rest * 2 > step or (rest * 2 == step and whole % 2 == 1)
    rounded = whole * step
    return sign * (float("inf") if rounded > F32_MAX else float(rounded))


def reference(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of products, exact and rounded once."""
    found = np.empty((len(a), len(b)))
    for i, j in np.ndindex(found.shape):
        exact = sum(
            (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[i], b[j], strict=True)),
            Fraction(0),
        )
        found[i, j] = nearest_f32(exact)
    return found


@pytest.mark.parametrize(
    "value", [1.0, 1 + 2.0**-23, 0.1, 2.0**-149, 3 * 2.0**-150, 2.0**-126 - 2.0**-149, 3.0e38]
)
def test_the_reference_rounds_as_numpy_does(value: float):
    for x in (value, -value, value * (1 + 2.0**-24), value * (1 + 2.0**-25)):
        assert nearest_f32(Fraction(x)) == float(np.float32(x))


@pytest.mark.turns(3)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("k", [8, 16, 64])
def test_sums_of_random_codes_are_exact_and_rounded_once(dtype: type, k: int):
    """All exponents: products far apart, and sums that cancel."""
    random = np.random.default_rng(k)
    bits = np.dtype(dtype).itemsize * 8
    draws = random.integers(0, 2**bits, (2, 12, k)).astype(f"u{bits // 8}")
    with np.errstate(invalid="ignore"):
        values = draws.view(dtype).astype(np.float64)
    a, b = (np.where(np.isfinite(x), x, 0) for x in values)
    b[:, k // 2 :] = -b[:, : k // 2]
    a[::2, k // 2 :] = a[::2, : k // 2]
    a[:, 0] = 2.0**-20
    assert np.array_equal(sums(a, b).astype(np.float64), reference(a, b))


def test_a_tie_that_a_small_product_breaks():
    """1 + 2⁻²⁴ lies between two numbers of binary32; a term too small for binary64 decides."""
    ones = np.ones((1, 4))
    for rest, expected in ((2.0**-90, 1 + 2.0**-23), (0.0, 1.0), (-(2.0**-90), 1.0)):
        terms = np.array([[1.0, 2.0**-24, rest, 0.0]])
        assert sums(terms, ones)[0, 0] == np.float32(expected)
        assert sums(-terms, ones)[0, 0] == np.float32(-expected)


def test_products_that_cancel_leave_the_small_one():
    a = np.array([[2.0**120, 1.5, -(2.0**120), 2.0**-100]])
    assert sums(a, np.ones((1, 4)))[0, 0] == np.float32(1.5)
    assert sums(a[:, [0, 2, 3]], np.ones((1, 3)))[0, 0] == np.float32(2.0**-100)


def test_a_sum_of_zero_is_positive():
    found = sums(np.array([[-0.0, 1.0, -1.0], [-0.0, -0.0, -0.0]]), np.ones((1, 3)))
    assert found.view(np.uint32).tolist() == [[0], [0]]


def test_overflow_is_infinite_and_infinities_of_both_signs_are_no_number():
    top = float(np.finfo(np.float32).max)
    inf = np.inf
    a = np.array([[top, 2.0**102], [top, 2.0**103], [inf, 1.0], [inf, -inf], [np.nan, 0.0]])
    found = sums(a, np.ones((1, 2)))[:, 0]
    assert found[0] == np.float32(top)
    assert found[1] == found[2] == inf
    assert np.isnan(found[3:]).all()


# ---- D ---------------------------------------------------------------------------------------


def test_d_of_f32_is_added_in_f32_and_scaled():
    total = np.array([[1.0, 3.0e38, -1.0]], np.float32)
    old = np.array([[2.0**-24, 3.0e38, 8.0]], np.float32)
    for shift in (0, 3, 15):
        with np.errstate(over="ignore"):
            expected = total + old * np.float32(0.5**shift)
        found = accumulate(total, old.view(np.uint32), ElementType.F32, shift)
        assert np.array_equal(found, expected.view(np.uint32))
    assert np.array_equal(accumulate(total, None, ElementType.F32, 0), total.view(np.uint32))


def test_d_of_f16_is_rounded_once_and_the_upper_half_does_not_count():
    total = np.array([[1.0, 65504.0, 70000.0, -0.0, 2.0**-25]], np.float32)
    old = np.array([[2.0**-11, 16.0, 0.0, -0.0, 2.0**-24]], np.float16)
    cells = old.view(np.uint16).astype(np.uint32) | 0xABCD0000
    found = accumulate(total, cells, ElementType.F16, 0)
    with np.errstate(over="ignore"):
        expected = (total + old.astype(np.float32)).astype(np.float16)
    assert np.array_equal(found, expected.view(np.uint16).astype(np.uint32))


def test_what_is_no_number_is_always_the_same_nan():
    odd = np.array([[0xFFC12345, 0x7F800001, 0x7F800000]], np.uint32)
    minus = np.array([[1.0, 1.0, -np.inf]], np.float32)
    assert accumulate(minus, odd, ElementType.F32, 0).tolist() == [[0x7FFFFFFF] * 3]
    assert accumulate(odd.view(np.float32), None, ElementType.F16, 0).tolist() == [
        [0x7FFF, 0x7FFF, 0x7C00]
    ]


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_wrap_or_saturate(saturate: bool):
    a = np.array([[255.0] * 64, [-128.0] * 64])
    b = np.array([[255.0] * 64])
    old = np.array([[2**31 - 64 * 255 * 255], [-(2**31) + 5]], np.int64)
    before = old.astype(np.int32).view(np.uint32)
    found = accumulate_integers(integer_sums(a, b), before, saturate=saturate)
    exact = [2**31, -(2**31) + 5 - 64 * 128 * 255]
    if saturate:
        expected = [2**31 - 1, -(2**31)]
    else:
        expected = [(x + 2**31) % 2**32 - 2**31 for x in exact]
    assert found.view(np.int32)[:, 0].tolist() == expected
