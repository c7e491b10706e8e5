"""Constant expressions: their values, where known before linking.

Layer: isel.llvm.  Input: a constant of LLVM IR.  Output: a number, or the address of a global and
a number of bytes; for the others the instructions that compute them.  LLVM Language Reference,
Constant Expressions.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, walk_indices
from isel.llvm.types import IntType, PointerType, Type
from isel.llvm.vocabulary import CAST_OPCODES, Opcode

_SAME_BITS = (Opcode.BITCAST, Opcode.PTRTOINT, Opcode.INTTOPTR, Opcode.PTRTOADDR)
_GLOBAL = 1
"""The address space where globals of the generic one lie."""

_SHARED = {3, 7}
"""A CTA's own shared memory lies in the window of the cluster's."""


@dataclass(frozen=True, slots=True)
class Known:
    """`offset` bytes behind the global `name`, or, where that is None, the number `offset`.

    `space` is the address space of the global, and `generic` says whether its generic address is
    meant: that of a global of address space 0 is generic, that of another one was made so.
    """

    name: str | None
    offset: int
    space: int = 0
    generic: bool = False


def known(layout: TypeLayout, value: llvm.Value) -> Known | None:
    """The value of a constant expression; None for other expressions, vectors among them."""
    match value:
        case llvm.ConstInt():
            return Known(None, value.signed)
        case llvm.Null():
            return Known(None, 0)
        case llvm.GlobalRef(name, PointerType(space)):
            return Known(name, 0, space, space == 0)
        case llvm.ConstExpr(opcode=Opcode.GETELEMENTPTR):
            return _stepped(layout, value)
        case llvm.ConstExpr(opcode=Opcode.ADDRSPACECAST):
            return _converted(known(layout, value.operands[0]), value.operands[0].type, value.type)
        case llvm.ConstExpr(opcode=Opcode.ADD | Opcode.SUB as opcode, operands=(left, right)):
            return _summed(opcode, known(layout, left), known(layout, right))
        case llvm.ConstExpr(opcode=Opcode.TRUNC, operands=(operand,)):
            return _shortened(known(layout, operand), _bits(layout, value.type))
        case llvm.ConstExpr(opcode=opcode) if opcode in _SAME_BITS:
            (operand,) = value.operands
            before, after = _bits(layout, operand.type), _bits(layout, value.type)
            return _with_bits(known(layout, operand), before, after)
    return None


def _bits(layout: TypeLayout, type_: Type) -> int:
    """The width of an integer or an address; 0 for what is neither."""
    match type_:
        case IntType(bits):
            return bits
        case PointerType(space):
            return layout.pointer_bits(space)
    return 0


def _stepped(layout: TypeLayout, value: llvm.ConstExpr) -> Known | None:
    base = known(layout, value.operands[0])
    if base is None or value.element_type is None:
        return None
    total = base.offset
    for size, index, offset in walk_indices(layout, value.element_type, value.operands[1:]):
        step = known(layout, index)
        if step is None or step.name is not None:
            return None
        total += size * step.offset + offset
    return replace(base, offset=total)


def _converted(found: Known | None, source: Type, target: Type) -> Known | None:
    if found is None or found.name is None:
        return None
    assert isinstance(source, PointerType)
    assert isinstance(target, PointerType)
    before, after = source.address_space, target.address_space
    if before == after or {before, after} == _SHARED:
        return found
    own = found.space or _GLOBAL
    if after == 0:
        return replace(found, generic=True) if before == own and not found.generic else None
    return replace(found, generic=False) if (before, after) == (0, own) and found.generic else None


def _with_bits(found: Known | None, before: int, after: int) -> Known | None:
    """An integer or an address as one of another width: a number is extended by zeros."""
    if before == after or found is None:
        return found
    if found.name is not None or not before:
        return None
    return _shortened(Known(None, found.offset % (1 << before)), after)


def _shortened(found: Known | None, bits: int) -> Known | None:
    """The lower bits of a number; those of an address are known to the linker alone."""
    if found is None or found.name is not None or not bits:
        return None
    half = 1 << bits - 1
    return Known(None, (found.offset + half) % (2 * half) - half)


def _summed(opcode: Opcode, left: Known | None, right: Known | None) -> Known | None:
    if left is None or right is None:
        return None
    if opcode is Opcode.SUB:
        if right.name is None:
            return replace(left, offset=left.offset - right.offset)
        same = replace(left, offset=0) == replace(right, offset=0)
        return Known(None, left.offset - right.offset) if same else None
    if right.name is None:
        return replace(left, offset=left.offset + right.offset)
    return replace(right, offset=left.offset + right.offset) if left.name is None else None


def as_instruction(value: llvm.ConstExpr, result: str) -> ir.Instruction:
    """The instruction that computes a constant expression."""
    common = (value.opcode, result, 0, 0, None, (), value.type)
    operands = value.operands
    match value.opcode:
        case Opcode.GETELEMENTPTR:
            assert value.element_type is not None
            return ir.GetElementPtr(
                *common, value.element_type, operands[0], operands[1:], value.flags
            )
        case Opcode.EXTRACTELEMENT:
            return ir.ExtractElement(*common, operands[0], operands[1])
        case Opcode.INSERTELEMENT:
            return ir.InsertElement(*common, operands[0], operands[1], operands[2])
        case Opcode.SHUFFLEVECTOR:
            return ir.ShuffleVector(*common, operands[0], operands[1], value.mask)
        case opcode if opcode in CAST_OPCODES:
            return ir.Cast(*common, operands[0], value.flags)
    return ir.BinaryOp(*common, operands[0], operands[1], value.flags)
