"""Statements of PTX in the midst of selection: read once, copied wherever they are wanted.

Layer: isel.select.  Input: text, and the registers that it is given.  Output: records behind those
that a function has so far; with labels in the text, blocks of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asmprinter.ptx_fragment import Fragment, read_fragment
from intrinsics.mir import UNNAMED, Block, Label, MachineInstr, Mem, Op, Reg, Scalar, Sym, Text
from intrinsics.modifiers import ScalarType, Space
from isel.select.diagnostics import Unselectable
from isel.select.types import BITS

if TYPE_CHECKING:
    from isel.select.state import FunctionState

T = ScalarType
_UNTYPED = {1: T.PRED, 8: T.B8, **BITS, 128: T.B128}
_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


@dataclass(frozen=True, slots=True)
class Assembly:
    """Texts that were read already, by what the statements are and may name."""

    symbols: Mapping[str, Space | None]
    known: dict[tuple[str, tuple[tuple[int, ScalarType], ...]], Fragment]

    def fragment(self, text: str, registers: Mapping[int, ScalarType]) -> Fragment:
        """The statements of a text.

        Raises: Unselectable for what is no PTX.
        """
        key = text, tuple(registers.items())
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = _read(*key, self._named_in(text))
        for error in found.errors:
            raise Unselectable(
                "inline-asm",
                f"the inline assembly is no PTX: {error.message}",
                op=error.op or "asm",
                got=error.got,
                expected=error.expected,
                hint=error.hint or f"line {error.place.line} of the text",
                section=error.section,
            )
        return found

    def _named_in(self, text: str) -> tuple[tuple[str, Space | None], ...]:
        """The symbols that a text may name, which are few: most are another text's."""
        words = dict.fromkeys(_WORD.findall(text))
        return tuple([(word, self.symbols[word]) for word in words if word in self.symbols])


@functools.lru_cache(1024)  # compilers have a few texts, which stand in all of their modules
def _read(
    text: str,
    registers: tuple[tuple[int, ScalarType], ...],
    symbols: tuple[tuple[str, Space | None], ...],
) -> Fragment:
    return read_fragment(text, {f"${n}": cls for n, cls in registers}, dict(symbols))


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
            return Text(_WORD.sub(lambda word: names.get(word[0], word[0]), text))
        case tuple():
            return tuple(part if type(part) is int else _scalar(part, names) for part in op)
    return op


def _scalar(op: Scalar, names: Mapping[str, str]) -> Scalar:
    found = _named(op, names)
    assert not isinstance(found, tuple)
    return found
