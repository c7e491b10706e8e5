"""Division of 64 bits where 32 are enough, and remainders beside quotients.

Layer: isel.lower.  Input: a function.  Output: the same function, or one that asks before a
division of 64 bits whether the upper halves of both operands are zero: ptxas divides 32 bits in
some ten instructions, 64 in a routine of about a hundred.  LLVM's NVPTX back end asks likewise
(BypassSlowDivision), except in functions that are to be small.  Where the dividend is known to be
short, and no number is negative, the divisor is short too or the quotient is zero.  A quotient and
a remainder of the same operands in one block are one division and a multiplication.  Divisions by
numbers are left to `isel.select.integers.division`.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I32, I64, IntType
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.lower.arithmetic.significant_bits import significant_bits
from isel.lower.rewriter import Replacement, Rewriter, number

_QUOTIENTS = {Opcode.UDIV: False, Opcode.SDIV: True}
_REMAINDERS = {Opcode.UREM: False, Opcode.SREM: True}
_SIGNED = _QUOTIENTS | _REMAINDERS
"""Divisions, and whether they are of signed numbers."""

_WIDTHS = (32, 64)
_SMALL = ("optsize", "minsize")


@dataclass(slots=True)
class _Division:
    """What divides the same numbers in one block: the results that are asked for, by name."""

    first: ir.BinaryOp
    signed: bool
    quotients: list[str] = field(default_factory=list)
    remainders: list[str] = field(default_factory=list)

    def add(self, i: ir.BinaryOp) -> None:
        """Another result of the same division."""
        if i.result is not None:
            (self.quotients if i.opcode in _QUOTIENTS else self.remainders).append(i.result)


def with_narrow_divisions(function: ir.Function) -> ir.Function:
    """The function with short ways through its divisions."""
    found = _divisions(function)
    narrows = not any(word in function.attributes for word in _SMALL)
    makers = {n: one for n, one in found.items() if _pays(one, narrows=narrows)}
    if not makers:
        return function
    made = _Maker({i.result: i for i in function.instructions() if i.result}, narrows=narrows)

    def choose(i: ir.Instruction) -> Replacement | None:
        division = makers.get(id(i))
        if division is None:
            return None
        return lambda out: made.divide(out, division) if division.first is i else None

    return Rewriter(function).run(choose)


def _divisions(function: ir.Function) -> dict[int, _Division]:
    """Divisions by what is no number, by the identity of each instruction that is part of one."""
    found: dict[int, _Division] = {}
    for block in function.blocks:
        here: dict[tuple[bool, llvm.Value, llvm.Value], _Division] = {}
        for i in block.instructions:
            if i.opcode in _SIGNED and isinstance(i, ir.BinaryOp) and _may_divide(i):
                signed = _SIGNED[i.opcode]
                key = signed, i.lhs, i.rhs
                division = here.setdefault(key, _Division(i, signed))
                division.add(i)
                found[id(i)] = division
    return found


def _may_divide(i: ir.BinaryOp) -> bool:
    is_known = isinstance(i.lhs, (llvm.Local, llvm.ConstInt)) and isinstance(i.rhs, llvm.Local)
    return is_known and isinstance(i.type, IntType) and i.type.bits in _WIDTHS


def _pays(division: _Division, *, narrows: bool) -> bool:
    """Whether there may be a shorter way than the division itself.

    ptxas 13.5 finds a quotient and a remainder of unsigned numbers of 32 bits by itself.
    """
    if division.first.type == I64:
        return narrows or bool(division.quotients and division.remainders)
    return division.signed and bool(division.quotients and division.remainders)


class _Maker:
    """Emits divisions in the place of the first of their instructions."""

    def __init__(self, made_by: dict[str, ir.Instruction], *, narrows: bool) -> None:
        self.made_by = made_by
        self.narrows = narrows

    def divide(self, out: Rewriter, division: _Division) -> None:
        """All results of a division, by their names."""
        a, b = division.first.lhs, division.first.rhs
        long = [value for value in (a, b) if significant_bits(self.made_by, value) > 32]
        is_never_short = any(isinstance(value, llvm.ConstInt) for value in long)
        if a.type != I64 or not self.narrows or is_never_short:
            results = _divided(out, division, a, b)
        elif not long:
            results = _narrow(out, division, a, b)
        elif a not in long and not division.signed:
            results = _by_size(out, division, a, b)
        else:
            results = _by_width(out, division, a, b, long)
        names = (division.quotients, division.remainders)
        for value, wanted in zip(results, names, strict=True):
            for name in wanted:
                out.named(value, name)


_Results = tuple[llvm.Value, llvm.Value]
"""A quotient and a remainder; where one is not wanted, anything."""


def _divided(
    out: Rewriter, division: _Division, a: llvm.Value, b: llvm.Value, *, signed: bool | None = None
) -> _Results:
    """Divide; a remainder beside a quotient is what the quotient leaves."""
    is_signed = division.signed if signed is None else signed
    if not division.quotients:
        rest = out.binary(Opcode.SREM if is_signed else Opcode.UREM, a, b)
        return rest, rest
    quotient = out.binary(Opcode.SDIV if is_signed else Opcode.UDIV, a, b)
    if not division.remainders:
        return quotient, quotient
    product = out.binary(Opcode.MUL, quotient, b)
    return quotient, out.binary(Opcode.SUB, a, product)


def _narrow(out: Rewriter, division: _Division, a: llvm.Value, b: llvm.Value) -> _Results:
    """Divide the lower halves, which are the numbers."""
    low = [
        number(I32, value.value) if isinstance(value, llvm.ConstInt) else out.resize(value, I32)
        for value in (a, b)
    ]
    quotient, rest = _divided(out, division, *low, signed=False)
    wide = out.resize(quotient, I64)
    return wide, wide if rest == quotient else out.resize(rest, I64)


def _by_size(out: Rewriter, division: _Division, a: llvm.Value, b: llvm.Value) -> _Results:
    """Divide the lower halves where the divisor is not the larger: else the dividend is left."""
    before, narrow, done = out.here, out.name("narrow"), out.name("divided")
    out.branch_if(out.compare(IntPredicate.ULT, a, b), done, narrow)

    out.open(narrow)
    small = _narrow(out, division, a, b)
    out.branch(done)

    out.open(done)
    return _joined(out, division, (small, narrow), ((number(I64, 0), a), before))


def _by_width(
    out: Rewriter, division: _Division, a: llvm.Value, b: llvm.Value, long: list[llvm.Value]
) -> _Results:
    """Divide the lower halves where the upper halves are zero, else the whole."""
    narrow, wide, done = (out.name(hint) for hint in ("narrow", "wide", "divided"))
    bits = long[0] if len(long) == 1 else out.binary(Opcode.OR, a, b)
    upper = out.binary(Opcode.AND, bits, number(I64, -1 << 32))
    out.branch_if(out.compare(IntPredicate.EQ, upper, number(I64, 0)), narrow, wide)

    out.open(narrow)
    small = _narrow(out, division, a, b)
    out.branch(done)

    out.open(wide)
    large = _divided(out, division, a, b)
    out.branch(done)

    out.open(done)
    return _joined(out, division, (small, narrow), (large, wide))


def _joined(
    out: Rewriter, division: _Division, one: tuple[_Results, str], other: tuple[_Results, str]
) -> _Results:
    """The results that are wanted, of two ways and the blocks that these end with."""
    (these, here), (those, there) = one, other
    quotient, rest = (
        out.phi(I64, (this, here), (that, there)) if wanted else this
        for this, that, wanted in zip(
            these, those, (division.quotients, division.remainders), strict=True
        )
    )
    return quotient, rest
