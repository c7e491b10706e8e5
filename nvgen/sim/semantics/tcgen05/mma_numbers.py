"""tcgen05.mma, the numbers: sums of products, added to D.

Layer: nvgen.sim.semantics.  Input: A (m, k), B (n, k) as binary64, with their scale factors in
them, and the cells of D; output: the cells of D.  What is modelled:

    products        exact: at most 24 bits of significand, scale factors included
    sums            the products of one instruction are summed exactly and rounded once, to the
                    nearest binary32, ties to even; a sum of zero is +0; subnormals are kept
    D in f32        the rounded sum and D, scaled by a power of two, are added in binary32
    D in f16        the same, then rounded to binary16; it stands in the low half of its cell, and
                    zeros above it
    D in s32        exact; wraps, or saturates where the instruction descriptor says so
    NaN, infinity   as IEEE 754 has them, from A, B, D, or a scale factor that is NaN; a result that
                    is NaN is 0x7FFFFFFF in f32 and 0x7FFF in f16, as in PTX's scalar arithmetic

The chip aligns and truncates products in ways that are not documented, so the last bits of inexact
sums differ from these.  PTX ISA, tcgen05.mma; Instruction descriptor; Block Scaling.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType

Numbers = NDArray[np.float64]
Cells = NDArray[np.uint32]
Kept = NDArray[np.bool_]

_SIGNIFICAND = 53
_BLOCK = 1 << 18
"""Multiplications that BLAS does not spread over threads."""
_NAN32, _NAN16 = 0x7FFFFFFF, 0x7FFF


def sums(a: Numbers, b: Numbers, kept: Kept | None = None) -> NDArray[np.float32]:
    """The sums over k of a[i, k]·b[j, k], exact and rounded once: shape (m, n).

    `kept` is what is stored of a sparse A: the rest meets nothing of B, not even an infinity or a
    NaN.  So it is on an H100 (mma.sp, wgmma.sp), and so it is taken to be of tcgen05.mma.sp.

    A product of matrices in binary64 is a first guess.  It is exact where all numbers are multiples
    of a power of two and few enough bits long; elsewhere its error is bounded by (k + 2)·2⁻⁵³ times
    the sum of the products' magnitudes, and sums that this leaves in doubt are summed again.
    """
    if kept is not None and not np.isfinite(b).all():
        rows = zip(a, kept, strict=True)
        return np.concatenate([sums(row[None], np.where(those, b, 0.0)) for row, those in rows])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = _product(a, b) + 0.0
        if _is_exact(a, b):
            return found.astype(np.float32)
        bound = _product(np.abs(a), np.abs(b)) * ((a.shape[1] + 2) * 2.0**-_SIGNIFICAND)
        low, high = (found - bound).astype(np.float32), (found + bound).astype(np.float32)
        rounded: NDArray[np.float32] = found.astype(np.float32)
        doubtful = np.isfinite(found) & (low != high)
    for i, j in np.argwhere(doubtful):
        rounded[i, j] = _exact_sum(a[i] * b[j])
    return rounded


def _product(a: Numbers, b: Numbers) -> Numbers:
    """a · bᵀ in blocks small enough for one thread: for so few numbers more of them cost time."""
    rows = max(_BLOCK // max(b.size, 1), 1)
    if rows >= len(a):
        return a @ b.T
    return np.concatenate([a[i : i + rows] @ b.T for i in range(0, len(a), rows)])


def _is_exact(a: Numbers, b: Numbers) -> bool:
    """Whether every partial sum fits into a significand, whatever the order of the additions."""
    if _size(a) * _size(b) * a.shape[1] <= 2.0**_SIGNIFICAND:
        return True
    (a_low, a_high), (b_low, b_high) = _bits(a), _bits(b)
    growth = max(a.shape[1] - 1, 0).bit_length()
    return bool(a_high + b_high - a_low - b_low + growth <= _SIGNIFICAND)


def _size(x: Numbers) -> float:
    """The largest of whole numbers; infinity where some are not whole."""
    return float(np.abs(x).max(initial=0.0)) if (x == np.floor(x)).all() else math.inf


def _bits(x: Numbers) -> tuple[int, int]:
    """Exponents of the lowest bit that is set in any number, and of the bit above the highest."""
    known = x[np.isfinite(x) & (x != 0)]
    if not known.size:
        return 0, 0
    fraction, exponent = np.frexp(known)
    whole = (fraction * 2.0**_SIGNIFICAND).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int((exponent + lowest).min()) - _SIGNIFICAND, int(exponent.max())


def _exact_sum(products: Numbers) -> np.float32:
    """The sum, rounded once: where binary64 shows a tie that is none, what is left over decides."""
    terms = products.tolist()
    found = math.fsum(terms)
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(found)
        off = found - float(nearest)
        rest = math.fsum([*terms, -found])
        if not rest or math.isinf(nearest) or not off or (off > 0) != (rest > 0):
            return nearest
        beyond = np.nextafter(nearest, np.float32(math.copysign(math.inf, off)))
        tie = off == (float(beyond) - float(nearest)) / 2
        return beyond if tie else nearest


def accumulate(total: NDArray[np.float32], old: Cells | None, d: ElementType, shift: int) -> Cells:
    """The cells of a D of f32 or f16: `total` + `old`·2^-`shift`, or `total` alone."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if old is not None:
            before = old.view(np.float32)
            if d is ElementType.F16:
                before = (old & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
            total = total + before * np.float32(2.0**-shift)
        nan = np.isnan(total)
        if d is ElementType.F16:
            cells = total.astype(np.float16).view(np.uint16).astype(np.uint32)
            cells[nan] = _NAN16
            return cells
        found: Cells = total.view(np.uint32)
        if nan.any():
            found = np.where(nan, np.uint32(_NAN32), found)
        return found


def integer_sums(a: Numbers, b: Numbers) -> NDArray[np.int64]:
    """The sums over k of a[i, k]·b[j, k]: 64 products of 8-bit integers fit in binary64."""
    return _product(a, b).astype(np.int64)


def accumulate_integers(total: NDArray[np.int64], old: Cells | None, *, saturate: bool) -> Cells:
    """The cells of a D of s32."""
    if old is not None:
        total = total + old.view(np.int32)
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return (total & 0xFFFFFFFF).astype(np.uint32)
