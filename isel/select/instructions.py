"""LLVM's ordinary instructions to records: the table, one entry for each class of instruction.

Layer: isel.select.  Input: an instruction and the state of its function.  What has no entry, or no
records for its type, is reported as unselectable, by name.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.mir import Imm
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.diagnostics import not_yet
from isel.llvm import ir
from isel.llvm.type_layout import BITS
from isel.llvm.types import ArrayType, IntType, StructType, Type
from isel.llvm.vocabulary import BINARY_OPCODES, CAST_OPCODES, IntPredicate, Opcode
from isel.select.casts import cast
from isel.select.floats.casts import FLOAT_CASTS, float_cast
from isel.select.floats.instructions import (
    FLOAT_OPERATIONS,
    float_binary,
    float_compare,
    float_negate,
)
from isel.select.integers.arithmetic import binary
from isel.select.integers.comparison import compare, compare_element
from isel.select.memory.accesses import check_space, load, store
from isel.select.memory.atomics import compare_exchange, fence, read_modify_write
from isel.select.memory.element_ptr import get_element_ptr
from isel.select.memory.stack import alloca
from isel.select.phis import phi
from isel.select.state import FunctionState, form
from isel.select.symbols.functions import return_value
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


def any_branch(state: FunctionState, i: ir.Branch | ir.CondBranch) -> None:
    """A branch of either kind, which have one opcode."""
    cond_branch(state, i) if isinstance(i, ir.CondBranch) else branch(state, i)


def switch(state: FunctionState, i: ir.Switch) -> None:
    """A branch through a table, or a chain of comparisons, in the order of the cases."""
    if i.is_table:
        (index,) = state.value(i.condition)
        targets = tuple([state.label(target) for _, target in i.cases])
        state.emit(form("brx.idx"), index, targets)
        return
    if isinstance(i.condition.type, IntType) and not 1 < i.condition.type.bits <= LIMB:
        _switch_by_element(state, i, i.condition.type.bits)
        return
    bits = register_bits(i.condition.type, "switch")
    width = i.condition.type.bits if isinstance(i.condition.type, IntType) else bits
    value = state.reg(extended(state, i.condition, signed=False), BITS[bits])
    for case, target in i.cases:
        hit, number = state.new(T.PRED), Imm(state.number(case, "a case of switch"))
        wanted = extend(state, number, width, signed=False)
        state.emit(form("setp.int", p=True, cmp=Cmp.EQ, type=BITS[bits]), hit, value, wanted)
        state.emit(form("bra"), state.label(target), guard=hit)
    state.emit(form("bra"), state.label(i.default))


def _switch_by_element(state: FunctionState, i: ir.Switch, width: int) -> None:
    """The same for a predicate, and for what has several registers."""
    (value,) = elements(state, i.condition)
    for case, target in i.cases:
        hit = state.new(T.PRED)
        compare_element(state, IntPredicate.EQ, width, hit, value, state.value(case))
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
    """Select `unreachable`: a trap, unless the instruction before ends the thread."""
    last = state.block.instrs[-1].row.id if state.block.instrs else ""
    if last == "exit":
        return
    if last != "trap":
        state.emit(form("trap"))
    state.emit(form("exit"))


_NO_EXCEPTIONS = "PTX has no exceptions: compile without them (-fno-exceptions)"
_INSTEAD = {
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


def atomic(state: FunctionState, i: ir.AtomicRMW) -> None:
    """An atomicrmw."""
    check_space(i.pointer.type, "atomicrmw")
    read_modify_write(state, i)


def compare_and_swap(state: FunctionState, i: ir.CompareExchange) -> None:
    """A cmpxchg."""
    check_space(i.pointer.type, "cmpxchg")
    compare_exchange(state, i)


SELECTORS: dict[Opcode, Callable[..., None]] = {
    **dict.fromkeys(BINARY_OPCODES, binary),
    **dict.fromkeys(FLOAT_OPERATIONS, float_binary),
    Opcode.FNEG: float_negate,
    **dict.fromkeys(CAST_OPCODES, cast),
    **dict.fromkeys(FLOAT_CASTS, float_cast),
    Opcode.ICMP: compare,
    Opcode.FCMP: float_compare,
    Opcode.GETELEMENTPTR: get_element_ptr,
    Opcode.EXTRACTELEMENT: extract_element,
    Opcode.EXTRACTVALUE: extract_value,
    Opcode.INSERTELEMENT: insert_element,
    Opcode.INSERTVALUE: insert_value,
    Opcode.SHUFFLEVECTOR: shuffle,
    Opcode.SELECT: select,
    Opcode.FREEZE: freeze,
    Opcode.LOAD: load,
    Opcode.STORE: store,
    Opcode.ALLOCA: alloca,
    Opcode.ATOMICRMW: atomic,
    Opcode.CMPXCHG: compare_and_swap,
    Opcode.FENCE: fence,
    Opcode.PHI: phi,
    Opcode.BR: any_branch,
    Opcode.SWITCH: switch,
    Opcode.RET: ret,
    Opcode.UNREACHABLE: unreachable,
}
"""What selects the instructions of each opcode, but for calls."""


def select_instruction(state: FunctionState, i: ir.Instruction) -> None:
    """Select one instruction that is not a call.

    Raises: Unselectable when the table has no entry for it.
    """
    selector = SELECTORS.get(i.opcode)
    if selector is None:
        raise not_yet(i.opcode.value, _INSTEAD.get(i.opcode, ""))
    selector(state, i)
