"""Integer arithmetic to records, element by element.

Layer: isel.select.  PTX computes with 16, 32 and 64 bits; `isel.select.widths` says how
integers of other widths lie in registers.  An i1 is a predicate, and arithmetic with it is logic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.diagnostics import not_yet
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED, container
from isel.llvm.types import IntType
from isel.llvm.vocabulary import DIVISIONS, REMAINDERS, Flag, Opcode
from isel.select.integers import wide
from isel.select.integers.division import divide_by_number, rest_of_quotient
from isel.select.integers.packed import logic_by_words
from isel.select.register_facts import Added, Sum
from isel.select.state import FunctionState, Values, form, typed
from isel.select.widths import (
    LIMB,
    elements,
    extend,
    in_elements,
    shift_amount,
    zeros_from,
)

T = ScalarType

# LLVM opcode -> row, and which types name its forms.
_BINARY: dict[Opcode, tuple[str, dict[int, ScalarType]]] = {
    Opcode.ADD: ("add.int", SIGNED),
    Opcode.SUB: ("sub.int", SIGNED),
    Opcode.MUL: ("mul.lo", SIGNED),
    Opcode.UDIV: ("div.int", UNSIGNED),
    Opcode.SDIV: ("div.int", SIGNED),
    Opcode.UREM: ("rem.int", UNSIGNED),
    Opcode.SREM: ("rem.int", SIGNED),
    Opcode.AND: ("and", BITS),
    Opcode.OR: ("or", BITS),
    Opcode.XOR: ("xor", BITS),
    Opcode.SHL: ("shl", BITS),
    Opcode.LSHR: ("shr", UNSIGNED),
    Opcode.ASHR: ("shr", SIGNED),
}
_ADD, _SUB, _MUL, _OR = Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.OR
_SHL, _LSHR, _ASHR = Opcode.SHL, Opcode.LSHR, Opcode.ASHR
_NSW, _NUW = Flag.NSW, Flag.NUW
"""Asked for at each instruction: as attributes of an enumeration they take Python 3.11 some 800
machine instructions each time.
"""

_RIGHT = (Opcode.LSHR, Opcode.ASHR)
_SHIFTS = (Opcode.SHL, *_RIGHT)
_SIGN_COUNTS = {
    Opcode.LSHR: False,
    Opcode.ASHR: True,
    Opcode.UDIV: False,
    Opcode.SDIV: True,
    Opcode.UREM: False,
    Opcode.SREM: True,
}
"""Operations in which the upper bits of a number count, and whether they are its sign."""

_LOGIC = {
    Opcode.AND: "and",
    Opcode.OR: "or",
    Opcode.XOR: "xor",
    Opcode.ADD: "xor",
    Opcode.SUB: "xor",
    Opcode.MUL: "and",
}
"""Arithmetic of single bits."""

_ZEROS: dict[Opcode, Callable[[tuple[int, int]], int]] = {
    Opcode.AND: min,
    Opcode.OR: max,
    Opcode.XOR: max,
}
"""From which bit on a result has zeros, from where on both operands have them."""

_MOST_BITS: dict[Opcode, Callable[[int, int], int]] = {
    Opcode.ADD: lambda one, other: max(one, other) + 1,
    Opcode.MUL: operator.add,
    Opcode.SHL: operator.add,
}
"""How many bits a result has at most, of operands that have so many, or that it is shifted by."""

_SCALES = (Opcode.SHL, Opcode.MUL)

_NEUTRAL = {
    **dict.fromkeys((Opcode.ADD, Opcode.SUB, Opcode.OR, Opcode.XOR), 0),
    **dict.fromkeys((Opcode.SHL, Opcode.LSHR, Opcode.ASHR), 0),
    **dict.fromkeys((Opcode.MUL, Opcode.SDIV, Opcode.UDIV), 1),
    Opcode.AND: -1,
}
"""The right sides that leave the left one as it is."""

_ABSORBING = {
    **dict.fromkeys((Opcode.AND, Opcode.MUL), (0,)),
    Opcode.OR: (-1,),
    Opcode.UREM: (1,),
    Opcode.SREM: (1, -1),
}
"""The right sides for which the left one does not count: the result is 0, or of `or` all ones."""


def binary(state: FunctionState, i: ir.BinaryOp) -> None:
    """add, sub, mul, div, rem, and, or, xor, shifts: of integers, and of vectors of them."""
    element = i.type if type(i.type) is IntType else i.type.scalar
    if i.opcode not in _BINARY or not isinstance(element, IntType):
        raise not_yet(i.opcode.value)
    is_scalar = i.type is element and 1 < element.bits <= LIMB
    if is_scalar and isinstance(i.rhs, llvm.ConstInt):
        known = _without_arithmetic(i.opcode, state.scalar(i.lhs), i.rhs)
        if known is not None:
            state.forward(i.result, (known,))
            return
    results = state.define(i.result, i.type)
    if is_scalar:
        left, right = state.scalar(i.lhs), state.scalar(i.rhs)
        is_sum = element.bits == 32 and Flag.DISJOINT in i.flags
        _arithmetic(state, i.opcode, element.bits, results[0], left, right, is_sum=is_sum)
        if element.bits in (32, 64):
            _remember(state, i, results[0], left, right)
            if i.opcode in _MOST_BITS:
                _know_zeros(state, i, results[0], left, right)
        return
    _each_element(state, i, element.bits, results)


def _without_arithmetic(opcode: Opcode, left: Scalar, number: llvm.ConstInt) -> Scalar | None:
    """The result with a number that changes nothing, or that alone decides; as -O0 leaves them."""
    if number.signed == _NEUTRAL.get(opcode):
        return left
    if number.signed in _ABSORBING.get(opcode, ()):
        return Imm(number.signed if opcode is _OR else 0)
    return None


def _know_zeros(
    state: FunctionState, i: ir.BinaryOp, result: Reg, left: Scalar, right: Scalar
) -> None:
    """From which bit on a result has zeros: `nsw` may promise that it has no sign either."""
    bits = state.out.regs.classes[result].bits
    one, other = zeros_from(state, left, bits), zeros_from(state, right, bits)
    if i.opcode is _SHL:
        other = right.value if isinstance(right, Imm) else bits
    most = _MOST_BITS[i.opcode](one, other)
    if _NSW in i.flags and one < bits and (other < bits or i.opcode is _SHL):
        most = min(most, bits - 1)
    if most < bits:
        state.zero_above[result] = most


def _remember(
    state: FunctionState, i: ir.BinaryOp, result: Reg, left: Scalar, right: Scalar
) -> None:
    """A sum or difference with a number, or in one of whose parts addresses may find one.

    An `or` of bits that are not set is a sum.
    """
    opcode = i.opcode
    if opcode in _SCALES and type(right) is Imm and type(left) is int and left in state.sums:
        _remember_scaled(state, i, result, left, right.value)
    if opcode is not _ADD and opcode is not _SUB and opcode is not _OR:
        return
    is_or = opcode is _OR and Flag.DISJOINT in i.flags
    signed, unsigned = is_or or _NSW in i.flags, is_or or _NUW in i.flags
    if type(left) is Imm and type(right) is int and opcode is _SUB:
        found = Sum(right, left.value, signed, unsigned, sign=-1)
    elif type(left) is not int or not (is_or or opcode is _ADD):
        return
    elif type(right) is Imm:
        found = Sum(left, right.value, signed, unsigned)
    elif type(right) is int and (left in state.sums or right in state.sums):
        state.added[result] = Added(left, right, signed, unsigned)
        return
    else:
        return
    inner = state.sums.get(found.base)
    state.sums[result] = found if inner is None else _in_one(found, inner)


def _remember_scaled(
    state: FunctionState, i: ir.BinaryOp, result: Reg, left: Reg, number: int
) -> None:
    """A sum that is scaled is a sum of what is scaled, where nothing is lost above."""
    inner, factor = state.sums[left], 1 << number if i.opcode is _SHL else number
    if _NUW not in i.flags or not inner.unsigned or inner.sign < 0:
        return
    if inner.number < 0 or not 2 <= factor < 1 << state.out.regs.classes[result].bits:
        return  # the sum may be all that keeps the product within its bits
    row, types = _BINARY[i.opcode]
    cls = state.out.regs.classes[result]
    base = state.computed(form(row, type=types[cls.bits]), inner.base, Imm(number), cls=cls)
    # without a sign before and behind, so is the part, which is less
    state.sums[result] = Sum(base, inner.number * factor, _NSW in i.flags, True)


def _in_one(outer: Sum, inner: Sum) -> Sum:
    """A sum of a sum as one."""
    return Sum(
        inner.base,
        outer.number + outer.sign * inner.number,
        outer.signed and inner.signed,
        outer.unsigned and inner.unsigned and inner.sign > 0,  # 1 - (3 - x) has no number
        outer.sign * inner.sign,
    )


def _each_element(
    state: FunctionState, i: ir.BinaryOp, width: int, results: tuple[Reg, ...]
) -> None:
    left, right = elements(state, i.lhs), elements(state, i.rhs)
    if width in (8, 16) and logic_by_words(
        state, i.opcode, width, results, state.value(i.lhs), state.value(i.rhs)
    ):
        return
    each = in_elements(results, len(results) // len(left))
    for result, lhs, rhs in zip(each, left, right, strict=True):
        binary_element(state, i.opcode, width, result, lhs, rhs)


def binary_element(
    state: FunctionState,
    opcode: Opcode,
    width: int,
    result: tuple[Reg, ...],
    lhs: Values,
    rhs: Values,
) -> None:
    """One operation on integers of `width` bits.

    Raises: Unselectable.
    """
    if width > LIMB:
        wide.binary(state, opcode, width, result, lhs, rhs)
    elif width > 1:
        _arithmetic(state, opcode, width, result[0], lhs[0], rhs[0])
    elif opcode in _LOGIC:
        _predicate_logic(state, _LOGIC[opcode], result[0], lhs[0], rhs[0])
    else:
        _predicate_itself(state, opcode, result[0], lhs[0])


def _arithmetic(
    state: FunctionState,
    opcode: Opcode,
    width: int,
    result: Reg,
    lhs: Scalar,
    rhs: Scalar,
    *,
    is_sum: bool = False,
) -> None:
    """One operation of up to 64 bits.  An `or` that is a sum is an addition: ptxas 13.5 makes one
    instruction of it and a shift, and orders a kernel of Liger's loads and stores better.
    """
    row, types = _BINARY[_ADD if is_sum else opcode]
    bits = container(width)
    if width != bits and (signed := _SIGN_COUNTS.get(opcode)) is not None:
        lhs = extend(state, lhs, width, signed=signed)
        rhs = rhs if opcode in _SHIFTS else extend(state, rhs, width, signed=signed)
    if opcode in _SHIFTS:
        rhs = shift_amount(state, rhs, width)
    if type(lhs) is Imm:
        lhs = state.reg(lhs, BITS[bits])
    assert type(lhs) is int
    if opcode in DIVISIONS and _divide(state, opcode, width, result, lhs, rhs):
        return
    if opcode in _SCALES and _multiply_wide(state, bits, result, lhs, _factor(opcode, rhs, bits)):
        return
    if opcode is _ASHR and _shift_back(state, result, lhs, rhs):
        return
    state.emit(typed(row, types[bits]), result, lhs, rhs)
    if opcode is _SHL and bits == 32 and type(rhs) is Imm:
        state.shifted[result] = lhs, rhs.value
    if opcode in _RIGHT and rhs == Imm(bits // 2):
        state.uppers[result] = lhs
    if opcode is _LSHR and type(rhs) is Imm:
        above = state.zero_above.get(lhs, width)
        state.zero_above[result] = max(above - rhs.value, 0)
    elif opcode in _ZEROS:
        known = zeros_from(state, lhs, bits), zeros_from(state, rhs, bits)
        state.zero_above[result] = _ZEROS[opcode](known)


def _shift_back(state: FunctionState, result: Reg, lhs: Reg, rhs: Scalar) -> bool:
    """What was shifted to the left, and by as much to the right: the sign of its low bits."""
    if lhs not in state.shifted:
        return False
    source, count = state.shifted[lhs]
    if rhs != Imm(count):
        return False
    state.emit(form("bfe", type=T.S32), result, source, Imm(0), Imm(32 - count))
    return True


def _divide(
    state: FunctionState, opcode: Opcode, width: int, result: Reg, lhs: Reg, rhs: Scalar
) -> bool:
    """Divide without a division, where there is a way."""
    if isinstance(rhs, Imm) and divide_by_number(state, opcode, width, result, lhs, rhs.value):
        return True
    return rest_of_quotient(state, opcode, container(width), result, lhs, rhs)


def _factor(opcode: Opcode, rhs: Scalar, bits: int) -> Scalar | None:
    """What is multiplied by; a shift of 64 bits is a multiplication too."""
    if opcode is _MUL:
        return rhs
    if bits == LIMB and isinstance(rhs, Imm) and 0 <= rhs.value < LIMB:
        return Imm(1 << rhs.value)
    return None


def _multiply_wide(
    state: FunctionState, bits: int, result: Reg, lhs: Reg, rhs: Scalar | None
) -> bool:
    """A product of two numbers that were extended from half as many bits, by mul.wide."""
    half = state.halves.get(lhs)
    if half is None:
        return False
    for signed in _signs(state, half):
        other = _factor_in_half(state, rhs, bits // 2, signed=signed)
        if other is not None:
            type_ = (SIGNED if signed else UNSIGNED)[bits // 2]
            state.emit(form("mul.wide", type=type_), result, half[0], other)
            return True
    return False


def _signs(state: FunctionState, half: tuple[Reg, bool]) -> tuple[bool, ...]:
    """How what was extended may be read: without its sign and with it, where it has none."""
    reg, signed = half
    bits = state.out.regs.classes[reg].bits
    return (signed, not signed) if zeros_from(state, reg, bits) < bits else (signed,)


def _factor_in_half(
    state: FunctionState, rhs: Scalar | None, bits: int, *, signed: bool
) -> Scalar | None:
    """A number of so many bits, or what was extended from them."""
    if isinstance(rhs, Imm):
        low, high = (-1 << (bits - 1), 1 << (bits - 1)) if signed else (0, 1 << bits)
        return rhs if low <= rhs.value < high else None
    half = state.halves.get(rhs) if type(rhs) is int else None
    return half[0] if half is not None and signed in _signs(state, half) else None


def _predicate_logic(state: FunctionState, row: str, result: Reg, lhs: Scalar, rhs: Scalar) -> None:
    if isinstance(lhs, Imm):
        lhs, rhs = rhs, lhs
    if row == "xor" and isinstance(rhs, Imm) and rhs.value:
        state.emit(form("not", type=T.PRED), result, state.reg(lhs, T.PRED))
        return
    left, right = state.reg(lhs, T.PRED), state.reg(rhs, T.PRED)
    state.emit(form(row, type=T.PRED), result, left, right)


def _predicate_itself(state: FunctionState, opcode: Opcode, result: Reg, lhs: Scalar) -> None:
    """A single bit divides by 1 only, and shifts by 0 only: all else is not defined."""
    op = Imm(0) if opcode in REMAINDERS else lhs
    state.emit(form("mov", type=T.PRED), result, op)
