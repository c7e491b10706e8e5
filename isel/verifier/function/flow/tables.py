"""Branches through tables, legalised to comparisons for the rules.

Layer: isel.verifier.function.  Input: a module.  Output: the same, or one for the rules alone, in
which brx.idx is a chain of comparisons of its index: an index outside of the table is undefined
behaviour, so that the last label needs no comparison.  PTX ISA, brx.idx.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Module,
    Not,
    Reg,
    RegisterTable,
    negated,
)
from intrinsics.modifiers import Compare, ScalarType

_BRANCH = "brx.idx"


def with_comparisons(module: Module) -> Module:
    """The module without branches through tables."""
    with_tables = {
        function.name
        for function in module.functions
        if any(form.row.id == _BRANCH for form in function.forms())
    }
    if not with_tables:
        return module
    functions = [_plain(f) if f.name in with_tables else f for f in module.functions]
    return replace(module, functions=functions)


def _plain(function: MachineFunction) -> MachineFunction:
    """A copy of the function whose branches go to one label each."""
    regs = RegisterTable([*function.regs.classes], [*function.regs.names])
    names = {block.name for block in function.blocks}
    blocks: list[Block] = []
    for block in function.blocks:
        blocks.append(Block(block.name, nounroll=block.nounroll))
        for mi in block.instrs:
            if mi.row.id != _BRANCH:
                blocks[-1].instrs.append(mi)
                continue
            if mi.guard is not None:
                behind = _new_name(block.name, names)
                blocks[-1].instrs.append(_go(behind, mi, negated(mi.guard)))
            blocks[-1].instrs += _chain(mi, regs)
            if mi.guard is not None:
                blocks.append(Block(behind))
    return replace(function, regs=regs, blocks=blocks)


def _chain(mi: MachineInstr, regs: RegisterTable) -> Iterator[MachineInstr]:
    """A comparison and a branch for each label, without those that go where the last one does."""
    index, labels = mi["index"], mi.labels()
    if isinstance(index, Imm):
        yield _go(labels[index.value] if 0 <= index.value < len(labels) else labels[-1], mi)
        return
    for number, label in enumerate(labels):
        if label != labels[-1]:
            hit = regs.new(ScalarType.PRED)
            equal = catalog.form("setp.int", p=True, cmp=Compare.EQ, type=ScalarType.B32)
            yield MachineInstr(equal, (hit, index, Imm(number)), None, mi.loc)
            yield _go(label, mi, hit)
    yield _go(labels[-1], mi)


def _go(label: str, mi: MachineInstr, guard: Reg | Not | None = None) -> MachineInstr:
    return MachineInstr(catalog.form("bra"), (Label(label),), guard, mi.loc)


def _new_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
