"""The loops of a function that wait for an mbarrier.

Layer: isel.passes.  Input: a function after SSA form was left.  Output: its looks at mbarriers
(mbarrier.test_wait and mbarrier.try_wait), each with the innermost loop around it, if whether that
loop is left depends on what the look gives.  A look that something else is done with, such as one
ahead of time in a loop over tiles, has none.  PTX ISA, mbarrier.test_wait, mbarrier.try_wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction, MachineInstr, Reg, successors
from isel.loops import Loop, innermost_loops

LOOKS = (
    "mbarrier.test_wait",
    "mbarrier.test_wait.parity",
    "mbarrier.try_wait",
    "mbarrier.try_wait.parity",
)
"""Rows of records that look whether a phase of an mbarrier is complete."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look at an mbarrier: record `at` of a block, and the loop that waits with it."""

    mi: MachineInstr
    block: int
    at: int
    loop: Loop | None


def looks(function: MachineFunction) -> list[Look]:
    """The looks at mbarriers, in layout order."""
    found = [
        (mi, i, at)
        for i, block in enumerate(function.blocks)
        for at, mi in enumerate(block.instrs)
        if mi.row.id in LOOKS
    ]
    if not found:
        return []
    after = successors(function)
    around = innermost_loops(after)
    return [Look(mi, i, at, _waiting(function, after, mi, around.get(i))) for mi, i, at in found]


def _waiting(
    function: MachineFunction, after: Sequence[Sequence[int]], mi: MachineInstr, loop: Loop | None
) -> Loop | None:
    """`loop`, if what `mi` gives decides whether it is left."""
    if loop is None:
        return None
    derived = _derived(function, loop, mi)
    for i in loop.blocks:
        ends = function.blocks[i].terminators()
        decides = any(not derived.isdisjoint(end.uses()) for end in ends)
        if decides and any(j not in loop.blocks for j in after[i]):
            return loop
    return None


def _derived(function: MachineFunction, loop: Loop, mi: MachineInstr) -> set[Reg]:
    """The registers that depend, within a loop, on what a record gives."""
    derived = set(mi.defs())
    grown = True
    while grown:
        grown = False
        for i in loop.blocks:
            for other in function.blocks[i].instrs:
                if other is not mi and other.form.is_pure and not derived.isdisjoint(other.uses()):
                    written = set(other.defs()) - derived
                    derived |= written
                    grown |= bool(written)
    return derived
