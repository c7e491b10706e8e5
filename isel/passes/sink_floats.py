"""Floating-point arithmetic is done where its results are wanted, in the block that reads them.

Layer: isel.passes.  Input and output: a function in SSA form.  A thread waits for a load where its
value is first read.  Sums and products that stand before a branch have it wait there, also where
only a block behind asks for them; ptxas 13.5 leaves them where they are.  LLVM's back end moves
them, too (MachineSinking).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from intrinsics.mir import (
    HOLDERS,
    MachineFunction,
    MachineInstr,
    Reg,
    phis_of,
    successors,
    written_often,
)
from isel.control_flow import reach

ARITHMETIC = frozenset(("add.float", "sub.float", "mul.float", "fma", "neg.float"))
"""The rows of what is moved: sums and products."""


def sink_floats(function: MachineFunction) -> None:
    """Move sums and products to the blocks that read them."""
    made = _made(function) if len(function.blocks) > 1 else {}
    readers = _readers(function, made) if made else {}
    if not any(_moves_to(readers[reg], home) for reg, (home, _) in made.items()):
        return
    if any(form.row.pseudo and form.row.id != "phi" for form in function.forms()):
        return
    if often := written_often(function):
        made = {reg: at for reg, at in made.items() if not at[1].mentions(often)}
    chosen = _chosen(function, made, readers)
    _move(function, {n: mis for n, mis in chosen.items() if _fits(function, n, mis)})


_MORE = 2
"""As many times the registers may be kept between the blocks: a kernel of Warp's needs as many, and
is 14 % faster; others take 10 to 40 more registers where more are kept.
"""

_Made = dict[Reg, tuple[int, MachineInstr]]
"""Results, with the numbers of the blocks that compute them, in order."""

_Readers = Mapping[Reg, list[int]]
"""The blocks that read each result, one for every record that does."""

_PHI = -1
"""In the place of a block: a PHI reads a value where another block ends."""


def _made(function: MachineFunction) -> _Made:
    return {
        mi.ops[0]: (n, mi)
        for n, block in enumerate(function.blocks)
        for mi in block.instrs
        if mi.form.row.id in ARITHMETIC and mi.guard is None and type(mi.ops[0]) is int
    }


def _readers(function: MachineFunction, made: _Made) -> _Readers:
    found: dict[Reg, list[int]] = {reg: [] for reg in made}
    for n, block in enumerate(function.blocks):
        for mi in block.instrs:
            for op in mi.ops:  # a plain loop: most records read none
                if op in found if type(op) is int else type(op) in HOLDERS:
                    for reg in made.keys() & mi.uses():
                        found[reg].append(_PHI if mi.form.row.id == "phi" else n)
                    break
    return found


def _moves_to(readers: Sequence[int], home: int) -> int:
    """The one block that reads a result of the block `home`; 0 where it is not to be moved."""
    wanted = readers[0] if readers else home
    is_elsewhere = wanted not in (home, _PHI) and readers.count(wanted) == len(readers)
    return wanted if is_elsewhere else 0


def _chosen(
    function: MachineFunction, made: _Made, readers: _Readers
) -> dict[int, list[MachineInstr]]:
    """The records that move, in order, by the numbers of the blocks that they move to."""
    after = successors(function)
    may: dict[tuple[int, int], bool] = {}
    chosen: dict[int, list[MachineInstr]] = {}
    for reg, (home, mi) in reversed(made.items()):
        wanted = _moves_to(readers[reg], home)
        if not wanted:
            continue
        if (home, wanted) not in may:
            may[home, wanted] = _is_once_behind(home, wanted, after)
        if may[home, wanted]:
            chosen.setdefault(wanted, []).insert(0, mi)
            for read in made.keys() & mi.uses():
                readers[read].remove(home)
                readers[read].append(wanted)
    return chosen


def _is_once_behind(home: int, wanted: int, after: Sequence[Sequence[int]]) -> bool:
    """Whether control comes to a block through another one only, and again only through that."""
    without = [() if i == home else following for i, following in enumerate(after)]
    starts = without[wanted] if home == 0 else [0, *without[wanted]]
    return wanted not in reach(without, starts)


def _fits(function: MachineFunction, wanted: int, records: Sequence[MachineInstr]) -> bool:
    """Whether the registers that live on, as what is read, are at most twice those that do not."""
    results = {mi.ops[0] for mi in records}
    read = {reg for mi in records for reg in mi.uses()} - results
    if len(read) <= _MORE:  # the last result at least is read there
        return True
    read_behind = {
        reg for block in function.blocks[wanted:] for mi in block.instrs for reg in mi.uses()
    }
    return len(read - read_behind) <= _MORE * len(results & read_behind)


def _move(function: MachineFunction, chosen: dict[int, list[MachineInstr]]) -> None:
    gone = {id(mi) for records in chosen.values() for mi in records}
    for n, block in enumerate(function.blocks):
        kept = [mi for mi in block.instrs if id(mi) not in gone]
        if n in chosen:
            first = len(phis_of(block))
            kept[first:first] = chosen[n]
        block.instrs = kept
