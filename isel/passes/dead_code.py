"""Remove records whose results nobody uses.

Layer: isel.passes.  Input and output: a function before it leaves SSA form.  Everything that has
an effect is kept, and everything that feeds it.  Inline assembly may write a register more than
once: a writer of one that another record writes is kept too.
"""

from __future__ import annotations

from intrinsics.mir import MachineFunction, MachineInstr, Reg

_FIRST = (0,)
"""The place of the result of most records."""


def remove_dead_code(function: MachineFunction) -> None:
    """Drop pure records that no kept record needs."""
    unneeded: dict[Reg, MachineInstr] = {}  # results of pure records, until somebody reads them
    work: list[MachineInstr] = []
    for mi in function.instructions():
        form = mi.form
        if not form.is_pure:
            work.append(mi)
        elif form.defs == _FIRST and type(mi.ops[0]) is int:
            if unneeded.setdefault(mi.ops[0], mi) is not mi:
                work += (unneeded[mi.ops[0]], mi)
        else:
            for reg in mi.defs():
                if unneeded.setdefault(reg, mi) is not mi:
                    work += (unneeded[reg], mi)
    take = unneeded.pop
    while work:
        for reg in work.pop().uses():
            maker = take(reg, None)
            if maker is not None:
                work.append(maker)
    if not unneeded:
        return
    makers = {id(mi): mi for mi in unneeded.values()}
    dead = {n for n, mi in makers.items() if all(reg in unneeded for reg in mi.defs())}
    for block in function.blocks:
        block.instrs = [mi for mi in block.instrs if id(mi) not in dead]
