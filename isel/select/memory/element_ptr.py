"""Selecting getelementptr: addresses of elements.

Layer: isel.select.  Input: a base and indices.  Output: records that compute the address, and what
loads and stores fold into theirs: the constant part as the offset, also where it hides in an index
(`i + 512`, or `i | 512` of bits that are not set), so that neighbours share one address.
PTX ISA, Addresses as Operands.
"""

from __future__ import annotations

from typing import NamedTuple

from intrinsics.mir import Imm, Mem, Reg, Scalar, Sym
from intrinsics.modifiers import ScalarType, Space
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS, SIGNED, SPACES, UNSIGNED, container, walk_indices
from isel.llvm.types import IntType, PointerType, Type, VectorType
from isel.llvm.vocabulary import Flag
from isel.select.register_facts import Added, Sum
from isel.select.repack import from_predicate
from isel.select.state import FunctionState, form, typed
from isel.select.widths import LIMB, elements, extend

T = ScalarType
_SMALL = (Space.SHARED, Space.LOCAL)
"""State spaces whose objects are small."""

_INBOUNDS = Flag.INBOUNDS

_FARTHEST = 1 << 23
"""Offsets of fewer bytes than that stand in an instruction of the machine."""


class ScaledIndex(NamedTuple):  # which hashes faster than a dataclass: it is a key again and again
    """`size` times an index (`operand`) of `width` bits, extended by its sign or with zeros.

    A size below 0 leads down.
    """

    size: int
    operand: Scalar
    width: int
    signed: bool = True


def get_element_ptr(state: FunctionState, i: ir.GetElementPtr) -> None:
    """Address arithmetic; a constant part is also folded into the addresses that use it."""
    if isinstance(i.type, VectorType):
        _vector_of_addresses(state, i, i.type)
        return
    assert isinstance(i.type, PointerType)
    bits = state.layout.pointer_bits(i.type.address_space)
    small = _in_small_object(state, i)
    offset = 0
    steps: list[ScaledIndex] = []
    for size, index, field in walk_indices(state.layout, i.element_type, i.indices):
        if not size:
            offset += field
        elif isinstance(index, llvm.ConstInt):
            offset += size * index.signed
        else:
            parts, constant = _split(state, size, index, bits, small)
            offset += constant
            steps += parts
    _compute(state, i, steps, offset, bits)
    _follow(state, i, steps, offset, bits)


def _in_small_object(state: FunctionState, i: ir.GetElementPtr) -> bool:
    """Whether all addresses lie in one object of shared or local memory, hence below 2**24 bytes.

    CUDA C++ Programming Guide, Compute Capabilities: at most 228 KB, and 512 KB of a thread.
    """
    if _INBOUNDS not in i.flags:
        return False
    if isinstance(i.base.type, PointerType) and SPACES.get(i.base.type.address_space) in _SMALL:
        return True
    known = state.known.get(i.base.name) if isinstance(i.base, llvm.Local) else None
    return known is not None and known[0] in _SMALL


def _split(
    state: FunctionState, size: int, value: llvm.Value, bits: int, small: bool
) -> tuple[list[ScaledIndex], int]:
    """What an index steps over, without the constants that are added in it, and their bytes."""
    op, width = _index(state, elements(state, value)[0][0], value.type)
    whole = ScaledIndex(size, op, width)
    half, signed = state.halves.get(op, (op, True)) if type(op) is int else (op, True)
    if half == op or not width == bits == 64:
        return _without_numbers(state, whole, bits, small)
    steps, constant = _without_numbers(state, ScaledIndex(size, half, 32, signed), bits, small)
    # A product of the half is one instruction, the half itself needs to be converted again.
    is_product = 1 < size < 1 << 31
    return (steps, constant) if constant or is_product else ([whole], 0)


def _without_numbers(
    state: FunctionState, step: ScaledIndex, bits: int, small: bool
) -> tuple[list[ScaledIndex], int]:
    """A step, or those over both parts of a sum one of which has a number; and the numbers' bytes.

    `(x + 1) + row` becomes steps over x and over row: its neighbours have them too.
    """
    step, constant = _without_number(state, step, bits, small=small)
    found = state.added.get(step.operand) if type(step.operand) is int else None
    if found is None or not _holds_extended(step, found, bits):
        return [step], constant
    parts = [
        _without_number(state, step._replace(operand=operand), bits)
        for operand in sorted((found.left, found.right))
    ]
    more = sum(number for _, number in parts)
    if not more or abs(constant + more) >= _FARTHEST:
        return [step], constant
    return [part for part, _ in parts], constant + more


def _holds_extended(step: ScaledIndex, found: Sum | Added, bits: int) -> bool:
    """Whether a sum of an index's width is one of what its parts are extended to."""
    return step.width == bits or (found.signed if step.signed else found.unsigned)


def _without_number(
    state: FunctionState, step: ScaledIndex, bits: int, *, small: bool = False
) -> tuple[ScaledIndex, int]:
    """`number ± base` without the number, if extending the sum is adding the extended parts.

    In a `small` object it is: a sum with a small number that overflows is nearly 2**31, or minus
    that, and leads out of the object.
    """
    found = state.sums.get(step.operand) if type(step.operand) is int else None
    if found is None:
        return step, 0
    number = found.number if step.signed else found.number % (1 << step.width)
    holds = (small and step.signed and step.width == 32) or _holds_extended(step, found, bits)
    if not holds or abs(step.size * number) >= _FARTHEST:
        return step, 0
    base = ScaledIndex(found.sign * step.size, found.base, step.width, step.signed)
    return base, step.size * number


def _compute(
    state: FunctionState,
    i: ir.GetElementPtr,
    steps: list[ScaledIndex],
    offset: int,
    bits: int,
) -> None:
    if not steps and not offset:
        state.forward(i.result, state.value(i.base))
        return
    if not steps:
        _constant_step(state, i, offset, bits)
        return
    before, offset = _base(state, i.base, offset)
    base = _moved_on(state, before, steps, bits)
    if offset and i.result is not None:
        state.addresses[i.result] = Mem(base, offset)
        (result,) = state.define(i.result, i.type)
        state.emit(typed("add.int", SIGNED[bits]), result, base, Imm(offset))
        return
    state.forward(i.result, (base,))


def _base(state: FunctionState, base: llvm.Value, offset: int) -> tuple[Reg, int]:
    """A base, and the bytes to add behind all steps: with those that it is itself behind another.

    Neighbours that are far from one another have the steps in common then.
    """
    before = state.address(base)
    if isinstance(before.base, int) and abs(before.offset + offset) < _FARTHEST:
        return before.base, before.offset + offset
    return state.scalar_reg(base), offset


def _index(state: FunctionState, op: Scalar, type_: Type) -> tuple[Scalar, int]:
    """An index in a register of numbers, and its width; a condition that holds is -1."""
    element = type_.scalar
    assert isinstance(element, IntType)
    if element.bits > 1:
        return op, min(element.bits, LIMB)  # what lies above counts for no address
    if isinstance(op, Imm):
        return Imm(-(op.value & 1)), 32
    word = state.new(T.B32)
    from_predicate(state, word, state.reg(op, T.PRED), -1)
    return word, 32


def _vector_of_addresses(state: FunctionState, i: ir.GetElementPtr, type_: VectorType) -> None:
    """The same arithmetic for each element; what is no vector is the same for all."""
    assert isinstance(type_.element, PointerType)
    bits = state.layout.pointer_bits(type_.element.address_space)
    lanes = len(state.layout.classes(type_))
    scalars = tuple(_lane(index, 0) for index in i.indices)
    offset = sum(state.field_offsets(i.element_type, scalars))
    found: list[Scalar] = []
    columns = [_column(state, index, lanes) for index in i.indices]
    sizes = state.step_sizes(i.element_type, scalars)
    for at, op in enumerate(_column(state, i.base, lanes)):
        constant = offset
        base = state.reg(op, BITS[bits])
        for size, column, index in zip(sizes, columns, i.indices, strict=True):
            step, width = _index(state, column[at], index.type)
            if isinstance(step, Imm):
                constant += size * step.value
            elif size:
                base = _step(state, base, ScaledIndex(size, step, width), bits)
        found.append(base)
        if constant:
            add = typed("add.int", SIGNED[bits])
            found[-1] = state.computed(add, base, Imm(constant), cls=BITS[bits])
    state.forward(i.result, tuple(found))


def _lane(value: llvm.Value, lane: int) -> llvm.Value:
    """One element of a constant vector: the number of a struct's field."""
    parts = llvm.elements_of(value) if isinstance(value.type, VectorType) else None
    return parts[lane] if parts else value


def _column(state: FunctionState, value: llvm.Value, lanes: int) -> list[Scalar]:
    found = [ops[0] for ops in elements(state, value)]
    return found if isinstance(value.type, VectorType) else found * lanes


def _follow(
    state: FunctionState,
    i: ir.GetElementPtr,
    steps: list[ScaledIndex],
    offset: int,
    bits: int,
) -> None:
    """Where the result really points, if that is known of the base.

    Addresses in global memory are the same in the generic space, so nothing is computed for them
    but the generic one.  PTX ISA, Generic Addressing.
    """
    if not isinstance(i.base, llvm.Local) or i.result is None:
        return
    found = state.known.get(i.base.name)
    if found is None:
        return
    space, mem = found
    if not steps:
        state.known[i.result] = space, Mem(mem.base, mem.offset + offset)
        return
    if space is Space.GLOBAL:
        state.known[i.result] = space, state.address(llvm.Local(i.result, i.type))
        return
    base = mem.base if isinstance(mem.base, int) else state.reg(mem.base, BITS[bits])
    base = _moved_on(state, base, steps, bits)
    state.known[i.result] = space, Mem(base, mem.offset + offset)


def _constant_step(state: FunctionState, i: ir.GetElementPtr, offset: int, bits: int) -> None:
    before = state.address(i.base)
    address = Mem(before.base, before.offset + offset)
    if i.result is not None:
        state.addresses[i.result] = address
    if not isinstance(before.base, int):
        state.forward(i.result, (Sym(before.base.name, address.offset),))
        return
    (result,) = state.define(i.result, i.type)
    state.emit(typed("add.int", SIGNED[bits]), result, before.base, Imm(address.offset))


def _moved_on(state: FunctionState, base: Reg, steps: list[ScaledIndex], bits: int) -> Reg:
    """base + the steps; the one that the entry block has added to this base already comes first."""
    if len(steps) > 1:
        steps = sorted(steps, key=lambda step: (base, step, bits) not in state.kept)
    for step in steps:
        base = _step(state, base, step, bits)
    return base


def _step(state: FunctionState, base: Reg, step: ScaledIndex, bits: int) -> Reg:
    """base ± size * index, in pointer width; the index is extended or truncated to it."""
    place = base, step, bits
    found = state.scaled.get(place) or state.kept.get(place)
    if found is not None:
        return found
    index_bits = container(step.width)
    extended = extend(state, step.operand, step.width, signed=step.signed)
    step_of = ScaledIndex(
        abs(step.size), state.reg(extended, BITS[index_bits]), index_bits, step.signed
    )
    product = step_of, bits
    scaled = state.scaled.get(product) or state.kept.get(product)
    if scaled is None:
        scaled = state.scaled[product] = _scaled(state, step_of, bits)
    result = state.scaled[place] = state.new(BITS[bits])
    state.emit(typed("sub.int" if step.size < 0 else "add.int", SIGNED[bits]), result, base, scaled)
    return result


def _scaled(state: FunctionState, step: ScaledIndex, bits: int) -> Reg:
    """size * index, in pointer width; of half a register in one instruction."""
    size, reg = step.size, step.operand
    assert type(reg) is int
    half, signed = (reg, step.signed) if step.width != 64 else state.halves.get(reg, (reg, True))
    if bits == 64 and 1 < size < 1 << 31 and state.out.regs.classes[half].bits == 32:
        scaled = state.new(BITS[bits])
        state.emit(typed("mul.wide", T.S32 if signed else T.U32), scaled, half, Imm(size))
        return scaled
    if step.width != bits:
        wide = state.new(BITS[bits])
        types = SIGNED if step.signed else UNSIGNED
        widen = form("cvt.int", dtype=types[bits], atype=types[step.width])
        state.emit(widen, wide, reg)
        reg = wide
    return _scale(state, reg, size, bits)


def _scale(state: FunctionState, reg: Reg, size: int, bits: int) -> Reg:
    if size == 1:
        return reg
    scaled = state.new(BITS[bits])
    if size & (size - 1) == 0:
        state.emit(typed("shl", BITS[bits]), scaled, reg, Imm(size.bit_length() - 1))
    else:
        state.emit(typed("mul.lo", SIGNED[bits]), scaled, reg, Imm(size))
    return scaled
