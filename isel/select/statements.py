"""Statements of PTX in the midst of selection: copied wherever they are wanted.

Layer: isel.select.  Input: statements that were read, and the registers that they are given.
Output: records behind those that a function has so far; with labels among them, blocks of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from intrinsics.mir import UNNAMED, Block, Label, MachineInstr, Mem, Op, Reg, Scalar, Sym, Text
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS
from isel.select.shared_assembly import WORD
from isel.select.state import FunctionState

if TYPE_CHECKING:
    from asmprinter.ptx.reading.fragment import Fragment

T = ScalarType
_UNTYPED = {1: T.PRED, 8: T.B8, **BITS, 128: T.B128}


def append(state: FunctionState, fragment: Fragment, table: dict[Reg, Reg]) -> None:
    """Put a copy of the statements behind what the function has so far.

    `table` has the function's registers in the place of those that the fragment was given.
    """
    function = fragment.function
    for reg, cls in enumerate(function.regs.classes):
        if reg not in table:
            table[reg] = state.new(_UNTYPED[cls.bits])
    symbols = {v.name: state.own_name(v.name) for v in function.variables}
    symbols |= {p.name: state.own_name(p.name) for p in function.prototypes}
    state.out.variables += [replace(v, name=symbols[v.name]) for v in function.variables]
    state.out.prototypes += [replace(p, name=symbols[p.name]) for p in function.prototypes]
    first, *others = function.blocks
    labels = {block.name: state.new_block_name(block.name) for block in others}
    if not first.name.startswith(UNNAMED):
        labels[first.name] = state.new_block_name(first.name)
    names = {**symbols, **labels}
    for block in function.blocks:
        if block.name in labels:
            state.go_on_in(Block(labels[block.name]))
        for mi in block.instrs:
            copy = MachineInstr(mi.form, mi.ops, mi.guard, state.loc)
            copy.map_registers(table)
            if names:
                copy.ops = tuple(_named(op, names) for op in copy.ops)
            state.block.instrs.append(copy)


def _named(op: Op, names: Mapping[str, str]) -> Op:
    """An operand with the function's names of labels and variables."""
    match op:
        case Label(name):
            return Label(names[name])
        case Sym(name, offset):
            return Sym(names.get(name, name), offset)
        case Mem(Sym(name), offset):
            return Mem(Sym(names.get(name, name)), offset)
        case Text(text):
            return Text(WORD.sub(lambda word: names.get(word[0], word[0]), text))
        case tuple():
            return tuple(part if type(part) is int else _scalar(part, names) for part in op)
    return op


def _scalar(op: Scalar, names: Mapping[str, str]) -> Scalar:
    found = _named(op, names)
    assert not isinstance(found, tuple)
    return found
