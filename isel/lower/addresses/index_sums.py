"""The number in a sum, and what remains without it.

Layer: isel.lower.  Input: an integer of a function.  Output: a number, and a tree of operations on
values that are there already; the integer is both together.  What is extended is taken apart only
where it is a sum of what its parts are extended to:

* with zeros, where no addition loses a carry (`nuw`);
* by its sign, where none loses a sign either (`nuw nsw`), or where a number alone is added (`nsw`).

Sums of numbers that are small enough keep these promises without giving them.

LLVM Language Reference, add; zext; sext.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import IntType, Type
from isel.llvm.vocabulary import Flag, Opcode
from isel.lower.arithmetic.significant_bits import significant_bits

_DEPTH = 12
"""Instructions that are looked through for numbers."""

_LOOK = 5
"""Instructions that are looked through for how small a number is."""

_ANY: frozenset[Flag] = frozenset()
_UNSIGNED = frozenset({Flag.NUW})
_SIGNED = frozenset({Flag.NSW})
_BOTH = _UNSIGNED | _SIGNED
_MAKERS = frozenset((ir.BinaryOp, ir.Cast, ir.Call))

_GROWING = (Opcode.ADD, Opcode.SHL, Opcode.MUL)
"""Operations without a carry or a new sign where the result has less bits than its type."""

SCALES = (Opcode.SHL, Opcode.MUL)
"""Operations that multiply by a number."""


@dataclass(slots=True)
class Node:
    """An operation of an index that is left when its numbers are split off: add, sub, shl or mul
    by a number, zext, sext.
    """

    opcode: Opcode
    type: Type
    parts: tuple[Tree, ...]


Tree = llvm.Value | Node


@dataclass(slots=True)
class Split:
    """`rest` + `number`; without a rest a number alone.  `least` is the least that was added up."""

    rest: Tree | None
    number: int = 0
    least: int = 0


def is_sum(i: ir.BinaryOp) -> bool:
    """Whether an instruction adds; an `or` of bits that are not set does."""
    return i.opcode is Opcode.ADD or (i.opcode is Opcode.OR and Flag.DISJOINT in i.flags)


class Sums:
    """The integers of a function as sums of multiples."""

    def __init__(self, instructions: Iterable[ir.Instruction]) -> None:
        self._makers = {
            i.result: i for i in instructions if type(i) in _MAKERS and i.result is not None
        }
        self._known: dict[tuple[str, frozenset[Flag]], Split] = {}
        self._small: dict[str, bool] = {}

    def is_made(self, value: llvm.Value) -> bool:
        """Whether a value is the result of arithmetic, or of a call."""
        return type(value) is llvm.Local and value.name in self._makers

    def maker(self, value: llvm.Value) -> ir.Instruction | None:
        """The arithmetic, or the call, that a value is the result of."""
        return self._makers.get(value.name) if isinstance(value, llvm.Local) else None

    def split(self, value: llvm.Value) -> Split:
        """An integer that wraps as what it is used for does."""
        return self._split(value, _ANY, _DEPTH)

    def split_extended(self, value: llvm.Value, *, positive: bool = False) -> Split | None:
        """One that is extended by its sign; None without a number.

        Of one that is `positive`, a number above 0 can be taken away whatever was lost.
        """
        return self._extended(value, Opcode.SEXT, _DEPTH, positive=positive)

    def _extended(
        self, value: llvm.Value, opcode: Opcode, depth: int, *, positive: bool = False
    ) -> Split | None:
        signed = opcode is Opcode.SEXT
        if positive and (found := self._split(value, _ANY, depth)).number > 0:
            return found
        found = self._split(value, _BOTH if signed else _UNSIGNED, depth)
        if found.number > 0 and found.least >= 0:
            return found
        if signed:
            found = self._split(value, _SIGNED, depth)
            if found.number and not isinstance(found.rest, Node):
                return found
        return None

    def _split(self, value: llvm.Value, needed: frozenset[Flag], depth: int) -> Split:
        """The number that is reached through operations that promise what is `needed`."""
        if isinstance(value, llvm.ConstInt):
            return Split(None, value.signed, value.signed)
        if not isinstance(value, llvm.Local):
            return Split(value)
        i = self._makers.get(value.name)
        if i is None or not depth:
            return Split(value)
        key = value.name, needed
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(i, needed, depth - 1) or Split(value)
        return found

    def _made(self, i: ir.Instruction, needed: frozenset[Flag], depth: int) -> Split | None:
        """The same of what an instruction computes; None where that is not taken apart.

        It promises what is needed, or has numbers too small to break it.
        """
        if isinstance(i, ir.Cast):
            return None if needed else self._cast(i, depth)
        if not isinstance(i, ir.BinaryOp) or not isinstance(i.type, IntType):
            return None
        found = self._taken_apart(i, needed, depth)
        if found is None or needed <= i.flags or i.opcode is Opcode.OR:
            return found
        return found if i.opcode in _GROWING and self._is_small(i) else None

    def _taken_apart(self, i: ir.BinaryOp, needed: frozenset[Flag], depth: int) -> Split | None:
        if is_sum(i):
            return self._sum(i, needed, depth)
        if i.opcode is Opcode.SUB:
            if not isinstance(i.rhs, llvm.ConstInt):
                return None if needed else self._difference(i, depth)
            left = self._split(i.lhs, needed, depth)
            number = -i.rhs.signed
            return Split(left.rest, left.number + number, min(left.least, number))
        if i.opcode not in SCALES or not isinstance(i.rhs, llvm.ConstInt):
            return None
        return self._scaled(i, i.rhs, needed, depth)

    def _is_small(self, i: ir.BinaryOp) -> bool:
        """Whether the highest bit of a result is zero whatever its operands are."""
        assert i.result is not None
        assert isinstance(i.type, IntType)
        found = self._small.get(i.result)
        if found is None:
            bits = significant_bits(self._makers, llvm.Local(i.result, i.type), _LOOK)
            found = self._small[i.result] = bits < i.type.bits
        return found

    def _sum(self, i: ir.BinaryOp, needed: frozenset[Flag], depth: int) -> Split | None:
        left, right = (self._split(part, needed, depth) for part in (i.lhs, i.rhs))
        if not left.number + right.number:
            return None
        rest = left.rest if right.rest is None else right.rest
        if left.rest is not None and right.rest is not None:
            rest = Node(Opcode.ADD, i.type, (left.rest, right.rest))
        return Split(rest, left.number + right.number, min(left.least, right.least))

    def _difference(self, i: ir.BinaryOp, depth: int) -> Split | None:
        left, right = (self._split(part, _ANY, depth) for part in (i.lhs, i.rhs))
        number = left.number - right.number
        if not number or left.rest is None or right.rest is None:
            return None
        return Split(Node(Opcode.SUB, i.type, (left.rest, right.rest)), number, number)

    def _scaled(
        self, i: ir.BinaryOp, by: llvm.ConstInt, needed: frozenset[Flag], depth: int
    ) -> Split | None:
        found = self._split(i.lhs, needed, depth)
        if not found.number or found.rest is None or by.signed < 0:
            return None
        factor = 1 << by.value if i.opcode is Opcode.SHL else by.value
        rest = Node(i.opcode, i.type, (found.rest, by))
        return Split(rest, found.number * factor, found.least * factor)

    def _cast(self, i: ir.Cast, depth: int) -> Split | None:
        if i.opcode not in (Opcode.ZEXT, Opcode.SEXT) or not isinstance(i.operand.type, IntType):
            return None
        found = self._extended(i.operand, i.opcode, depth)
        if found is None or found.rest is None:
            return None
        return Split(Node(i.opcode, i.type, (found.rest,)), found.number, found.least)
