"""Integer arithmetic and comparison to records.

Layer: isel.select.  PTX computes with 16, 32 and 64 bits.  An i8 lives in a 16-bit register whose
upper half means nothing: where it would count, the value is extended first.  An i1 is a predicate,
and arithmetic with it is logic.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import IntType, PointerType, Type
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.select.diagnostics import Unselectable, not_yet
from isel.select.state import FunctionState, form
from isel.select.types import BITS, SIGNED, UNSIGNED

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
_SHIFTS = (Opcode.SHL, Opcode.LSHR, Opcode.ASHR)
_DIVISIONS = (Opcode.UDIV, Opcode.SDIV, Opcode.UREM, Opcode.SREM)
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

_COMPARISONS: dict[IntPredicate, tuple[Cmp, dict[int, ScalarType]]] = {
    IntPredicate.EQ: (Cmp.EQ, BITS),
    IntPredicate.NE: (Cmp.NE, BITS),
    IntPredicate.UGT: (Cmp.GT, UNSIGNED),
    IntPredicate.UGE: (Cmp.GE, UNSIGNED),
    IntPredicate.ULT: (Cmp.LT, UNSIGNED),
    IntPredicate.ULE: (Cmp.LE, UNSIGNED),
    IntPredicate.SGT: (Cmp.GT, SIGNED),
    IntPredicate.SGE: (Cmp.GE, SIGNED),
    IntPredicate.SLT: (Cmp.LT, SIGNED),
    IntPredicate.SLE: (Cmp.LE, SIGNED),
}
_SINGLE_BITS = {
    IntPredicate.UGT: ("and", False),
    IntPredicate.SLT: ("and", False),
    IntPredicate.ULT: ("and", True),
    IntPredicate.SGT: ("and", True),
    IntPredicate.UGE: ("or", False),
    IntPredicate.SLE: ("or", False),
    IntPredicate.ULE: ("or", True),
    IntPredicate.SGE: ("or", True),
}
"""The order of single bits: the row, and whether its left side (else its right) is negated.

As a signed number a set bit is -1.
"""


def register_bits(type_: Type, what: str) -> int:
    """Bits that PTX computes with for an integer: 16 for an i8.

    Raises: Unselectable for what is not an i8, i16, i32 or i64.
    """
    if isinstance(type_, IntType) and type_.bits in (8, 16, 32, 64):
        return max(type_.bits, 16)
    raise Unselectable(
        "type",
        f"{what} of type {type_} is not selectable",
        op=what,
        got=str(type_),
        expected="i8, i16, i32 or i64",
    )


def extended(state: FunctionState, value: llvm.Value, *, signed: bool) -> Scalar:
    """An integer whose register has no bits without a meaning."""
    op = state.scalar(value)
    if value.type != IntType(8):
        return op
    if isinstance(op, Imm):
        return op if signed else Imm(op.value & 0xFF)
    assert type(op) is int
    wide = state.new(T.B16)
    dtype, atype = (T.S16, T.S8) if signed else (T.U16, T.U8)
    state.emit(form("cvt.int", dtype=dtype, atype=atype), wide, op)
    return wide


def resize(state: FunctionState, reg: Reg, bits: int, wanted: int) -> Reg:
    """A register of `bits` bits in one of `wanted`, filled up with zeros."""
    if bits == wanted:
        return reg
    result = state.new(BITS[wanted])
    state.emit(form("cvt.int", dtype=UNSIGNED[wanted], atype=UNSIGNED[bits]), result, reg)
    return result


# ---- arithmetic ------------------------------------------------------------------------------


def binary(state: FunctionState, i: ir.BinaryOp) -> None:
    """add, sub, mul, div, rem, and, or, xor, shifts."""
    entry = _BINARY.get(i.opcode)
    is_bit = isinstance(i.type, IntType) and i.type.bits == 1
    if entry is None or (is_bit and i.opcode in _DIVISIONS):
        raise not_yet(i.opcode.value)
    if is_bit:
        _predicate_logic(state, i)
        return
    row, types = entry
    bits = register_bits(i.type, i.opcode.value)
    (result,) = state.define(i.result, i.type)
    lhs = _operand(state, i, i.lhs)
    rhs = amount(state, i.rhs, bits) if i.opcode in _SHIFTS else _operand(state, i, i.rhs)
    if isinstance(lhs, Imm):
        lhs = state.reg(lhs, BITS[bits])
    state.emit(form(row, type=types[bits]), result, lhs, rhs)


def _operand(state: FunctionState, i: ir.BinaryOp, value: llvm.Value) -> Scalar:
    signed = _SIGN_COUNTS.get(i.opcode)
    return state.scalar(value) if signed is None else extended(state, value, signed=signed)


def amount(state: FunctionState, value: llvm.Value, bits: int) -> Scalar:
    """How far to shift what has `bits` bits: PTX wants 32 for that."""
    op = extended(state, value, signed=False)
    return resize(state, op, bits, 32) if type(op) is int else op


def _predicate_logic(state: FunctionState, i: ir.BinaryOp) -> None:
    if i.opcode in _SHIFTS:
        # By anything but 0 the result is poison.
        state.forward(i.result, state.value(i.lhs))
        return
    row = _LOGIC[i.opcode]
    (result,) = state.define(i.result, i.type)
    lhs, rhs = state.scalar(i.lhs), state.scalar(i.rhs)
    if row == "xor" and isinstance(rhs, Imm) and rhs.value:
        state.emit(form("not", type=T.PRED), result, state.reg(lhs, T.PRED))
        return
    left, right = state.reg(lhs, T.PRED), state.reg(rhs, T.PRED)
    state.emit(form(row, type=T.PRED), result, left, right)


# ---- comparison ------------------------------------------------------------------------------


def compare(state: FunctionState, i: ir.Compare) -> None:
    """icmp of integers and pointers."""
    if not isinstance(i.predicate, IntPredicate):
        raise not_yet("fcmp")
    operand = i.lhs.type
    if isinstance(operand, IntType) and operand.bits == 1:
        _compare_predicates(state, i, i.predicate)
        return
    if isinstance(operand, PointerType):
        bits = state.layout.pointer_bits(operand.address_space)
    else:
        bits = register_bits(operand, "icmp")
    cmp, types = _COMPARISONS[i.predicate]
    (result,) = state.define(i.result, i.type)
    lhs, rhs = (extended(state, v, signed=types is SIGNED) for v in (i.lhs, i.rhs))
    if isinstance(lhs, Imm):
        lhs = state.reg(lhs, BITS[bits])
    state.emit(form("setp.int", p=True, cmp=cmp, type=types[bits]), result, lhs, rhs)


def _compare_predicates(state: FunctionState, i: ir.Compare, predicate: IntPredicate) -> None:
    (result,) = state.define(i.result, i.type)
    left, right = state.scalar_reg(i.lhs), state.scalar_reg(i.rhs)
    if predicate is IntPredicate.NE:
        state.emit(form("xor", type=T.PRED), result, left, right)
        return
    other = state.new(T.PRED)
    if predicate is IntPredicate.EQ:
        state.emit(form("xor", type=T.PRED), other, left, right)
        state.emit(form("not", type=T.PRED), result, other)
        return
    row, negates_left = _SINGLE_BITS[predicate]
    state.emit(form("not", type=T.PRED), other, left if negates_left else right)
    pair = (right, other) if negates_left else (left, other)
    state.emit(form(row, type=T.PRED), result, *pair)
