"""The references themselves: against fractions, against each other, and against rounded sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.oracle.block_scaled import mx_matmul, numbers, scaled
from tests.oracle.exact_sums import UNITS, exact_matmul, round_to_f32, tolerance
from tests.oracle.sparse_products import CHUNKS, places, sparse_integers, sparse_matmul
from tests.oracle.stationary import pair_matmul, stationary_matmul

WIDTH = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}


def test_rounding_is_that_of_numpy() -> None:
    """numpy rounds binary64 to binary32 correctly: every size, halves among them."""
    rng = np.random.default_rng(0)
    whole = rng.integers(-(1 << 53), 1 << 53, 3000)
    whole[::3] = whole[::3] >> 28 << 28  # 25 bits or fewer: many halves
    units = rng.integers(-210, 80, 3000)
    with np.errstate(over="ignore"):
        for number, unit in zip(whole.tolist(), units.tolist(), strict=True):
            assert round_to_f32(number, unit) == float(np.float32(math.ldexp(number, unit)))


def test_rounding_sees_more_bits_than_binary64() -> None:
    """A half of binary32 and a little: through binary64 it would go to even."""
    half = (1 << 100) + (1 << 76)
    assert round_to_f32(half, -100) == 1.0
    assert round_to_f32(half + 1, -100) == 1 + 2.0**-23
    assert round_to_f32(-half - 1, -100) == -1 - 2.0**-23


@pytest.mark.parametrize("seed", range(3))
def test_exact_matmul_against_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, 7)), rng.standard_normal((4, 7)), rng.standard_normal((3, 4))
    a, b = a * 2.0 ** rng.integers(-60, 60, a.shape), b * 2.0 ** rng.integers(-60, 60, b.shape)
    got = exact_matmul(a, b, c)
    for m in range(3):
        for n in range(4):
            pairs = zip(a[m].tolist(), b[n].tolist(), strict=True)
            total = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(float(c[m, n])))
            near = np.float32(got[m, n])
            for other in (np.nextafter(near, np.float32(math.inf)),
                          np.nextafter(near, np.float32(-math.inf))):  # fmt: skip
                assert abs(Fraction(float(near)) - total) <= abs(Fraction(float(other)) - total)


def test_cancellation_is_exact() -> None:
    a, b = np.array([[2.0**80, 1.0, -(2.0**80)]]), np.array([[1.0, 3.0, 1.0]])
    assert exact_matmul(a, b) == 3.0


def test_specials() -> None:
    inf, nan = math.inf, math.nan
    a = np.array([[1.0, inf], [nan, 1.0], [0.0, 2.0]])
    b = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, -inf]])
    with np.errstate(invalid="ignore"):
        expected = [[inf, nan, -inf], [nan, nan, nan], [2.0, 0.0, -inf]]
    assert np.array_equal(exact_matmul(a, b), np.float32(expected), equal_nan=True)


@pytest.mark.parametrize("type_", WIDTH)
@pytest.mark.parametrize(("factor_type", "vec"), [("ue8m0", 32), ("ue8m0", 16), ("ue4m3", 16)])
def test_mx_matmul_block_by_block(type_: str, factor_type: str, vec: int) -> None:
    """Each block's product first, then its two factors: the same where binary64 is exact."""
    rng = np.random.default_rng(1)
    m, n, k = 5, 6, 64
    limit = (1 << WIDTH[type_]) - (0 if WIDTH[type_] < 8 else 136)  # no NaN, no infinity
    a, b = rng.integers(0, limit, (m, k)), rng.integers(0, limit, (n, k))
    low, high = (124, 131) if factor_type == "ue8m0" else (0x20, 0x40)
    sfa, sfb = rng.integers(low, high, (m, k // vec)), rng.integers(low, high, (n, k // vec))
    got = mx_matmul(a, type_, sfa, b, type_, sfb, vec, factor_type=factor_type)
    left, right = numbers(a, type_), numbers(b, type_)
    total = np.zeros((m, n))
    for block in range(k // vec):
        part = slice(block * vec, (block + 1) * vec)
        factors = np.outer(numbers(sfa, factor_type)[:, block], numbers(sfb, factor_type)[:, block])
        total += left[:, part] @ right[:, part].T * factors
    assert np.array_equal(got, total.astype(np.float32))


def test_a_nan_factor_reaches_its_row_and_no_other() -> None:
    ones = np.full((2, 32), 0x38)  # 1.0 of e4m3
    one, nan = 127, 0xFF
    got = mx_matmul(
        ones, "e4m3", np.array([[nan], [one]]), ones, "e4m3", np.array([[one], [one]]), 32
    )
    assert np.array_equal(got, np.float32([[math.nan, math.nan], [32, 32]]), equal_nan=True)


def test_scaling_of_the_largest_and_smallest_is_exact() -> None:
    values = scaled(np.array([[0x7E, 0x01]]), "e4m3", np.array([[254, 0]]), "ue8m0", 1)
    assert values.tolist() == [[448 * 2.0**127, 2.0**-9 * 2.0**-127]]


@pytest.mark.parametrize("kind", CHUNKS)
@pytest.mark.parametrize("seed", range(3))
def test_sparse_matmul_is_the_product_of_the_dense_matrix(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chunk, m, n, k = CHUNKS[kind], 6, 5, 64
    legal = [4, 14] if chunk == 2 else [4, 8, 12, 9, 13, 6, 14]
    metadata = rng.choice(legal, (m, k // chunk))
    values, b = rng.integers(-8, 9, (m, k // 2)), rng.integers(-8, 9, (n, k))
    dense = np.zeros((m, k), dtype=np.int64)
    np.put_along_axis(dense, places(metadata, kind), values, axis=1)
    assert np.array_equal(sparse_matmul(values, metadata, b, kind), dense @ b.T)
    if kind == "i8":
        assert np.array_equal(sparse_integers(values, metadata, b), dense @ b.T)


def test_places_by_hand() -> None:
    assert places(np.array([[0b1110, 0b0100]]), "tf32").tolist() == [[1, 2]]
    assert places(np.array([[0b1001, 0b1110]]), "f16").tolist() == [[1, 2, 6, 7]]
    assert places(np.array([[0b1100]]), "mxf4").tolist() == [[0, 1, 6, 7]]


def test_stationary_matmul() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.integers(-4, 5, (32, 16)), rng.integers(-4, 5, (66, 16)), np.ones((32, 64))
    got = stationary_matmul(a, b, 0b1011, 64, shift=2, c=c)
    expected = a @ b[2:66].T + 1
    expected[:, [0, 1, 3]] = 1
    assert np.array_equal(got, expected)


def test_a_pair_is_one_product() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(-4, 5, (256, 16)), rng.integers(-4, 5, (64, 16))
    got = pair_matmul((a[:128], a[128:]), (b[:32], b[32:]))
    assert np.array_equal(got, a @ b.T)


def truncated(value: np.ndarray) -> np.ndarray:
    """To binary32, towards zero."""
    near = value.astype(np.float32)
    over = np.abs(near.astype(np.float64)) > np.abs(value)
    return np.where(over, np.nextafter(near, np.float32(0)), near).astype(np.float64)


@pytest.mark.parametrize("way", ["nearest", "truncated", "aligned"])
@pytest.mark.parametrize("k", [16, 256, 1024])
def test_sums_stay_within_the_tolerance(way: str, k: int) -> None:
    rng = np.random.default_rng(k)
    a = rng.standard_normal((8, k)).astype(np.float16).astype(np.float64)
    b = rng.standard_normal((8, k)).astype(np.float16).astype(np.float64)
    products = (a[:, None, :] * b[None, :, :])[..., rng.permutation(k)]
    if way == "aligned":
        largest = np.abs(products).max(axis=-1, keepdims=True)
        last = 2.0 ** (np.floor(np.log2(largest)) - 23)
        total = (np.trunc(products / last) * last).sum(axis=-1)
    else:
        total = np.zeros((8, 8))
        for i in range(k):
            total = total + products[..., i]
            total = truncated(total) if way == "truncated" else total.astype(np.float32) + 0.0
    off = np.abs(total - exact_matmul(a, b))
    assert (off <= tolerance(a, b, k)).all()


def test_the_tolerance_is_no_wider_than_it_says() -> None:
    """256 terms: 256 * 2**-23 of the sum of sizes, and for an f16 result 2**-10 more."""
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((4, 256)), rng.standard_normal((4, 256))
    sizes = np.abs(a) @ np.abs(b).T
    assert np.allclose(tolerance(a, b, 256), 256 * 2.0**-23 * sizes, rtol=1e-4)
    extra = tolerance(a, b, 256, "f16") - tolerance(a, b, 256)
    assert np.allclose(extra, 2.0**-10 * sizes, rtol=1e-3)
    assert (tolerance(a, b, 256) > UNITS["f32"] * sizes).all()
    assert (tolerance(a, b, 256, "f16", writes=16) > 15 * extra).all()
