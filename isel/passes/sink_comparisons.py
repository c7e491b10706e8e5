"""Comparisons are made where their predicates are wanted, when many would be kept.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  The
machine has seven predicates; those that a loop keeps beyond them are packed into registers and
unpacked each time round, where the comparison is one instruction.  PTX ISA, setp.
"""

from __future__ import annotations

from collections import defaultdict

from intrinsics.mir import MachineFunction, MachineInstr, Reg, written_often
from isel.passes.recomputation import compute_where_used

_PREDICATES = 7
"""Predicates that a thread has.  CUDA Binary Utilities, Instruction Set Reference: P0 to P6."""


def sink_comparisons(function: MachineFunction) -> None:
    """Compare again in each block that uses predicates of another, if these are many."""
    found = _comparisons(function)
    if len(found) <= _PREDICATES:
        return
    wanted = _used_elsewhere(function, found)
    if len(wanted) <= _PREDICATES:
        return
    sunk = [found[reg][1] for reg, at_home in wanted.items() if not at_home]
    makers = {reg: found[reg][1:] for reg in wanted}
    compute_where_used(function, makers, sunk, {reg: found[reg][0] for reg in wanted})


def _comparisons(function: MachineFunction) -> dict[Reg, tuple[int, MachineInstr]]:
    """Comparisons of values that are written once, and the numbers of their blocks."""
    made = [
        (n, mi)
        for n, block in enumerate(function.blocks)
        for mi in block.instrs
        if mi.form.row.head == "setp" and mi.guard is None and len(mi.ops) == 3
    ]
    if len(made) <= _PREDICATES:
        return {}
    often = written_often(function)
    return {
        mi.ops[0]: (n, mi)
        for n, mi in made
        if type(mi.ops[0]) is int and not (often and mi.mentions(often))
    }


def _used_elsewhere(
    function: MachineFunction, found: dict[Reg, tuple[int, MachineInstr]]
) -> dict[Reg, bool]:
    """The predicates that other blocks use, no phi among them; whether their own one does, too."""
    places: defaultdict[Reg, set[int]] = defaultdict(set)
    joined: set[Reg] = set()
    for n, block in enumerate(function.blocks):
        for mi in block.instrs:
            for reg in found.keys() & mi.uses() if mi.mentions(found.keys()) else ():
                places[reg].add(n)
                if mi.form.row.id == "phi":
                    joined.add(reg)
    return {
        reg: found[reg][0] in blocks
        for reg, blocks in places.items()
        if reg not in joined and blocks != {found[reg][0]}
    }
