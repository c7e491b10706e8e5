"""Samples 12 and 13, softmax and layer normalisation of rows: within the bound of their roundings.

numpy computes in f64 what is expected; rows are shorter and longer than a CTA, and begin at
multiples of 16 bytes or not.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from intrinsics.element import ElementType
from nvgen import bf16, f32
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.samples.modules import named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
TYPES = (f32, bf16)
LENGTHS = (1, 8, 40, 333, 2056, 2077)
UNIT = 2.0**-24


@functools.cache
def compiled(stem: str, dtype: ElementType, target: str, opt: int) -> Compiled:
    made: Compiled = named(stem).build(dtype).compile(target=target, opt=opt)
    return made


def rounding(dtype: ElementType) -> float:
    """Half a unit in the last place of what is stored, relative."""
    return 2.0**-8 if dtype is bf16 else UNIT


@pytest.mark.turns(6)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
@kernel_test(schedules=["early"], targets=("sm_80", "sm_90a"), opt=(0, 3))
def test_softmax(launch: Launch, dtype: ElementType) -> None:
    """For exponents of at most `span`: three roundings of them, two of ex2 at 2**-22 each, sums of
    up to 40 numbers one after the other, a quotient and a product.
    """
    for columns in LENGTHS:
        x, expected = named("12_softmax").operands(2, columns, dtype)
        y = np.full_like(x, np.nan)
        made = compiled("12_softmax", dtype, launch.target, launch.opt)
        launch(made, x, y, columns, grid=2)
        span = 2 * np.abs(x.astype(np.float64)).max() * np.log2(np.e)
        bound = (3 * span + 8 + 40 + 4) * UNIT + rounding(dtype) * 1.01
        assert (np.abs(y.astype(np.float64) - expected) <= bound * expected).all(), columns


def test_softmax_of_what_is_masked() -> None:
    """Elements that are -inf, at the beginning too, have no weight; large ones do not overflow."""
    x = np.full((1, 300), -np.inf, np.float32)
    x[0, 290:] = 1e30, 1e30, -1e30, 5, 1, 0, 0, 0, 0, 0
    y = np.full_like(x, np.nan)
    compiled("12_softmax", f32, "sm_90a", 0).run(x, y, 300, grid=1, device="sim")
    expected = np.zeros_like(x)
    expected[0, 290:292] = 0.5
    assert_exact(y, expected)


@pytest.mark.turns(6)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
@kernel_test(schedules=["early"], targets=("sm_80", "sm_90a"), opt=(0, 3))
def test_layer_norm(launch: Launch, dtype: ElementType) -> None:
    """Of x near 10 the difference from the mean errs by 20 units of 10 at most, as does the mean;
    deviations are 5 at most, and gamma's product with them is rounded once.
    """
    for columns in LENGTHS:
        x, gamma, beta, expected = named("13_layer_norm").operands(2, columns, dtype, 0.5)
        y = np.full_like(x, np.nan)
        made = compiled("13_layer_norm", dtype, launch.target, launch.opt)
        launch(made, x, gamma, beta, y, columns, 0.5, grid=2)
        most = np.abs(gamma.astype(np.float64)).max()
        bound = (40 * 10 + 60 * 5) * UNIT * most * 1.5
        bound = bound + (rounding(dtype) * 1.01 + 4 * UNIT) * np.abs(expected)
        assert (np.abs(y.astype(np.float64) - expected) <= bound).all(), columns
