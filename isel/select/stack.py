"""Stack memory to records: one variable of the local state space for each alloca.

Layer: isel.select.  An alloca in a loop is the same memory each time round: LLVM's IR gives every
execution its own, which only shows when pointers to several are kept; such an alloca is refused
unless it stands in the entry block.  PTX ISA, State Spaces: Local State Space; cvta.
"""

from __future__ import annotations

from intrinsics.mir import Mem, Sym, Variable
from intrinsics.modifiers import ScalarType, Space
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import PointerType
from isel.select.diagnostics import Unselectable
from isel.select.state import FunctionState, form

_LARGEST = 1 << 19
"""Bytes of local memory that a thread can have.  CUDA, Compute Capabilities: Technical
Specifications (512 KB)."""

_LOCAL_SPACE = 5


def alloca(state: FunctionState, i: ir.Alloca) -> None:
    """A variable of the function, and its address: generic, or local in address space 5."""
    if not isinstance(i.count, llvm.ConstInt):
        raise Unselectable(
            "dynamic-alloca",
            "an alloca whose size is not a constant is not selectable",
            op="alloca",
            got=f"alloca {i.allocated_type}, {i.count.type}",
            expected="a constant number of elements",
            hint="allocate the most that is needed, in the entry block",
        )
    if state.block_name in state.cyclic:
        raise Unselectable(
            "alloca-in-loop",
            "an alloca in a loop is not selectable",
            op="alloca",
            got=f"alloca {i.allocated_type}",
            expected="an alloca outside of loops",
            hint="move it to the entry block",
        )
    size = state.layout.size(i.allocated_type) * i.count.value
    if size > _LARGEST:
        raise Unselectable(
            "alloca-size",
            "no thread has this much local memory",
            op="alloca",
            got=f"{size} bytes",
            expected=f"at most {_LARGEST} bytes",
        )
    align = i.alignment or state.layout.align(i.allocated_type)
    name = f"__local_{state.out.name}_{len(state.out.variables)}"
    state.out.variables.append(Variable(name, Space.LOCAL, max(size, 1), align))
    pointer = i.type
    assert isinstance(pointer, PointerType)
    if pointer.address_space == _LOCAL_SPACE:
        state.forward(i.result, (Sym(name),))
        return
    if i.result is not None:
        state.known[i.result] = (Space.LOCAL, Mem(Sym(name)))
    address, (generic,) = state.new(ScalarType.B64), state.define(i.result, i.type)
    state.emit(form("mov", type=ScalarType.B64), address, Sym(name))
    state.emit(form("cvta", space=Space.LOCAL, size=ScalarType.U64), generic, address)
