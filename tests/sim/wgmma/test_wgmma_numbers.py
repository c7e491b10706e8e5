"""wgmma by real numbers: within the bound of `tests.oracle.exact_sums` of the exact sums.

The simulator sums the products of one instruction exactly and rounds twice, to D's precision; a
chip may lose what the bound allows, and more where the elements have 8 bits.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.oracle.exact_sums import HOPPER_EIGHT_BITS, UNITS, exact_matmul, tolerance
from tests.oracle.gpu import on_gpu
from tests.sim.tcgen05.mma_layouts import DTYPES, values
from tests.sim.wgmma.test_wgmma_values import sums_of
from tests.sim.wgmma.wgmma_case import Case, Given, execute

Numbers = NDArray[np.float64]

CASES = [
    Case(64, "f32", "f16"),
    Case(64, "f32", "f16", held=True),
    Case(64, "f16", "f16"),
    Case(64, "f32", "bf16"),
    Case(64, "f32", "tf32"),
    Case(64, "f32", "e4m3"),
    Case(64, "f32", "e4m3", "e5m2"),
    Case(64, "f16", "e5m2"),
]


def drawn(
    random: np.random.Generator, shape: tuple[int, int], name: str, spread: float, limit: float
) -> NDArray[np.unsignedinteger]:
    """Codes of normal numbers, times powers of two with so large exponents, up to a limit."""
    numbers = random.normal(size=shape) * 2.0 ** random.normal(scale=spread, size=shape)
    limited = np.clip(numbers, -limit, limit).astype(np.float32)
    if name == "tf32":
        return limited.view(np.uint32) & np.uint32(0xFFFFE000)
    found = limited.astype(DTYPES[name])  # type: ignore[var-annotated]
    return found.view(f"u{found.dtype.itemsize}")


@pytest.mark.turns(4)
@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.d} {c.a} {c.b} {'held' * c.held}")
@pytest.mark.parametrize("spread", [0.0, 4.0], ids=["normal", "of all sizes"])
def test_sums_are_within_the_bound(case: Case, spread: float) -> None:
    random = np.random.default_rng(11)
    b_name = case.b or case.a
    limit = 30 if case.d == "f16" else 400  # so that no sum overflows
    a = drawn(random, (64, case.k), case.a, spread, limit)
    b = drawn(random, (case.n, case.k), b_name, spread, limit)
    start = random.normal(size=(64, case.n)).astype({"f32": np.float32, "f16": np.float16}[case.d])
    old = start.view(f"u{start.dtype.itemsize}")
    found = sums_of(execute(case, Given(a, b, old)), case.d)
    left, right = values(a, case.a), values(b, b_name)
    begin = start.astype(np.float64)
    exact = exact_matmul(left, right, begin).astype(np.float64)
    narrow = on_gpu() and case.width == 8
    unit = HOPPER_EIGHT_BITS if narrow else UNITS["f32"]
    bound = tolerance(left, right, case.k + 1, case.d, c=begin, unit=unit)
    assert (np.abs(found - exact) <= bound).all()
    if not on_gpu():  # once to the sum of products, once to D
        nearest = exact.astype(start.dtype).astype(np.float64)
        magnitude = np.abs(left) @ np.abs(right).T + np.abs(begin)
        assert (np.abs(found - nearest) <= 2 * magnitude * UNITS[case.d]).all()


def test_products_are_summed_before_they_are_rounded() -> None:
    """2^24 + 1 - 2^24 is 1 in one instruction, and 0 where D holds 2^24 before."""
    case = Case(8, "f32", "bf16")
    a = np.zeros((64, 16), np.float32)
    a[:, :3] = 4096, 1, -4096
    b = np.zeros((8, 16), np.float32)
    b[:, :3] = 4096, 1, 4096

    def codes(x: NDArray[np.float32]) -> NDArray[np.unsignedinteger]:
        return (x.view(np.uint32) >> 16).astype(np.uint16)

    none = np.zeros((64, 8), np.uint32)
    assert (execute(case, Given(codes(a), codes(b), none)).view(np.float32) == 1).all()
    large = np.full((64, 8), 2.0**24, np.float32).view(np.uint32)
    a[:, 0], a[:, 2] = 0, 0
    assert (execute(case, Given(codes(a), codes(b), large)).view(np.float32) == 2.0**24).all()
