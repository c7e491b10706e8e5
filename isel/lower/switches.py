"""Switches of many cases, as a binary search that ends in switches of few.

Layer: isel.lower.  Input: a function.  Output: the same function, or one whose switches compare at
most `FEW` cases one after the other.  The cases are ordered as unsigned numbers; a comparison with
the first of the upper half decides between the halves, so that n cases take about log2(n) branches
on every way, where a chain takes n on its longest.  Where the cases are a run of numbers, what is
beyond its ends leaves first, and the last case of each end of the search needs no comparison.
LLVM Language Reference, switch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I1, VOID, IntType
from isel.llvm.vocabulary import Flag, IntPredicate, Opcode
from isel.lower.rewriter import FreshNames

FEW = 4
"""Cases that are compared in a chain."""

_LONGEST = 64
"""Bits of what one comparison orders."""

_Case = tuple[llvm.Value, str]


def with_searches(function: ir.Function) -> ir.Function:
    """The function with a search in the place of each switch of more cases than a few."""
    if not any(_is_long(block.instructions[-1]) for block in function.blocks):
        return function
    search = _Search(function)
    blocks = [one for block in function.blocks for one in search.split(block)]
    return dataclasses.replace(function, blocks=[search.with_phis(block) for block in blocks])


def _is_long(i: ir.Instruction) -> bool:
    return (
        isinstance(i, ir.Switch)
        and len(i.cases) > FEW
        and isinstance(i.condition.type, IntType)
        and 1 < i.condition.type.bits <= _LONGEST
        and all(isinstance(value, llvm.ConstInt) for value, _ in i.cases)
    )


class _Search:
    """Splits blocks, and remembers into which, by the names of those they came from."""

    def __init__(self, function: ir.Function) -> None:
        self.names = FreshNames(function)
        self.ways: dict[str, list[ir.Block]] = {}

    def split(self, block: ir.Block) -> list[ir.Block]:
        """The block, and those of the search that ends it."""
        last = block.instructions[-1]
        if not isinstance(last, ir.Switch) or not _is_long(last):
            return [block]
        cases = sorted(last.cases, key=_number)
        made = [ir.Block(block.name, block.instructions[:-1])]
        low, high = _number(cases[0]), _number(cases[-1])
        if high - low + 1 > len(cases):
            self._halve(last, cases, made, are_all=False)
        else:
            if low:
                self._leave(last, IntPredicate.ULT, cases[0][0], made)
            self._leave(last, IntPredicate.UGT, cases[-1][0], made)
            self._halve(last, cases, made, are_all=True)
        self.ways[block.name] = made
        return made

    def _leave(
        self, i: ir.Switch, predicate: IntPredicate, bound: llvm.Value, made: list[ir.Block]
    ) -> None:
        """Go to the default with what is beyond all cases, and open a block for the others."""
        inside = self.names.new("inside")
        self._compare(i, predicate, bound, made[-1], i.default, inside)
        made.append(ir.Block(inside, []))

    def _halve(
        self, i: ir.Switch, cases: list[_Case], made: list[ir.Block], *, are_all: bool
    ) -> None:
        """End the last block with what finds one of `cases`, beyond which there may be none."""
        if len(cases) <= FEW:
            default = i.default
            if are_all:
                *cases, (_, default) = cases
            made[-1].instructions.append(
                dataclasses.replace(i, cases=tuple(cases), default=default)
            )
            return
        middle = len(cases) // 2
        lower, upper = self.names.new("lower"), self.names.new("upper")
        self._compare(i, IntPredicate.ULT, cases[middle][0], made[-1], lower, upper)
        for name, half in ((lower, cases[:middle]), (upper, cases[middle:])):
            made.append(ir.Block(name, []))
            self._halve(i, half, made, are_all=are_all)

    def _compare(
        self,
        i: ir.Switch,
        predicate: IntPredicate,
        number: llvm.Value,
        block: ir.Block,
        if_true: str,
        if_false: str,
    ) -> None:
        """End a block with a branch on how the switch's number compares with another."""
        at = (i.line, i.ordinal, i.dbg, ())
        name, none = self.names.new("compares"), frozenset[Flag]()
        block.instructions += [
            ir.Compare(Opcode.ICMP, name, *at, I1, predicate, i.condition, number, none),
            ir.CondBranch(Opcode.BR, None, *at, VOID, llvm.Local(name, I1), if_true, if_false),
        ]

    def with_phis(self, block: ir.Block) -> ir.Block:
        """The block, whose phis know the blocks that values come from now."""
        return ir.Block(block.name, [self._phi(i, block.name) for i in block.instructions])

    def _phi(self, i: ir.Instruction, block: str) -> ir.Instruction:
        if not isinstance(i, ir.Phi) or not any(name in self.ways for _, name in i.incoming):
            return i
        incoming = [one for value, name in i.incoming for one in self._from(value, name, block)]
        return dataclasses.replace(i, incoming=tuple(dict.fromkeys(incoming)))

    def _from(self, value: llvm.Value, name: str, block: str) -> Iterable[tuple[llvm.Value, str]]:
        """What comes by an edge that the search has made into several."""
        if name not in self.ways:
            return [(value, name)]
        return [
            (value, one.name) for one in self.ways[name] if block in one.instructions[-1].targets()
        ]


def _number(case: _Case) -> int:
    value = case[0]
    assert isinstance(value, llvm.ConstInt)
    return value.value
