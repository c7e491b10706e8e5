"""What values that are known decide: branches, selections, arithmetic; dead arms are dropped.

Layer: isel.lower.  Input: a function and the values of some of its results.  Output: the function
without what these settle, and without blocks that nothing leads to.  Only integers are computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I1, VOID, IntType
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.lower.rewriter import number
from isel.lower.substitution import in_flow_order, with_values, without_dead

Known = dict[str, llvm.Value]
"""Values of results, by name."""


def folded(function: ir.Function, known: Known) -> ir.Function:
    """The function without what follows from `known`, which grows by what was found out."""
    if not known:
        return function
    blocks = function.blocks
    while True:
        done = {block.name: _folded(block, known) for block in in_flow_order(blocks)}
        now = [done[b.name] for b in blocks if b.name in done]
        if len(now) == len(blocks) and not _is_more_known(blocks, now, known):
            return function.with_blocks(now)
        blocks = without_dead(now)


def _is_more_known(before: list[ir.Block], now: list[ir.Block], known: Known) -> bool:
    """Whether a branch was decided, or a value became known behind a phi that takes it."""
    pairs = zip(before, now, strict=True)
    return any(
        old.instructions[-1] is not new.instructions[-1] or _takes(new, known) for old, new in pairs
    )


def _takes(block: ir.Block, known: Known) -> bool:
    phis = itertools.takewhile(lambda i: type(i) is ir.Phi, block.instructions)
    given = (value for phi in phis for value in phi.operands())
    return any(type(value) is llvm.Local and value.name in known for value in given)


def _folded(block: ir.Block, known: Known) -> ir.Block:
    """A block without the instructions whose results are known; these join `known`."""
    left: list[ir.Instruction] = []

    def change(value: llvm.Value) -> llvm.Value:
        return known.get(value.name, value) if isinstance(value, llvm.Local) else value

    for i in block.instructions:
        if i.result not in known and not _may_fold(i, known):
            left.append(i)
            continue
        now = with_values(i, change)
        value = known.get(i.result or "") or _value_of(now)
        if value is None:
            left.append(_decided(now))
        elif i.result is not None:
            known[i.result] = value
    return ir.Block(block.name, left)


def _may_fold(i: ir.Instruction, known: Known) -> bool:
    """Whether an instruction has a known operand, or a number where it may decide something."""
    is_first = type(i) in _FOLDED
    for value in i.operands():
        if type(value) is llvm.Local:
            if value.name in known:
                return True
        elif is_first and type(value) is llvm.ConstInt:
            return True
        is_first = is_first and type(i) is ir.Phi
    return False


_FOLDED = {
    *(ir.CondBranch, ir.Switch, ir.Select, ir.Freeze, ir.Phi, ir.Cast, ir.Compare, ir.BinaryOp)
}
"""What may be decided by its first operand, or be a number; a phi by any."""


# ---- one instruction -------------------------------------------------------------------------


def _decided(i: ir.Instruction) -> ir.Instruction:
    """A branch on a number as one that has no condition."""
    match i:
        case ir.CondBranch(condition=llvm.ConstInt(value=value)):
            target = i.if_true if value else i.if_false
        case ir.Switch(condition=llvm.ConstInt() as condition):
            target = next((t for case, t in i.cases if case == condition), i.default)
        case _:
            return i
    return ir.Branch(Opcode.BR, None, i.line, i.ordinal, i.dbg, i.metadata, VOID, target)


def _value_of(i: ir.Instruction) -> llvm.Value | None:
    """The value of an instruction on integers, of a selection or phi that has one choice left."""
    match i:
        case ir.Select(condition=llvm.ConstInt(value=value)):
            return i.if_true if value else i.if_false
        case ir.Freeze(operand=llvm.ConstInt() as operand):
            return operand
        case ir.Phi():
            return _only(i)
        case ir.Cast(operand=llvm.ConstInt() as operand, type=IntType() as type_):
            return _cast(i.opcode, operand, type_)
        case ir.Compare(lhs=llvm.ConstInt() as lhs, rhs=llvm.ConstInt() as rhs):
            return number(I1, int(_holds(i.predicate, lhs, rhs)))
        case ir.BinaryOp(lhs=llvm.ConstInt() as lhs, rhs=llvm.ConstInt() as rhs):
            compute = _BINARY.get(i.opcode)
            return None if compute is None else number(lhs.type, compute(lhs.value, rhs.value))
    return None


def _only(phi: ir.Phi) -> llvm.Value | None:
    """The number that a phi is whatever block it comes from."""
    values = {value for value, _ in phi.incoming}
    first = next(iter(values), None)
    return first if len(values) == 1 and isinstance(first, llvm.ConstInt) else None


def _cast(opcode: Opcode, operand: llvm.ConstInt, type_: IntType) -> llvm.ConstInt | None:
    match opcode:
        case Opcode.TRUNC | Opcode.ZEXT | Opcode.BITCAST:
            return number(type_, operand.value)
        case Opcode.SEXT:
            return number(type_, operand.signed)
    return None


def _holds(predicate: object, lhs: llvm.ConstInt, rhs: llvm.ConstInt) -> bool:
    (compare, signed) = _COMPARED[predicate]
    a, b = (lhs.signed, rhs.signed) if signed else (lhs.value, rhs.value)
    return compare((a > b) - (a < b))


_P = IntPredicate
_COMPARED: dict[object, tuple[Callable[[int], bool], bool]] = {
    _P.EQ: (lambda sign: sign == 0, False),
    _P.NE: (lambda sign: sign != 0, False),
    _P.UGT: (lambda sign: sign > 0, False),
    _P.UGE: (lambda sign: sign >= 0, False),
    _P.ULT: (lambda sign: sign < 0, False),
    _P.ULE: (lambda sign: sign <= 0, False),
    _P.SGT: (lambda sign: sign > 0, True),
    _P.SGE: (lambda sign: sign >= 0, True),
    _P.SLT: (lambda sign: sign < 0, True),
    _P.SLE: (lambda sign: sign <= 0, True),
}
_BINARY: dict[Opcode, Callable[[int, int], int]] = {
    Opcode.ADD: lambda a, b: a + b,
    Opcode.SUB: lambda a, b: a - b,
    Opcode.MUL: lambda a, b: a * b,
    Opcode.AND: lambda a, b: a & b,
    Opcode.OR: lambda a, b: a | b,
    Opcode.XOR: lambda a, b: a ^ b,
}
