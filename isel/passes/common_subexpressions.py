"""Compute each value once.

Layer: isel.passes.  Input and output: a function before it leaves SSA form.  A record that computes
what another one has computed on every way to it goes, and who read its result reads the other's.
Compared is what depends on operands alone: no loads, nothing that the carry flag or the threads
beside this one have a part in, and of special registers those that never change.  Inline assembly
may write a register more than once: what reads or writes such a register stays.  Functions with
operations of whole CTAs stay as they are: what these read is judged by the block that made it.
"""

from __future__ import annotations

import functools
from collections import Counter

from intrinsics.mir import (
    Block,
    Form,
    MachineFunction,
    MachineInstr,
    Op,
    Reg,
    Special,
    registers_of,
    successors,
)
from intrinsics.row import Effect
from intrinsics.special import is_constant
from isel.control_flow import dominator_tree

_PHI = "phi"

_Key = tuple[Form, tuple[Op, ...]]


def share_values(function: MachineFunction) -> None:
    """Leave out the records whose values are already there."""
    seen: set[Form] = set()
    often: set[Form] = set()
    for block in function.blocks:
        for mi in block.instrs:
            (often if mi.form in seen else seen).add(mi.form)
    if not _has_twins(function, {form for form in often if _is_compared(form)}):
        return
    if not any(form.row.pseudo and form.row.id != _PHI for form in seen):
        _Sharing(function).run()


def _has_twins(function: MachineFunction, forms: set[Form]) -> bool:
    """Whether two records of some forms have the same operands: else nothing is there twice."""
    seen: set[_Key] = set()
    for mi in function.instructions() if forms else ():
        if mi.form in forms:
            key = mi.form, tuple([mi.ops[i] for i in mi.form.uses])
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
        self.unsteady = _written_often(function)

    def run(self) -> None:
        """Change the function."""
        below = dominator_tree(successors(self.function))
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
        """Leave out what is known, and return what is known from now on."""
        kept: list[MachineInstr] = []
        added: list[_Key] = []
        for mi in block.instrs:
            if self.same and mi.form.row.id != _PHI:
                mi.map_registers(self.same)
            key = self._key(mi)
            first = self.known.setdefault(key, mi) if key is not None else mi
            if first is not mi:
                self.same.update(zip(mi.defs(), first.defs(), strict=True))
                continue
            kept.append(mi)
            if key is not None:
                added.append(key)
        if len(kept) < len(block.instrs):
            block.instrs = kept
        return added

    def _key(self, mi: MachineInstr) -> _Key | None:
        """What the record computes; None where it is not compared."""
        form = mi.form
        if mi.guard is not None or not _is_compared(form):
            return None
        places = form.defs
        read = mi.ops[1:] if places == (0,) else tuple([mi.ops[i] for i in form.uses])
        if any(type(op) is Special and not is_constant(op.name) for op in read):
            return None
        if self.unsteady and not self.unsteady.isdisjoint(
            [reg for op in mi.ops for reg in registers_of(op)]
        ):
            return None
        if places != (0,) and any(not registers_of(mi.ops[i]) for i in places):
            return None  # one of the results is dropped
        return form, read


@functools.cache
def _is_compared(form: Form) -> bool:
    """Whether what a form computes depends on its operands alone."""
    return form.row.effects.effect is Effect.NONE and form.row.id != _PHI and not form.updates


def _written_often(function: MachineFunction) -> set[Reg]:
    """The registers that several records write."""
    counts = Counter(reg for mi in function.instructions() for reg in mi.defs())
    return {reg for reg, count in counts.items() if count > 1}
