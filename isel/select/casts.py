"""Casts to records: integers, pointers, bits.

Layer: isel.select.  Vectors element by element; `isel.select.widths` says how integers
lie in registers.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Reg, Scalar, Sym
from intrinsics.modifiers import ScalarType, Space
from isel.diagnostics import not_yet
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED, container
from isel.llvm.types import FloatType, IntType, PointerType, Type
from isel.llvm.vocabulary import Opcode
from isel.select.repack import (
    element_widths,
    extend_byte,
    from_predicate,
    repack,
    to_predicate,
)
from isel.select.state import FunctionState, Values, form
from isel.select.widths import (
    LIMB,
    elements,
    extend,
    extend_into,
    in_elements,
    limb_widths,
    register,
    resize,
)

T = ScalarType

_IN_PLACE: dict[Type, Space] = {PointerType(5): Space.LOCAL, PointerType(101): Space.PARAM}
"""Where a variable's address is its name."""


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
    """trunc, zext and sext; what only leaves off bits of its register needs no record."""
    source, target = i.operand.type.scalar, i.type.scalar
    assert isinstance(source, IntType)
    assert isinstance(target, IntType)
    operands = elements(state, i.operand)
    if i.opcode is Opcode.TRUNC and target.bits > 1:
        low = [op for ops in operands for op in ops[: len(limb_widths(target.bits))]]
        if target.bits > LIMB or container(target.bits) == container(min(source.bits, LIMB)):
            state.forward(i.result, tuple(low))
            return
    results = state.define(i.result, i.type)
    each = in_elements(results, len(results) // len(operands))
    for result, ops in zip(each, operands, strict=True):
        if i.opcode is Opcode.TRUNC:
            _truncate(state, result[0], ops[0], min(source.bits, LIMB), target.bits)
        elif target.bits > LIMB:
            _extend_wide(state, result, ops, source.bits, signed=i.opcode is Opcode.SEXT)
        else:
            extend_to(state, result[0], ops[0], source.bits, signed=i.opcode is Opcode.SEXT)


def _truncate(state: FunctionState, result: Reg, op: Scalar, source: int, target: int) -> None:
    reg = register(state, op, container(source))
    if target == 1:
        to_predicate(state, result, reg, container(source))
        return
    bits, into = container(source), container(target)
    whole = state.uppers.get(reg)
    if whole is not None and bits == 2 * into and bits in (32, 64):
        state.emit(form("mov.unpack2", type=BITS[bits]), (state.new(BITS[into]), result), whole)
        _keep_half(state, whole, 1, result)
        return
    state.emit(form("cvt.int", dtype=UNSIGNED[into], atype=UNSIGNED[bits]), result, reg)
    if bits == 2 * into:
        _keep_half(state, reg, 0, result)


def _keep_half(state: FunctionState, whole: Reg, which: int, half: Reg) -> None:
    """Of a word both of whose halves are cut out it is known that they make it."""
    state.cut[whole, which] = half
    other = state.cut.get((whole, 1 - which))
    if other is not None:
        state.words[(half, other) if which == 0 else (other, half)] = whole


def _extend_wide(
    state: FunctionState, result: tuple[Reg, ...], ops: Values, width: int, *, signed: bool
) -> None:
    """The highest limb of the operand filled up, then limbs of zeros or signs."""
    last = len(ops) - 1
    for d, op in zip(result[:last], ops[:last], strict=True):
        state.emit(form("mov", type=T.B64), d, op)
    if last:
        top = extend(state, ops[last], width - LIMB * last, signed=signed, bits=LIMB)
        state.emit(form("mov", type=T.B64), result[last], top)
    else:
        extend_to(state, result[0], ops[0], width, signed=signed)
    for d in result[last + 1 :]:
        if signed:
            state.emit(form("shr", type=T.S64), d, result[last], Imm(LIMB - 1))
        else:
            state.emit(form("mov", type=T.B64), d, Imm(0))


def extend_to(state: FunctionState, result: Reg, op: Scalar, width: int, *, signed: bool) -> None:
    """The `width` bits of an integer, at most 64, in a register as wide or wider."""
    source, target = container(width), state.out.regs.classes[result].bits
    if width == 1:
        from_predicate(state, result, state.reg(op, T.PRED), -1 if signed else 1)
        return
    reg = register(state, op, source)
    least = min(width, state.zero_above.get(reg, width))
    signed = signed and least == width  # a number without a sign needs none
    if not signed:
        state.zero_above[result] = least
    types = {8: T.S8, **SIGNED} if signed else {8: T.U8, **UNSIGNED}
    if width == 8 and target >= 32 and reg in state.bytes:
        _extend_byte(state, result, reg, target, signed=signed)
    elif width in types:
        state.emit(form("cvt.int", dtype=types[target], atype=types[width]), result, reg)
        if target == 2 * width and width > 8:
            state.halves[result] = (reg, signed)
        elif width < 32 < target:
            half = state.new(T.B32)  # one of the two is not needed
            extend_to(state, half, reg, width, signed=signed)
            state.halves[result] = (half, signed)
    elif source == target:
        extend_into(state, result, reg, width, signed=signed)
    elif signed:
        extend_into(state, result, resize(state, reg, source, target), width, signed=True)
    else:
        whole = extend(state, reg, width, signed=False)
        state.emit(form("cvt.int", dtype=UNSIGNED[target], atype=UNSIGNED[source]), result, whole)


def _extend_byte(state: FunctionState, result: Reg, reg: Reg, target: int, *, signed: bool) -> None:
    """A byte of a word, taken from the word."""
    half = result if target == 32 else state.new(T.B32)
    extend_byte(state, half, reg, signed=signed)
    if half == result:
        return
    types = SIGNED if signed else UNSIGNED
    state.emit(form("cvt.int", dtype=types[64], atype=types[32]), result, half)
    state.halves[result] = (half, signed)


def _pointer_cast(state: FunctionState, i: ir.Cast) -> None:
    to_pointer = i.opcode is Opcode.INTTOPTR
    pointer, integer = (i.type, i.operand.type) if to_pointer else (i.operand.type, i.type)
    pointer, integer = pointer.scalar, integer.scalar
    assert isinstance(pointer, PointerType)
    assert isinstance(integer, IntType)
    address = state.layout.pointer_bits(pointer.address_space)
    if integer.bits == address:
        state.forward(i.result, state.value(i.operand))
        return
    operands = elements(state, i.operand)
    results = state.define(i.result, i.type)
    each = in_elements(results, len(results) // len(operands))
    for (result, *above), (op, *_) in zip(each, operands, strict=True):
        for limb in above:
            state.emit(form("mov", type=T.B64), limb, Imm(0))
        if not to_pointer:
            _address_number(state, result, op, address, min(integer.bits, LIMB))
        elif container(integer.bits) <= address and integer.bits < address:
            extend_to(state, result, op, integer.bits, signed=False)
        else:
            _truncate(state, result, op, container(min(integer.bits, LIMB)), address)


def _address_number(state: FunctionState, result: Reg, op: Scalar, address: int, bits: int) -> None:
    if bits > address:
        extend_to(state, result, op, address, signed=False)
    elif bits == 1 or container(bits) != address:
        _truncate(state, result, op, address, bits)
    else:
        state.emit(form("mov", type=BITS[address]), result, op)


def _address_space_cast(state: FunctionState, i: ir.Cast) -> None:
    source, target = i.operand.type.scalar, i.type.scalar
    place = _place(state, i.operand, _IN_PLACE.get(target))
    if place is not None:
        state.forward(i.result, (place,))
        return
    found = tuple(state.convert_address(op, source, target) for op in state.value(i.operand))
    state.forward(i.result, found)


def _place(state: FunctionState, pointer: llvm.Value, asked: Space | None) -> Sym | None:
    """The address in a state space of what is known to point to a variable there."""
    if asked is None or not isinstance(pointer, llvm.Local):
        return None
    space, mem = state.known.get(pointer.name, (None, None))
    if space is not asked or mem is None or not isinstance(mem.base, Sym):
        return None
    return Sym(mem.base.name, mem.base.offset + mem.offset)


def _bit_cast(state: FunctionState, i: ir.Cast) -> None:
    """The same bits cut into other elements, the first of them in the lowest bits."""
    source, target = element_widths(state, i.operand.type), element_widths(state, i.type)
    values = state.value(i.operand)
    if source == target:
        if isinstance(values[0], Sym) and isinstance(i.type, FloatType):
            values = (state.scalar_reg(i.operand),)  # instructions of floats take no address
        state.forward(i.result, values)
        return
    repack(state, values, source, state.define(i.result, i.type), target)
