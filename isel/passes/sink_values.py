"""Values are computed behind the branches that pass by where they are wanted.

Layer: isel.passes.  Input and output: a function in SSA form.  What stands before a branch is
computed whatever way is taken, and a thread waits for a load where its value is first read; ptxas
13.5 leaves it there.  A value that is wanted only in blocks behind, which not every way comes to
or which are in a loop, is computed in the nearest one that dominates these, as LLVM's back end has
it (MachineSinking).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

from intrinsics.memo import Memo
from intrinsics.mir import (
    HOLDERS,
    Form,
    MachineFunction,
    MachineInstr,
    Reg,
    guard_register,
    incoming,
    phis_of,
    registers_of,
    successors,
    written_often,
)
from intrinsics.row import Effect
from isel.control_flow import Dominators, components, reach

_BLOCKS = 3
"""The least that a function has whose branch passes one by."""

_MORE = 2
"""As many times the registers may be kept between the blocks: a kernel of Warp's needs as many, and
is 14 % faster; others take 10 to 40 more registers where more are kept.
"""

_WORTH = 8
"""Records that are worth a register."""

_Made = dict[Reg, tuple[int, MachineInstr]]
"""Results, with the numbers of the blocks that compute them."""

_Readers = dict[Reg, list[int]]
"""The blocks that read each result, one for every record that does."""


def sink_values(function: MachineFunction) -> None:
    """Move what is computed before branches to where it is wanted."""
    if len(function.blocks) < _BLOCKS:
        return
    if any(form.row.pseudo and form.row.id != "phi" for form in function.forms()):
        return
    made = _made(function)
    readers = _readers(function, made)
    if all(home in readers[reg] for reg, (home, _) in made.items()):
        return
    sinking = _Sinking(function, made)
    if len(sinking.dominators.order) < len(function.blocks):
        return  # nothing leads to some
    chosen = sinking.chosen(readers)
    last = _last_reader(function) if chosen else {}
    while unfit := {n for n, mis in chosen.items() if not _fits(last, n, mis)}:
        sinking.refused |= unfit
        chosen = sinking.chosen(_readers(function, made))
    _move(function, chosen)


def _may_move(form: Form) -> bool:
    """Whether a form computes one value of its operands alone, at some cost."""
    row = form.row
    is_pure = row.effects.effect is Effect.NONE and not row.pseudo and not form.updates
    return is_pure and form.writes_first and row.id not in ("phi", "mov")


_MOVES = Memo(_may_move)


def _made(function: MachineFunction) -> _Made:
    often = written_often(function)
    return {
        mi.ops[0]: (n, mi)
        for n, block in enumerate(function.blocks)
        for mi in block.instrs
        if _MOVES[mi.form]
        and mi.guard is None
        and type(mi.ops[0]) is int
        and not (often and mi.mentions(often))
    }


def _readers(function: MachineFunction, made: _Made) -> _Readers:
    """A PHI reads a value where the block ends that it comes from."""
    found: _Readers = {reg: [] for reg in made}
    numbers = {block.name: n for n, block in enumerate(function.blocks)}
    for n, block in enumerate(function.blocks):
        for mi in block.instrs:
            if mi.form.row.id == "phi":
                for value, name in incoming(mi):
                    if value in found and type(value) is int:
                        found[value].append(numbers[name])
                continue
            for op in mi.ops[1:] if mi.form.writes_first else mi.ops:  # a plain loop
                if type(op) is int:
                    if op in found:
                        found[op].append(n)
                elif type(op) in HOLDERS:
                    for reg in found.keys() & registers_of(op):
                        found[reg].append(n)
            if mi.guard is not None and (reg := guard_register(mi.guard)) in found:
                found[reg].append(n)
    return found


class _Sinking:
    """Which records move, and where to."""

    def __init__(self, function: MachineFunction, made: _Made) -> None:
        self.function, self.made = function, made
        self.refused: set[int] = set()  # the blocks that nothing moves to
        self.after = successors(function)
        self.dominators = Dominators(self.after)
        self._loops = _in_loops(self.after)
        self._is_better: dict[tuple[int, int], bool] = {}

    def chosen(self, readers: _Readers) -> dict[int, list[MachineInstr]]:
        """The records that move, in order, by the numbers of the blocks that they move to.

        What reads a value is behind it in that order, so that it has found its place before:
        `readers` become the places after all moves.
        """
        found: dict[int, list[MachineInstr]] = {}
        for home in reversed(self.dominators.order):
            for mi in reversed(self.function.blocks[home].instrs):
                reg = mi.ops[0] if mi.ops else None
                if type(reg) is not int or self.made.get(reg) != (home, mi):
                    continue
                if not readers[reg] or home in readers[reg]:
                    continue
                wanted = self._place(home, readers[reg])
                if wanted != home:
                    found.setdefault(wanted, []).insert(0, mi)
                    for read in self.made.keys() & mi.uses():
                        readers[read].remove(home)
                        readers[read].append(wanted)
        return found

    def _place(self, home: int, readers: Sequence[int]) -> int:
        """The nearest block that dominates all that read a value, or one above it."""
        wanted = functools.reduce(self.dominators.meet, readers)
        while wanted != home and (wanted in self.refused or not self._pays(home, wanted)):
            wanted = self.dominators.above[wanted]
        return wanted

    def _pays(self, home: int, wanted: int) -> bool:
        """Whether a block comes once behind one that dominates it, or not at all.

        Where every way leads to it, what is computed early is done beside what comes between; a
        loop has other turns for that, and its registers are free for these.
        """
        key = home, wanted
        if key not in self._is_better:
            after = self.after
            self._is_better[key] = (
                not self._loops[wanted] or wanted not in reach(after, after[wanted], (home,))
            ) and (self._loops[home] or _is_passed_by(home, wanted, after))
        return self._is_better[key]


def _in_loops(after: Sequence[Sequence[int]]) -> list[bool]:
    """Whether each block may come again."""
    found = components(after)
    sizes = Counter(found)
    return [sizes[found[n]] > 1 or n in following for n, following in enumerate(after)]


def _is_passed_by(home: int, wanted: int, after: Sequence[Sequence[int]]) -> bool:
    """Whether some way from a block ends without the other."""
    return any(not after[n] for n in reach(after, after[home], (wanted,)))


def _last_reader(function: MachineFunction) -> dict[Reg, int]:
    """The last block, in layout order, that reads each register."""
    return {
        reg: n
        for n, block in enumerate(function.blocks)
        for mi in block.instrs
        for reg in mi.uses()
    }


def _fits(last: Mapping[Reg, int], wanted: int, records: Sequence[MachineInstr]) -> bool:
    """Whether few registers live on, as what is read, beside those that do not."""
    results = {reg for mi in records for reg in mi.defs()}
    read = {reg for mi in records for reg in mi.uses()} - results
    if len(read) <= _MORE:  # the last result at least is read there
        return True
    kept = sum(last[reg] < wanted for reg in read)
    freed = sum(last.get(reg, -1) >= wanted for reg in results)
    return kept <= max(_MORE * freed, len(records) // _WORTH)


def _move(function: MachineFunction, chosen: dict[int, list[MachineInstr]]) -> None:
    gone = {id(mi) for records in chosen.values() for mi in records}
    for n, block in enumerate(function.blocks):
        kept = [mi for mi in block.instrs if id(mi) not in gone]
        if n in chosen:
            first = len(phis_of(block))
            kept[first:first] = chosen[n]
        block.instrs = kept
