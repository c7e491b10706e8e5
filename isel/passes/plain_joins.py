"""PHIs whose values nothing else uses: these are computed in the PHI's own register, without moves.

Layer: isel.passes.  Input: a function in SSA form.  Where a value of a PHI is made in the block
that it comes from, which leads nowhere else and does not read the PHI, and nothing but the PHI
reads the value, both are never needed at the same time.  Such are the arms of an `if` or a switch.
Where all PHIs of a function are of that kind, no interference need be computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from intrinsics.mir import MachineFunction, MachineInstr, Reg, incoming


def joined_plainly(function: MachineFunction, phis: Sequence[MachineInstr]) -> bool:
    """Make the values of all `phis` in the PHIs' registers, if they may be.

    No block that a PHI comes from leads to another one, too.
    """
    homes = _homes(function, phis)
    makers = _makers(function, phis, homes) if homes is not None else None
    if homes is None or makers is None:
        return False
    names = function.regs.names
    table: dict[Reg, Reg] = {}
    for reg in sorted(homes):
        _, result = homes[reg]
        table[reg] = result
        names[result] = names[result] or names[reg]
    for mi in (*makers, *phis):
        mi.map_registers(table)
    return True


_Homes = Mapping[Reg, tuple[str, Reg]]
"""Of each register that a PHI merges, the block that it comes from and the PHI's register."""


def _homes(function: MachineFunction, phis: Sequence[MachineInstr]) -> _Homes | None:
    """None where a register goes to two PHIs, is the result of one, or of another class."""
    classes = function.regs.classes
    found: dict[Reg, tuple[str, Reg]] = {}
    for phi in phis:
        result = phi.ops[0]
        assert isinstance(result, int)
        for value, home in incoming(phi):
            if type(value) is int:
                if value in found or classes[value] is not classes[result]:
                    return None
                found[value] = home, result
    return None if any(phi.ops[0] in found for phi in phis) else found


def _makers(
    function: MachineFunction, phis: Sequence[MachineInstr], homes: _Homes
) -> list[MachineInstr] | None:
    """The records that make the values, each in the block that it comes from.

    None where another one reads a value, or its block what it becomes one with.
    """
    results = {reg for phi in phis for reg in phi.defs()}
    known = results | homes.keys()
    joined: defaultdict[str, set[Reg]] = defaultdict(set)
    for name, result in homes.values():
        joined[name].add(result)
    found: list[MachineInstr] = []
    made: set[Reg] = set()
    for block in function.blocks:
        unread = homes.keys() | joined[block.name]
        for mi in block.instrs:
            if not mi.mentions(known) or mi.form.row.id == "phi":
                continue
            written = known.intersection(mi.defs())
            if not unread.isdisjoint(mi.uses()) or not written.isdisjoint(results | made):
                return None
            if not written:
                continue
            if mi.guard is not None or any(homes[reg][0] != block.name for reg in written):
                return None
            made |= written
            found.append(mi)
    return found if len(made) == len(homes) else None
