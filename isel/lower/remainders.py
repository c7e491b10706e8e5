"""frem, which PTX has no instruction for: an exact remainder, as two loops.

Layer: isel.lower.  LLVM Language Reference, frem: the result is C's fmod, exact and with the sign
of the dividend.  Let a and s be positive, of p bits of precision, and a < s * 2^p.  Then a / s
rounded toward zero and cut to an integer is the true quotient q; a - q * s is a multiple of the
last bit of s, or of a where q is 0, and less than s: one fma gives it without rounding.  A larger
dividend is reduced by s * 2^p first, and s * 2^p by s * 2^2p before that: to multiply by a power
of two moves the exponent only.
"""

from __future__ import annotations

import struct

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import DOUBLE, FLOAT, I1, I32, FloatType, Type, VectorType
from isel.llvm.vocabulary import Flag, FloatPredicate, Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_PRECISION = {"half": 11, "bfloat": 8, "float": 24, "double": 53}


def lowered(i: ir.Instruction) -> Replacement | None:
    """What stands for a frem that has to be exact; selection has a short form for `afn`."""
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
    shift = _constant(type_, 2.0 ** _PRECISION[type_.keyword])
    back = _constant(type_, 2.0 ** -_PRECISION[type_.keyword])
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
    quotient = _call(out, "trunc", _rounded_down(out, a, s))
    _call(out, "fma", out.negative(quotient), s, a, result=rest.name)
    out.binary(Opcode.FMUL, s, back, smaller.name)
    out.branch_if(out.compare(FloatPredicate.OGT, s, divisor), down, done)

    out.open(done)
    return out.phi(type_, (x, check), (nan, start), (rest, down))


def _rounded_down(out: Rewriter, a: llvm.Value, s: llvm.Value) -> llvm.Value:
    """a / s toward zero."""
    suffix = "f" if a.type is FLOAT else "d"
    return out.call(f"llvm.nvvm.div.rz.{suffix}", a.type, (a, s))


def _call(out: Rewriter, name: str, *operands: llvm.Value, result: str | None = None) -> llvm.Value:
    type_ = operands[0].type
    return out.call(f"llvm.{name}.{'f32' if type_ is FLOAT else 'f64'}", type_, operands, result)


def _constant(type_: Type, value: float) -> llvm.ConstFloat:
    code = "<f" if type_ is FLOAT else "<d"
    return llvm.ConstFloat(type_, int.from_bytes(struct.pack(code, value), "little"))
