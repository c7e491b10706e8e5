"""Values are computed behind the branches that pass by where they are wanted.

Layer: isel.passes.  Input and output: a function in SSA form, but that inline assembly may write a
register on some of the paths to what reads it.  What stands before a branch is computed on every
path, and a thread waits for a load where its value is first read; ptxas 13.5 leaves it there.  A
value that is read only in later blocks, which are not on every path or are in a loop, is computed
in the nearest one that dominates these, as by LLVM's back end (MachineSinking); loops get
preheaders for that.

Not so where a warpgroup multiplies: its accumulators would be copied for what reads them later, and
ptxas spills registers that roles have been given by number.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence

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
from isel.control_flow import Dominators, components, post_dominators, reach
from isel.passes.fill_wgmma import multiplies_among
from isel.passes.preheaders import give_preheaders

_BLOCKS = 3
"""The least that a function has whose branch passes one by."""

_MORE = 2
"""As many times the registers may be kept between the blocks: a kernel of Warp's needs as many, and
is 14 % faster; others take 10 to 40 more registers where more are kept.
"""

_WORTH = 8
"""Records that are worth a register."""

_Homes = dict[Reg, int]
"""Results that no record reads that stays in their block, and the numbers of their blocks."""


def sink_values(function: MachineFunction) -> None:
    """Move what is computed before branches to where it is wanted."""
    if len(function.blocks) < _BLOCKS:
        return
    forms = set(function.forms())
    if multiplies_among(forms) or any(form.row.pseudo and form.row.id != "phi" for form in forms):
        return
    give_preheaders(function)
    movable = _Movable(function)
    if not movable.records:
        return
    sinking = _Sinking(function, movable)
    if len(sinking.dominators.order) < len(function.blocks):
        return  # nothing leads to some
    chosen = sinking.chosen()
    while unfit := {n for n, mis in chosen.items() if not sinking.fits(n, mis)}:
        sinking.refused |= unfit
        chosen = sinking.chosen()
    if chosen:
        _move(function, chosen)


def _may_move(form: Form) -> bool:
    """Whether a form computes one value of its operands alone, at some cost."""
    row = form.row
    is_pure = row.effects.effect is Effect.NONE and not row.pseudo and not form.updates
    return is_pure and form.writes_first and row.id not in ("phi", "mov")


_MOVES = Memo(_may_move)


def _made(function: MachineFunction) -> _Homes:
    often = written_often(function)
    moves = _MOVES
    return {
        mi.ops[0]: n
        for n, block in enumerate(function.blocks)
        for mi in block.instrs
        if moves[mi.form]
        and mi.guard is None
        and type(mi.ops[0]) is int
        and not (often and mi.mentions(often))
    }


class _Movable:
    """The records that may move, as far as the blocks tell one by one.

    `records` are those of a block, the last first, each with those of its operands that may move
    too; `readers` the blocks with other records that read a result.
    """

    def __init__(self, function: MachineFunction) -> None:
        self._homes = _made(function)
        self.records: dict[int, list[tuple[MachineInstr, list[Reg]]]] = {}
        self.readers: defaultdict[Reg, list[int]] = defaultdict(list)
        if not self._homes:
            return
        firsts = self._read_by_phis(function)
        for n, block in enumerate(function.blocks):
            self._walk(n, block.instrs[firsts[n] :] if firsts[n] else block.instrs)

    def _read_by_phis(self, function: MachineFunction) -> list[int]:
        """A PHI reads a value where the block ends that it comes from.

        Returns how many each block has.
        """
        firsts: list[int] = []
        numbers = {block.name: n for n, block in enumerate(function.blocks)}
        for block in function.blocks:
            phis = phis_of(block)
            firsts.append(len(phis))
            for phi in phis:
                for value, name in incoming(phi):
                    if type(value) is int and value in self._homes:
                        self._stay((value,), numbers[name])
        return firsts

    def _stay(self, read: Iterable[Reg], at: int) -> None:
        """Something that stays in a block reads these."""
        homes, readers = self._homes, self.readers
        for reg in read:
            if homes.get(reg) == at:
                del homes[reg]
            else:
                readers[reg].append(at)

    def _walk(self, n: int, instrs: list[MachineInstr]) -> None:
        """Of the records that follow the PHIs of a block, those that may move."""
        homes = self._homes
        found: list[tuple[MachineInstr, list[Reg]]] = []
        for mi in reversed(instrs):
            ops = mi.ops
            read: list[Reg] = []
            for op in ops[1:] if mi.form.writes_first else ops:  # a plain loop
                if type(op) is int:
                    if op in homes:
                        read.append(op)
                elif type(op) in HOLDERS:
                    read += homes.keys() & registers_of(op)
            if mi.guard is not None and (reg := guard_register(mi.guard)) in homes:
                read.append(reg)
            if mi.form.writes_first and type(ops[0]) is int and ops[0] in homes:
                found.append((mi, read))
                # what one record reads twice, as a square does, stays before it
                read = [reg for reg in read if read.count(reg) > 1] if len(read) > 1 else []
            if read:
                self._stay(read, n)
        if found:
            self.records[n] = found


class _Sinking:
    """Which records move, and where to."""

    def __init__(self, function: MachineFunction, movable: _Movable) -> None:
        self.function = function
        self.refused: set[int] = set()  # the blocks that nothing moves to
        self.after = successors(function)
        self.dominators = Dominators(self.after)
        self._records = movable.records
        self._readers = movable.readers
        self._is_better: dict[tuple[int, int], bool] = {}

    def chosen(self) -> dict[int, list[MachineInstr]]:
        """The records that move, in order, by the numbers of the blocks that they move to.

        What reads a value is behind it in that order, so that it has found its place before.
        """
        meet = self.dominators.meet
        found: dict[int, list[MachineInstr]] = {}
        places = dict(self._nearest)
        for home in reversed(self.dominators.order):
            for mi, read in self._records.get(home, ()):
                (reg,) = mi.defs()
                at = self._place(home, places.get(reg, home))
                if at != home:
                    found.setdefault(at, []).append(mi)
                for other in read:
                    places[other] = meet(places[other], at) if other in places else at
        return {n: records[::-1] for n, records in found.items()}

    @functools.cached_property
    def _nearest(self) -> dict[Reg, int]:
        """The nearest block that dominates all records that stay and read a result."""
        meet = self.dominators.meet
        return {reg: functools.reduce(meet, blocks) for reg, blocks in self._readers.items()}

    def _place(self, home: int, wanted: int) -> int:
        """The nearest block above one, or itself, where a value is computed better.

        What inline assembly writes on some paths and reads on all stays where it is.
        """
        if not self.dominators.dominate(home, wanted):
            return home
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
            self._is_better[key] = not self._is_repeated(home, wanted) and (
                bool(self._within[home]) or not self._later[home] >> wanted & 1
            )
        return self._is_better[key]

    def _is_repeated(self, home: int, wanted: int) -> bool:
        """Whether some path leads from a block to itself without one that dominates it.

        All blocks of such a path are below that one in the dominator tree.
        """
        within = self._within
        if self._parts[home] != self._parts[wanted]:
            return bool(within[wanted])
        return wanted in reach(within, within[wanted], set(self.dominators.not_below(home)))

    @functools.cached_property
    def _parts(self) -> list[int]:
        return components(self.after)

    @functools.cached_property
    def _within(self) -> list[list[int]]:
        """The successors of each block that lead back to it."""
        parts = self._parts
        return [[t for t in after if parts[t] == parts[n]] for n, after in enumerate(self.after)]

    @functools.cached_property
    def _later(self) -> list[int]:
        """For each block those that post-dominate it, as bits."""
        return post_dominators(self.after)

    def fits(self, wanted: int, records: Sequence[MachineInstr]) -> bool:
        """Whether few registers live on, as what is read, beside those that do not."""
        results = {reg for mi in records for reg in mi.defs()}
        read = {reg for mi in records for reg in mi.uses()} - results
        if len(read) <= _MORE:  # the last result at least is read there
            return True
        last = self._last_readers
        kept = sum(last[reg] < wanted for reg in read)
        freed = sum(last.get(reg, -1) >= wanted for reg in results)
        return kept <= max(_MORE * freed, len(records) // _WORTH)

    @functools.cached_property
    def _last_readers(self) -> dict[Reg, int]:
        """The last block, in layout order, that reads each register."""
        found: dict[Reg, int] = {}
        for n, block in enumerate(self.function.blocks):
            for mi in block.instrs:
                if not mi.form.writes_first or mi.guard is not None:
                    found.update(dict.fromkeys(mi.uses(), n))
                    continue
                for op in mi.ops[1:]:  # a plain loop, as in `MachineInstr.uses`
                    if type(op) is int:
                        found[op] = n
                    elif type(op) in HOLDERS:
                        found.update(dict.fromkeys(registers_of(op), n))
        return found


def _move(function: MachineFunction, chosen: dict[int, list[MachineInstr]]) -> None:
    gone = {id(mi) for records in chosen.values() for mi in records}
    for n, block in enumerate(function.blocks):
        kept = [mi for mi in block.instrs if id(mi) not in gone]
        if n in chosen:
            first = len(phis_of(block))
            kept[first:first] = chosen[n]
        block.instrs = kept
