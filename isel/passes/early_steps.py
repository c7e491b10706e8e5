"""Counters that a loop compares before it steps them: they are stepped first.

Layer: isel.passes.  Input and output: a function in SSA form.  Where a loop of one block compares
a PHI, and its next value goes to the PHI alone, the PHI begins one step earlier and is stepped at
the head of each turn: what was the PHI is its next value.  That takes no move at the end of a turn,
and ptxas unrolls a loop whose test compares what is stepped, and none that compares what it was.
Integers wrap, so the values are the same whatever overflows.
"""

from __future__ import annotations

from collections import Counter

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    Block,
    Imm,
    MachineFunction,
    MachineInstr,
    Reg,
    Scalar,
    incoming,
    phis_of,
    written_often,
)
from isel.passes.integer_steps import compared, signed, steps_among

_PHI = "phi"


@dataclass(frozen=True, slots=True)
class _Counter:
    """A PHI, its step, the value that it begins with, and the block that this comes from."""

    phi: MachineInstr
    step: MachineInstr
    begin: Scalar
    before: str


def step_first(function: MachineFunction) -> None:
    """Step counters at the heads of loops where that is what they compare."""
    blocks = [block for block in function.blocks if _compares_a_phi(block)]
    if not blocks or any(form.row.pseudo and form.row.id != _PHI for form in function.forms()):
        return
    reads = Counter(reg for mi in function.instructions() for reg in mi.uses())
    often = written_often(function)
    by_name = {block.name: block for block in function.blocks}
    for block in blocks:
        for counter in _counters(block, reads):
            mentioned = {*counter.phi.defs(), *counter.phi.uses(), *counter.step.uses()}
            if mentioned.isdisjoint(often):
                _move(function, block, by_name, counter)


def _compares_a_phi(block: Block) -> bool:
    results = {phi.ops[0] for phi in phis_of(block)}
    return bool(results) and not results.isdisjoint(compared(block.instrs))


def _counters(block: Block, reads: Counter[Reg]) -> list[_Counter]:
    """The PHIs that a block compares, and whose next value nothing else reads."""
    read = compared(block.instrs)
    steps = {mi.ops[0]: mi for mi in steps_among(block.instrs)}
    found: list[_Counter] = []
    for phi in phis_of(block):
        ways = incoming(phi) if phi.ops[0] in read else []
        first = [way for way in ways if way[1] != block.name]
        again = [value for value, name in ways if name == block.name]
        if len(first) != 1 or len(again) != 1:
            continue
        (begin, before), (following,) = first[0], again
        step = steps.get(following) if type(following) is int and reads[following] == 1 else None
        if step is None or step.ops[1] != phi.ops[0] or not isinstance(step.ops[2], Imm):
            continue
        if type(begin) is int or isinstance(begin, Imm):
            found.append(_Counter(phi, step, begin, before))
    return found


def _move(
    function: MachineFunction, block: Block, by_name: dict[str, Block], counter: _Counter
) -> None:
    """Let a PHI begin a step earlier, and be stepped behind all PHIs."""
    phi, step = counter.phi, counter.step
    result, by = phi.ops[0], step.ops[2]
    assert type(result) is int
    assert isinstance(by, Imm)
    earlier = function.regs.new(function.regs.classes[result])
    first = _earlier(function, by_name[counter.before], counter.begin, by.value, step)
    ways = tuple(first if name == counter.before else result for _, name in incoming(phi))
    number = len(phis_of(block))
    instrs = [
        MachineInstr(phi.form, (earlier, ways, phi.ops[2]), None, phi.loc) if mi is phi else mi
        for mi in block.instrs
        if mi is not step
    ]
    instrs.insert(number, MachineInstr(step.form, (result, earlier, by), None, step.loc))
    block.instrs = instrs


def _earlier(
    function: MachineFunction, before: Block, value: Scalar, by: int, step: MachineInstr
) -> Scalar:
    """What a counter begins with, less one step: computed before the loop, if it is no number."""
    if isinstance(value, Imm):
        return signed(step.form, value.value - by)
    assert type(value) is int
    made = function.regs.new(function.regs.classes[value])
    back = MachineInstr(step.form, (made, value, signed(step.form, -by)), None, step.loc)
    before.instrs.insert(before.end, back)
    return made
