"""Matrix products without rounding, and what rounding may do to them.

The numbers are binary64; products and sums are computed with integers of any length, and rounded to
binary32 once.  Infinities and NaNs follow IEEE 754.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

UNITS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
"""The largest relative error of one rounding, truncation included."""

SMALLEST = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
"""The smallest positive number: what is lost at most where the relative error does not hold."""

HOPPER_EIGHT_BITS = 2.0**-13
"""What an addition of products of 8-bit floating-point numbers may lose on sm_90, relatively.

DeepSeek-V3, technical report, section 3.3.2: its tensor cores keep around 14 bits of such sums.
"""


def exact_matmul(a: Matrix, b: Matrix, c: Matrix | None = None) -> npt.NDArray[np.float32]:
    """a (M, K) times b (N, K) transposed, plus c (M, N), rounded to binary32 once; shape (M, N)."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    start = np.zeros((len(a), len(b))) if c is None else np.asarray(c, dtype=np.float64)
    left, left_unit = _integers(a)
    right, right_unit = _integers(b)
    added, added_unit = _integers(start)
    unit = min(left_unit + right_unit, added_unit)
    total = (left @ right.T) * (1 << (left_unit + right_unit - unit))
    total = total + added * (1 << (added_unit - unit))
    rounded = np.frompyfunc(lambda whole: round_to_f32(whole, unit), 1, 1)(total)
    result: npt.NDArray[np.float32] = rounded.astype(np.float32)
    rows, columns = np.isfinite(a).all(axis=1), np.isfinite(b).all(axis=1)
    special = ~(np.outer(rows, columns) & np.isfinite(start))
    if special.any():
        with np.errstate(all="ignore"):
            result[special] = (a @ b.T + start)[special]
    return result


def round_to_f32(whole: int, unit: int) -> float:
    """whole * 2**unit to the nearest binary32, halves to even, subnormals and overflow included."""
    if whole == 0:
        return 0.0
    last = max(abs(whole).bit_length() - 24 + unit, -149)
    if last <= unit:
        return float(np.float32(math.ldexp(whole, unit)))
    step = 1 << (last - unit)
    quotient, rest = divmod(abs(whole), step)
    if 2 * rest > step or (2 * rest == step and quotient % 2):
        quotient += 1
    size = math.inf if quotient.bit_length() + last > 128 else math.ldexp(quotient, last)
    return math.copysign(size, whole)


def _integers(values: Matrix) -> tuple[npt.NDArray[np.object_], int]:
    """The values as integers times 2**unit; what is not finite as 0."""
    finite = np.where(np.isfinite(values), values, 0.0)
    fraction, exponent = np.frexp(finite)
    used = finite != 0
    unit = int(exponent[used].min()) - 53 if used.any() else 0
    whole = np.where(used, np.ldexp(fraction, 53), 0.0).astype(np.int64).astype(object)
    shifts = np.where(used, exponent - 53 - unit, 0).astype(object)
    shifted = np.frompyfunc(lambda number, shift: number << shift, 2, 1)(whole, shifts)
    return shifted, unit


def tolerance(
    a: Matrix, b: Matrix, terms: int, out_type: str = "f32", *, c: Matrix | None = None,
    writes: int = 1, unit: float = UNITS["f32"],
) -> Matrix:  # fmt: skip
    """How far a product computed in binary32 may be from the exact one; shape (M, N).

    a is (M, K), b is (N, K); `terms` is how many numbers are added for an element of D (K, and one
    more where D had a value), `c` is that value, `out_type` is the type that D is stored in and
    `writes` how often an intermediate D is stored in it (once for each instruction for an f16 D in
    tensor memory; once in all for a binary32 D that is converted at the end).

    The bound.  Products of two factors of up to 12 bits each are exact in binary32 (f16, bf16, tf32
    and everything narrower; scale factors are part of the factors).  Let S be the sum of the sizes
    of the terms, |a| |b|^T + |c|.  A sum of n numbers in any order makes n - 1 additions, each with
    a relative error of at most u = 2**-23: half of that when it rounds to nearest, all of it when
    it truncates.  No term goes through more than n - 1 of them, so the error is at most
    gamma S with gamma = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms,
    section 4.2).  The same bound holds for sums that first shift all terms to the exponent of the
    largest and truncate them to 24 bits: n terms lose at most u times the largest each, and the
    largest is at most S.  Of a chip that keeps fewer than 24 bits `unit` says what an addition may
    lose instead of 2**-23.

    Storing D multiplies by 1 + e with |e| <= u_out (truncation included), each time, and what is
    stored is at most (1 + gamma) S; below the smallest normal number the error is at most the
    smallest positive number instead.
    """
    share = terms * unit
    assert share < 1, "the bound says nothing of so many terms"
    gamma = share / (1 - share)
    sizes = np.abs(a) @ np.abs(b).T
    if c is not None:
        sizes = sizes + np.abs(c)
    bound = gamma * sizes
    if out_type != "f32":
        stored = (1 + UNITS[out_type]) ** writes - 1
        bound = bound + stored * (1 + gamma) * sizes + writes * SMALLEST[out_type]
    return np.asarray(bound * (1 + 2.0**-40), dtype=np.float64)  # for the rounding of this itself
