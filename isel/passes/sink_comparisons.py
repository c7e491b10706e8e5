"""Comparisons are made where their predicates are wanted, when many would be kept.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  The
machine has seven predicates; where more are kept, all of these are packed into registers and
unpacked for each use, where the comparison is one instruction.  PTX ISA, setp.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from intrinsics.mir import (
    MachineFunction,
    MachineInstr,
    Reg,
    predecessors,
    written_often,
)
from isel.control_flow import reach
from isel.passes.recomputation import compute_where_used

_PREDICATES = 7
"""Predicates that a thread has.  CUDA Binary Utilities, Instruction Set Reference: P0 to P6."""


def sink_comparisons(function: MachineFunction) -> None:
    """Compare again in each block that uses predicates of another, if these are many."""
    found = _comparisons(function)
    if len(found) <= _PREDICATES:
        return
    places = _used_elsewhere(function, found)
    crowded = _crowded(function, {reg: found[reg][0] for reg in places}, places)
    sunk = [found[reg][1] for reg in crowded if found[reg][0] not in places[reg]]
    makers = {reg: found[reg][1:] for reg in crowded}
    compute_where_used(function, makers, sunk, {reg: found[reg][0] for reg in crowded})


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
) -> dict[Reg, set[int]]:
    """The predicates that other blocks use, no phi among them, and the blocks that use each."""
    places: defaultdict[Reg, set[int]] = defaultdict(set)
    joined: set[Reg] = set()
    for n, block in enumerate(function.blocks):
        for mi in block.instrs:
            for reg in found.keys() & mi.uses() if mi.mentions(found.keys()) else ():
                places[reg].add(n)
                if mi.form.row.id == "phi":
                    joined.add(reg)
    return {
        reg: blocks
        for reg, blocks in places.items()
        if reg not in joined and blocks != {found[reg][0]}
    }


def _crowded(
    function: MachineFunction, homes: Mapping[Reg, int], places: Mapping[Reg, set[int]]
) -> list[Reg]:
    """The predicates that some block begins with among more than the machine has."""
    if len(homes) <= _PREDICATES:
        return []
    before = predecessors(function)
    kept: list[list[Reg]] = [[] for _ in before]
    for reg, home in homes.items():
        for n in reach(before, places[reg], (home,)):
            kept[n].append(reg)
    return sorted({reg for regs in kept if len(regs) > _PREDICATES for reg in regs})
