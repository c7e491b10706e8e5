"""Values that go through a loop side by side: one is stepped, the others follow at a distance.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  Of
addresses that begin numbers apart and take the same step each round, a front end often leaves one
PHI each, with an addition each; loads and stores add the numbers for nothing.  LLVM's NVPTX back
end does likewise (LoopStrengthReduce).  Integers wrap, so the values are the same whatever
overflows.

ptxas unrolls a loop whose test compares what is stepped, and none that compares a sum with it: a
value that is compared is the one that others follow, and what begins as it does is it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    Block,
    Form,
    Imm,
    MachineFunction,
    MachineInstr,
    Op,
    Reg,
    phis_of,
    written_often,
)
from intrinsics.modifiers import ScalarType
from isel.passes.common_subexpressions import share_values
from isel.passes.dead_code import remove_dead_code
from isel.passes.integer_steps import compared, result_of, signed, stepped, steps_among

_PHI = "phi"

_Key = tuple[Form, Op, Op | None, tuple[str, str]]
"""The addition of a round and what it adds, what a value begins as but for a number, the blocks."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """A PHI that is stepped: with which others it goes, and the number that it begins with."""

    phi: MachineInstr
    key: _Key
    start: int


def join_steps(function: MachineFunction) -> None:
    """Let PHIs that keep their distance be one."""
    classes = function.regs.classes
    blocks = [block for block in function.blocks if _may_be_alike(phis_of(block), classes)]
    if not blocks:
        return
    walks = _Walks(function)
    if not any(map(walks.steps_alike, blocks)):
        return
    if any(form.row.pseudo and form.row.id != _PHI for form in function.forms()):
        return
    walks.leave_out_what_is_written_again()
    for block in blocks:
        walks.join(block)
    if walks.same:
        for mi in function.instructions():
            mi.map_registers(walks.same)
        share_values(function)  # their steps are equal now
    remove_dead_code(function)  # the steps of those that went


def _may_be_alike(phis: list[MachineInstr], classes: Sequence[ScalarType]) -> bool:
    """Whether two PHIs are integers of one width: without, no two have the same step."""
    if len(phis) < 2:
        return False
    found = [classes[result_of(phi)] for phi in phis]
    widths = [class_.bits for class_ in found if class_.kind != "f"]
    return len(set(widths)) < len(widths)


class _Walks:
    """What is known of the registers of a function."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        self.same: dict[Reg, Reg] = {}  # a PHI's result -> that of the one which begins as it does
        self.additions = {mi.ops[0]: mi for mi in steps_among(function.instructions())}

    @functools.cached_property
    def compared(self) -> set[Reg]:
        """The registers that comparisons read."""
        return compared(self.function.instructions())

    def leave_out_what_is_written_again(self) -> None:
        """Inline assembly may write a register more than once."""
        often = written_often(self.function)
        self.additions = {
            result: mi
            for result, mi in self.additions.items()
            if often.isdisjoint((*mi.defs(), *mi.uses()))
        }

    def join(self, block: Block) -> None:
        """Of the PHIs of a block, keep one of those that go together."""
        phis = phis_of(block)
        sums: list[MachineInstr] = []
        gone: set[int] = set()
        for leader, walk in self.together(block):
            gone.add(id(walk.phi))
            if walk.start == leader.start:
                self.same[result_of(walk.phi)] = result_of(leader.phi)
            else:
                sums.append(_sum(leader, walk))
        if gone:
            kept = [phi for phi in phis if id(phi) not in gone]
            block.instrs = [*kept, *sums, *block.instrs[len(phis) :]]

    def steps_alike(self, block: Block) -> bool:
        """Whether two PHIs of a block are stepped by the same amount, so that they may join."""
        found = [one for phi in phis_of(block) if (one := stepped(phi, self.additions)) is not None]
        return len(found) > 1 and len({(one.step.form, one.by) for one in found}) < len(found)

    def together(self, block: Block) -> list[tuple[_Walk, _Walk]]:
        """The PHIs of a block that go with another one, each behind that one."""
        first: dict[_Key, _Walk] = {}
        walks = sorted(filter(None, map(self._walk, phis_of(block))), key=self._is_not_compared)
        return [
            (first[walk.key], walk)
            for walk in walks
            if first.setdefault(walk.key, walk) is not walk
        ]

    def _is_not_compared(self, walk: _Walk) -> bool:
        """Whether neither a PHI nor its next value is."""
        return self.compared.isdisjoint(walk.phi.defs() + walk.phi.uses())

    def _walk(self, phi: MachineInstr) -> _Walk | None:
        found = stepped(phi, self.additions)
        if found is None:
            return None
        begin, step, by, blocks = found
        root, start = self._start(begin, step.form)
        return _Walk(phi, (step.form, by, root, blocks), start)

    def _start(self, value: Op, form: Form) -> tuple[Op | None, int]:
        """A value as a register plus a number, or a number alone."""
        number = 0
        while type(value) is int and (made := self.additions.get(value)) is not None:
            _, base, more = made.ops
            if made.form != form or not isinstance(more, Imm):
                break
            number += more.value
            value = base
        return (None, number + value.value) if isinstance(value, Imm) else (value, number)


def _sum(leader: _Walk, walk: _Walk) -> MachineInstr:
    """A value as the one that is stepped plus a number."""
    form = walk.key[0]
    apart = signed(form, walk.start - leader.start)
    return MachineInstr(form, (walk.phi.ops[0], leader.phi.ops[0], apart), None, walk.phi.loc)
