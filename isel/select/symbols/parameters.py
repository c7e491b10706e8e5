"""Structs that a kernel takes by value, and what its pointers point to.

Layer: isel.select.  What is only read is read in the parameter space.  What may be written is
copied into local memory first: parameters cannot be written.  A pointer that a kernel takes points
to global memory, whatever its type says.  PTX ISA, Kernel Function Parameters; ld.param.
"""

from __future__ import annotations

from intrinsics.mir import Mem, Param, Reg, Sym, Variable
from intrinsics.modifiers import ScalarType, Space
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS
from isel.llvm.types import PointerType
from isel.lower.addresses.kernel_structs import is_copied, is_written
from isel.select.memory.access_splitting import UNITS
from isel.select.state import FunctionState, form

T = ScalarType


def know_pointer(state: FunctionState, param: ir.Param, register: Reg) -> None:
    """Record what the attributes of a kernel's parameters say of the memory behind pointers."""
    assert isinstance(param.type, PointerType)
    if param.type.address_space == 0:
        state.known[param.name] = (Space.GLOBAL, Mem(register))


def struct_by_value(
    state: FunctionState, function: ir.Function, param: ir.Param, lowered: Param
) -> None:
    """The generic address of a struct that a kernel takes by value, and its address in .param."""
    if not lowered.constant and is_written(function, param.name):
        copy_of_param(state, param.name, lowered.name, lowered.size, lowered.align)
        return
    state.known[param.name] = (Space.PARAM, Mem(Sym(lowered.name)))
    _generic(state, param.name, Sym(lowered.name), Space.PARAM)


def _generic(state: FunctionState, result: str, symbol: Sym, space: Space) -> None:
    address, generic = state.new(T.B64), state.new(T.B64, result)
    state.emit(form("mov", type=T.B64), address, symbol)
    state.emit(form("cvta", space=space, size=T.U64), generic, address)
    state.forward(result, (generic,))


def copy_of_param(state: FunctionState, result: str, name: str, size: int, align: int) -> None:
    """Copy a parameter that is written into local memory, where each thread has its own."""
    copy = Sym(f"__local_{name}")
    state.out.variables.append(Variable(copy.name, Space.LOCAL, size, align))
    at = 0
    while at < size:
        width = min(8, at & -at or 8, align, 1 << (size - at).bit_length() - 1)
        unit = UNITS[width]
        word = state.new(BITS[max(unit.bits, 16)])
        state.emit(form("ld", space=Space.PARAM, type=unit), word, Mem(Sym(name), at))
        state.emit(form("st", space=Space.LOCAL, type=unit), Mem(copy, at), word)
        at += width
    state.known[result] = (Space.LOCAL, Mem(copy))
    _generic(state, result, copy, Space.LOCAL)


def struct_of_function(
    state: FunctionState, function: ir.Function, param: ir.Param, lowered: Param
) -> None:
    """The address of a struct that a device function takes by value.

    It is the function's own, and may be written.  What takes its address finds it in local memory,
    on the stack; what only reads parts of it by their names leaves it where it was passed.  PTX
    ISA, mov.
    """
    address, generic = state.new(T.B64), state.new(T.B64, param.name)
    state.emit(form("mov", type=T.B64), address, Sym(lowered.name))
    state.emit(form("cvta", space=Space.LOCAL, size=T.U64), generic, address)
    state.forward(param.name, (generic,))
    if _is_read_in_place(function, param.name):
        state.known[param.name] = (Space.PARAM, Mem(Sym(lowered.name)))
    else:
        state.known[param.name] = (Space.LOCAL, Mem(address))


# ---- readers ---------------------------------------------------------------------------------


def _is_read_in_place(function: ir.Function, name: str) -> bool:
    """Whether a pointer is only loaded from, at constant offsets."""
    derived: set[str] = {name}
    before = 0
    while before != len(derived):
        before = len(derived)
        for i in function.instructions():
            if isinstance(i, ir.GetElementPtr) and i.result is not None and _is_in(i.base, derived):
                derived.add(i.result)
    return all(
        _reads_in_place(i, derived)
        for i in function.instructions()
        if any(_is_in(value, derived) for value in i.operands())
    )


def _is_in(value: llvm.Value, names: set[str]) -> bool:
    return isinstance(value, llvm.Local) and value.name in names


def _reads_in_place(i: ir.Instruction, derived: set[str]) -> bool:
    match i:
        case ir.GetElementPtr():
            is_scalar = isinstance(i.type, PointerType)
            return is_scalar and all(isinstance(n, llvm.ConstInt) for n in i.indices)
        case ir.Load():
            return not i.volatile and i.ordering is None
        case ir.Call():
            return is_copied(i, derived)
    return False
