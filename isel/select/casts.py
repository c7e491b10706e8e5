"""Casts to records: integers, pointers, bits.

Layer: isel.select.  An i8 lives in a 16-bit register whose upper half means nothing.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Op, Reg
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.llvm import ir
from isel.llvm.types import IntType, PointerType, Type, VectorType
from isel.llvm.vocabulary import Opcode
from isel.select.diagnostics import not_yet
from isel.select.state import FunctionState, form
from isel.select.types import BITS, SIGNED, UNSIGNED

T = ScalarType


def cast(state: FunctionState, i: ir.Cast) -> None:
    """Integer, pointer and bit casts."""
    match i.opcode:
        case Opcode.TRUNC | Opcode.ZEXT | Opcode.SEXT:
            _integer_cast(state, i)
        case Opcode.PTRTOINT | Opcode.INTTOPTR | Opcode.PTRTOADDR:
            _pointer_cast(state, i)
        case Opcode.ADDRSPACECAST:
            _address_space_cast(state, i)
        case Opcode.BITCAST:
            _bit_cast(state, i)
        case _:
            raise not_yet(i.opcode.value)


def _integer_cast(state: FunctionState, i: ir.Cast) -> None:
    source, target = i.operand.type, i.type
    if not isinstance(source, IntType) or not isinstance(target, IntType):
        raise not_yet(f"{i.opcode.value} of vectors")
    operand = state.scalar_reg(i.operand)
    (result,) = state.define(i.result, target)
    if source.bits == 1:
        from_predicate(state, result, operand, -1 if i.opcode is Opcode.SEXT else 1)
    elif target.bits == 1:
        to_predicate(state, result, operand, max(source.bits, 16))
    else:
        signed = i.opcode is Opcode.SEXT
        types = {8: T.S8, **SIGNED} if signed else {8: T.U8, **UNSIGNED}
        dtype = types[max(target.bits, 16)]
        state.emit(form("cvt.int", dtype=dtype, atype=types[source.bits]), result, operand)


def from_predicate(state: FunctionState, result: Reg, predicate: Reg, one: int) -> None:
    """`one` where a predicate holds, else 0."""
    cls = state.out.regs.classes[result]
    state.emit(form("selp", type=cls), result, Imm(one), Imm(0), predicate)


def to_predicate(state: FunctionState, result: Reg, reg: Reg, bits: int) -> None:
    """Whether the lowest bit of a register is set."""
    low = state.new(BITS[bits])
    state.emit(form("and", type=BITS[bits]), low, reg, Imm(1))
    state.emit(form("setp.int", p=True, cmp=Cmp.NE, type=BITS[bits]), result, low, Imm(0))


def _pointer_cast(state: FunctionState, i: ir.Cast) -> None:
    pointer = i.operand.type if i.opcode is not Opcode.INTTOPTR else i.type
    integer = i.type if i.opcode is not Opcode.INTTOPTR else i.operand.type
    if not isinstance(pointer, PointerType) or not isinstance(integer, IntType):
        raise not_yet(f"{i.opcode.value} of vectors")
    pointer_bits = state.layout.pointer_bits(pointer.address_space)
    source = integer.bits if i.opcode is Opcode.INTTOPTR else pointer_bits
    target = pointer_bits if i.opcode is Opcode.INTTOPTR else integer.bits
    (op,) = state.value(i.operand)
    if source == target:
        state.forward(i.result, (op,))
    elif not isinstance(op, (int, Imm)) and target in (32, 64):
        (result,) = state.define(i.result, i.type)
        state.emit(form("mov", type=BITS[target]), result, op)
    else:
        (result,) = state.define(i.result, i.type)
        dtype, atype = UNSIGNED[max(target, 16)], UNSIGNED[max(source, 16)]
        state.emit(form("cvt.int", dtype=dtype, atype=atype), result, state.reg(op, BITS[source]))


def _address_space_cast(state: FunctionState, i: ir.Cast) -> None:
    (op,) = state.value(i.operand)
    state.forward(i.result, (state.convert_address(op, i.operand.type, i.type),))


def _bit_cast(state: FunctionState, i: ir.Cast) -> None:
    """The same bits cut into other elements, the first of them in the lowest bits."""
    source, target = _element_bits(state, i.operand.type), _element_bits(state, i.type)
    values = state.value(i.operand)
    if source == target:
        state.forward(i.result, values)
        return
    if min(source, target) < 16:
        raise not_yet(f"bitcast from {i.operand.type} to {i.type}")
    classes = state.layout.classes(i.operand.type)
    regs = [state.reg(op, cls) for op, cls in zip(values, classes, strict=True)]
    results = list(state.define(i.result, i.type))
    if target > source:
        each = target // source
        for at, result in enumerate(results):
            join(state, result, regs[at * each : (at + 1) * each], source)
    else:
        each = source // target
        for at, reg in enumerate(regs):
            split(state, results[at * each : (at + 1) * each], reg, target)


def _element_bits(state: FunctionState, type_: Type) -> int:
    element = type_.element if isinstance(type_, VectorType) else type_
    if isinstance(element, IntType):
        return element.bits
    return state.layout.size(element) * 8


def join(state: FunctionState, result: Reg, parts: list[Reg], bits: int) -> None:
    """One register from parts of `bits` bits each, the first one lowest."""
    wide = state.out.regs.classes[result]
    if bits == 8:
        _join_bytes(state, result, parts, wide.bits)
    else:
        state.emit(form(f"mov.pack{len(parts)}", type=BITS[wide.bits]), result, tuple(parts))


def split(state: FunctionState, results: list[Reg], reg: Reg, bits: int) -> None:
    """The parts of `bits` bits each of one register, the lowest one first."""
    wide = state.out.regs.classes[reg]
    if bits == 8:
        _split_bytes(state, results, reg, wide.bits)
    else:
        state.emit(form(f"mov.unpack{len(results)}", type=BITS[wide.bits]), tuple(results), reg)


def _join_bytes(state: FunctionState, result: Reg, parts: list[Reg], bits: int) -> None:
    joined: Op = Imm(0)
    for at, part in enumerate(parts):
        widened = state.new(BITS[bits])
        state.emit(form("cvt.int", dtype=UNSIGNED[bits], atype=T.U8), widened, part)
        if at == 0:
            joined = widened
            continue
        shifted = state.new(BITS[bits])
        state.emit(form("shl", type=BITS[bits]), shifted, widened, Imm(8 * at))
        last = at + 1 == len(parts)
        total = result if last else state.new(BITS[bits])
        state.emit(form("or", type=BITS[bits]), total, joined, shifted)
        joined = total


def _split_bytes(state: FunctionState, results: list[Reg], reg: Reg, bits: int) -> None:
    for at, result in enumerate(results):
        shifted = reg
        if at:
            shifted = state.new(BITS[bits])
            state.emit(form("shr", type=UNSIGNED[bits]), shifted, reg, Imm(8 * at))
        state.emit(form("cvt.int", dtype=T.U16, atype=UNSIGNED[bits]), result, shifted)
