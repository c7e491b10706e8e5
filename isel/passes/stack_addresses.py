"""Generic addresses of variables on the stack, computed where they are wanted.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  LLVM
IR has its allocas at the beginning, and so are their addresses; in a function of many variables,
as clang writes them at -O0, the registers that hold these over the whole function are spilled.
Each block that uses one computes it before its first use: two additions to the stack's pointer.
PTX ISA, cvta.
"""

from __future__ import annotations

from collections import Counter

from intrinsics.mir import MachineFunction, MachineInstr, Reg, Sym
from intrinsics.modifiers import Space
from isel.passes.dead_code import remove_dead_code
from isel.passes.recomputation import compute_where_used

_MANY = 16
"""Variables from whose number on their addresses are too many registers."""

_Address = tuple[MachineInstr, MachineInstr]
"""The records that make a generic address: of its symbol, and out of that."""


def sink_stack_addresses(function: MachineFunction) -> None:
    """Compute generic addresses of local variables in the blocks that use them."""
    if sum(variable.space is Space.LOCAL for variable in function.variables) < _MANY:
        return
    found = _addresses(function)
    for block in function.blocks:
        for mi in block.instrs:
            if mi.form.row.id == "phi":
                for reg in mi.uses():
                    found.pop(reg, None)  # wanted where another block ends
    if len(found) < _MANY:
        return
    compute_where_used(function, found, [cvta for _, cvta in found.values()], {})
    remove_dead_code(function)  # symbols that nothing else reads


def _addresses(function: MachineFunction) -> dict[Reg, _Address]:
    """Generic addresses that the first block makes of the names of local variables."""
    local = {variable.name for variable in function.variables if variable.space is Space.LOCAL}
    symbols: dict[Reg, MachineInstr] = {}
    found: dict[Reg, _Address] = {}
    written = Counter(reg for mi in function.instructions() for reg in mi.defs())
    for mi in function.blocks[0].instrs:
        if mi.guard is not None or len(mi.ops) != 2:
            continue
        result, source = mi.ops
        if type(result) is not int or written[result] > 1:  # as inline assembly may write it
            continue
        if mi.form.row.id == "mov" and type(source) is Sym and source.name in local:
            symbols[result] = mi
        elif mi.form.row.id == "cvta" and type(source) is int and source in symbols:
            found[result] = symbols[source], mi
    return found
