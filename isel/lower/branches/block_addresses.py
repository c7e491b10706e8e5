"""Addresses of blocks, and branches to them: numbers, and switches over these.

Layer: isel.lower.  Input: a module.  Output: the same module, or one in which each block whose
address is taken has a number of its own, from 1, in the place of its address.  PTX jumps to labels
alone; what is done with an address but branch to it and compare it, no program may count on.
LLVM Language Reference, indirectbr; Addresses of Basic Blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I64, VOID
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import FreshNames
from isel.lower.substitution import changed, with_values

_INDIRECT = Opcode.INDIRECTBR
_Block = tuple[str, str]  # the names of a function and of a block of it


class _Numbers(dict[_Block, int]):
    """The numbers of blocks, given as they are asked for."""

    def __missing__(self, block: _Block) -> int:
        self[block] = len(self) + 1
        return self[block]

    def instead(self, value: llvm.Value) -> llvm.Value:
        """The number of a block in the place of its address."""
        if not isinstance(value, llvm.BlockAddress):
            return value
        number = llvm.ConstInt(I64, self[value.function, value.block])
        return llvm.ConstExpr(Opcode.INTTOPTR, value.type, (number,))


def without_block_addresses(module: ir.Module) -> ir.Module:
    """The module with numbers in the place of addresses of blocks."""
    numbers = _Numbers()
    variables = {
        name: _with_numbers(variable, numbers) for name, variable in module.globals.items()
    }
    branching = {
        name
        for name, function in module.functions.items()
        for block in function.blocks
        if block.instructions[-1].opcode is _INDIRECT  # only such have addresses
    }
    if not numbers and not branching:
        return module
    functions = {
        name: function.with_instructions(lambda i: (with_values(i, numbers.instead),))
        for name, function in module.functions.items()
    }
    for name in branching:
        functions[name] = _switched(functions[name], numbers)
    return dataclasses.replace(module, globals=variables, functions=functions)


def _with_numbers(variable: ir.GlobalVariable, numbers: _Numbers) -> ir.GlobalVariable:
    """A variable with numbers in its initial value."""
    given = variable.initializer
    new = None if given is None else changed(given, numbers.instead)
    return variable if new is given else dataclasses.replace(variable, initializer=new)


def _switched(function: ir.Function, numbers: _Numbers) -> ir.Function:
    names = FreshNames(function)
    return function.with_instructions(lambda i: _plain(i, function.name, numbers, names))


def _plain(
    i: ir.Instruction, function: str, numbers: _Numbers, names: FreshNames
) -> Iterator[ir.Instruction]:
    """A switch for an indirectbr: its last target needs no comparison, as there is no other."""
    if not isinstance(i, ir.IndirectBr):
        yield i
        return
    targets = [name for name in dict.fromkeys(i.blocks) if (function, name) in numbers]
    if not targets:
        yield ir.Unreachable(Opcode.UNREACHABLE, None, *i.place, VOID)
        return
    number = names.new("block")
    yield ir.Cast(Opcode.PTRTOINT, number, *i.place, I64, i.address, frozenset())
    cases = tuple((llvm.ConstInt(I64, numbers[function, t]), t) for t in targets[:-1])
    value = llvm.Local(number, I64)
    yield ir.Switch(Opcode.SWITCH, None, *i.place, VOID, value, targets[-1], cases)
