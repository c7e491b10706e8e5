"""Products of gemm_async in the simulator are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.findings import InputError
from tests.oracle.gemm import DTYPES, Gemm
from tests.oracle.products import Array

SHAPES = [
    # Every M, the smallest and largest N, odd multiples of 8, one to many instructions of K.
    Gemm(64, 8, 16, swizzle=32),
    Gemm(64, 16, 64),
    Gemm(64, 72, 32, swizzle=64),
    Gemm(64, 128, 128, k_tile=64),
    Gemm(64, 256, 32, swizzle=64, add_c=True),
    Gemm(128, 8, 64),
    Gemm(128, 24, 16, swizzle=32),
    Gemm(128, 40, 192, k_tile=64),
    Gemm(128, 64, 128, k_tile=64),
    Gemm(128, 96, 64, add_c=True),
    Gemm(128, 128, 64),
    Gemm(128, 136, 32, swizzle=64),
    Gemm(128, 256, 32, swizzle=64),
    # N of more than one instruction: 256 columns and the rest.
    Gemm(128, 264, 16, swizzle=32),
    Gemm(64, 384, 32, swizzle=32, k_tile=16),
    Gemm(128, 512, 16, swizzle=32, add_c=True),
    # Loops over K: the phases of the barriers turn, the accumulator stays.
    Gemm(128, 64, 320, k_tile=64, loop=True),
    Gemm(64, 48, 160, k_tile=32, swizzle=64, loop=True),
]
TYPES = [
    Gemm(m, n, k, a, b, swizzle=swizzle, k_tile=tile, add_c=m == 64)
    for m, n, k, a, b, swizzle, tile in (
        (128, 64, 64, "bf16", "bf16", 128, 0),
        (64, 32, 48, "bf16", "bf16", 32, 16),
        (128, 32, 32, "tf32", "tf32", 128, 0),
        (64, 64, 24, "tf32", "tf32", 32, 8),
        (128, 16, 48, "tf32", "tf32", 64, 16),
        (128, 64, 128, "e4m3", "e4m3", 128, 0),
        (64, 24, 64, "e4m3", "e4m3", 64, 0),
        (128, 32, 96, "e4m3", "e5m2", 32, 32),
        (64, 128, 128, "e5m2", "e4m3", 128, 0),
        (128, 8, 64, "e5m2", "e5m2", 64, 0),
        (128, 64, 256, "e5m2", "e5m2", 128, 128),
    )
]
ALL = SHAPES + TYPES
TARGETS = ("sm_100a", "sm_103a", "sm_110a", "sm_100f")


def run(
    problem: Gemm, a: Array, b: Array, c: NDArray[np.float32], opt: int = 0, schedule: str = "early"
) -> NDArray[np.float32]:
    """D as the simulator computes it."""
    target = TARGETS[(problem.m + problem.n + problem.k) // 8 % len(TARGETS)]
    d = np.full((problem.m, problem.n), np.nan, np.float32)
    compiled = problem.build().compile(target=target, opt=opt)
    compiled.run(a, b, c, d=d, device="sim", schedule=schedule)
    return d


@pytest.mark.turns(8)
@pytest.mark.parametrize("problem", ALL, ids=str)
def test_integers_are_multiplied_exactly(problem: Gemm):
    a, b, c = problem.integers(problem.n)
    assert np.array_equal(run(problem, a, b, c), problem.expected(a, b, c))


@pytest.mark.turns(12)
@pytest.mark.parametrize(("opt", "schedule"), [(1, "late"), (2, "random:3"), (3, "early")])
@pytest.mark.parametrize("problem", [SHAPES[1], SHAPES[7], *SHAPES[-2:], TYPES[5]], ids=str)
def test_optimised_kernels_multiply_exactly(problem: Gemm, opt: int, schedule: str):
    a, b, c = problem.integers(problem.n)
    assert np.array_equal(run(problem, a, b, c, opt, schedule), problem.expected(a, b, c))


@pytest.mark.turns(4)
@pytest.mark.parametrize("problem", [*SHAPES[3::4], *TYPES[::2]], ids=str)
def test_real_numbers_keep_the_bound(problem: Gemm):
    a, b, c = problem.reals(problem.k)
    error = np.abs(run(problem, a, b, c) - problem.expected(a, b, c))
    bound = problem.bound(a, b, c)
    assert (error <= bound).all(), f"{(error / bound).max():.3g} times the bound"


@pytest.mark.parametrize("problem", TYPES[::2], ids=str)
def test_the_bound_is_tight_enough_to_see_one_missing_product(problem: Gemm):
    """Leaving one of the K products out must break it, in nearly every element."""
    a, b, c = problem.reals(problem.k)
    whole, bound = problem.expected(a, b, c), problem.bound(a, b, c)
    short = problem.expected(a[:, :-1], b[:, :-1], c)
    assert (np.abs(whole - short) > bound).mean() > 0.95


def test_numbers_at_the_limits_of_f16():
    """Subnormals count, infinities spread, and infinity times zero is not a number."""
    problem = Gemm(128, 8, 16, swizzle=32)
    a, b = np.zeros((128, 16), np.float16), np.zeros((8, 16), np.float16)
    tiny, large = np.float16(2.0**-24), np.float16(65504)
    a[0, 0], a[1, 1], a[2, :], a[3, 2], a[4, 3] = tiny, large, large, np.inf, -np.inf
    a[5, 2], a[5, 3], a[6, 4] = np.inf, -np.inf, np.nan
    a[7, 0], a[8, 15] = -tiny, 2.0**-14
    b[:, 0], b[:, 1], b[:, 15] = 1, large, tiny
    b[:, 2], b[:, 3] = 2, 3
    b[1, 2] = 0
    c = np.zeros((128, 8), np.float32)
    with np.errstate(invalid="ignore"):
        expected = problem.expected(a, b, c).astype(np.float32)
    found = run(problem, a, b, c)
    assert np.isinf(expected).any()
    assert np.isnan(expected).any()
    assert np.array_equal(found, expected, equal_nan=True)


def test_the_last_13_bits_of_a_tf32_number_do_not_count():
    problem = Gemm(128, 8, 8, "tf32", "tf32", swizzle=32)
    a, b, c = problem.integers(1)
    noisy = (a.view(np.uint32) | np.uint32(0x1FFF)).view(np.float32)
    noisy[a == 0] = 0
    assert np.array_equal(run(problem, noisy, b, c), problem.expected(a, b, c))


def test_fp8_has_the_numbers_of_its_type():
    """Every finite e4m3 times one, and every finite e5m2 times one."""
    for name in ("e4m3", "e5m2"):
        problem = Gemm(128, 8, 32, name, name, swizzle=32)
        codes = np.arange(256, dtype=np.uint8).view(DTYPES[name])
        finite = np.where(np.isfinite(codes.astype(np.float32)), codes, 0).astype(DTYPES[name])
        a = np.zeros((128, 32), DTYPES[name])
        a[:, 0], a[:, 31] = finite[:128], finite[128:]
        b = np.zeros((8, 32), DTYPES[name])
        b[0, 0] = b[1, 31] = 1
        c = np.zeros((128, 8), np.float32)
        assert np.array_equal(run(problem, a, b, c), problem.expected(a, b, c))


REFUSED = {
    "M of 32": Gemm(32, 32, 16, swizzle=32),
    "M of 96": Gemm(96, 32, 16, swizzle=32),
    "N of 12": Gemm(128, 12, 16, swizzle=32),
    "f16 by e4m3": Gemm(128, 32, 32, "f16", "e4m3", swizzle=32),
    "K of 24": Gemm(128, 32, 24, swizzle=32),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_gemm_async_does_not_take_is_refused_before_anything_runs(name: str):
    with pytest.raises(InputError):
        REFUSED[name].build()
