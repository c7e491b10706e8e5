"""Let what fills accumulators and registers of A stand before wgmma.fence, and before branches.

Layer: isel.passes.  Input and output: a function without PHI records.  In LLVM IR an accumulator is
a value; the moves that bring it into the registers that a multiply updates stand where the multiply
does, behind the fence that has to order them.  Pure records between a fence and its multiplies go
before the fence as far as nothing that stays keeps them: neither a multiply's registers nor a value
that they read or replace.  PTX ISA, wgmma.fence.

Where LLVM asks before a loop whether it has any turn, both successors begin with the same zeros,
and the path around the loop comes to the wait behind it.  ptxas takes the zeros on that path for
some that are written while multiplies run, and lets no multiply overlap another (C7515): numbers
that both successors of a branch move into the same accumulator are moved there before the branch.

Numbers that other records keep behind the fence are `fill_wgmma`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir import (
    Block,
    FloatImm,
    Imm,
    MachineFunction,
    MachineInstr,
    Reg,
    inverted,
    registers_of,
    successors,
)
from isel.passes.fill_wgmma import FENCE, fill_before_fences, is_multiply, multiplies_among


def order_wgmma(function: MachineFunction) -> None:
    """Move what multiplies need before their fences, and numbers before branches."""
    multiplies = multiplies_among(function.forms())
    if not multiplies:
        return
    filled = {
        reg
        for mi in function.instructions()
        if mi.form in multiplies
        for reg in registers_of(mi["d"])
    }
    for block in function.blocks:
        _order(block)
    _before_branches(function, filled)
    fill_before_fences(function, filled)


def _order(block: Block) -> None:
    at = 0
    while at < len(block.instrs):
        if block.instrs[at].row.id == FENCE:
            end = _end(block.instrs, at + 1)
            first, rest = _parted(block.instrs[at + 1 : end])
            block.instrs[at:end] = [*first, block.instrs[at], *rest]
            at = end - 1
        at += 1


def _end(records: Sequence[MachineInstr], at: int) -> int:
    """Behind the multiplies of a fence and the pure records among them."""
    while at < len(records) and (is_multiply(records[at]) or records[at].form.is_pure):
        at += 1
    return at


def _parted(records: list[MachineInstr]) -> tuple[list[MachineInstr], list[MachineInstr]]:
    """What goes before the fence, and what stays; nothing goes when no multiply needs it."""
    first: list[MachineInstr] = []
    rest: list[MachineInstr] = []
    written: set[Reg] = set()
    read: set[Reg] = set()
    for mi in records:
        defs, uses = set(mi.defs()), set(mi.uses())
        if is_multiply(mi) or uses & written or defs & (written | read):
            rest.append(mi)
            written |= defs
            read |= uses
        else:
            first.append(mi)
    filled = {reg for mi in records if is_multiply(mi) for reg in _registers(mi)}
    if any(not filled.isdisjoint(mi.defs()) for mi in first):
        return first, rest
    return [], records


def _registers(multiply: MachineInstr) -> list[Reg]:
    """The accumulator's registers, and those of an A that is in registers."""
    a = multiply["a"]
    return [*registers_of(multiply["d"]), *(registers_of(a) if isinstance(a, tuple) else ())]


# ---- branches --------------------------------------------------------------------------------


def _before_branches(function: MachineFunction, filled: set[Reg]) -> None:
    after = successors(function)
    before = inverted(after)
    for i in reversed(range(len(function.blocks))):
        following = set(after[i])
        if len(following) == 2 and all(before[n] == [i] for n in following):
            one, other = (function.blocks[n] for n in following)
            _hoist(function.blocks[i], one, other, filled)


def _hoist(block: Block, one: Block, other: Block, filled: set[Reg]) -> None:
    """Move the numbers that both successors begin with to the end of the block that branches."""
    found, theirs = _numbers(one, filled), _numbers(other, filled)
    ends = [at for at, mi in enumerate(block.instrs) if mi.form.is_terminator]
    asked = {reg for at in ends for reg in block.instrs[at].uses()}
    common = [reg for reg in found if theirs.get(reg) == found[reg] and reg not in asked]
    moved = [mi for mi in one.instrs if mi.row.id == "mov" and mi.ops[0] in common]
    if not ends or len(moved) != len(common):
        return
    block.instrs[ends[0] : ends[0]] = moved
    for block in (one, other):
        block.instrs = [mi for mi in block.instrs if mi.row.id != "mov" or mi.ops[0] not in common]


def _numbers(block: Block, filled: set[Reg]) -> dict[Reg, Imm | FloatImm]:
    """The accumulator registers that a block moves a number into, and touches nowhere else."""
    found: dict[Reg, Imm | FloatImm] = {}
    touched: set[Reg] = set()
    for mi in block.instrs:
        registers = filled.intersection((*mi.defs(), *mi.uses()))
        if mi.row.id == "mov" and mi.guard is None and registers:
            result, source = mi.ops
            if (
                isinstance(source, (Imm, FloatImm))
                and type(result) is int
                and result not in touched
            ):
                found[result] = source
        touched |= registers
        for reg in registers & found.keys():
            if mi.row.id != "mov" or mi.ops[0] != reg or mi.ops[1] != found[reg]:
                del found[reg]
    return found
