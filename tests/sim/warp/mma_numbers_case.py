"""Numbers for multiplies of a warp: codes of the types, and what they stand for by ml_dtypes.

Drawn numbers have so few bits that every sum of products is exact in binary32, in any order.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from tests.sim.warp.mma_sync_case import Bits, Case

Numbers = NDArray[np.float64]

FLOATS: dict[str, DTypeLike] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
}  # fmt: skip
WIDTHS = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
INTEGERS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16)}
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def value_of(codes: Bits, type_: str) -> Numbers:
    """What codes stand for."""
    if type_ in INTEGERS:
        low, high = INTEGERS[type_]
        whole = codes.astype(np.int64)
        return np.where(whole >= high, whole + 2 * low, whole).astype(np.float64)
    dtype = np.dtype(FLOATS[type_])
    return codes.astype(UNSIGNED[dtype.itemsize]).view(dtype).astype(np.float64)


def code_of(values: NDArray[np.generic], type_: str) -> Bits:
    """The codes of numbers that a type has."""
    typed = values.astype(FLOATS[type_])
    return typed.view(UNSIGNED[typed.dtype.itemsize])


def drawn(rng: np.random.Generator, type_: str, shape: tuple[int, int]) -> Bits:
    """Codes: all that integers and types of 4 and 6 bits have, of others small integers."""
    if type_ in INTEGERS:
        low, high = INTEGERS[type_]
        return rng.integers(0, high - low, shape).astype(np.uint32)
    if type_ in WIDTHS:
        return rng.integers(0, 1 << WIDTHS[type_], shape).astype(np.uint32)
    return code_of(rng.integers(-3, 4, shape).astype(np.float64), type_)


def contained(case: Case, codes: Bits, type_: str, rest: int = 0) -> Bits:
    """Codes as registers have them: narrow ones of some kinds in a byte, `rest` in what is free."""
    width = WIDTHS.get(type_)
    if width is None or case.bits == 4:
        return codes
    shift = 2 if width == 4 else 0
    free = ~(((1 << width) - 1) << shift) & 0xFF & rest
    return (codes << np.uint32(shift) | np.uint32(free)).astype(np.uint32)


def seeded(case: Case) -> np.random.Generator:
    """A generator of its own for each name."""
    return np.random.default_rng(sum(map(ord, case.name)))
