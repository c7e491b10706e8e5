"""Draws of numbers: those whose sums are exact in every order, and those of a normal distribution.

An exact draw takes codes whose values are whole multiples of one power of two, the unit, and small
enough that no sum of products needs more than 24 bits.
"""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.intrinsics.published.packing import WIDTH
from tests.oracle.block_scaled import numbers

Codes = npt.NDArray[np.uint32]
Matrix = npt.NDArray[np.float64]
Random = np.random.Generator

UNITS = {
    "f16": (-24, 4), "bf16": (-50, 30), "tf32": (-50, 30), "e4m3": (-9, 3), "e5m2": (-16, 8),
    "e2m3": (-3, -3), "e3m2": (-4, -3), "e2m1": (-1, -1), "ue8m0": (-30, 30), "ue4m3": (-9, 2),
}  # fmt: skip
"""The exponents of the units that are drawn, the first and the last."""


def values_of(codes: Codes, type_: str) -> Matrix:
    """The values of codes, signalling NaNs among them."""
    with np.errstate(invalid="ignore"):
        return numbers(codes, type_)


@cache
def _table(type_: str) -> tuple[Codes, Matrix]:
    width = 7 if type_ == "ue4m3" else WIDTH[type_.upper()]
    codes = np.arange(1 << width, dtype=np.uint32)
    return codes, values_of(codes, type_)


@cache
def _candidates(type_: str, exponent: int, limit: int) -> Codes:
    codes, values = _table(type_)
    scaled = np.where(np.isfinite(values), values, np.inf) * 2.0**-exponent
    with np.errstate(invalid="ignore"):
        found: Codes = codes[(np.abs(scaled) <= limit) & (scaled == np.rint(scaled))]
        return found


def exponent(rng: Random, type_: str, among: tuple[int, int] | None = None) -> int:
    """Of a unit for the type."""
    low, high = among or UNITS[type_]
    return int(rng.integers(low, high + 1))


def exact(rng: Random, type_: str, shape: tuple[int, int], limit: int, unit: int) -> Codes:
    """Codes of values up to `limit` times 2**unit."""
    if type_ == "tf32":
        whole = rng.integers(-limit, limit + 1, shape).astype(np.float32)
        bits = np.ldexp(whole, unit).astype(np.float32).view(np.uint32)
        return bits | rng.integers(0, 1 << 13, shape, dtype=np.uint32)
    return rng.choice(_candidates(type_, unit, limit), shape)


def factors(rng: Random, type_: str, shape: tuple[int, int], spread: int, unit: int) -> Codes:
    """Scale factors: 2**unit times 1 to 2**spread, of ue4m3 times 0 to 15."""
    if type_ == "ue4m3":
        return exact(rng, type_, shape, 15, unit)
    return (127 + unit + rng.integers(0, spread + 1, shape)).astype(np.uint32)


def integers(rng: Random, shape: tuple[int, int]) -> Codes:
    """All bytes, with the extremes more often."""
    codes = rng.integers(0, 256, shape).astype(np.uint32)
    extreme = rng.choice(np.array([0x80, 0x7F, 0xFF], np.uint32), shape)
    return np.where(rng.random(shape) < 0.2, extreme, codes).astype(np.uint32)


_NUMPY: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}


def normal(rng: Random, type_: str, shape: tuple[int, int]) -> Codes:
    """Codes next to normally distributed numbers."""
    values = rng.standard_normal(shape).astype(np.float32)
    if type_ == "tf32":
        return values.view(np.uint32)
    raw = values.astype(_NUMPY[type_])
    if WIDTH[type_.upper()] == 16:
        return raw.view(np.uint16).astype(np.uint32)
    mask = np.uint32((1 << WIDTH[type_.upper()]) - 1)
    return raw.view(np.uint8).astype(np.uint32) & mask
