"""Which registers multiplies of a warpgroup may still be reading where a wait for them stands.

Layer: isel.passes.  Input: a function without PHI records.  Output: for each wait for all groups,
the registers of A of the multiplies that come to it with no other such wait between.  Nothing may
write these before, so that they are live up to the wait.  PTX ISA, wgmma.mma_async;
wgmma.wait_group.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir import Block, Imm, MachineFunction, MachineInstr, Reg, registers_of
from isel.passes.fill_wgmma import is_multiply, read_by

_WAIT = "wgmma.wait_group"


def read_until(function: MachineFunction, before: Sequence[Sequence[int]]) -> dict[int, set[Reg]]:
    """For each wait for all groups (by its `id`), what multiplies read up to there.

    `before` are the predecessors of each block.
    """
    blocks = [_Events(block) for block in function.blocks]
    if not any(events.multiplies for events in blocks):
        return {}
    entering: list[set[Reg]] = [set() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for i, found in enumerate(entering):
            reaching = set().union(*(blocks[p].leaving(entering[p]) for p in before[i]))
            if not reaching <= found:
                found |= reaching
                changed = True
    waits: dict[int, set[Reg]] = {}
    for events, running in zip(blocks, entering, strict=True):
        events.leaving(running, waits)
    return waits


class _Events:
    """The multiplies with A in registers, and the waits for all groups, of a block."""

    def __init__(self, block: Block) -> None:
        self.records = [mi for mi in block.instrs if is_multiply(mi) or _waits_for_all(mi)]
        self.multiplies = any(_registers_of_a(mi) for mi in self.records)

    def leaving(self, entering: set[Reg], waits: dict[int, set[Reg]] | None = None) -> set[Reg]:
        """Registers of A read by multiplies in flight at the block's end, given those at its
        beginning.
        """
        running = set(entering)
        for mi in self.records:
            if is_multiply(mi):
                running |= _registers_of_a(mi)
                continue
            if waits is not None:
                waits[id(mi)] = running
            running = set()
        return running


def _registers_of_a(mi: MachineInstr) -> set[Reg]:
    """The registers of a multiply's A; a single one is a descriptor, which is read at once."""
    a = mi["a"] if is_multiply(mi) else None
    return set(registers_of(a)) & read_by(mi) if isinstance(a, tuple) else set()


def _waits_for_all(mi: MachineInstr) -> bool:
    return mi.form.row.id == _WAIT and mi.ops[0] == Imm(0)
