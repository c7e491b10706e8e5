"""Remove records whose results nobody uses.

Layer: isel.passes.  Input and output: a function in SSA form.  Everything that has an effect is
kept, and everything that feeds it.
"""

from __future__ import annotations

from intrinsics.mir import MachineFunction, MachineInstr, Reg


def remove_dead_code(function: MachineFunction) -> None:
    """Drop pure records that no kept record needs."""
    definition: dict[Reg, MachineInstr] = {}
    work: list[MachineInstr] = []
    for mi in function.instructions():
        if mi.form.is_pure:
            for reg in mi.defs():
                definition[reg] = mi
        else:
            work.append(mi)
    kept = {id(mi) for mi in work}
    while work:
        for reg in work.pop().uses():
            maker = definition.get(reg)
            if maker is not None and id(maker) not in kept:
                kept.add(id(maker))
                work.append(maker)
    for block in function.blocks:
        block.instrs = [mi for mi in block.instrs if id(mi) in kept]
