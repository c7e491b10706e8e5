"""LLVM's intrinsics on integers that no instruction and no short sequence of them computes.

Layer: isel.lower.  Fixed point is arithmetic in twice the width; so are products that say whether
they overflowed, of more than 64 bits.  LLVM Language Reference, Fixed Point Arithmetic Intrinsics,
Saturation Arithmetic Intrinsics: where the rounding of a fixed-point result is not specified, it is
toward negative infinity, as LLVM's own expansion has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isel.llvm import values as llvm
from isel.llvm.types import I1, IntType
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Rewriter, Values, number

Expand = Callable[[Rewriter, Values, IntType], Values]
"""Emits what computes one element: of its arguments, and of a result of this type, the results."""

_WIDEST = 64
"""Bits of the widest integer for which selection has all intrinsics."""


def expansion(name: str, type_: IntType, arguments: Values) -> Expand | None:
    """The expansion of `llvm.NAME` for integers of this type; None where selection does it."""
    if type_.bits == 1 and name in _BITS:
        return _BITS[name]
    if name in _ALWAYS:
        return _ALWAYS[name]
    if type_.bits <= _WIDEST:
        return None
    if name in ("fshl", "fshr"):
        known = isinstance(arguments[2], llvm.ConstInt) or not type_.bits & type_.bits - 1
        return None if known else _funnel(left=name == "fshl")
    return _WIDE.get(name)


def _lowest(type_: IntType, *, signed: bool) -> llvm.ConstInt:
    return number(type_, -(1 << type_.bits - 1) if signed else 0)


def _highest(type_: IntType, *, signed: bool) -> llvm.ConstInt:
    return number(type_, (1 << type_.bits - signed) - 1)


def widened(out: Rewriter, value: llvm.Value, to: IntType, *, signed: bool) -> llvm.Value:
    """An integer in a wider type; a constant stays one."""
    if isinstance(value, llvm.ConstInt):
        return number(to, value.signed if signed else value.value)
    return out.cast(Opcode.SEXT if signed else Opcode.ZEXT, value, to)


def clamped(out: Rewriter, value: llvm.Value, type_: IntType, *, signed: bool) -> llvm.Value:
    """A wider integer within the bounds of `type_`, as one."""
    wide = value.type
    assert isinstance(wide, IntType)
    least, most = _lowest(type_, signed=signed), _highest(type_, signed=signed)
    prefix = "s" if signed else "u"
    if signed:
        value = out.call(f"llvm.smax.{wide}", wide, (value, number(wide, least.signed)))
    top = number(wide, most.signed if signed else most.value)
    value = out.call(f"llvm.{prefix}min.{wide}", wide, (value, top))
    return out.cast(Opcode.TRUNC, value, type_)


# ---- one bit ---------------------------------------------------------------------------------


def _both(out: Rewriter, ops: Values, _: IntType) -> Values:
    return (out.binary(Opcode.AND, ops[0], ops[1]),)


def _either(out: Rewriter, ops: Values, _: IntType) -> Values:
    return (out.binary(Opcode.OR, ops[0], ops[1]),)


def _inverse(out: Rewriter, ops: Values, _: IntType) -> Values:
    return (out.binary(Opcode.XOR, ops[0], number(I1, 1)),)


def _without(out: Rewriter, ops: Values, type_: IntType) -> Values:
    (inverse,) = _inverse(out, ops[1:], type_)
    return (out.binary(Opcode.AND, ops[0], inverse),)


def _first(_out: Rewriter, ops: Values, _: IntType) -> Values:
    return ops[:1]


def _second(_out: Rewriter, ops: Values, _: IntType) -> Values:
    return ops[1:2]


def _bit_overflow(overflows: Expand, total: Opcode) -> Expand:
    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        return (out.binary(total, ops[0], ops[1]), *overflows(out, ops, type_))

    return expand


def _never(_out: Rewriter, _ops: Values, _: IntType) -> Values:
    return (number(I1, 0),)


def _bit_order(*, signed: bool) -> Expand:
    """1 of two bits is greater than 0, and less than it where it is a sign."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        a, b = reversed(ops) if signed else ops
        above, below = _without(out, (a, b), type_), _without(out, (b, a), type_)
        greater, less = (widened(out, bit, type_, signed=False) for (bit,) in (above, below))
        return (out.binary(Opcode.SUB, greater, less),)

    return expand


_BITS: Mapping[str, Expand] = {
    **dict.fromkeys(("umin", "smax"), _both),
    **dict.fromkeys(("umax", "smin", "uadd.sat", "sadd.sat"), _either),
    **dict.fromkeys(("usub.sat", "ssub.sat"), _without),
    **dict.fromkeys(("ushl.sat", "sshl.sat", "ctpop", "bitreverse", "abs", "fshl"), _first),
    "fshr": _second,
    **dict.fromkeys(("ctlz", "cttz"), _inverse),
    **dict.fromkeys(("uadd.with.overflow", "sadd.with.overflow"), _bit_overflow(_both, Opcode.XOR)),
    "usub.with.overflow": _bit_overflow(
        lambda out, ops, type_: _without(out, (ops[1], ops[0]), type_), Opcode.XOR
    ),
    "ssub.with.overflow": _bit_overflow(
        lambda out, ops, type_: _without(out, (ops[1], ops[0]), type_), Opcode.XOR
    ),
    "umul.with.overflow": _bit_overflow(_never, Opcode.AND),
    "smul.with.overflow": _bit_overflow(_both, Opcode.AND),
    "ucmp": _bit_order(signed=False),
    "scmp": _bit_order(signed=True),
}
"""A shift by as many bits as there are is poison: a bit is shifted by 0."""


# ---- more than 64 bits -------------------------------------------------------------------------


def _sum_saturated(name: str) -> Expand:
    """What overflowed has the wrong sign: the bound is the one of the other."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        opcode = Opcode.ADD if name == "add" else Opcode.SUB
        total = out.binary(opcode, ops[0], ops[1])
        fell = out.compare(Icmp.SLT, total, ops[0])
        zero = number(type_, 0)
        falls = out.compare(Icmp.SLT if name == "add" else Icmp.SGT, ops[1], zero)
        over = out.binary(Opcode.XOR, fell, falls)
        sign = out.binary(Opcode.ASHR, total, number(type_, type_.bits - 1))
        bound = out.binary(Opcode.XOR, sign, _lowest(type_, signed=True))
        return (out.select(over, bound, total),)

    return expand


def _shift_saturated(*, signed: bool) -> Expand:
    """A shift that loses nothing can be taken back; else the bound of the value's sign."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        value, by = ops
        shifted = out.binary(Opcode.SHL, value, by)
        back = out.binary(Opcode.ASHR if signed else Opcode.LSHR, shifted, by)
        bound: llvm.Value = number(type_, -1)
        if signed:
            sign = out.binary(Opcode.ASHR, value, number(type_, type_.bits - 1))
            bound = out.binary(Opcode.XOR, sign, _highest(type_, signed=True))
        return (out.select(out.compare(Icmp.EQ, back, value), shifted, bound),)

    return expand


def _product(*, signed: bool) -> Expand:
    """In twice the width; it overflowed where that is not the lower half extended."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        wide = IntType(2 * type_.bits)
        a, b = (widened(out, op, wide, signed=signed) for op in ops)
        whole = out.binary(Opcode.MUL, a, b)
        low = out.cast(Opcode.TRUNC, whole, type_)
        over = out.compare(Icmp.NE, widened(out, low, wide, signed=signed), whole)
        return low, over

    return expand


def _funnel(*, left: bool) -> Expand:
    """Both integers in one of twice the width, that is shifted by the distance modulo the width."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        wide, width = IntType(2 * type_.bits), number(type_, type_.bits)
        high, low = (widened(out, op, wide, signed=False) for op in ops[:2])
        distance = widened(out, out.binary(Opcode.UREM, ops[2], width), wide, signed=False)
        both = out.binary(Opcode.SHL, high, number(wide, type_.bits))
        both = out.binary(Opcode.OR, both, low)
        if left:
            both = out.binary(Opcode.SHL, both, distance)
            distance = number(wide, type_.bits)
        return (out.cast(Opcode.TRUNC, out.binary(Opcode.LSHR, both, distance), type_),)

    return expand


_WIDE: Mapping[str, Expand] = {
    "sadd.sat": _sum_saturated("add"),
    "ssub.sat": _sum_saturated("sub"),
    "ushl.sat": _shift_saturated(signed=False),
    "sshl.sat": _shift_saturated(signed=True),
    "umul.with.overflow": _product(signed=False),
    "smul.with.overflow": _product(signed=True),
}


# ---- fixed point -------------------------------------------------------------------------------


def _scale(ops: Values) -> int:
    """Bits behind the point: an immediate, which LLVM checks."""
    assert isinstance(ops[2], llvm.ConstInt)
    return ops[2].value


def _fixed_product(*, signed: bool, saturates: bool) -> Expand:
    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        wide = IntType(2 * type_.bits)
        a, b = (widened(out, op, wide, signed=signed) for op in ops[:2])
        whole = out.binary(Opcode.MUL, a, b)
        opcode = Opcode.ASHR if signed else Opcode.LSHR
        whole = out.binary(opcode, whole, number(wide, _scale(ops)))
        if saturates:
            return (clamped(out, whole, type_, signed=signed),)
        return (out.cast(Opcode.TRUNC, whole, type_),)

    return expand


def _fixed_quotient(*, signed: bool, saturates: bool) -> Expand:
    """The dividend is shifted up first; one bit more holds the least number divided by -1."""

    def expand(out: Rewriter, ops: Values, type_: IntType) -> Values:
        scale = _scale(ops)
        wide = IntType(type_.bits + scale + signed)
        a, b = (widened(out, op, wide, signed=signed) for op in ops[:2])
        a = out.binary(Opcode.SHL, a, number(wide, scale))
        quotient = out.binary(Opcode.SDIV if signed else Opcode.UDIV, a, b)
        if signed:
            rest = out.binary(Opcode.SUB, a, out.binary(Opcode.MUL, quotient, b))
            zero = number(wide, 0)
            apart = out.compare(Icmp.SLT, out.binary(Opcode.XOR, a, b), zero)
            inexact = out.compare(Icmp.NE, rest, zero)
            above = out.binary(Opcode.AND, apart, inexact)
            quotient = out.binary(Opcode.ADD, quotient, out.cast(Opcode.SEXT, above, wide))
        if wide is type_:
            return (quotient,)
        if saturates:
            return (clamped(out, quotient, type_, signed=signed),)
        return (out.cast(Opcode.TRUNC, quotient, type_),)

    return expand


def _carryless(out: Rewriter, ops: Values, type_: IntType) -> Values:
    """The product of two polynomials whose coefficients are bits: a sum without carries."""
    start, loop, done = out.here, out.name("clmul"), out.name("clmuled")
    out.branch(loop)
    out.open(loop)
    later, zero, one = llvm.Local(out.name("t"), type_), number(type_, 0), number(type_, 1)
    total, factor = (llvm.Local(out.name("t"), type_) for _ in range(2))
    shifted = llvm.Local(out.name("t"), type_)
    a = out.phi(type_, (ops[0], start), (shifted, loop))
    b = out.phi(type_, (ops[1], start), (factor, loop))
    before = out.phi(type_, (zero, start), (total, loop))
    bit = out.binary(Opcode.SUB, zero, out.binary(Opcode.AND, b, one), later.name)
    out.binary(Opcode.XOR, before, out.binary(Opcode.AND, a, bit), total.name)
    out.binary(Opcode.SHL, a, one, shifted.name)
    out.binary(Opcode.LSHR, b, one, factor.name)
    out.branch_if(out.compare(Icmp.NE, factor, zero), loop, done)
    out.open(done)
    return (total,)


_ALWAYS: Mapping[str, Expand] = {
    "smul.fix": _fixed_product(signed=True, saturates=False),
    "umul.fix": _fixed_product(signed=False, saturates=False),
    "smul.fix.sat": _fixed_product(signed=True, saturates=True),
    "umul.fix.sat": _fixed_product(signed=False, saturates=True),
    "sdiv.fix": _fixed_quotient(signed=True, saturates=False),
    "udiv.fix": _fixed_quotient(signed=False, saturates=False),
    "sdiv.fix.sat": _fixed_quotient(signed=True, saturates=True),
    "udiv.fix.sat": _fixed_quotient(signed=False, saturates=True),
    "clmul": _carryless,
}
