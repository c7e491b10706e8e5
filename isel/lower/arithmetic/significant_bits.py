"""Bounds on the number of significant bits of integers, from the instructions that compute them.

Layer: isel.lower.  Input: the instructions of a function by their results, and an integer.  Output:
a number of bits: those above them are zero, whatever the operands are.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics import special
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import IntType
from isel.llvm.vocabulary import Opcode

_REGISTER = "llvm.nvvm.read.ptx.sreg."

_DEPTH = 6
"""Instructions that are looked through."""

Makers = Mapping[str, ir.Instruction]


def significant_bits(made: Makers, value: llvm.Value, depth: int = _DEPTH) -> int:
    """The number of low bits of an integer that may be set; 0 for a zero."""
    assert isinstance(value.type, IntType)
    bits = value.type.bits
    if type(value) is llvm.ConstInt:
        return (value.value & (1 << bits) - 1).bit_length()
    if not depth or type(value) is not llvm.Local:
        return bits
    i = made.get(value.name)
    return bits if i is None else min(bits, _of(made, i, bits, depth - 1))


def _of(made: Makers, i: ir.Instruction, bits: int, depth: int) -> int:
    """The bits of what an instruction makes; more than the type has where nothing is known."""

    def of(value: llvm.Value) -> int:
        return significant_bits(made, value, depth)

    if type(i) is ir.BinaryOp:
        return _of_numbers(i, of(i.lhs), of(i.rhs), bits)
    match i:
        case ir.Cast(opcode=Opcode.ZEXT | Opcode.TRUNC, operand=operand):
            return of(operand) if isinstance(operand.type, IntType) else bits
        case ir.Cast(opcode=Opcode.SEXT, operand=operand) if isinstance(operand.type, IntType):
            found = of(operand)
            return found if found < operand.type.bits else bits
        case ir.Call():
            return special.significant_bits((i.callee_name or "").removeprefix(_REGISTER))
        case ir.Freeze(operand=operand):
            return of(operand)
        case ir.Select(if_true=one, if_false=other):
            return max(of(one), of(other))
        case ir.Phi():  # which may have many operands: these are looked at, not behind
            return max(significant_bits(made, one, min(depth, 1)) for one in i.operands())
    return bits


def _of_numbers(i: ir.BinaryOp, left: int, right: int, bits: int) -> int:
    """The bits of a result, from those of its operands."""
    number = i.rhs.value if isinstance(i.rhs, llvm.ConstInt) else 0
    match i.opcode:
        case Opcode.AND | Opcode.UREM:
            return min(left, right)
        case Opcode.OR | Opcode.XOR:
            return max(left, right)
        case Opcode.ADD:
            return max(left, right) + 1
        case Opcode.MUL:
            return left + right
        case Opcode.SHL:
            return left + number if number else bits
        case Opcode.LSHR:
            return max(left - number, 0)
        case Opcode.UDIV:
            return max(left - max(number.bit_length() - 1, 0), 0)
    return bits
