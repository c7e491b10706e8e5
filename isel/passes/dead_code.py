"""Remove records whose results nobody uses.

Layer: isel.passes.  Input and output: a function before it leaves SSA form.  Everything that has
an effect is kept, and everything that feeds it.  Inline assembly may write a register more than
once: who writes one that another record writes is kept too.
"""

from __future__ import annotations

from intrinsics.mir import MachineFunction, MachineInstr, Reg


def remove_dead_code(function: MachineFunction) -> None:
    """Drop pure records that no kept record needs."""
    unneeded: dict[Reg, MachineInstr] = {}  # results of pure records, until somebody reads them
    several: set[Reg] = set()  # that more than one record writes, or one with an effect
    work: list[MachineInstr] = []
    for mi in function.instructions():
        if mi.form.is_pure:
            for reg in mi.defs():
                other = unneeded.setdefault(reg, mi)
                if other is not mi or reg in several:
                    several.add(reg)
                    work += [other, mi]
        else:
            work.append(mi)
            several.update(mi.defs())
    for reg in several:
        maker = unneeded.pop(reg, None)
        if maker is not None:
            work.append(maker)
    while work:
        for reg in work.pop().uses():
            maker = unneeded.pop(reg, None)
            if maker is not None:
                work.append(maker)
    makers = {id(mi): mi for mi in unneeded.values()}
    dead = {n for n, mi in makers.items() if all(reg in unneeded for reg in mi.defs())}
    if dead:
        for block in function.blocks:
            block.instrs = [mi for mi in block.instrs if id(mi) not in dead]
