"""Values computed again in each block that uses them.

Layer: isel.passes.  Input and output: a function in SSA form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from intrinsics.mir import MachineFunction, MachineInstr, Op, Reg


def compute_where_used(
    function: MachineFunction,
    makers: Mapping[Reg, Sequence[MachineInstr]],
    dropped: Collection[MachineInstr],
    homes: Mapping[Reg, int],
) -> None:
    """Compute each value before its first use in a block, by copies of its `makers`.

    `dropped` are the records that go, and `homes` the numbers of the blocks that keep a value.
    """
    gone = {id(mi) for mi in dropped}
    for n, block in enumerate(function.blocks):
        fresh: dict[Reg, Reg] = {}
        instrs: list[MachineInstr] = []
        for mi in block.instrs:
            if id(mi) in gone:
                continue
            if mi.mentions(makers.keys()):
                wanted = {reg for reg in makers.keys() & mi.uses() if homes.get(reg) != n}
                for reg in sorted(wanted - fresh.keys()):
                    fresh[reg] = _copy(function, makers[reg], instrs)
                if wanted:
                    mi.map_registers(fresh)
            instrs.append(mi)
        block.instrs = instrs


def _copy(
    function: MachineFunction, makers: Sequence[MachineInstr], instrs: list[MachineInstr]
) -> Reg:
    """Append copies of records, each with a register of its own; the last one's result."""
    own: dict[Op, Reg] = {}
    for mi in makers:
        result, *read = mi.ops
        assert type(result) is int
        own[result] = function.regs.new(function.regs.classes[result])
        ops = (own[result], *(own.get(op, op) for op in read))
        instrs.append(MachineInstr(mi.form, ops, None, mi.loc))
    return own[result]
