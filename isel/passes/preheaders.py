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
    if not any(map(phis_of, function.blocks)):
        return
    after = successors(function)
    heads = {head for n, following in enumerate(after) for head in following if head <= n}
    entered = _entered_from_forks(after, heads) if heads else []
    names = {block.name for block in function.blocks} if entered else set()
    for before, head in reversed(entered):  # the numbers of the others stay
        block = split_edge(function.blocks[before], function.blocks[head], names)
        function.blocks.insert(head, block)


def _entered_from_forks(after: list[list[int]], heads: set[int]) -> list[tuple[int, int]]:
    """Of each such loop the block that enters it and its head, in the order of the heads."""
    before = inverted(after)
    found: list[tuple[int, int]] = []
    turns: dict[int, set[int]] = {}  # where a turn ends, but in the head itself
    for head in sorted(heads):
        outside = [way for way in before[head] if way < head]
        if len(outside) == 1 and len(after[outside[0]]) > 1:
            found.append((outside[0], head))
            turns[head] = {*before[head]}.difference(outside, (head,))
    if not any(turns.values()):
        return found
    dominators = Dominators(after)
    return [
        (entry, head)
        for entry, head in found
        if all(end in dominators.rank and dominators.dominate(head, end) for end in turns[head])
    ]


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
