"""Floating-point sums, products, quotients, roots and approximations, 32 lanes at a time.

Layer: nvgen.sim.semantics.  Rounding to nearest is computed by numpy where a single rounding is
certain, everything else by `ieee`, number by number.

`rcp`, `sqrt`, `rsqrt`, `div`, `sin`, `cos`, `lg2`, `ex2` and `tanh` with `.approx` or `.full` give
the correctly rounded result, or one within a unit in the last place of it; a chip's differs within
the bounds that the manual gives.  PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Rounding, ScalarType
from nvgen.sim.semantics.arithmetic import ieee
from nvgen.sim.semantics.arithmetic.float_lanes import (
    FORMATS,
    Attributes,
    Bits,
    Compute,
    Doubles,
    R,
    T,
    doubles,
    elements,
    finishing,
    flushed,
    one_by_one,
    operation,
    rounded,
    rounding_of,
)
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand

# ---- sums, products, quotients ---------------------------------------------------------------


def _tiny(numbers: Doubles, mode: Rounding) -> NDArray[np.bool_]:
    """Which results `.ftz` flushes: those below the least normal float after rounding.

    The rounding is to a float's precision, with an unbounded exponent, as an H200 does it.
    """
    size, least, place = np.abs(numbers), 2.0**-126, 2.0**-150
    match mode:
        case R.RM:
            outward = numbers < 0
        case R.RP:
            outward = numbers > 0
        case R.RZ:
            outward = np.zeros(numbers.shape, np.bool_)
        case _:
            return size < least - place / 2
    return np.where(outward, size <= least - place, size < least)


def _flushing(
    kind: ScalarType, attributes: Attributes, exact: Callable[..., Doubles], compute: Compute
) -> Compute:
    """A computation whose tiny results are flushed to zeros of their sign under `.ftz`."""
    if attributes.get("ftz") is None or kind is not T.F32:
        return compute
    mode, sign = rounding_of(attributes), np.uint32(FORMATS[kind].sign)

    def run(*operands: Bits) -> Bits:
        found = compute(*operands)
        tiny = _tiny(exact(*(doubles(o, kind) for o in operands)), mode)
        return np.where(tiny, found & sign, found)

    return run


def _nearest(kind: ScalarType, compute: Callable[..., Doubles]) -> Compute:
    """Computes in doubles and rounds: correct for a sum, product, quotient or root of narrower
    formats.

    A double has more than twice the precision of a float, plus two bits; doubles are not rounded
    again.
    """

    def run(*operands: Bits) -> Bits:
        return rounded(compute(*(doubles(o, kind) for o in operands)), kind)

    return run


def _exact(kind: ScalarType, compute: np.ufunc) -> Compute:
    """A sum, product or quotient, which numpy rounds once itself in its own formats."""
    if kind is not T.F32:
        return _nearest(kind, compute)
    nan = np.uint32(FORMATS[kind].nan)

    def run(*operands: Bits) -> Bits:
        found = compute(*(o.view(np.float32) for o in operands))
        return np.where(np.isnan(found), nan, found.view(np.uint32))

    return run


def _add(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    if mode is R.RN:
        return _exact(kind, np.add)
    return one_by_one(lambda a, b: ieee.add(a, b, f, mode))


def _subtract(kind: ScalarType, attributes: Attributes) -> Compute:
    add, sign = _add(kind, attributes), FORMATS[kind].sign
    return lambda a, b: add(a, b ^ b.dtype.type(sign))


def _multiply(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    if mode is R.RN:
        product = _exact(kind, np.multiply)
    else:
        product = one_by_one(lambda a, b: ieee.multiply_add(a, b, 0, f, mode, product_only=True))
    return _flushing(kind, attributes, np.multiply, product)


def _fma(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    if mode is R.RN and kind is not T.F64:
        fused = _nearest(kind, _fused)
    else:
        fused = one_by_one(lambda a, b, c: ieee.multiply_add(a, b, c, f, mode))
    if attributes.get("oob") is not None:
        return _out_of_bounds(fused)
    return _flushing(kind, attributes, _fused, fused)


_OUTSIDE = 0x7FF7
"""The NaN that TMA fills out-of-bounds elements with, without its sign."""


def _out_of_bounds(compute: Compute) -> Compute:
    """A product of halves or bfloats that is 0, with its addend, where a factor is out of bounds.

    As an H100 computed it for all factors of 16 bits.
    """

    def run(a: Bits, b: Bits, c: Bits) -> Bits:
        outside = (a & 0x7FFF == _OUTSIDE) | (b & 0x7FFF == _OUTSIDE)
        return np.where(outside, a.dtype.type(0), compute(a, b, c))

    return run


def _fused(a: Doubles, b: Doubles, c: Doubles) -> Doubles:
    """a·b + c of floats or narrower: the product is exact, the sum is rounded to odd."""
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)  # the rounding error of the sum, exactly
    bits = total.view(np.int64)
    even = bits & 1 == 0
    inexact = np.isfinite(total) & (error != 0) & even
    outward = (error > 0) == (total > 0)
    return (bits + np.where(inexact, np.where(outward, 1, -1), 0)).view(np.float64)


def _divide(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    if mode in (R.RN, R.APPROX, R.FULL):
        quotient = _exact(kind, np.divide)
    else:
        quotient = one_by_one(lambda a, b: ieee.divide(a, b, f, mode))
    return _flushing(kind, attributes, np.divide, quotient)


def _reciprocal(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    one = f.bias << f.fraction
    if kind is T.F64 and mode is R.APPROX:
        return _upper_word(_nearest(kind, np.reciprocal))
    if mode in (R.RN, R.APPROX):
        return _nearest(kind, np.reciprocal)
    return one_by_one(lambda a: ieee.divide(one, a, f, mode))


def _upper_word(compute: Compute) -> Compute:
    """rcp.approx.ftz.f64 reads and writes the upper 32 bits only."""
    upper = np.uint64(0xFFFFFFFF00000000)
    return lambda a: compute(flushed(a & upper, T.F64)) & upper


def _root(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = rounding_of(attributes), FORMATS[kind]
    if mode in (R.RN, R.APPROX):
        return _nearest(kind, np.sqrt)
    return one_by_one(lambda a: ieee.square_root(a, f, mode))


def _near(compute: Callable[[Doubles], Doubles]) -> Callable[[ScalarType, Attributes], Compute]:
    return lambda kind, attributes: _nearest(kind, compute)


def _reciprocal_root(kind: ScalarType, attributes: Attributes) -> Compute:
    return _nearest(kind, lambda a: 1 / np.sqrt(a))


# ---- mixed precision -------------------------------------------------------------------------


def _mixed(head: str, narrow: str) -> Maker:
    """The maker for operands of which the last is a float, and the others halves or bfloats."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        attributes = mi.form.attributes
        kind = attributes[narrow]
        assert isinstance(kind, ScalarType)
        slots = ("a", "b") if head == "fma" else ("a",)
        getters = [c.get(mi[slot], kind) for slot in slots]
        last = c.get(mi["c"], T.F32)
        result = mi["d"]
        assert type(result) is int
        write = c.set(result)
        factory = {"add": _add, "sub": _subtract, "fma": _fma}[head]
        compute, finish = factory(T.F32, attributes), finishing(T.F32, attributes)

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            wide = [rounded(doubles(elements(get(warp), kind), kind), T.F32) for get in getters]
            found = compute(*wide, elements(last(warp), T.F32))
            write(strand, finish(found))
            return None

        return run

    return make


# ---- questions -------------------------------------------------------------------------------


SEMANTICS: dict[str, Maker] = {
    "add.float": operation(_add, "a", "b"),
    "sub.float": operation(_subtract, "a", "b"),
    "mul.float": operation(_multiply, "a", "b"),
    "fma": operation(_fma, "a", "b", "c"),
    "mad.float": operation(_fma, "a", "b", "c"),
    "add.mixed": _mixed("add", "atype"),
    "sub.mixed": _mixed("sub", "atype"),
    "fma.mixed": _mixed("fma", "abtype"),
    "div.float": operation(_divide, "a", "b"),
    "rcp": operation(_reciprocal, "a"),
    "sqrt": operation(_root, "a"),
    "rsqrt": operation(_reciprocal_root, "a"),
    "sin": operation(_near(np.sin), "a"),
    "cos": operation(_near(np.cos), "a"),
    "lg2": operation(_near(np.log2), "a"),
    "ex2": operation(_near(np.exp2), "a"),
    "tanh": operation(_near(np.tanh), "a"),
}
