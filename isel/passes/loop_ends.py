"""An edge that leaves a loop for the next turn of the loop around it: a block of its own.

Layer: isel.passes.  Input and output: a function in SSA form.  The moves of a PHI stand before the
branch that it comes from.  Where that branch ends a turn of an inner loop, and the outer loop's
next value was there before, they would be executed in each of these turns, while the inner loop
still reads the value of this one: that would be copied away at the head of the outer loop.  ptxas
13.5 then neither unrolls the inner loop nor moves out of it what does not change in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from intrinsics.mir import Block, MachineFunction, MachineInstr, Reg, incoming, inverted
from isel.control_flow import reach
from isel.passes.preheaders import split_edge

Phis = Mapping[int, list[MachineInstr]]
"""The PHI records of the blocks that have some, by the blocks' indices."""


def separate_ends(function: MachineFunction, phis: Phis, after: Sequence[Sequence[int]]) -> bool:
    """Put a block on each such edge, behind all others; whether there is one.

    `after` are the blocks' successors.
    """
    back = [
        (end, head)
        for end, following in enumerate(after)
        if len(following) > 1
        for head in following
        if head < end and head in phis
    ]
    blocks, made = function.blocks, list[Block]()
    names = {block.name for block in blocks} if back else set()
    for end, head in back:
        inner = _inner_loop(end, head, after)
        if not inner:
            continue
        if not _written_in(function, inner).issuperset(_values(function, phis[head], end)):
            made.append(split_edge(blocks[end], blocks[head], names))
    blocks += made
    return bool(made)


def _inner_loop(end: int, head: int, after: Sequence[Sequence[int]]) -> Set[int]:
    """The blocks between `end` and itself, where control comes back without passing `head`."""
    within = [() if i == head else following for i, following in enumerate(after)]
    reached = reach(within, within[end])
    if end not in reached:
        return frozenset()
    before = inverted([within[i] if i in reached else () for i in range(len(within))])
    return reached & reach(before, [end])


def _written_in(function: MachineFunction, loop: Set[int]) -> set[Reg]:
    """The registers that the blocks of a loop write."""
    return {reg for i in loop for mi in function.blocks[i].instrs for reg in mi.defs()}


def _values(function: MachineFunction, phis: Sequence[MachineInstr], end: int) -> Iterator[Reg]:
    """The registers whose values some PHIs take from a block, but for their own."""
    name = function.blocks[end].name
    for phi in phis:
        for value, label in incoming(phi):
            if label == name and type(value) is int and value != phi.ops[0]:
                yield value
