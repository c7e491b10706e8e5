"""A loop that is entered from a fork gets a block in front of it: a preheader.

Layer: isel.passes.  Input and output: a function in SSA form.  What only the loop reads has a place
there, and so have the first values of its PHIs: behind the branch that may pass the loop by, before
the first turn.  Where a loop of divergent threads has no such block, ptxas 13.5 keeps the
descriptor of global memory in registers of threads, and copies it for each access in each turn.
A block that stays empty is none once blocks are placed.
"""

from __future__ import annotations

from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Label,
    MachineFunction,
    MachineInstr,
    inverted,
    phis_of,
    successors,
)
from isel.control_flow import Dominators


def give_preheaders(function: MachineFunction) -> None:
    """Put a block in front of each loop that one block enters, which branches elsewhere too."""
    after = successors(function)
    entered: list[tuple[int, int]] = []
    dominators: Dominators | None = None
    for head, ways in enumerate(inverted(after)):
        outside = [way for way in ways if way < head]
        if len(outside) != 1 or len(ways) == 1 or len(after[outside[0]]) == 1:
            continue
        dominators = dominators or Dominators(after)
        inside = {*ways}.difference(outside)
        if all(way in dominators.rank and dominators.dominate(head, way) for way in inside):
            entered.append((outside[0], head))
    names = {block.name for block in function.blocks} if entered else set()
    for before, head in reversed(entered):  # the numbers of the others stay
        block = split_edge(function.blocks[before], function.blocks[head], names)
        function.blocks.insert(head, block)


def split_edge(old: Block, to: Block, names: set[str]) -> Block:
    """A block between two others, which is still to be put among those of their function.

    `names` are those of all its blocks; the new one's is added.
    """
    name = f"{old.name}_next"
    while name in names:
        name += "_"
    names.add(name)
    for mi in old.terminators():
        mi.map_labels({to.name: name})
    for phi in phis_of(to):
        phi.map_labels({old.name: name})
    branch = MachineInstr(catalog.form("bra"), (Label(to.name),), None, old.instrs[-1].loc)
    return Block(name, [branch])
