"""References to what may be nowhere: `extern_weak`.

Layer: isel.select.  Input: a module.  Output: what weakly referenced variables are used for.  PTX
has no reference that is null where nothing defines it: `.weak` defines, and ptxas takes no name of
a function that is nowhere.  A weak variable of zeros is the same to who only loads and stores, as
an access by a null pointer is undefined; who asks for the address would see a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.vocabulary import Linkage, Opcode

_SOMEWHERE = ("nonnull", "dereferenceable")
"""Attributes of an argument that is not null."""

_STEPS = (Opcode.GETELEMENTPTR, Opcode.ADDRSPACECAST, Opcode.BITCAST)


def is_weak(symbol: ir.Symbol) -> bool:
    """Whether a declaration may be nowhere."""
    return symbol.linkage is Linkage.EXTERN_WEAK


def uses_of_weak(module: ir.Module) -> dict[str, bool]:
    """The weakly referenced variables that are used, and whether that is by accesses only."""
    weak = {name for name, variable in module.globals.items() if is_weak(variable)}
    found: dict[str, bool] = {}
    if not weak:
        return found
    for accessed, name in _mentions(module):
        if name in weak:
            found[name] = found.get(name, True) and accessed
    return found


def refusal(symbol: ir.Symbol) -> Unselectable:
    """Why a reference to what may be nowhere is not selected."""
    return Unselectable(
        "extern-weak",
        f"@{symbol.name} may be nowhere: PTX has no reference that is null then",
        got="extern_weak",
        expected="external, a definition, or a variable that is only loaded and stored",
        hint=f"declare @{symbol.name} external where another module defines it",
    )


def _mentions(module: ir.Module) -> Iterator[tuple[bool, str]]:
    """(whether it is accessed there, name) of each global that functions and variables name."""
    for variable in module.globals.values():
        if variable.initializer is not None and not variable.name.startswith("llvm."):
            yield from ((False, name) for name in _named((variable.initializer,)))
    for function in module.definitions():
        for i in function.instructions():
            pointers = _pointers(i)
            for value in i.operands():
                accessed = any(value is p for p in pointers) and _is_direct(value)
                yield from ((accessed, name) for name in _named((value,)))


def _pointers(i: ir.Instruction) -> list[llvm.Value]:
    """The pointers that an instruction dereferences, or that a call says are dereferenceable."""
    if isinstance(i, (ir.Load, ir.Store, ir.AtomicRMW, ir.CompareExchange)):
        return [i.pointer]
    if isinstance(i, ir.CallBase):
        said = i.argument_attributes.items()
        return [i.arguments[n] for n, what in said if any(word in what for word in _SOMEWHERE)]
    return []


def _is_direct(pointer: llvm.Value) -> bool:
    """Whether a pointer is a variable's, or a step from it."""
    while isinstance(pointer, llvm.ConstExpr) and pointer.opcode in _STEPS:
        pointer = pointer.operands[0]
    return isinstance(pointer, llvm.GlobalRef)


def _named(values: Iterable[llvm.Value]) -> Iterator[str]:
    """The globals that values are made of."""
    for value in values:
        if isinstance(value, llvm.GlobalRef):
            yield value.name
        elif isinstance(value, llvm.ConstExpr):
            yield from _named(value.operands)
        elif isinstance(value, (llvm.ConstArray, llvm.ConstStruct, llvm.ConstVector)):
            yield from _named(value.elements)
        elif isinstance(value, llvm.Splat):
            yield from _named((value.element,))
