"""Compute each value once.

Layer: isel.passes.  Input and output: a function before it leaves SSA form.  A record that computes
what another one has computed on every way to it goes, and who read its result reads the other's.
Parts of addresses that several blocks compute are computed where their ways part: the second of two
conditional accesses to neighbours has the address of the first.  So are special registers that
several blocks read, and symbols: the machine takes three instructions for the address of shared
memory in its cluster.
Compared is what depends on operands alone: no loads, nothing that the carry flag or the threads
beside this one have a part in, and of special registers those that never change.  Inline assembly
may write a register more than once: what reads or writes such a register stays.  Functions with
operations of whole CTAs stay as they are: what these read is judged by the block that made it.
"""

from __future__ import annotations

import functools

from intrinsics.memo import Memo
from intrinsics.mir import (
    Block,
    Form,
    MachineFunction,
    MachineInstr,
    Op,
    Reg,
    Special,
    Sym,
    registers_of,
    successors,
    written_often,
)
from intrinsics.modifiers import Space
from intrinsics.row import Effect
from intrinsics.special import is_constant
from isel.control_flow import Dominators

_PHI = "phi"

_ADDRESSES = frozenset(("add.int", "sub.int", "mul.lo", "mul.wide", "shl", "cvt.int", "setp.int"))
"""Rows that addresses are made of: cheap enough to be computed where they may not be needed."""

_Key = tuple[Form, tuple[Op, ...]]


def share_values(function: MachineFunction) -> None:
    """Leave out the records whose values are already there."""
    seen: set[Form] = set()
    often: set[Form] = set()
    for block in function.blocks:
        for mi in block.instrs:
            (often if mi.form in seen else seen).add(mi.form)
    if not _has_twins(function, {form for form in often if _COMPARED[form]}):
        return
    if any(form.row.pseudo and form.row.id != _PHI for form in seen):
        return
    sharing = _Sharing(function)
    sharing.run()
    if len(function.blocks) > 1 and sharing.move_up():
        sharing.run()


def _has_twins(function: MachineFunction, forms: set[Form]) -> bool:
    """Whether two records of some forms have the same operands: else nothing is there twice."""
    seen: set[_Key] = set()
    for mi in function.instructions() if forms else ():
        if mi.form in forms:
            form, ops = mi.form, mi.ops
            read = ops[len(form.defs) :] if form.in_order else tuple([ops[i] for i in form.uses])
            key = form, read
            if key in seen:
                return True
            seen.add(key)
    return False


class _Sharing:
    """A walk over the tree of dominators: what a block knows, all blocks below it know."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        self.known: dict[_Key, MachineInstr] = {}
        self.same: dict[Reg, Reg] = {}  # the result of a record that went -> the one it equals
        self.unsteady = written_often(function)
        self.stack = {v.name for v in function.variables if v.space is Space.LOCAL}
        self.dominators = Dominators(successors(function))

    def run(self) -> None:
        """Leave out what is there already."""
        self.same = {}
        below = self.dominators.below
        added: list[list[_Key]] = []
        pending = [0]
        while pending:
            at = pending.pop()
            if at < 0:  # all blocks below the last one are through
                for key in added.pop():
                    del self.known[key]
                continue
            added.append(self._block(self.function.blocks[at]))
            pending += [-1, *below[at]]
        for mi in self.function.instructions() if self.same else ():
            if mi.form.row.id == _PHI:
                mi.map_registers(self.same)

    def _block(self, block: Block) -> list[_Key]:
        """Leave out what is known, and return what is known from now on.

        What stands behind a branch, as a switch's later comparisons do, is not known where the
        branch goes.
        """
        kept: list[MachineInstr] = []
        added: list[_Key] = []
        same, known = self.same, self.known
        leaves = False
        for mi in block.instrs:
            leaves = leaves or mi.form.is_terminator
            if same and mi.form.row.id != _PHI and mi.mentions(same.keys()):
                mi.map_registers(same)
            key = self._key(mi)
            if key is None:
                kept.append(mi)
                continue
            first = known.get(key, mi) if leaves else known.setdefault(key, mi)
            if first is not mi:
                same.update(zip(mi.defs(), first.defs(), strict=True))
                continue
            kept.append(mi)
            if not leaves:
                added.append(key)
        if len(kept) < len(block.instrs):
            block.instrs = kept
        return added

    def move_up(self) -> bool:
        """Compute what several blocks compute at the end of the nearest that dominates them all.

        Is there any?  They have it from there once `run` has left theirs out.
        """
        twins = self._twins()
        best: dict[Op, Op] = {}  # the first of equal values -> the one that all may read
        moved = False
        for (_, read), found in twins.items():
            at = functools.reduce(self.dominators.meet, [n for n, _ in found])
            there = next((mi for n, mi in found if n == at), None)
            first = found[0][1]
            if there is None:
                read = tuple([best.get(op, op) for op in read])
                there = self._append(self.function.blocks[at], first, read)
                moved = True
            best[first.ops[0]] = there.ops[0]
        return moved

    def _twins(self) -> dict[_Key, list[tuple[int, MachineInstr]]]:
        """The records of addresses, and their blocks, by what they compute."""
        found: dict[_Key, list[tuple[int, MachineInstr]]] = {}
        equal: dict[Op, Op] = {}  # a result -> the first one of the same value
        for n in self.dominators.order:
            block = self.function.blocks[n]
            for mi in block.instrs[: block.end]:
                is_part = _PARTS[mi.form]
                if is_part is None:
                    is_part = self._is_place(mi.ops[1])
                if not is_part or (key := self._key(mi)) is None:
                    continue
                if equal:
                    key = key[0], tuple([equal.get(op, op) for op in key[1]])
                same = found.setdefault(key, [])
                if same:
                    equal[mi.ops[0]] = same[0][1].ops[0]
                same.append((n, mi))
        return {key: same for key, same in found.items() if len(same) > 1}

    def _is_place(self, op: Op) -> bool:
        """Whether a move reads a special register or a symbol: of local memory it costs nothing."""
        return type(op) is Special or (type(op) is Sym and op.name not in self.stack)

    def _append(self, block: Block, mi: MachineInstr, read: tuple[Op, ...]) -> MachineInstr:
        """The same record, with a result of its own, before a block's first branch."""
        regs, (result,) = self.function.regs, mi.defs()
        made = MachineInstr(mi.form, (regs.new(regs.classes[result]), *read), None, mi.loc)
        block.instrs.insert(block.end, made)
        return made

    def _key(self, mi: MachineInstr) -> _Key | None:
        """What the record computes; None where it is not compared."""
        form = mi.form
        if mi.guard is not None or not _COMPARED[form]:
            return None
        read = mi.ops[1:] if form.writes_first else tuple([mi.ops[i] for i in form.uses])
        for op in read:
            if type(op) is Special and not is_constant(op.name):
                return None
        if self.unsteady and mi.mentions(self.unsteady):
            return None
        if not form.writes_first and any(not registers_of(mi.ops[i]) for i in form.defs):
            return None  # one of the results is dropped
        return form, read


def _is_part(form: Form) -> bool | None:
    """Whether addresses are made of what a form computes; None where its operand tells."""
    if form.row.id == "mov":
        return None
    return form.row.id in _ADDRESSES and form.defs == (0,)


_PARTS = Memo(_is_part)


def _is_compared(form: Form) -> bool:
    """Whether what a form computes depends on its operands alone."""
    return form.row.effects.effect is Effect.NONE and form.row.id != _PHI and not form.updates


_COMPARED = Memo(_is_compared)
