"""LLVM's ordinary instructions to records: the table, one entry for each class of instruction.

Layer: isel.select.  Input: an instruction and the state of its function.  What has no entry, or no
records for its type, is reported as unselectable, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from intrinsics.mir import Block, Imm, Label, MachineInstr, Mem, Reg, Scalar, Sym
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType, Space
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import ArrayType, IntType, PointerType, StructType, Type, VectorType
from isel.llvm.vocabulary import FloatPredicate, Opcode
from isel.select.accesses import check_space, load, store
from isel.select.atomics import compare_exchange, fence, read_modify_write
from isel.select.casts import cast
from isel.select.diagnostics import not_yet
from isel.select.float_casts import FLOAT_CASTS, float_cast
from isel.select.floats import float_binary, float_compare, float_negate, is_float
from isel.select.functions import return_value
from isel.select.integers import binary, compare
from isel.select.stack import alloca
from isel.select.state import FunctionState, Values, form
from isel.select.types import BITS, SIGNED, container, walk_indices
from isel.select.vectors import extract_element, insert_element, select, shuffle
from isel.select.widths import LIMB, elements, extend, extended, register_bits

T = ScalarType


def freeze(state: FunctionState, i: ir.Freeze) -> None:
    """A frozen value is the value: registers hold something definite."""
    state.forward(i.result, state.value(i.operand))


# ---- vectors and aggregates ------------------------------------------------------------------


def extract_value(state: FunctionState, i: ir.ExtractValue) -> None:
    """A member of a first-class aggregate."""
    start, count = _member(state, i.aggregate.type, i.indices)
    state.forward(i.result, state.value(i.aggregate)[start : start + count])


def insert_value(state: FunctionState, i: ir.InsertValue) -> None:
    """A first-class aggregate with one member replaced."""
    start, count = _member(state, i.aggregate.type, i.indices)
    parts = list(state.value(i.aggregate))
    parts[start : start + count] = state.value(i.element)
    state.forward(i.result, tuple(parts))


def _member(state: FunctionState, type_: Type, indices: tuple[int, ...]) -> tuple[int, int]:
    """Where a member's registers begin, and how many they are."""
    start = 0
    for index in indices:
        if isinstance(type_, StructType):
            start += sum(state.layout.count(e) for e in type_.elements[:index])
            type_ = type_.elements[index]
        else:
            assert isinstance(type_, ArrayType)
            start += index * state.layout.count(type_.element)
            type_ = type_.element
    return start, state.layout.count(type_)


# ---- addresses ----------------------------------------------------------------------------------


def get_element_ptr(state: FunctionState, i: ir.GetElementPtr) -> None:
    """Address arithmetic; a constant part is also folded into the addresses that use it."""
    if isinstance(i.type, VectorType):
        _vector_of_addresses(state, i, i.type)
        return
    assert isinstance(i.type, PointerType)
    bits = state.layout.pointer_bits(i.type.address_space)
    offset = 0
    moving: list[tuple[int, llvm.Value]] = []
    for size, index, field in walk_indices(state.layout, i.element_type, i.indices):
        if not size:
            offset += field
        elif isinstance(index, llvm.ConstInt):
            offset += size * index.signed
        else:
            moving.append((size, index))
    _compute(state, i, moving, offset, bits)
    _follow(state, i, moving, offset, bits)


def _compute(
    state: FunctionState,
    i: ir.GetElementPtr,
    moving: list[tuple[int, llvm.Value]],
    offset: int,
    bits: int,
) -> None:
    if not moving and not offset:
        state.forward(i.result, state.value(i.base))
        return
    if not moving:
        _constant_step(state, i, offset, bits)
        return
    base = _moved_on(state, state.scalar_reg(i.base), moving, bits)
    if offset and i.result is not None:
        state.addresses[i.result] = Mem(base, offset)
        (result,) = state.define(i.result, i.type)
        state.emit(form("add.int", type=SIGNED[bits]), result, base, Imm(offset))
        return
    state.forward(i.result, (base,))


def _index_width(type_: Type) -> int:
    element = type_.scalar
    assert isinstance(element, IntType)
    return min(element.bits, LIMB)  # what lies above counts for no address


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
            step = column[at]
            if isinstance(step, Imm):
                constant += size * step.value
            elif size:
                base = _step(state, base, size, step, _index_width(index.type), bits)
        found.append(base)
        if constant:
            found[-1] = state.new(BITS[bits])
            state.emit(form("add.int", type=SIGNED[bits]), found[-1], base, Imm(constant))
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
    moving: list[tuple[int, llvm.Value]],
    offset: int,
    bits: int,
) -> None:
    """Where the result really points, if that is known of the base.

    Addresses in global memory are the same in the generic space, so nothing is computed for them
    but the generic one.  PTX ISA, Generic Addressing.
    """
    if not isinstance(i.base, llvm.Local) or i.result is None:
        return
    if i.base.name in state.unwritten:
        state.unwritten.add(i.result)
    found = state.known.get(i.base.name)
    if found is None:
        return
    space, mem = found
    if not moving:
        state.known[i.result] = space, Mem(mem.base, mem.offset + offset)
        return
    if space is Space.GLOBAL:
        state.known[i.result] = space, state.address(llvm.Local(i.result, i.type))
        return
    base = mem.base if isinstance(mem.base, int) else state.reg(mem.base, BITS[bits])
    base = _moved_on(state, base, moving, bits)
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
    state.emit(form("add.int", type=SIGNED[bits]), result, before.base, Imm(address.offset))


def _moved_on(
    state: FunctionState, base: Reg, moving: list[tuple[int, llvm.Value]], bits: int
) -> Reg:
    """base + the steps; the one that the entry block has added to this base already comes first."""
    steps = [(size, elements(state, v)[0][0], _index_width(v.type)) for size, v in moving]
    if len(steps) > 1:
        steps.sort(key=lambda step: (base, *step, bits) not in state.kept)
    for size, index, width in steps:
        base = _step(state, base, size, index, width, bits)
    return base


def _step(state: FunctionState, base: Reg, size: int, index: Scalar, width: int, bits: int) -> Reg:
    """base + size * index, in pointer width; the index is sign-extended or truncated to it."""
    step = base, size, index, width, bits
    found = state.scaled.get(step) or state.kept.get(step)
    if found is not None:
        return found
    index_bits = container(width)
    reg = state.reg(extend(state, index, width, signed=True), BITS[index_bits])
    scaled = state.scaled.get((reg, size, bits)) or state.kept.get((reg, size, bits))
    if scaled is None:
        scaled = _scaled(state, reg, size, index_bits, bits)
        state.scaled[reg, size, bits] = scaled
    result = state.scaled[step] = state.new(BITS[bits])
    state.emit(form("add.int", type=SIGNED[bits]), result, base, scaled)
    return result


def _scaled(state: FunctionState, reg: Reg, size: int, index_bits: int, bits: int) -> Reg:
    """size * index, in pointer width; of half a register in one instruction."""
    half, signed = state.halves.get(reg, (reg, True)) if index_bits == 64 else (reg, True)
    if bits == 64 and 1 < size < 1 << 31 and state.out.regs.classes[half].bits == 32:
        scaled = state.new(BITS[bits])
        state.emit(form("mul.wide", type=T.S32 if signed else T.U32), scaled, half, Imm(size))
        return scaled
    if index_bits != bits:
        wide = state.new(BITS[bits])
        widen = form("cvt.int", dtype=SIGNED[bits], atype=SIGNED[index_bits])
        state.emit(widen, wide, reg)
        reg = wide
    return _scale(state, reg, size, bits)


def _scale(state: FunctionState, reg: Reg, size: int, bits: int) -> Reg:
    if size == 1:
        return reg
    scaled = state.new(BITS[bits])
    if size & (size - 1) == 0:
        state.emit(form("shl", type=BITS[bits]), scaled, reg, Imm(size.bit_length() - 1))
    else:
        state.emit(form("mul.lo", type=SIGNED[bits]), scaled, reg, Imm(size))
    return scaled


# ---- control flow ----------------------------------------------------------------------------


def branch(state: FunctionState, i: ir.Branch) -> None:
    """An unconditional branch."""
    state.emit(form("bra"), state.label(i.target))


def cond_branch(state: FunctionState, i: ir.CondBranch) -> None:
    """A branch on a predicate, then one for the other way."""
    (op,) = state.value(i.condition)
    if isinstance(op, Imm):
        state.emit(form("bra"), state.label(i.if_true if op.value else i.if_false))
        return
    if i.if_true != i.if_false:
        guard = state.reg(op, T.PRED)
        state.emit(form("bra"), state.label(i.if_true), guard=guard)
    state.emit(form("bra"), state.label(i.if_false))


def switch(state: FunctionState, i: ir.Switch) -> None:
    """A chain of comparisons, in the order of the cases."""
    bits = register_bits(i.condition.type, "switch")
    value = state.reg(extended(state, i.condition, signed=True), BITS[bits])
    for case, target in i.cases:
        hit = state.new(T.PRED)
        wanted = Imm(state.number(case, "a case of switch"))
        state.emit(form("setp.int", p=True, cmp=Cmp.EQ, type=BITS[bits]), hit, value, wanted)
        state.emit(form("bra"), state.label(target), guard=hit)
    state.emit(form("bra"), state.label(i.default))


def ret(state: FunctionState, i: ir.Return) -> None:
    """A return, with the value that the function gives."""
    if i.value is not None:
        if state.out.is_kernel:
            raise not_yet("a return of a value", "kernels return void")
        return_value(state, i.value)
    state.emit(form("ret"))


def unreachable(state: FunctionState, i: ir.Unreachable) -> None:
    """What is never reached ends in a trap, if nothing before it ends the thread."""
    last = state.block.instrs[-1].row.id if state.block.instrs else ""
    if last == "exit":
        return
    if last != "trap":
        state.emit(form("trap"))
    state.emit(form("exit"))


def phi(state: FunctionState, i: ir.Phi) -> None:
    """Registers for the result; the records come when every incoming value is known."""
    state.define(i.result, i.type)


def fill_phi(state: FunctionState, i: ir.Phi, blocks: Mapping[str, Block]) -> list[MachineInstr]:
    """The PHI records of one phi, one for each register of its value.

    What a constant needs is made at the end of the block that it comes from.
    """
    incoming: list[tuple[Values, Label]] = []
    for value, block in i.incoming:
        if block not in state.block_names:
            continue
        if isinstance(value, (llvm.Local, llvm.ConstInt)):  # for which nothing is made
            incoming.append((state.value(value), state.end_label(block)))
            continue
        with state.at_end_of(blocks[block]):
            incoming.append((state.value(value), state.end_label(block)))
    results = state.values[i.result] if i.result is not None else ()
    found = []
    for at, result in enumerate(results):
        assert isinstance(result, int)
        cls = state.out.regs.classes[result]
        values = tuple([ops[at] for ops, _ in incoming])
        labels = tuple([label for _, label in incoming])
        found.append(MachineInstr(form("phi", type=cls), (result, values, labels), None, state.loc))
    return found


_NO_EXCEPTIONS = "PTX has no exceptions: compile without them (-fno-exceptions)"
_INSTEAD = {
    Opcode.INDIRECTBR: "number the blocks and use switch",
    Opcode.CALLBR: "call the intrinsic of the instruction, and branch on what it gives",
    **dict.fromkeys(
        (
            *(Opcode.INVOKE, Opcode.LANDINGPAD, Opcode.RESUME, Opcode.CATCHSWITCH),
            *(Opcode.CATCHPAD, Opcode.CATCHRET, Opcode.CLEANUPPAD, Opcode.CLEANUPRET),
        ),
        _NO_EXCEPTIONS,
    ),
}
"""What to write instead of an instruction that PTX has nothing for."""


def float_or_integer_binary(state: FunctionState, i: ir.BinaryOp) -> None:
    """Arithmetic of two operands."""
    float_binary(state, i) if is_float(i.type) else binary(state, i)


def float_or_integer_cast(state: FunctionState, i: ir.Cast) -> None:
    """A conversion."""
    float_cast(state, i) if i.opcode in FLOAT_CASTS else cast(state, i)


def float_or_integer_compare(state: FunctionState, i: ir.Compare) -> None:
    """A comparison."""
    if isinstance(i.predicate, FloatPredicate):
        float_compare(state, i, i.predicate)
    else:
        compare(state, i)


def atomic(state: FunctionState, i: ir.AtomicRMW) -> None:
    """An atomicrmw."""
    check_space(i.pointer.type, "atomicrmw")
    read_modify_write(state, i)


def compare_and_swap(state: FunctionState, i: ir.CompareExchange) -> None:
    """A cmpxchg."""
    check_space(i.pointer.type, "cmpxchg")
    compare_exchange(state, i)


_SELECTORS: dict[type[ir.Instruction], Callable[..., None]] = {
    ir.BinaryOp: float_or_integer_binary,
    ir.UnaryOp: float_negate,
    ir.GetElementPtr: get_element_ptr,
    ir.ExtractElement: extract_element,
    ir.ExtractValue: extract_value,
    ir.InsertElement: insert_element,
    ir.InsertValue: insert_value,
    ir.ShuffleVector: shuffle,
    ir.Cast: float_or_integer_cast,
    ir.Compare: float_or_integer_compare,
    ir.Select: select,
    ir.Freeze: freeze,
    ir.Load: load,
    ir.Store: store,
    ir.Alloca: alloca,
    ir.AtomicRMW: atomic,
    ir.CompareExchange: compare_and_swap,
    ir.Fence: fence,
    ir.Phi: phi,
    ir.Branch: branch,
    ir.CondBranch: cond_branch,
    ir.Switch: switch,
    ir.Return: ret,
    ir.Unreachable: unreachable,
}
"""What selects the instructions of each class, but for calls."""


def select_instruction(state: FunctionState, i: ir.Instruction) -> None:
    """Select one instruction that is not a call.

    Raises: Unselectable when the table has no entry for it.
    """
    selector = _SELECTORS.get(type(i))
    if selector is None:
        raise not_yet(i.opcode.value, _INSTEAD.get(i.opcode, ""))
    selector(state, i)
