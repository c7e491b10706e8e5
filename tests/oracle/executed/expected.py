"""D before a program, and what it must be after it.

PTX ISA, tcgen05.mma: D = A*B + D * 2**-scale_input_d; Packing format for matrix D.  With saturation
sums of integers end at the limits of s32, without it they wrap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.oracle.exact_sums import tolerance
from tests.oracle.executed.draws import Matrix, Random
from tests.oracle.executed.forms import Form
from tests.oracle.executed.kernel import Cells
from tests.oracle.executed.operands import Operands, product
from tests.oracle.executed.shapes import Shape
from tests.oracle.executed.zero_masks import ZeroMask


@dataclass(frozen=True)
class Expected:
    """D (M, N): its values, how far off they may be (or not at all), and which are sums of zeros.

    The sign of a zero is known where something that is not zero was added.
    """

    values: Matrix
    bound: Matrix | None
    zeros: npt.NDArray[np.bool_]


def expected_d(
    form: Form, s: Shape, given: list[Operands], unit: float, zero: ZeroMask | None, old: Matrix,
    *, enabled: bool,
) -> Expected:  # fmt: skip
    """After the instructions, one after the other; a unit of 0 is that of normal draws,
    one of infinity that of numbers whose sums the caller knows to be exact."""
    scale = 2.0 ** -(form.scale_d or 0)
    start = old if enabled else np.zeros_like(old)
    total, sizes = start, np.abs(start)
    for one in given:
        value, size = product(form, s, one, zero)
        total, sizes = total * scale + value, sizes * scale + size
        if s.d == "s32":
            total = wrap(total, saturate=s.saturate)
    if s.d == "s32":
        return Expected(total, None, sizes < 0)
    if unit:
        room = 2048 if s.d == "f16" else 1 << 24
        assert not (sizes > room * unit).any(), "not every sum is exact"
        return Expected(total, None, sizes == 0)
    return Expected(total, _bound(form, s, sizes), sizes < 0)


def draw_d(rng: Random, s: Shape, unit: float, scale: float) -> Matrix:
    shape = (s.m, s.n)
    if s.d == "s32":
        near = rng.random(shape) < 0.3
        edge = rng.choice([-(2.0**31), 2.0**31 - 1], shape)
        wide = rng.integers(-(1 << 31), 1 << 31, shape).astype(np.float64)
        return np.where(near, edge, wide)
    if not unit:
        drawn = rng.standard_normal(shape).astype(np.float16 if s.d == "f16" else np.float32)
        return np.asarray(drawn, dtype=np.float64)
    limit = 1000 if s.d == "f16" else 1 << 20
    if scale != 1.0:
        limit = 15 if s.d == "f16" else 1 << 8
        unit = unit / scale
    if s.d == "f16":
        limit = min(limit, int(65504 // unit), 2048)
    return np.asarray(rng.integers(-limit, limit + 1, shape) * unit, dtype=np.float64)


def store_d(values: Matrix, d: str) -> Cells:
    """The cells of a D."""
    if d == "s32":
        return (values.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)
    if d == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)
    return values.astype(np.float32).view(np.uint32)


def wrap(values: Matrix, *, saturate: bool) -> Matrix:
    if saturate:
        return np.asarray(np.clip(values, -(2.0**31), 2.0**31 - 1))
    return np.asarray((values + 2.0**31) % 2.0**32 - 2.0**31)


def _bound(form: Form, s: Shape, sizes: Matrix) -> Matrix:
    """How far D may be from the exact sum: `tolerance`, given the sums of the terms' sizes."""
    nothing = np.zeros((1, 1))
    terms = form.steps * (s.k + 1)
    flat = tolerance(nothing, nothing, terms, s.d, c=sizes.reshape(1, -1), writes=form.steps)
    return flat.reshape(sizes.shape)
