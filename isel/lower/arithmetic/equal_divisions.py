"""Divisions of 64 bits that were made before.

Layer: isel.lower.  Input: a function.  Output: the same function, or one without divisions that an
earlier one on every way to them equals.  A division of 64 bits becomes several blocks
(`isel.lower.arithmetic.narrow_division`), in which `isel.passes.common_subexpressions` does not
know it again.  LLVM's NVPTX back end numbers values before it takes divisions apart (GVN).
"""

from __future__ import annotations

from collections.abc import Hashable

from isel.control_flow import dominators
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I64
from isel.llvm.vocabulary import DIVISIONS
from isel.lower.substitution import with_others

_COMPARED = (ir.BinaryOp, ir.Cast, ir.Compare, ir.Select)
"""What depends on operands alone."""


def with_equal_divisions(function: ir.Function) -> ir.Function:
    """The function in which each division of 64 bits is made once on a way."""
    opcodes = [i.opcode for b in function.blocks for i in b.instructions if i.type is I64]
    if sum(map(opcodes.count, DIVISIONS)) < 2:
        return function
    same = _Numbers(function).equal_divisions()
    return with_others(function, same) if same else function


def _is_long(i: ir.Instruction) -> bool:
    return i.opcode in DIVISIONS and i.type is I64


class _Numbers:
    """Value numbering: values of one number are equal, flags and all."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.above = dominators(ir.successors(function.blocks))
        self.first: dict[Hashable, str] = {}  # of equal values, the one that was met first
        self.equal: dict[str, str] = {}  # a value -> the first one that equals it

    def equal_divisions(self) -> dict[str, llvm.Local]:
        """Divisions by name, and what they are equal to."""
        made: dict[str, list[tuple[int, str]]] = {}  # by the first one's name
        found: dict[str, llvm.Local] = {}
        order = sorted(range(len(self.above)), key=lambda n: self.above[n].bit_count())
        for n in order:
            for i in self.function.blocks[n].instructions:
                if not isinstance(i, _COMPARED) or i.result is None:
                    continue
                first = self.equal[i.result] = self.first.setdefault(self._key(i), i.result)
                if not _is_long(i):
                    continue
                earlier = made.setdefault(first, [])
                name = next((name for at, name in earlier if self.above[n] >> at & 1), None)
                if name is not None:
                    found[i.result] = llvm.Local(name, i.type)
                else:
                    earlier.append((n, i.result))
        return found

    def _key(self, i: ir.Instruction) -> Hashable:
        operands = tuple(
            self.equal.get(value.name, value.name) if isinstance(value, llvm.Local) else value
            for value in i.operands()
        )
        return i.opcode, i.type, operands, getattr(i, "flags", None), getattr(i, "predicate", None)
