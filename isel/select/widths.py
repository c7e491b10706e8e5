"""Layout in registers of integers of any width.

Layer: isel.select.  An i1 is a predicate.  Up to 64 bits an integer has one register of 16, 32 or
64 bits, whose bits above its width mean nothing: where they would count, the value is extended
first.  A wider integer has several registers of 64 bits, its limbs, the lowest one first.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED, container
from isel.llvm.types import IntType, Type, VectorType
from isel.select.state import FunctionState, Values, form

T = ScalarType

LIMB = 64
"""Bits of a limb."""


def register_bits(type_: Type, what: str) -> int:
    """Bits that PTX computes with for an integer: 16 for an i5 and an i8, 32 for an i24.

    Raises: Unselectable for what is not an integer of 2 to 64 bits.
    """
    if isinstance(type_, IntType) and 1 < type_.bits <= LIMB:
        return container(type_.bits)
    raise Unselectable(
        "type",
        f"{what} of type {type_} is not selectable",
        op=what,
        got=str(type_),
        expected="an integer of 2 to 64 bits",
    )


def limb_widths(bits: int) -> list[int]:
    """Bits of an integer in each of its registers."""
    return [min(LIMB, bits - at) for at in range(0, bits, LIMB)]


def in_elements(regs: Sequence[Reg], count: int) -> list[tuple[Reg, ...]]:
    """Registers by the elements that they belong to."""
    if len(regs) == count:
        return [tuple(regs)]
    return [tuple(regs[at : at + count]) for at in range(0, len(regs), count)]


def elements(state: FunctionState, value: llvm.Value) -> list[Values]:
    """The operands of each element of a vector, or of a scalar: registers and numbers."""
    ops = state.value(value)
    type_ = value.type
    if len(ops) == 1 and type(ops[0]) in (int, Imm):
        return [ops]  # what most operands are
    classes = state.layout.classes(type_)
    if not all(isinstance(op, (int, Imm)) for op in ops):
        pairs = zip(ops, classes, strict=True)
        ops = tuple(op if isinstance(op, (int, Imm)) else state.reg(op, c) for op, c in pairs)
    if not isinstance(type_, VectorType):
        return [ops]
    each = len(classes) // type_.count
    return [ops[at : at + each] for at in range(0, len(ops), each)]


def extended(state: FunctionState, value: llvm.Value, *, signed: bool) -> Scalar:
    """An integer of up to 64 bits, or a pointer, whose register has no bits without a meaning."""
    op = state.scalar(value)
    if not isinstance(value.type, IntType):
        return op
    return extend(state, op, value.type.bits, signed=signed)


def extend(state: FunctionState, op: Scalar, width: int, *, signed: bool, bits: int = 0) -> Scalar:
    """`op` of `width` bits (2 to 64), whose register has no bits without a meaning.

    The register has `bits` bits, or as many as that width needs.
    """
    bits = bits or container(width)
    if width == bits:
        return op
    if isinstance(op, Imm):
        return Imm(_number(op.value, width, signed=signed))
    assert type(op) is int
    if not signed and state.zero_above.get(op, bits) <= width:
        return op
    found = state.new(BITS[bits])
    extend_into(state, found, op, width, signed=signed)
    return found


def zeros_from(state: FunctionState, op: Scalar, bits: int) -> int:
    """From which bit on an operand of `bits` bits is known to hold zeros."""
    if isinstance(op, Imm):
        return op.value.bit_length() if op.value >= 0 else bits
    return state.zero_above.get(op, bits) if type(op) is int else bits


def _number(value: int, width: int, *, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def extend_into(state: FunctionState, result: Reg, reg: Reg, width: int, *, signed: bool) -> None:
    """Extend the `width` bits of a register to a register of the same class."""
    bits = state.out.regs.classes[result].bits
    if not signed:
        state.zero_above[result] = width
    if width == 8 and bits == 16:
        dtype, atype = (T.S16, T.S8) if signed else (T.U16, T.U8)
        state.emit(form("cvt.int", dtype=dtype, atype=atype), result, reg)
    elif not signed:
        state.emit(form("and", type=BITS[bits]), result, reg, Imm((1 << width) - 1))
    elif 32 < width < bits:
        extended = state.new(T.B32)
        low, high = state.two_halves(reg, T.B32)
        if width == 48:
            state.emit(form("cvt.int", dtype=T.S32, atype=T.S16), extended, high)
        else:
            extend_into(state, extended, high, width - 32, signed=True)
        state.emit(form("mov.pack2", type=T.B64), result, (low, extended))
    else:
        chosen, by = form("shl", type=BITS[bits]), Imm(bits - width)
        high = state.computed(chosen, reg, by, cls=BITS[bits])
        state.emit(form("shr", type=SIGNED[bits]), result, high, by)


def resize(state: FunctionState, reg: Reg, bits: int, wanted: int) -> Reg:
    """A register of `bits` bits in one of `wanted`, filled up with zeros."""
    if bits == wanted:
        return reg
    chosen = form("cvt.int", dtype=UNSIGNED[wanted], atype=UNSIGNED[bits])
    result = state.computed(chosen, reg, cls=BITS[wanted])
    if reg in state.zero_above:
        state.zero_above[result] = state.zero_above[reg]
    return result


def register(state: FunctionState, op: Scalar, bits: int) -> Reg:
    """A register of `bits` bits, or a predicate for 1, that holds `op`."""
    return state.reg(op, BITS[bits] if bits > 1 else T.PRED)


def shift_amount(state: FunctionState, op: Scalar, width: int) -> Scalar:
    """A shift amount as the 32-bit register that PTX wants, from a number of `width` bits."""
    op = extend(state, op, width, signed=False)
    return resize(state, op, container(width), 32) if type(op) is int else op


def amount(state: FunctionState, value: llvm.Value, bits: int) -> Scalar:
    """A shift amount as the 32-bit register that PTX wants, from an integer."""
    assert isinstance(value.type, IntType)
    return shift_amount(state, state.scalar(value), value.type.bits)
