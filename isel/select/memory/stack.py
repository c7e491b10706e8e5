"""Stack memory to records: variables of the local state space, and sizes known in a run.

Layer: isel.select.  An alloca of constant size is one variable of the function, wherever it stands,
as in LLVM's back end for PTX: in a loop it is the same memory each time round, and `stack_slots`
says which have the memory of another.  PTX ISA, State Spaces: Local State Space; cvta; alloca;
stacksave; stackrestore.
"""

from __future__ import annotations

from intrinsics import catalog
from intrinsics.mir import Imm, Mem, Reg, Scalar, Sym, Variable
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import spell
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import container
from isel.llvm.types import IntType, PointerType
from isel.select.stack_slots import Slot, room
from isel.select.state import FunctionState, form
from isel.select.widths import LIMB, elements, extend, resize

_LARGEST = 1 << 19
"""Bytes of local memory that a thread can have.  CUDA, Compute Capabilities: Technical
Specifications (512 KB)."""

_LOCAL_SPACE = 5
_LEAST_ALIGN = 8
"""What LLVM's back end aligns every part of the stack to."""

_U64 = ScalarType.U64


def alloca(state: FunctionState, i: ir.Alloca) -> None:
    """A variable of the function, or a part of its stack, and its address.

    The address is generic, or local in address space 5.

    Raises: Unselectable when no thread has so much, or the target has no stack.
    """
    if not isinstance(i.count, llvm.ConstInt):
        _dynamic(state, i)
        return
    size, align = room(i, state.layout)
    if size > _LARGEST:
        raise Unselectable(
            "alloca-size",
            "no thread has this much local memory",
            op="alloca",
            got=f"{size} bytes",
            expected=f"at most {_LARGEST} bytes",
        )
    slot = state.slots.get(i.result or "") or Slot(size, align)
    if not slot.variable:
        slot.variable = f"__local_{state.out.name}_{len(state.out.variables)}"
        variable = Variable(slot.variable, Space.LOCAL, max(slot.size, 1), slot.align)
        state.out.variables.append(variable)
    name = slot.variable
    if _is_local(i):
        state.forward(i.result, (Sym(name),))
        return
    if i.result is not None:
        state.known[i.result] = (Space.LOCAL, Mem(Sym(name)))
    address, (generic,) = state.new(ScalarType.B64), state.define(i.result, i.type)
    state.emit(form("mov", type=ScalarType.B64), address, Sym(name))
    state.emit(form("cvta", space=Space.LOCAL, size=_U64), generic, address)


def _is_local(i: ir.Alloca) -> bool:
    assert isinstance(i.type, PointerType)
    return i.type.address_space == _LOCAL_SPACE


def _dynamic(state: FunctionState, i: ir.Alloca) -> None:
    """So many bytes as a register says."""
    _check_stack(state, "alloca")
    align = max(i.alignment or state.layout.align(i.allocated_type), _LEAST_ALIGN)
    size = _rounded(state, _bytes(state, i))
    (result,) = state.define(i.result, i.type)
    address = result if _is_local(i) else state.new(ScalarType.B64)
    state.emit(form("alloca", type=_U64, align=True), address, size, Imm(align))
    if address == result:
        return
    state.emit(form("cvta", space=Space.LOCAL, size=_U64), result, address)
    if i.result is not None:
        state.known[i.result] = (Space.LOCAL, Mem(address))


def _bytes(state: FunctionState, i: ir.Alloca) -> Reg:
    """The number of elements, without a sign, times their size."""
    assert isinstance(i.count.type, IntType)
    width = i.count.type.bits
    op = elements(state, i.count)[0][0]
    count = _predicate(state, op) if width == 1 else _in_64_bits(state, op, min(width, LIMB))
    size = state.layout.size(i.allocated_type)
    if size == 1:
        return count
    total = state.new(ScalarType.B64)
    if size and size & (size - 1) == 0:
        state.emit(form("shl", type=ScalarType.B64), total, count, Imm(size.bit_length() - 1))
    else:
        state.emit(form("mul.lo", type=_U64), total, count, Imm(size))
    return total


def _predicate(state: FunctionState, op: Scalar) -> Reg:
    count = state.new(ScalarType.B64)
    guard = state.reg(op, ScalarType.PRED)
    state.emit(form("selp", type=ScalarType.B64), count, Imm(1), Imm(0), guard)
    return count


def _in_64_bits(state: FunctionState, op: Scalar, width: int) -> Reg:
    known = extend(state, op, width, signed=False)
    if type(known) is int:
        return resize(state, known, container(width), 64)
    return state.reg(known, ScalarType.B64)


def _rounded(state: FunctionState, size: Reg) -> Reg:
    """A multiple of what the stack is aligned to."""
    more, whole = state.new(ScalarType.B64), state.new(ScalarType.B64)
    state.emit(form("add.int", type=ScalarType.S64), more, size, Imm(_LEAST_ALIGN - 1))
    state.emit(form("and", type=ScalarType.B64), whole, more, Imm(-_LEAST_ALIGN))
    return whole


def select_stack(state: FunctionState, call: ir.Call, name: str) -> bool:
    """Select llvm.stacksave or llvm.stackrestore, if the intrinsic `name` is one of them.

    Raises: Unselectable when the target has no stack.
    """
    match name.split("."):
        case ["llvm", "stacksave", *_]:
            _check_stack(state, "stacksave")
            (result,) = state.define(call.result, call.type)
            state.emit(form("stacksave", type=_U64), result)
        case ["llvm", "stackrestore", *_]:
            _check_stack(state, "stackrestore")
            state.emit(form("stackrestore", type=_U64), state.scalar_reg(call.arguments[0]))
        case _:
            return False
    return True


def _check_stack(state: FunctionState, head: str) -> None:
    needs = catalog.row(head).needs
    if state.target is None or state.can(needs):
        return
    raise Unselectable(
        "target",
        f"{head} requires PTX ISA {needs.since} or later",
        op=head,
        got=f"target {state.target}, PTX {state.ptx}",
        expected=f"{spell(needs.targets)}, PTX {needs.since} or later",
        hint="allocate a constant size, the most that is needed",
        section=f"PTX ISA, {head}",
    )
