"""Structs that a kernel takes by value: whether it writes into one, and the pointers in them.

Layer: isel.lower.  Input: a function.  Output: what it does with the memory of its `byval`
parameters.  A struct is filled by the host, which knows neither the shared nor the local memory of
its threads: a pointer that is read from one points to global memory, as a pointer
that is a parameter itself does.  LLVM Language Reference, byval; PTX ISA, Kernel Function
Parameter Attributes.
"""

from __future__ import annotations

from collections.abc import Iterable

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES
from isel.llvm.types import I64, PTR
from isel.llvm.vocabulary import Opcode
from isel.lower.memory.copies import COPIES


def pointers(kernel: ir.Function) -> list[str]:
    """The generic pointers that a kernel reads from structs it takes by value and never writes."""
    structs = {param.name for param in kernel.params if _is_struct(param)}
    if not structs or not any(map(_may_bring_pointer, kernel.instructions())):
        return []
    inside = {name for name in structs if not is_written(kernel, name)}
    if not inside:
        return []
    found: list[str] = []
    numbers: set[str] = set()
    for i in _in_order(kernel):
        if i.result is None or i.result in inside:
            continue
        match i:
            case ir.GetElementPtr(base=llvm.Local(base)) if base in inside:
                inside.add(i.result)
            case ir.Cast(Opcode.ADDRSPACECAST, operand=llvm.Local(base)) if base in inside:
                inside.add(i.result)
            case ir.Load(pointer=llvm.Local(pointer)) if pointer in inside:
                if i.type == PTR:
                    found.append(i.result)
                elif i.type == I64:
                    numbers.add(i.result)
            case ir.Cast(operand=llvm.Local(number)) if number in numbers:
                if i.opcode is Opcode.INTTOPTR and i.type == PTR:
                    found.append(i.result)
    return found


def _may_bring_pointer(i: ir.Instruction) -> bool:
    """Whether a generic pointer that an instruction gives may have stood in memory."""
    return isinstance(i, (ir.Load, ir.Cast)) and i.type == PTR


def _is_struct(param: ir.Param) -> bool:
    return param.type == PTR and param.attributes.type_of("byval") is not None


def is_written(function: ir.Function, name: str) -> bool:
    """Whether a function may store into the memory of a struct that it takes by value."""
    param = next(param for param in function.params if param.name == name)
    return "readonly" not in param.attributes and _may_be_written(function, name)


def _may_be_written(function: ir.Function, name: str) -> bool:
    """Whether anything may be stored through a pointer, or through what is computed from it."""
    derived = {name}
    for i in _in_order(function):
        uses = [v for v in i.operands() if isinstance(v, llvm.Local) and v.name in derived]
        if not uses:
            continue
        match i:
            case ir.GetElementPtr() | ir.Cast() | ir.Phi() | ir.Select() | ir.Freeze():
                if i.result is not None:
                    derived.add(i.result)
            case ir.Load() | ir.Compare():
                pass
            case ir.Call() if not _call_writes(i, derived) or is_copied(i, derived):
                pass
            case _:
                return True
    return False


def _in_order(function: ir.Function) -> Iterable[ir.Instruction]:
    """Every instruction twice: what a phi takes from a later block is known the second time."""
    return (*function.instructions(), *function.instructions())


def _call_writes(call: ir.Call, derived: set[str]) -> bool:
    name = call.callee_name or ""
    if name.startswith(COPIES):
        target = call.arguments[0]
        return isinstance(target, llvm.Local) and target.name in derived
    return not name.startswith("llvm.")


def is_copied(call: ir.Call, derived: set[str]) -> bool:
    """Whether a call takes the pointers only by value: what they point to is read."""
    return all(
        call.argument_attributes.get(n, NO_ATTRIBUTES).type_of("byval") is not None
        for n, value in enumerate(call.arguments)
        if isinstance(value, llvm.Local) and value.name in derived
    )
