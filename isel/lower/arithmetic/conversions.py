"""Conversions between floating point and integers of widths that PTX's cvt does not have.

Layer: isel.lower.  Beyond 64 bits the highest 64 of an integer are converted, with a last bit that
says whether anything else was there, and multiplied by a power of two: one rounding.  PTX ISA, cvt.
"""

from __future__ import annotations

from isel.llvm import values as llvm
from isel.llvm.types import DOUBLE, FLOAT, I1, I32, I64, FloatType, IntType
from isel.llvm.vocabulary import FloatPredicate as Fcmp
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode
from isel.lower.arithmetic.float_math import called, format_of, power_of_two, suffix
from isel.lower.arithmetic.integer_math import clamped, widened
from isel.lower.rewriter import Rewriter, number

_LIMB = 64
_CVT = (8, 16, 32, 64)
"""Widths of the integers that cvt makes."""

_SHORT = 24
"""Bits of a significand that a float holds."""


def needs_more_bits(to: IntType) -> bool:
    """Whether a saturating conversion to integers of this width is no cvt."""
    return to.bits not in _CVT


def from_wide(out: Rewriter, value: llvm.Value, to: FloatType, *, signed: bool) -> llvm.Value:
    """sitofp or uitofp of an integer of more than 64 bits."""
    type_ = value.type
    assert isinstance(type_, IntType)
    if not signed:
        return _from_magnitude(out, value, type_, to)
    zero = number(type_, 0)
    negative = out.compare(Icmp.SLT, value, zero)
    size = out.select(negative, out.binary(Opcode.SUB, zero, value), value)
    found = _from_magnitude(out, size, type_, to)
    return out.select(negative, out.negative(found), found)


def _from_magnitude(out: Rewriter, value: llvm.Value, type_: IntType, to: FloatType) -> llvm.Value:
    above = type_.bits - _LIMB
    zeros = out.call(f"llvm.ctlz.{type_}", type_, (value, number(I1, 0)))
    zeros = out.call(f"llvm.umin.{type_}", type_, (zeros, number(type_, type_.bits - 1)))
    first = out.binary(Opcode.SHL, value, zeros)
    word = out.cast(Opcode.TRUNC, out.binary(Opcode.LSHR, first, number(type_, above)), I64)
    rest = out.binary(Opcode.SHL, first, number(type_, _LIMB))
    word = _or_one(out, word, out.compare(Icmp.NE, rest, number(type_, 0)))
    exponent = out.binary(Opcode.SUB, number(I32, above), out.cast(Opcode.TRUNC, zeros, I32))
    work = to if to in (FLOAT, DOUBLE) else FLOAT
    if work is not to:  # a float holds what is left, so that only the last conversion rounds
        cut = _LIMB - _SHORT
        dropped = out.binary(Opcode.SHL, word, number(I64, _SHORT))
        inexact = out.compare(Icmp.NE, dropped, number(I64, 0))
        word = _or_one(out, out.binary(Opcode.LSHR, word, number(I64, cut)), inexact)
        exponent = out.binary(Opcode.ADD, exponent, number(I32, cut))
    found = _times_power(out, out.cast(Opcode.UITOFP, word, work), exponent, type_)
    return found if work is to else out.cast(Opcode.FPTRUNC, found, to)


def _or_one(out: Rewriter, word: llvm.Value, condition: llvm.Value) -> llvm.Value:
    return out.binary(Opcode.OR, word, out.cast(Opcode.ZEXT, condition, I64))


def _times_power(
    out: Rewriter, value: llvm.Value, exponent: llvm.Value, source: IntType
) -> llvm.Value:
    """By one product where the exponents are those of normal numbers."""
    form = format_of(value.type)
    if source.bits <= form.bias + 1:
        return out.binary(Opcode.FMUL, value, power_of_two(out, form, exponent))
    return out.call(f"llvm.ldexp.{suffix(value.type)}.i32", value.type, (value, exponent))


def to_wide(out: Rewriter, value: llvm.Value, to: IntType, *, signed: bool) -> llvm.Value:
    """fptosi or fptoui to an integer of more than 64 bits: of a double, which holds all others."""
    value = out.cast(Opcode.FPEXT, value, DOUBLE)
    form = format_of(DOUBLE)
    size = called(out, "fabs", value)
    near = widened(out, out.cast(Opcode.FPTOUI, size, I64), to, signed=False)
    bits = out.cast(Opcode.BITCAST, size, I64)
    fraction = out.binary(Opcode.AND, bits, number(I64, (1 << form.fraction) - 1))
    whole = out.binary(Opcode.OR, fraction, number(I64, 1 << form.fraction))
    exponent = out.binary(Opcode.LSHR, bits, number(I64, form.fraction))
    by = out.binary(Opcode.SUB, exponent, number(I64, form.bias + form.fraction))
    by = out.call("llvm.umin.i64", I64, (by, number(I64, to.bits - 1)))
    far = out.binary(
        Opcode.SHL, widened(out, whole, to, signed=False), widened(out, by, to, signed=False)
    )
    small = out.compare(Fcmp.OLT, size, form.power(_LIMB - 1))
    found = out.select(small, near, far)
    if not signed:
        return found
    negative = out.compare(Fcmp.OLT, value, form.constant(0.0))
    return out.select(negative, out.binary(Opcode.SUB, number(to, 0), found), found)


def saturated(out: Rewriter, value: llvm.Value, to: IntType, *, signed: bool) -> llvm.Value:
    """fptosi.sat or fptoui.sat to a width that cvt does not have: 0 for NaN, else cut."""
    if to.bits > _LIMB:
        return _saturated_wide(out, value, to, signed=signed)
    wide = IntType(next(bits for bits in _CVT if bits > to.bits))
    sign = "s" if signed else "u"
    name = f"llvm.fpto{sign}i.sat.{wide}.{suffix(value.type)}"
    return clamped(out, out.call(name, wide, (value,)), to, signed=signed)


def _saturated_wide(out: Rewriter, value: llvm.Value, to: IntType, *, signed: bool) -> llvm.Value:
    value = out.cast(Opcode.FPEXT, value, DOUBLE)
    form = format_of(DOUBLE)
    power = to.bits - signed
    infinity = llvm.ConstFloat(DOUBLE, form.infinity)
    bound = form.power(power) if power <= form.bias else infinity
    found = to_wide(out, value, to, signed=signed)
    zero, least = number(to, 0), number(to, -(1 << to.bits - 1) if signed else 0)
    over = out.compare(Fcmp.OGE, value, bound)
    found = out.select(over, number(to, (1 << power) - 1), found)
    if not signed:
        return out.select(out.compare(Fcmp.OGT, value, form.constant(0.0)), found, zero)
    under = out.compare(Fcmp.OLE, value, _opposite(bound))
    found = out.select(under, least, found)
    return out.select(out.compare(Fcmp.UNO, value, value), zero, found)


def _opposite(value: llvm.ConstFloat) -> llvm.ConstFloat:
    """A constant with the other sign."""
    assert isinstance(value.type, FloatType)
    return llvm.ConstFloat(value.type, value.bits ^ 1 << value.type.bits - 1)
