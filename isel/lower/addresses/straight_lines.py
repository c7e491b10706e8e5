"""Products whose factors differ by numbers: each is computed from the first one.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in which, of the sums
`(b + k) * s + c` of a block with the same b, s and c, all but the first are that one plus a number
times s; `(k - b) * s + c` likewise.  So are products `(b + k) * s` that more than one sum is made
of.  b may be a sum itself, of the same values in whatever order.  Rows of a matrix are addressed
so: where each of them took an addition and a multiplication, it takes one multiplication and
addition, which the machine does at once.  Addresses whose indices are of one line are computed
from the first one too, by a multiple of s in bytes: no index is scaled but that of the first.
LLVM's NVPTX back end does likewise (StraightLineStrengthReduce).  Integers wrap, so the values are
the same whatever overflows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I32, I64, IntType, Type
from isel.llvm.vocabulary import Opcode
from isel.lower.addresses.index_sums import is_sum
from isel.lower.rewriter import Replacement, Rewriter, number

_ADD, _SUB, _MUL = Opcode.ADD, Opcode.SUB, Opcode.MUL

_Base = tuple[str, ...]
"""The values that b is the sum of, by name, in order."""

_Key = tuple[int, _Base, llvm.Local, llvm.Value | None]
"""The sign of b, b, s and c; c is None where there is nothing to add."""

_DEPTH = 3
"""Additions that b is looked for behind."""


@dataclass(frozen=True, slots=True)
class _Line:
    """How a value follows from the first one of its line: plus a number times the factor."""

    first: llvm.Local
    factor: llvm.Local
    times: int


_Address = tuple[llvm.Value, Type, llvm.Value]
"""What an address is computed from: the base, the type of an element, the index."""


def with_shared_products(function: ir.Function, layout: TypeLayout) -> ir.Function:
    """The function with each value and address of a line computed from the first of its line."""
    lines = _Lines(function).found()
    if not lines:
        return function
    found = lines | _addresses(function, lines, layout)

    def choose(i: ir.Instruction) -> Replacement | None:
        line = found.get(i.result or "")
        return None if line is None else lambda out: _add(out, line, i.result or "")

    return Rewriter(function).run(choose)


def _addresses(
    function: ir.Function, lines: dict[str, _Line], layout: TypeLayout
) -> dict[str, _Line]:
    """The addresses that lie a number of factors behind an earlier one of their block.

    Their indices are of one line, or they are equal and what they are added to are such addresses.
    """
    found: dict[str, _Line] = {}
    for block in function.blocks:
        firsts: dict[_Address, llvm.Local] = {}
        for i in block.instructions:
            if not isinstance(i, ir.GetElementPtr) or i.result is None or len(i.indices) != 1:
                continue
            (index,), base, type_ = i.indices, i.base, i.element_type
            if not isinstance(index, llvm.Local):
                continue
            if index.type == I64 and (line := lines.get(index.name)):
                first, size = firsts.get((base, type_, line.first)), layout.size(type_)
            elif isinstance(base, llvm.Local) and (line := found.get(base.name)):
                first, size = firsts.get((line.first, type_, index)), 1
            else:
                firsts.setdefault((base, type_, index), llvm.Local(i.result, i.type))
                continue
            if first is not None:
                found[i.result] = _Line(first, line.factor, line.times * size)
    return found


class _Lines:
    """Looks for values of one line, block by block."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.made = {i.result: i for i in function.instructions() if i.result is not None}
        self.shifted: dict[str, tuple[int, _Base, int]] = {}
        self.uses = Counter(
            value.name
            for i in function.instructions()
            for value in i.operands()
            if isinstance(value, llvm.Local)
        )
        self.summands = {
            value.name
            for i in function.instructions()
            if i.opcode is _ADD
            for value in i.operands()
            if isinstance(value, llvm.Local) and self.uses[value.name] == 1
        }

    def found(self) -> dict[str, _Line]:
        """For each value that is not the first of its line, how it follows from that, by name."""
        found: dict[str, _Line] = {}
        for block in self.function.blocks:
            firsts: dict[_Key, tuple[llvm.Local, int]] = {}
            for i in block.instructions:
                if i.type in (I32, I64) and i.result is not None and isinstance(i, ir.BinaryOp):
                    line = self._line(i, llvm.Local(i.result, i.type), firsts)
                    if line is not None:
                        found[i.result] = line
        return found

    def _line(
        self, i: ir.BinaryOp, result: llvm.Local, firsts: dict[_Key, tuple[llvm.Local, int]]
    ) -> _Line | None:
        """How a value follows from the first of its line; None for that, which is remembered."""
        for key, k in self._forms(i):
            if key not in firsts:
                firsts[key] = result, k
            elif firsts[key][1] != k:
                first, k0 = firsts[key]
                return _Line(first, key[2], k - k0)
        return None

    def _forms(self, i: ir.BinaryOp) -> Iterator[tuple[_Key, int]]:
        """All forms (b + k) * s + c of a value."""
        if i.opcode is _MUL and not self._is_summand(i):
            yield from self._products(i, None)
        elif i.opcode is _ADD:
            for product, rest in ((i.lhs, i.rhs), (i.rhs, i.lhs)):
                maker = self._maker(product)
                if isinstance(maker, ir.BinaryOp) and self._is_summand(maker):
                    yield from self._products(maker, rest)

    def _products(self, i: ir.BinaryOp, rest: llvm.Value | None) -> Iterator[tuple[_Key, int]]:
        for one, other in ((i.lhs, i.rhs), (i.rhs, i.lhs)):
            if isinstance(one, llvm.Local) and isinstance(other, llvm.Local):
                sign, base, k = self._shifted(one)
                yield (sign, base, other, rest), k

    def _shifted(self, value: llvm.Local) -> tuple[int, _Base, int]:
        """A value as sign * (sum of others) + number: the sign, the names summed, the number."""
        found = self.shifted.get(value.name)
        if found is None:
            found = self.shifted[value.name] = self._taken_apart(value)
        return found

    def _taken_apart(self, value: llvm.Local) -> tuple[int, _Base, int]:
        i = self._maker(value)
        if (
            isinstance(i, ir.BinaryOp)
            and i.opcode is _SUB
            and isinstance(i.lhs, llvm.ConstInt)
            and isinstance(i.rhs, llvm.Local)
        ):
            return -1, (i.rhs.name,), i.lhs.signed
        base, k = self._summands(value, _DEPTH)
        return 1, tuple(sorted(base)), k

    def _summands(self, value: llvm.Local, depth: int) -> tuple[_Base, int]:
        """The summands of a value: other values by name, and the sum of its numbers."""
        i = self._maker(value)
        if isinstance(i, ir.BinaryOp) and is_sum(i) and isinstance(i.lhs, llvm.Local) and depth:
            base, k = self._summands(i.lhs, depth - 1)
            if isinstance(i.rhs, llvm.ConstInt):
                return base, k + i.rhs.signed
            if isinstance(i.rhs, llvm.Local):
                other, more = self._summands(i.rhs, depth - 1)
                return base + other, k + more
        return (value.name,), 0

    def _is_summand(self, i: ir.BinaryOp) -> bool:
        """Whether a product is part of one sum, which the machine adds to it at once."""
        return i.opcode is _MUL and i.result in self.summands

    def _maker(self, value: llvm.Value) -> ir.Instruction | None:
        return self.made.get(value.name) if isinstance(value, llvm.Local) else None


def _add(out: Rewriter, line: _Line, result: str) -> None:
    """Add a number of factors to the first value or address of a line."""
    type_ = line.factor.type
    assert isinstance(type_, IntType)
    if line.first.type != type_:
        steps = out.binary(_MUL, line.factor, number(type_, line.times))
        out.offset(line.first, steps, result)
    elif line.times == 1:
        out.binary(_ADD, line.first, line.factor, result)
    elif line.times == -1:
        out.binary(_SUB, line.first, line.factor, result)
    else:
        steps = out.binary(_MUL, line.factor, number(type_, line.times))
        out.binary(_ADD, line.first, steps, result)
