"""Products of block-scaled matrices: mxfp8, mxfp6, mxfp4 and nvfp4, exact and rounded once.

OCP Microscaling Formats: a block of `vec` elements along K shares a scale factor.  UE8M0 is a power
of two with a NaN (0xFF); UE4M3 is E4M3 without its sign.  The values of the codes are ml_dtypes'.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.oracle.exact_sums import Matrix, exact_matmul

Codes = npt.NDArray[np.integer]

_TYPES: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
    "s8": np.int8,
    "u8": np.uint8,
}


def numbers(codes: Codes, type_: str) -> Matrix:
    """The values of right-aligned codes; `type_` as PTX spells it (e4m3, ue8m0, ...)."""
    raw = np.asarray(codes)
    if type_ == "ue4m3":
        raw = raw & 0x7F
    if type_ == "tf32":
        words = (raw.astype(np.uint32) >> 13 << 13).astype(np.uint32)
        return words.view(np.float32).astype(np.float64)
    width = np.uint16 if type_ in ("f16", "bf16") else np.uint8
    return raw.astype(width).view(_TYPES[type_]).astype(np.float64)


def scaled(codes: Codes, type_: str, factors: Codes, factor_type: str, vec: int) -> Matrix:
    """The values times their blocks' scale factors; (rows, K) and (rows, K / vec).  Exact."""
    scale = np.repeat(numbers(factors, factor_type), vec, axis=1)
    with np.errstate(invalid="ignore"):
        return numbers(codes, type_) * scale


def mx_matmul(
    a: Codes, a_type: str, sfa: Codes, b: Codes, b_type: str, sfb: Codes, vec: int,
    *, factor_type: str = "ue8m0", c: Matrix | None = None,
) -> npt.NDArray[np.float32]:  # fmt: skip
    """(A * SFA) times (B * SFB) transposed, plus c, rounded once; shape (M, N).

    a is (M, K) codes, b is (N, K), sfa is (M, K / vec), sfb is (N, K / vec).  vec is 32 for
    mxf8f6f4 and mxf4, 16 or 32 for mxf4nvf4.  A NaN among the factors or elements makes what it
    takes part in NaN.
    """
    left = scaled(a, a_type, sfa, factor_type, vec)
    right = scaled(b, b_type, sfb, factor_type, vec)
    return exact_matmul(left, right, c)
