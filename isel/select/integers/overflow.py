"""Arithmetic that says whether it overflowed, or stops at its bounds.

Layer: isel.select.  An integer narrower than its register cannot overflow that by one addition:
there the sum is compared with the bounds of its width.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import Sat, ScalarType
from isel.diagnostics import not_yet
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.select.integers.arithmetic import binary_element
from isel.select.integers.comparison import compare_element
from isel.select.integers.element import Work
from isel.select.state import Values, form
from isel.select.widths import LIMB, limb_widths, register

T = ScalarType
Select = Callable[[Work], Values]

_ROWS = {"add": "add.int", "sub": "sub.int"}


def _bounds(width: int) -> tuple[int, int]:
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


# ---- with overflow ---------------------------------------------------------------------------


def _unsigned_sum(work: Work) -> Values:
    if work.width > LIMB:
        limbs = _wide(work, Opcode.ADD)
        return (*limbs, _wide_test(work, IntPredicate.ULT, limbs, work.arguments[0]))
    a, b = work.pair(signed=False)
    total = work.emit("add.int", SIGNED[work.bits], a, b)
    if work.width < work.bits:
        full = Imm((1 << work.width) - 1)
        return total, work.test(Cmp.GT, UNSIGNED[work.bits], total, full)
    return total, work.test(Cmp.LT, UNSIGNED[work.bits], total, a)


def _unsigned_difference(work: Work) -> Values:
    if work.width > LIMB:
        below = _wide_test(work, IntPredicate.ULT, work.arguments[0], work.arguments[1])
        return (*_wide(work, Opcode.SUB), below)
    a, b = work.pair(signed=False)
    total = work.emit("sub.int", SIGNED[work.bits], a, b)
    return total, work.test(Cmp.LT, UNSIGNED[work.bits], a, b)


def _signed_sum(name: str) -> Select:
    def select(work: Work) -> Values:
        if work.width > LIMB:
            return _wide_signed_sum(work, name)
        a, b = work.pair(signed=True)
        total = work.emit(_ROWS[name], SIGNED[work.bits], a, b)
        if work.width < work.bits:
            return total, _does_not_fit(work, total)
        return total, _sign_is_wrong(work, name, a, b, total)

    return select


def _does_not_fit(work: Work, total: Reg) -> Reg:
    """Whether a signed number needs more bits than its width."""
    return work.test(Cmp.NE, BITS[work.bits], work.extended(total, signed=True), total)


def _sign_is_wrong(work: Work, name: str, a: Reg, b: Scalar, total: Reg) -> Reg:
    """A sum overflows if both have the other sign; a difference, if only the first has.

    Of 16 bits ptxas makes an instruction of each step of that: there the total, which should be
    less than the first number where the second is negative, is compared.
    """
    cls, type_ = BITS[work.bits], SIGNED[work.bits]
    if isinstance(b, Imm):
        # The total should lie on one side of the first number.
        rises = (b.value >= 0) == (name == "add")
        return work.test(Cmp.LT if rises else Cmp.GT, type_, total, a)
    if work.bits == 16:
        falls = work.test(Cmp.LT if name == "add" else Cmp.GT, type_, b, Imm(0))
        fell = work.test(Cmp.LT, type_, total, a)
        return _differ(work, falls, fell)
    other = total if name == "add" else a
    differs = work.emit("xor", cls, b, other)
    turned = work.emit("xor", cls, total, a)
    both = work.emit("and", cls, differs, turned)
    return work.test(Cmp.LT, type_, both, Imm(0))


def _differ(work: Work, one: Reg, other: Reg) -> Reg:
    """Whether one of two predicates is set and the other is not."""
    return work.state.computed(form("xor", type=T.PRED), one, other, cls=T.PRED)


def _product(*, signed: bool) -> Select:
    def select(work: Work) -> Values:
        if work.width > LIMB:
            raise not_yet(f"a product of i{work.width} with overflow")
        if work.width > 32:
            return _long_product(work, signed=signed)
        bits = max(work.bits, 16)
        types = SIGNED if signed else UNSIGNED
        a, b = work.pair(signed=signed)
        whole = work.emit("mul.wide", types[bits], a, b, bits=2 * bits)
        low = work.narrowed(whole, 2 * bits)
        if not signed:
            full = Imm((1 << work.width) - 1)
            return low, work.test(Cmp.GT, UNSIGNED[2 * bits], whole, full)
        fits = work.state.new(BITS[2 * bits])
        _sign_extend(work, fits, whole, 2 * bits)
        return low, work.test(Cmp.NE, BITS[2 * bits], fits, whole)

    return select


def _sign_extend(work: Work, result: Reg, reg: Reg, bits: int) -> None:
    up = work.emit("shl", BITS[bits], reg, Imm(bits - work.width))
    work.state.emit(form("shr", type=SIGNED[bits]), result, up, Imm(bits - work.width))


def _long_product(work: Work, *, signed: bool) -> Values:
    a, b = work.pair(signed=signed)
    type_ = T.S64 if signed else T.U64
    low = work.emit("mul.lo", T.S64, a, b)
    high = work.emit("mul.hi", type_, a, b)
    expected: Scalar = work.emit("shr", T.S64, low, Imm(LIMB - 1)) if signed else Imm(0)
    over = work.test(Cmp.NE, T.B64, high, expected)
    if work.width == LIMB:
        return low, over
    if signed:
        beyond = work.test(Cmp.NE, T.B64, work.extended(low, signed=True), low)
    else:
        beyond = work.test(Cmp.GT, T.U64, low, Imm((1 << work.width) - 1))
    return low, work.state.computed(form("or", type=T.PRED), over, beyond, cls=T.PRED)


# ---- more than 64 bits -----------------------------------------------------------------------


def _wide(work: Work, opcode: Opcode) -> tuple[Reg, ...]:
    result = tuple(work.state.new(T.B64) for _ in limb_widths(work.width))
    binary_element(work.state, opcode, work.width, result, work.arguments[0], work.arguments[1])
    return result


def _wide_test(work: Work, predicate: IntPredicate, a: Values, b: Values) -> Reg:
    result = work.state.new(T.PRED)
    compare_element(work.state, predicate, work.width, result, a, b)
    return result


def _wide_signed_sum(work: Work, name: str) -> Values:
    """A sum should be less than the first number if the second is negative."""
    total = _wide(work, Opcode.ADD if name == "add" else Opcode.SUB)
    zero = tuple(Imm(0) for _ in total)
    falls = _wide_test(
        work, IntPredicate.SLT if name == "add" else IntPredicate.SGT, work.arguments[1], zero
    )
    fell = _wide_test(work, IntPredicate.SLT, total, work.arguments[0])
    return (*total, _differ(work, falls, fell))


# ---- saturated -------------------------------------------------------------------------------


def _unsigned_sum_saturated(work: Work) -> Values:
    """In a wider register the lesser of sum and bound; else as much of the first as fits, added."""
    a, b = work.pair(signed=False)
    full = (1 << work.width) - 1
    if work.width < work.bits:
        total = work.emit("add.int", SIGNED[work.bits], a, b)
        return (work.emit("min", UNSIGNED[work.bits], total, Imm(full)),)
    room: Scalar
    if isinstance(b, Imm):
        room = Imm(full ^ (b.value & full))
    else:
        room = work.emit("not", BITS[work.bits], b)
    fitting = work.emit("min", UNSIGNED[work.bits], a, room)
    return (work.emit("add.int", SIGNED[work.bits], fitting, b),)


def _unsigned_difference_saturated(work: Work) -> Values:
    """The greater of both, less the second."""
    a, b = work.pair(signed=False)
    greater = work.emit("max", UNSIGNED[work.bits], a, b)
    return (work.emit("sub.int", SIGNED[work.bits], greater, b),)


def _signed_saturated(name: str) -> Select:
    def select(work: Work) -> Values:
        a, b = work.pair(signed=True)
        if work.width == 32:
            saturating = form(_ROWS[name], sat=Sat.SAT, type=T.S32)
            return (work.state.computed(saturating, a, b, cls=T.B32),)
        type_ = SIGNED[work.bits]
        if work.width < work.bits:
            total = work.emit(_ROWS[name], type_, a, b)
            return (_clamped(work, total, type_),)
        total = work.emit(_ROWS[name], type_, a, b)
        over = _sign_is_wrong(work, name, a, b, total)
        # What overflowed has the wrong sign: the bound is the one of the other.
        sign = work.emit("shr", type_, total, Imm(work.bits - 1))
        bound = work.emit("xor", BITS[work.bits], sign, Imm(_bounds(work.width)[0]))
        return (work.emit("selp", BITS[work.bits], bound, total, over),)

    return select


def _clamped(work: Work, total: Reg, type_: ScalarType) -> Reg:
    low, high = _bounds(work.width)
    return work.emit("min", type_, work.emit("max", type_, total, Imm(low)), Imm(high))


def _shift_saturated(*, signed: bool) -> Select:
    """A shift that loses nothing can be taken back; else the bound of the value's sign."""

    def select(work: Work) -> Values:
        types = SIGNED if signed else UNSIGNED
        cls, type_ = BITS[work.bits], types[work.bits]
        a, by = work.value(0, signed=signed), work.amount(1)
        shifted = work.emit("shl", cls, a, by)
        back = work.emit("shr", type_, work.extended(shifted, signed=signed), by)
        kept = work.test(Cmp.EQ, cls, back, a)
        bound: Scalar = Imm(-1)
        if signed:
            sign = work.emit("shr", type_, a, Imm(work.bits - 1))
            bound = work.emit("xor", cls, sign, Imm(_bounds(work.width)[1]))
        return (work.emit("selp", cls, shifted, register(work.state, bound, work.bits), kept),)

    return select


OVERFLOWS: dict[str, Select] = {
    "uadd.with.overflow": _unsigned_sum,
    "usub.with.overflow": _unsigned_difference,
    "sadd.with.overflow": _signed_sum("add"),
    "ssub.with.overflow": _signed_sum("sub"),
    "umul.with.overflow": _product(signed=False),
    "smul.with.overflow": _product(signed=True),
}
"""These give their result, and then whether it overflowed."""

SATURATES: dict[str, Select] = {
    "uadd.sat": _unsigned_sum_saturated,
    "usub.sat": _unsigned_difference_saturated,
    "sadd.sat": _signed_saturated("add"),
    "ssub.sat": _signed_saturated("sub"),
    "ushl.sat": _shift_saturated(signed=False),
    "sshl.sat": _shift_saturated(signed=True),
}
