"""frem, which PTX has no instruction for: an exact remainder, as two loops.

Layer: isel.lower.  LLVM Language Reference, frem: the result is C's fmod, exact and with the sign
of the dividend.  Let a and s be positive, and q the integer part of a / s, or one more than that.
Then a - q * s is a multiple of the last bit of s, or of a where q is 0, and is nearer to 0 than s:
one fma gives it without rounding.  Below 0 it is the remainder less s.  An approximate quotient
that is made a little larger gives such a q where a < s * 2^p.  A larger dividend is reduced by
s * 2^p first, and s * 2^p by s * 2^2p before that: to multiply by a power of two moves the exponent
only.
"""

from __future__ import annotations

import struct

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import DOUBLE, FLOAT, I1, I32, FloatType, Type, VectorType
from isel.llvm.vocabulary import Flag, FloatPredicate, Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_QUOTIENT = {"float": 20, "double": 30}
"""Bits of a quotient whose integer part `_quotient` gets right but for one unit."""

_PRECISION = {"half": 11, "bfloat": 8, "float": 24, "double": 53}


def lowered(i: ir.Instruction) -> Replacement | None:
    """The exact expansion of a frem; selection has a short form for `afn`."""
    if not isinstance(i, ir.BinaryOp) or i.opcode is not Opcode.FREM or Flag.AFN in i.flags:
        return None
    scalar = i.type.scalar
    if not isinstance(scalar, FloatType) or scalar.keyword not in _PRECISION:
        return None
    return lambda out: _elementwise(out, i, scalar)


def _elementwise(out: Rewriter, i: ir.BinaryOp, scalar: FloatType) -> None:
    if not isinstance(i.type, VectorType):
        _scalar(out, scalar, i.lhs, i.rhs, i.result)
        return
    whole: llvm.Value = llvm.Poison(i.type)
    for at in range(i.type.count):
        x, y = (out.element(vector, at) for vector in (i.lhs, i.rhs))
        last = i.result if at == i.type.count - 1 else None
        whole = out.insert_element(whole, _scalar(out, scalar, x, y), number(I32, at), last)


def _scalar(
    out: Rewriter, type_: FloatType, x: llvm.Value, y: llvm.Value, result: str | None = None
) -> llvm.Value:
    """The remainder of two scalars; that of halves and bfloats is a float that is one of them."""
    remainder = _by_power if _is_large_power(y) else _by_any
    if type_ in (FLOAT, DOUBLE):
        return _signed(out, remainder(out, x, y), x, result)
    x, y = (out.cast(Opcode.FPEXT, value, FLOAT) for value in (x, y))
    wide = _signed(out, remainder(out, x, y), x)
    return out.cast(Opcode.FPTRUNC, wide, type_, result or out.name("t"))


def _is_large_power(y: llvm.Value) -> bool:
    """Whether a divisor is a power of two of 1 at least, of either sign."""
    if not isinstance(y, llvm.ConstFloat) or not isinstance(y.type, FloatType):
        return False
    fraction = _PRECISION[y.type.keyword] - 1
    infinite = (1 << y.type.bits - 1 - fraction) - 1
    exponent = y.bits >> fraction & infinite
    return not y.bits & (1 << fraction) - 1 and infinite >> 1 <= exponent < infinite


# ---- remainders, of any sign -----------------------------------------------------------------


def _signed(
    out: Rewriter, rest: llvm.Value, x: llvm.Value, result: str | None = None
) -> llvm.Value:
    """A remainder with the sign of the dividend, also where it is 0."""
    return _call(out, "copysign", rest, x, result=result)


def _by_power(out: Rewriter, x: llvm.Value, y: llvm.Value) -> llvm.Value:
    """x - trunc(x / y) * y, where nothing is rounded; NaN for an infinite x."""
    whole = _call(out, "trunc", out.binary(Opcode.FDIV, x, y))
    return _call(out, "fma", out.negative(whole), y, x)


def _by_any(out: Rewriter, x: llvm.Value, y: llvm.Value) -> llvm.Value:
    """x where |x| < |y|; else NaN for an infinite x, for a zero y and for NaNs."""
    type_ = x.type
    assert isinstance(type_, FloatType)
    bits = _QUOTIENT[type_.keyword]
    shift, back = (_constant(type_, 2.0**power) for power in (bits, -bits))
    nan, infinity = (_constant(type_, float(name)) for name in ("nan", "inf"))
    check, start, up, down, done = (
        out.here, *(out.name(hint) for hint in ("frem", "up", "down", "rest"))
    )  # fmt: skip
    dividend, divisor = (_call(out, "fabs", value) for value in (x, y))
    out.branch_if(out.compare(FloatPredicate.OLT, dividend, divisor), done, start)

    out.open(start)
    finite = out.compare(FloatPredicate.OLT, dividend, infinity)
    divides = out.compare(FloatPredicate.OGT, divisor, _constant(type_, 0.0))
    out.branch_if(out.select(finite, divides, llvm.ConstInt(I1, 0)), up, done)

    out.open(up)
    larger = llvm.Local(out.name("t"), type_)
    s = out.phi(type_, (divisor, start), (larger, up))
    out.binary(Opcode.FMUL, s, shift, larger.name)
    out.branch_if(out.compare(FloatPredicate.OLE, larger, dividend), up, down)

    out.open(down)
    rest, smaller = (llvm.Local(out.name("t"), type_) for _ in range(2))
    a = out.phi(type_, (dividend, up), (rest, down))
    s = out.phi(type_, (s, up), (smaller, down))
    quotient = _call(out, "trunc", _quotient(out, a, s))
    less = _call(out, "fma", out.negative(quotient), s, a)
    is_less = out.compare(FloatPredicate.OLT, less, _constant(type_, 0.0))
    out.select(is_less, out.binary(Opcode.FADD, less, s), less, rest.name)
    out.binary(Opcode.FMUL, s, back, smaller.name)
    out.branch_if(out.compare(FloatPredicate.OGT, s, divisor), down, done)

    out.open(done)
    return out.phi(type_, (x, check), (nan, start), (rest, down))


def _quotient(out: Rewriter, a: llvm.Value, s: llvm.Value) -> llvm.Value:
    """What has the integer part of a / s, or one more; a < s * 2^p.

    An approximate quotient of floats is wrong by two units in the last place at most: 2^-22 of it.
    """
    if a.type is DOUBLE:
        return _quotient_of_doubles(out, a, s)
    near = out.call("llvm.nvvm.div.full", FLOAT, (a, s))
    return out.binary(Opcode.FMUL, near, _constant(FLOAT, 1 + 2.0**-21))


def _quotient_of_doubles(out: Rewriter, a: llvm.Value, s: llvm.Value) -> llvm.Value:
    """An approximate reciprocal takes the upper half of a number and gives as much of the result.

    That is wrong by less than 2^-16 of it, and after one step of Newton's by less than 2^-32.
    Neither what it takes nor what it gives may be subnormal, so both numbers are scaled.
    """
    one = _constant(DOUBLE, 1.0)
    scale = out.select(
        out.compare(FloatPredicate.OLT, s, one),
        _constant(DOUBLE, 2.0**60), _constant(DOUBLE, 2.0**-4),
    )  # fmt: skip
    a, s = (out.binary(Opcode.FMUL, value, scale) for value in (a, s))
    rough = out.call("llvm.nvvm.rcp.approx.ftz.d", DOUBLE, (s,))
    wrong = _call(out, "fma", out.negative(s), rough, one)
    better = _call(out, "fma", rough, wrong, rough)
    larger = out.binary(Opcode.FMUL, better, _constant(DOUBLE, 1 + 2.0**-32))
    return out.binary(Opcode.FMUL, a, larger)


def _call(out: Rewriter, name: str, *operands: llvm.Value, result: str | None = None) -> llvm.Value:
    type_ = operands[0].type
    return out.call(f"llvm.{name}.{'f32' if type_ is FLOAT else 'f64'}", type_, operands, result)


def _constant(type_: Type, value: float) -> llvm.ConstFloat:
    code = "<f" if type_ is FLOAT else "<d"
    return llvm.ConstFloat(type_, int.from_bytes(struct.pack(code, value), "little"))
