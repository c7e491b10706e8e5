"""Addresses that a loop steps by the same number: of four or more, one offset is stepped instead.

Layer: isel.passes.  Input and output: a function in SSA form, in which no two addresses begin a
number apart (`joint_steps`).  An address of 64 bits is stepped by two instructions, and where a
loop is not unrolled, ptxas 13.5 copies all but one of them into pairs of registers before each
load.  An offset is stepped once, and each address is its sum with a base that stays.  Of two or
three addresses that takes more instructions in some loops.  LLVM's NVPTX back end does likewise
(LoopStrengthReduce).
"""

from __future__ import annotations

from collections import Counter

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
from isel.passes.dead_code import remove_dead_code
from isel.passes.integer_steps import result_of, stepped, steps_among

_LEAST = 4
"""Of so many addresses one offset takes fewer instructions in every loop that was counted."""

_PHI = "phi"


@dataclass(frozen=True, slots=True)
class _Walk:
    """An address that is stepped: its PHI, what it begins with, its step, and what that adds."""

    phi: MachineInstr
    begin: Reg
    step: MachineInstr
    by: Imm


def share_offsets(function: MachineFunction) -> None:
    """Let addresses that take the same step be sums with one offset."""
    blocks = [
        block
        for block in function.blocks
        if len(block.instrs) > _LEAST and block.instrs[_LEAST - 1].form.row.id == _PHI
    ]
    if not blocks:
        return
    steps = {mi.ops[0]: mi for mi in steps_among(function.instructions())}
    found = [(block, walks) for block in blocks for walks in _together(function, block, steps)]
    if not found or any(form.row.pseudo and form.row.id != _PHI for form in function.forms()):
        return
    read = Counter(reg for mi in function.instructions() for reg in mi.uses())
    often = written_often(function)
    for block, walks in found:
        kept = [
            walk
            for walk in walks
            if read[result_of(walk.step)] == 1
            and often.isdisjoint((*walk.phi.defs(), *walk.step.defs(), walk.begin))
        ]
        if len(kept) >= _LEAST:
            _share(function, block, kept)
    remove_dead_code(function)  # the steps of those that are sums now


def _together(
    function: MachineFunction, block: Block, steps: dict[Op, MachineInstr]
) -> list[list[_Walk]]:
    """The addresses that begin in a block and take the same step, where those are many."""
    found: dict[tuple[Form, Imm], list[_Walk]] = {}
    classes = function.regs.classes
    for phi in phis_of(block):
        one = stepped(phi, steps) if classes[result_of(phi)].bits == 64 else None
        if one is not None and type(one.begin) is int and isinstance(one.by, Imm):
            walk = _Walk(phi, one.begin, one.step, one.by)
            found.setdefault((walk.step.form, walk.by), []).append(walk)
    return [walks for walks in found.values() if len(walks) >= _LEAST]


def _share(function: MachineFunction, block: Block, walks: list[_Walk]) -> None:
    """Step an offset where the first address was stepped; the addresses are sums with it."""
    one, form = walks[0], walks[0].step.form
    offset, after = (function.regs.new(function.regs.classes[result_of(one.phi)]) for _ in "ab")
    _, values, labels = one.phi.ops
    assert isinstance(values, tuple)
    ways = tuple(Imm(0) if value == one.begin else after for value in values)
    phi = MachineInstr(one.phi.form, (offset, ways, labels), None, one.phi.loc)
    sums = [
        MachineInstr(form, (result_of(walk.phi), walk.begin, offset), None, walk.phi.loc)
        for walk in walks
    ]
    gone = {id(walk.phi) for walk in walks}
    before = phis_of(block)
    kept = [other for other in before if id(other) not in gone]
    block.instrs = [*kept, phi, *sums, *block.instrs[len(before) :]]
    one.step.ops = (after, offset, one.by)
