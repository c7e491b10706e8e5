"""LLVM's intrinsics on floating-point numbers that take their bits apart, or multiply in a loop.

Layer: isel.lower.  Halves and bfloats go by float, which holds all of them exactly.  LLVM Language
Reference, llvm.is.fpclass, llvm.ldexp, llvm.frexp, llvm.powi, llvm.modf.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import values as llvm
from isel.llvm.types import DOUBLE, FLOAT, I1, I32, FloatType, IntType, Type
from isel.llvm.vocabulary import FloatPredicate as Fcmp
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode
from isel.lower.arithmetic.integer_math import clamped, widened
from isel.lower.rewriter import Rewriter, Values, number

Expand = Callable[[Rewriter, Values, tuple[Type, ...]], Values]
"""Emits what computes one element: of its arguments, and of results of these types, the results."""

_FRACTIONS = {"half": 10, "bfloat": 7, "float": 23, "double": 52}


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE 754 format: its type, the integer of its bits, and bits of the stored fraction."""

    type: FloatType
    bits: IntType
    fraction: int

    @property
    def bias(self) -> int:
        """The bias of the exponent."""
        return (1 << self.bits.bits - 2 - self.fraction) - 1

    @property
    def infinity(self) -> int:
        """The bits of infinity."""
        return (2 * self.bias + 1) << self.fraction

    def power(self, exponent: int) -> llvm.ConstFloat:
        """A power of two that is a normal number."""
        return llvm.ConstFloat(self.type, exponent + self.bias << self.fraction)

    def constant(self, value: float) -> llvm.ConstFloat:
        """A number, of float or double."""
        code = "<f" if self.type is FLOAT else "<d"
        return llvm.ConstFloat(self.type, int.from_bytes(struct.pack(code, value), "little"))


def format_of(type_: Type) -> Format:
    """The format of half, bfloat, float or double."""
    assert isinstance(type_, FloatType)
    return Format(type_, IntType(type_.bits), _FRACTIONS[type_.keyword])


def is_known(type_: Type) -> bool:
    """Whether a type has a format here."""
    return isinstance(type_, FloatType) and type_.keyword in _FRACTIONS


def suffix(type_: Type) -> str:
    """The suffix of an intrinsic's name for a floating-point type."""
    assert isinstance(type_, FloatType)
    return "bf16" if type_.keyword == "bfloat" else f"f{type_.bits}"


def called(out: Rewriter, name: str, *operands: llvm.Value) -> llvm.Value:
    """`llvm.NAME` of floating-point numbers, that gives one."""
    return out.call(f"llvm.{name}.{suffix(operands[0].type)}", operands[0].type, operands)


# ---- classes -----------------------------------------------------------------------------------

_NAN, _SIGNALING = 0x3, 0x1
_PAIRS = {"infinite": (0x4, 0x200), "normal": (0x8, 0x100), "subnormal": (0x10, 0x80),
          "zero": (0x20, 0x40)}  # fmt: skip
"""The bits of a mask for a kind of number that is negative, and positive."""


def _classified(out: Rewriter, ops: Values, _: tuple[Type, ...]) -> Values:
    """Whether a number is of one of the classes of a mask: questions about its bits."""
    value, mask = ops
    assert isinstance(mask, llvm.ConstInt)
    form = format_of(value.type)
    bits = out.cast(Opcode.BITCAST, value, form.bits)
    size = out.binary(Opcode.AND, bits, number(form.bits, (1 << form.bits.bits - 1) - 1))
    found: list[llvm.Value] = []
    if mask.value & _NAN:
        found.append(_is_nan(out, form, size, mask.value & _NAN))
    for kind, (negative, positive) in _PAIRS.items():
        wanted = mask.value & (negative | positive)
        if not wanted:
            continue
        is_kind = _is_kind(out, form, size, kind)
        if wanted != negative | positive:
            sign = Icmp.SLT if wanted == negative else Icmp.SGE
            signed = out.compare(sign, bits, number(form.bits, 0))
            is_kind = out.binary(Opcode.AND, is_kind, signed)
        found.append(is_kind)
    answer = found[0] if found else number(I1, 0)
    for other in found[1:]:
        answer = out.binary(Opcode.OR, answer, other)
    return (answer,)


def _is_nan(out: Rewriter, form: Format, size: llvm.Value, which: int) -> llvm.Value:
    """NaNs above infinity: the quiet ones have the highest bit of the fraction."""
    infinity = number(form.bits, form.infinity)
    quiet = number(form.bits, form.infinity | 1 << form.fraction - 1)
    if which == _NAN:
        return out.compare(Icmp.UGT, size, infinity)
    if which != _SIGNALING:
        return out.compare(Icmp.UGE, size, quiet)
    above = out.compare(Icmp.UGT, size, infinity)
    return out.binary(Opcode.AND, above, out.compare(Icmp.ULT, size, quiet))


def _is_kind(out: Rewriter, form: Format, size: llvm.Value, kind: str) -> llvm.Value:
    """A range of the bits without the sign, tested by one comparison."""
    least, count = {
        "infinite": (form.infinity, 1),
        "normal": (1 << form.fraction, form.infinity - (1 << form.fraction)),
        "subnormal": (1, (1 << form.fraction) - 1),
        "zero": (0, 1),
    }[kind]
    if count == 1:
        return out.compare(Icmp.EQ, size, number(form.bits, least))
    offset = out.binary(Opcode.SUB, size, number(form.bits, least))
    return out.compare(Icmp.ULT, offset, number(form.bits, count))


# ---- exponents ---------------------------------------------------------------------------------


def _in_32_bits(out: Rewriter, value: llvm.Value) -> llvm.Value:
    """A signed integer of any width in 32 bits, cut to its bounds."""
    assert isinstance(value.type, IntType)
    if value.type.bits < I32.bits:
        return widened(out, value, I32, signed=True)
    return value if value.type is I32 else clamped(out, value, I32, signed=True)


def _scaled(out: Rewriter, ops: Values, results: tuple[Type, ...]) -> Values:
    """x * 2^n by three products at most, of which only the last one rounds.

    What the first two multiply by when n is small leaves the exponent so far above the least one
    that a bit that they drop could not have counted.
    """
    value, by = ops
    if value.type not in (FLOAT, DOUBLE):
        wide = out.cast(Opcode.FPEXT, value, FLOAT)
        return (out.cast(Opcode.FPTRUNC, _scaled(out, (wide, by), (FLOAT,))[0], results[0]),)
    form = format_of(value.type)
    most, least = form.bias, 1 - form.bias
    low = least + form.fraction + 1
    left = _in_32_bits(out, by)
    for _ in range(2):
        up = out.compare(Icmp.SGT, left, number(I32, most))
        down = out.compare(Icmp.SLT, left, number(I32, least))
        factor = out.select(down, form.power(low), form.power(0))
        value = out.binary(Opcode.FMUL, value, out.select(up, form.power(most), factor))
        step = out.select(down, number(I32, low), number(I32, 0))
        left = out.binary(Opcode.SUB, left, out.select(up, number(I32, most), step))
    left = out.call("llvm.smin.i32", I32, (left, number(I32, most)))
    left = out.call("llvm.smax.i32", I32, (left, number(I32, least)))
    return (out.binary(Opcode.FMUL, value, power_of_two(out, form, left)),)


def power_of_two(out: Rewriter, form: Format, exponent: llvm.Value) -> llvm.Value:
    """2^n of float or double, for an n (i32) that a normal number has."""
    biased = out.resize(out.binary(Opcode.ADD, exponent, number(I32, form.bias)), form.bits)
    shifted = out.binary(Opcode.SHL, biased, number(form.bits, form.fraction))
    return out.cast(Opcode.BITCAST, shifted, form.type)


def _fraction_and_exponent(out: Rewriter, ops: Values, results: tuple[Type, ...]) -> Values:
    """A number from 1/2 on and below 1, and the power of two; 0, infinity and NaN are kept."""
    (value,) = ops
    if value.type not in (FLOAT, DOUBLE):
        wide = out.cast(Opcode.FPEXT, value, FLOAT)
        part, power = _fraction_and_exponent(out, (wide,), (FLOAT, results[1]))
        return out.cast(Opcode.FPTRUNC, part, results[0]), power
    form = format_of(value.type)
    lift = form.fraction + 2
    field = number(form.bits, form.infinity)
    small = out.compare(Fcmp.OLT, called(out, "fabs", value), form.power(1 - form.bias))
    lifted = out.binary(Opcode.FMUL, value, form.power(lift))
    bits = out.cast(Opcode.BITCAST, out.select(small, lifted, value), form.bits)
    exponent = out.binary(Opcode.LSHR, out.binary(Opcode.AND, bits, field),
                          number(form.bits, form.fraction))  # fmt: skip
    exponent = out.resize(exponent, I32)
    low, high = number(I32, -(form.bias - 1) - lift), number(I32, -(form.bias - 1))
    exponent = out.binary(Opcode.ADD, exponent, out.select(small, low, high))
    rest = out.binary(Opcode.AND, bits, number(form.bits, ~form.infinity))
    half = out.binary(Opcode.OR, rest, number(form.bits, form.bias - 1 << form.fraction))
    part = out.cast(Opcode.BITCAST, half, form.type)
    infinity = llvm.ConstFloat(form.type, form.infinity)
    finite = out.compare(Fcmp.OLT, called(out, "fabs", value), infinity)
    has_one = out.binary(Opcode.AND, finite, out.compare(Fcmp.ONE, value, form.constant(0.0)))
    power = out.select(has_one, exponent, number(I32, 0))
    to = results[1]
    assert isinstance(to, IntType)
    wider = widened(out, power, to, signed=True) if to.bits > I32.bits else None
    return out.select(has_one, part, value), wider or out.resize(power, to)


def _whole_and_rest(out: Rewriter, ops: Values, results: tuple[Type, ...]) -> Values:
    """modf: what is behind the point, and what is before it; both have the number's sign."""
    (value,) = ops
    if value.type not in (FLOAT, DOUBLE):
        wide = out.cast(Opcode.FPEXT, value, FLOAT)
        parts = _whole_and_rest(out, (wide,), (FLOAT, FLOAT))
        rest, whole = (out.cast(Opcode.FPTRUNC, part, results[0]) for part in parts)
        return rest, whole
    form = format_of(value.type)
    whole = called(out, "trunc", value)
    rest = out.binary(Opcode.FSUB, value, whole)
    infinity = llvm.ConstFloat(form.type, form.infinity)
    endless = out.compare(Fcmp.OEQ, called(out, "fabs", value), infinity)
    rest = out.select(endless, form.constant(0.0), rest)
    return called(out, "copysign", rest, value), whole


def _rounded(out: Rewriter, ops: Values, results: tuple[Type, ...]) -> Values:
    """lround: the nearest integer, halves away from zero."""
    return (out.cast(Opcode.FPTOSI, called(out, "round", ops[0]), results[0]),)


# ---- powers --------------------------------------------------------------------------------------


def _power(out: Rewriter, ops: Values, results: tuple[Type, ...]) -> Values:
    """x^n by squares, as compilers' run-time libraries do it; 1 / x^-n where n is negative."""
    value, by = ops
    if value.type not in (FLOAT, DOUBLE):
        wide = out.cast(Opcode.FPEXT, value, FLOAT)
        return (out.cast(Opcode.FPTRUNC, _power(out, (wide, by), (FLOAT,))[0], results[0]),)
    form = format_of(value.type)
    one = form.constant(1.0)
    if isinstance(by, llvm.ConstInt):
        product = _known_power(out, value, abs(by.signed), one)
        return (out.binary(Opcode.FDIV, one, product) if by.signed < 0 else product,)
    assert isinstance(by.type, IntType)
    zero = number(by.type, 0)
    negative = out.compare(Icmp.SLT, by, zero)
    left = out.select(negative, out.binary(Opcode.SUB, zero, by), by)
    product = _power_loop(out, value, left, one)
    return (out.select(negative, out.binary(Opcode.FDIV, one, product), product),)


def _known_power(out: Rewriter, value: llvm.Value, count: int, one: llvm.Value) -> llvm.Value:
    product = value if count & 1 else one
    while count := count >> 1:
        value = out.binary(Opcode.FMUL, value, value)
        if count & 1:
            product = value if product is one else out.binary(Opcode.FMUL, product, value)
    return product


def _power_loop(out: Rewriter, value: llvm.Value, count: llvm.Value, one: llvm.Value) -> llvm.Value:
    type_, counter = value.type, count.type
    assert isinstance(counter, IntType)
    start, loop, again, done = out.here, *(out.name(n) for n in ("power", "square", "powered"))
    out.branch(loop)
    out.open(loop)
    square, product = (llvm.Local(out.name("t"), type_) for _ in range(2))
    rest = llvm.Local(out.name("t"), counter)
    base = out.phi(type_, (value, start), (square, again))
    left = out.phi(counter, (count, start), (rest, again))
    before = out.phi(type_, (one, start), (product, again))
    odd = out.cast(Opcode.TRUNC, left, I1)
    multiplied = out.binary(Opcode.FMUL, before, base)
    out.select(odd, multiplied, before, product.name)
    out.binary(Opcode.LSHR, left, number(counter, 1), rest.name)
    out.branch_if(out.compare(Icmp.EQ, rest, number(counter, 0)), done, again)
    out.open(again)
    out.binary(Opcode.FMUL, base, base, square.name)
    out.branch(loop)
    out.open(done)
    return product


EXPANSIONS: Mapping[str, Expand] = {
    "is.fpclass": _classified,
    "ldexp": _scaled,
    "frexp": _fraction_and_exponent,
    "modf": _whole_and_rest,
    "powi": _power,
    "lround": _rounded,
    "llround": _rounded,
}
"""By the name between `llvm.` and the types."""
