"""Matrices whose products leave no rounding, and D of a tcgen05.mma compared with their product.

They hold small integers, or small multiples of a power of two, so that each sum is exact in the
type of D.  Random forms of the instruction are in `tests/oracle/executed`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind
from tests.sim.tcgen05.mma_case import Case, Inputs, run
from tests.sim.tcgen05.mma_layouts import bits, codes_of

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


FOUR = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
"""The indices that the manual lists for 2:4, and for pairs."""
TWO = (0b0100, 0b1110)

CHUNK = {MmaKind.TF32: 2, MmaKind.MXF4: 8, MmaKind.MXF4NVF4: 8}
"""Elements that share an index; four elsewhere."""


def indices_for(case: Case, seed: int = 7) -> NDArray[np.uint8]:
    """Random indices with a meaning."""
    known = TWO if case.kind is MmaKind.TF32 else FOUR
    shape = case.m, case.k // CHUNK.get(case.kind, 4)
    return np.random.default_rng(seed).choice(np.array(known, np.uint8), shape)
