"""Pointers to what nothing writes while a kernel runs.

Layer: isel.lower.  Input: a kernel.  Output: the names of such parameters (`noalias readonly`), and
of all pointers that are made of these alone: by steps, by a choice, and in turns of a loop.

LLVM Language Reference, Parameter Attributes; PTX ISA, ld.global.nc.
"""

from __future__ import annotations

from collections import defaultdict

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import PointerType

_ATTRIBUTES = frozenset(("noalias", "readonly"))
_SPACES = (0, 1)


def unwritten_pointers(kernel: ir.Function) -> set[str]:
    """The names of the pointers whose every origin is a parameter that promises it."""
    found = {
        param.name
        for param in kernel.params
        if isinstance(param.type, PointerType)
        and param.type.address_space in _SPACES
        and param.attributes.type_of("byval") is None
        and set(param.attributes.enums) >= _ATTRIBUTES
    }
    if not found:
        return found
    made = {
        i.result: origins
        for i in kernel.instructions()
        if type(i) in _POINTING and i.result is not None and (origins := _origins(i))
    }
    found |= made.keys()
    followers: dict[str, list[str]] = defaultdict(list)
    others: list[str] = []
    for result, origins in made.items():
        for origin in origins:
            if isinstance(origin, llvm.Local) and origin.name in found:
                followers[origin.name].append(result)
            else:
                others.append(result)
    while others:
        result = others.pop()
        if result in found:
            found.remove(result)
            others += followers[result]
    return found


_POINTING = frozenset((ir.GetElementPtr, ir.Phi, ir.Select))
"""The instructions that give a pointer out of others."""


def _origins(i: ir.Instruction) -> tuple[llvm.Value, ...]:
    """The pointers that a pointer is one of, or is stepped from."""
    match i:
        case ir.GetElementPtr(base=base):
            return (base,)
        case ir.Phi(type=PointerType(), incoming=incoming):
            return tuple(value for value, _ in incoming)
        case ir.Select(type=PointerType(), if_true=one, if_false=other):
            return one, other
    return ()
