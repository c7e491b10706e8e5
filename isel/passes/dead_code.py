"""Dead code elimination: remove records whose results are not used.

Layer: isel.passes.  Input and output: a function before it leaves SSA form.  Everything that has
an effect is kept, and everything that feeds it.  Inline assembly may write a register more than
once: where it is read, all its writers are kept.
"""

from __future__ import annotations

from intrinsics.mir import (
    HOLDERS,
    MachineFunction,
    MachineInstr,
    Reg,
    guard_register,
    registers_of,
)


def remove_dead_code(function: MachineFunction) -> None:
    """Drop pure records that no kept record needs."""
    needed, unneeded = _read_before(function)
    if not unneeded:
        return
    work = [mi for reg in needed & unneeded.keys() for mi in unneeded.pop(reg)]
    while work:
        for reg in work.pop().uses():
            work += unneeded.pop(reg, ())
    dead = {
        id(mi)
        for makers in unneeded.values()
        for mi in makers
        if all(reg in unneeded for reg in mi.defs())
    }
    for block in function.blocks if dead else ():
        block.instrs = [mi for mi in block.instrs if id(mi) not in dead]


def _read_before(function: MachineFunction) -> tuple[set[Reg], dict[Reg, list[MachineInstr]]]:
    """What kept records read, and the makers of results that none has read, from end to beginning.

    Most results are read before they are made so: only of the others it is open whether a loop
    reads them.
    """
    needed: set[Reg] = set()
    unneeded: dict[Reg, list[MachineInstr]] = {}
    for block in reversed(function.blocks):
        for mi in reversed(block.instrs):
            form, ops = mi.form, mi.ops
            if form.is_pure:
                first = ops[0] if form.writes_first else None
                if type(first) is int:
                    if first not in needed:
                        unneeded.setdefault(first, []).append(mi)
                        continue
                elif needed.isdisjoint(made := mi.defs()):
                    for reg in made:
                        unneeded.setdefault(reg, []).append(mi)
                    continue
            for i in form.uses:
                op = ops[i]
                if type(op) is int:
                    needed.add(op)
                elif type(op) in HOLDERS:
                    needed.update(registers_of(op))
            if mi.guard is not None:
                needed.add(guard_register(mi.guard))
    return needed, unneeded
