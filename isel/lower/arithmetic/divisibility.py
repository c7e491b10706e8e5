"""Remainders by a constant that are only compared with zero: divisibility by one multiplication.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in which
`icmp eq (urem x, d), c` is a product of x - c and a comparison.  Let d be d0 * 2^k, d0 odd.  The
multiples of d0 are the numbers whose product with the inverse of d0 (modulo 2^width) is their
quotient, so it is small; all other products are larger.  Where k bits below it are zero, a rotation
by k leaves it small, else it brings a bit to the top.  Signed numbers are moved up first, so that
quotients begin at 0 (Warren, Hacker's Delight, Test for Zero Remainder after Division by a
Constant).  LLVM's code generator does likewise.
"""

from __future__ import annotations

from collections import Counter

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I32, I64
from isel.llvm.vocabulary import REMAINDERS, IntPredicate, Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_WITHIN = {IntPredicate.EQ: IntPredicate.ULE, IntPredicate.NE: IntPredicate.UGT}


def with_products(function: ir.Function) -> ir.Function:
    """The function without remainders that are only compared with a number."""
    made = {
        i.result: i
        for i in function.instructions()
        if isinstance(i, ir.BinaryOp) and i.opcode in REMAINDERS and _divides(i)
    }
    if not made:
        return function
    uses = Counter(
        value.name
        for i in function.instructions()
        for value in i.operands()
        if isinstance(value, llvm.Local)
    )

    def choose(i: ir.Instruction) -> Replacement | None:
        if not isinstance(i, ir.Compare) or not isinstance(i.lhs, llvm.Local):
            return None
        remainder = made.get(i.lhs.name)
        if remainder is None or i.predicate not in _WITHIN or uses[i.lhs.name] != 1:
            return None
        if not isinstance(i.rhs, llvm.ConstInt) or not _may_be(remainder, i.rhs.value):
            return None
        left = i.rhs.value
        return lambda out: _compare(out, i, remainder, left)

    return Rewriter(function).run(choose)


def _divides(i: ir.BinaryOp) -> bool:
    """Whether a remainder is by a number, above 1 in size, that is no power of two."""
    if i.type not in (I32, I64) or not isinstance(i.rhs, llvm.ConstInt):
        return False
    size = _size(i.opcode, i.rhs)
    return size & (size - 1) != 0


def _size(opcode: Opcode, divisor: llvm.ConstInt) -> int:
    return abs(divisor.signed) if opcode is Opcode.SREM else divisor.value


def _may_be(remainder: ir.BinaryOp, left: int) -> bool:
    """Whether a number is a remainder that this looks for: of signed ones only 0."""
    assert isinstance(remainder.rhs, llvm.ConstInt)
    if remainder.opcode is Opcode.SREM:
        return left == 0
    return left < remainder.rhs.value


def _compare(out: Rewriter, i: ir.Compare, remainder: ir.BinaryOp, left: int) -> None:
    """`i`, of a remainder and `left`, as a product and a comparison."""
    assert isinstance(remainder.rhs, llvm.ConstInt)
    assert isinstance(i.predicate, IntPredicate)
    type_ = remainder.rhs.type
    width = type_.bits
    size = _size(remainder.opcode, remainder.rhs)
    twos = (size & -size).bit_length() - 1
    odd = size >> twos
    if remainder.opcode is Opcode.SREM:
        up = ((1 << width - 1) - 1) // odd >> twos << twos
        most = 2 * up >> twos
    else:
        up = 0
        most = ((1 << width) - 1 - left) // size
    x = out.binary(Opcode.SUB, remainder.lhs, number(type_, left)) if left else remainder.lhs
    product = out.binary(Opcode.MUL, x, number(type_, pow(odd, -1, 1 << width)))
    if up:
        product = out.binary(Opcode.ADD, product, number(type_, up))
    if twos:
        arguments = product, product, number(type_, twos)
        product = out.call(f"llvm.fshr.i{width}", type_, arguments)
    within = out.compare(_WITHIN[i.predicate], product, number(type_, most))
    out.named(within, i.result or "")
