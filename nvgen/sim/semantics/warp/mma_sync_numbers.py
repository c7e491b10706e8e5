"""mma, the numbers: what forms compute of the bits of their matrices.

Layer: nvgen.sim.semantics.  What is modelled of the numbers:

    floating point  as in `mma_numbers`: the products of one instruction, scale factors included,
                    are summed exactly, rounded to binary32 once, and added to C in binary32; D in
                    f16 is rounded once more
    f64             products are added to C one after the other, from the lowest k on, each by a
                    fused multiply-add that rounds to nearest even
    integers, bits  exact; sums wrap, or saturate with .satfinite

The chip adds products of floating-point numbers in ways and orders that are not documented, so its
last bits may differ where sums are not exact.  PTX ISA, mma.
"""

from __future__ import annotations

import functools
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.layouts.packing import decode
from intrinsics.modifiers import Modifier, Rounding, ScalarType
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.row import Attributes
from nvgen.sim.semantics.arithmetic.ieee import F64, multiply_add
from nvgen.sim.semantics.tcgen05.mma_numbers import (
    accumulate,
    accumulate_integers,
    integer_sums,
    sums,
)
from nvgen.sim.semantics.warp.mma_sync_registers import FOURS, Bits

T = ScalarType
Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Factors: TypeAlias = NDArray[np.float64]
"""What each element is multiplied by: rows by elements."""

Kept: TypeAlias = NDArray[np.bool_]
"""Which elements of a sparse A are stored: rows by elements."""


class MatrixProduct(Protocol):
    """D of A (m, k), B (n, k) and C (m, n), all of them bits, and factors of A and B."""

    def __call__(
        self,
        a: Bits,
        b: Bits,
        c: Bits,
        factors: tuple[Factors, Factors] | None,
        /,
        kept: Kept | None = None,
    ) -> Bits:
        """D, as bits."""
        ...  # pragma: no cover


def multiplier(attributes: Attributes) -> MatrixProduct:
    """The function that a form of mma computes."""
    atype, btype, op = attributes["atype"], attributes["btype"], attributes.get("op")
    assert isinstance(atype, Modifier)
    assert isinstance(btype, Modifier)
    if atype is T.F64:
        return _fused
    if isinstance(op, BitOperation):
        return functools.partial(_counted, op)
    if attributes["dtype"] is T.S32:
        saturate = attributes.get("satfinite") is not None
        return functools.partial(_whole, atype, btype, saturate=saturate)
    return functools.partial(_rounded, atype, btype, attributes["ctype"], attributes["dtype"])


def numbers(codes: Bits, type_: Modifier) -> Numbers:
    """The numbers that element codes of a type of A or B stand for."""
    if type_ in FOURS:
        whole = codes.astype(np.int64)
        return whole - (whole >> 3 << 4) if type_ is MatrixType.S4 else whole
    return decode(codes, ElementType(type_.value))


def _rounded(
    atype: Modifier,
    btype: Modifier,
    ctype: object,
    dtype: object,
    a: Bits,
    b: Bits,
    c: Bits,
    factors: tuple[Factors, Factors] | None,
    kept: Kept | None = None,
) -> Bits:
    left, right = numbers(a, atype).astype(np.float64), numbers(b, btype).astype(np.float64)
    if factors is not None:
        left, right = left * factors[0], right * factors[1]
    total = sums(left, right, kept)
    wide = c.astype(np.uint32)
    if ctype is T.F16:
        wide = c.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    kind = ElementType.F16 if dtype is T.F16 else ElementType.F32
    with np.errstate(over="ignore", invalid="ignore"):
        return accumulate(total + wide.view(np.float32), None, kind, 0)


def _whole(
    atype: Modifier,
    btype: Modifier,
    a: Bits,
    b: Bits,
    c: Bits,
    _: object,
    kept: Kept | None = None,
    *,
    saturate: bool,
) -> Bits:
    total = integer_sums(numbers(a, atype).astype(np.float64), numbers(b, btype).astype(np.float64))
    return accumulate_integers(total, c.astype(np.uint32), saturate=saturate)


def _counted(
    op: BitOperation, a: Bits, b: Bits, c: Bits, _: object, kept: Kept | None = None
) -> Bits:
    one, other = a[:, None, :] != 0, b[None, :, :] != 0
    both = one & other if op is BitOperation.AND else one ^ other
    return accumulate_integers(
        both.sum(axis=2, dtype=np.int64), c.astype(np.uint32), saturate=False
    )


def _fused(a: Bits, b: Bits, c: Bits, _: object, kept: Kept | None = None) -> Bits:
    found = c.astype(np.uint64)
    for i, j in np.ndindex(found.shape):
        total = int(found[i, j])
        for one, other in zip(a[i].tolist(), b[j].tolist(), strict=True):
            total = multiply_add(one, other, total, F64, Rounding.RN)
        found[i, j] = total
    return found
