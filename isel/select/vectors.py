"""Vectors in registers: elements in, elements out, choices between them.

Layer: isel.select.  A vector is the registers of its elements, one after the other.  An element at
a place that is known only at run time is chosen by the bits of the index, neighbours first; to put
one there, every element is compared with the index.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS
from isel.llvm.types import FloatType, Type, VectorType
from isel.select.floats.steps import Floats
from isel.select.integers.orders import without
from isel.select.repack import to_predicate
from isel.select.state import FunctionState, Values, form
from isel.select.widths import elements, extended, register_bits, zeros_from

T = ScalarType

_FLOATS = {"float": T.F32, "double": T.F64}
"""Types of floating-point numbers that selp knows: ptxas joins such a choice with arithmetic."""

# ---- choices ---------------------------------------------------------------------------------


def select(state: FunctionState, i: ir.Select) -> None:
    """select by one condition, or by one for each element."""
    results = state.define(i.result, i.type)
    yes, no = state.value(i.if_true), state.value(i.if_false)
    conditions = [state.reg(op, T.PRED) for op in state.value(i.condition)]
    each = len(results) // len(conditions)
    kind = _FLOATS.get(i.type.scalar.keyword) if isinstance(i.type.scalar, FloatType) else None
    for at, result in enumerate(results):
        if kind is None:
            choose(state, result, conditions[at // each], yes[at], no[at])
        else:
            chosen = [Floats(state).literal(op, kind) for op in (yes[at], no[at])]
            state.emit(form("selp", type=kind), result, *chosen, conditions[at // each])


def choose(state: FunctionState, result: Reg, condition: Reg, yes: Scalar, no: Scalar) -> None:
    """One of two operands."""
    cls = state.out.regs.classes[result]
    if cls is T.PRED:
        _choose_predicate(state, result, condition, yes, no)
        return
    chosen = [op if isinstance(op, Imm) else state.reg(op, cls) for op in (yes, no)]
    state.emit(form("selp", type=cls), result, *chosen, condition)
    state.zero_above[result] = max(zeros_from(state, op, cls.bits) for op in chosen)


def _choose_predicate(state: FunctionState, result: Reg, c: Reg, yes: Scalar, no: Scalar) -> None:
    """(c and yes) or (not c and no): selp has no predicate form.

    One operation is enough where one of the two is a number, as LLVM writes `and` and `or`.
    """
    if no == Imm(0) or (isinstance(yes, Imm) and yes.value):
        row, other = ("and", yes) if no == Imm(0) else ("or", no)
        state.emit(form(row, type=T.PRED), result, c, state.reg(other, T.PRED))
        return
    other = state.reg(no, T.PRED)
    both = state.computed(form("and", type=T.PRED), c, state.reg(yes, T.PRED), cls=T.PRED)
    neither = without(state, other, c)
    if neither is None:
        other_way = state.computed(form("not", type=T.PRED), c, cls=T.PRED)
        neither = state.computed(form("and", type=T.PRED), other_way, other, cls=T.PRED)
    state.emit(form("or", type=T.PRED), result, both, neither)


# ---- elements --------------------------------------------------------------------------------


def extract_element(state: FunctionState, i: ir.ExtractElement) -> None:
    """One element; behind the last one it is poison."""
    if isinstance(i.index, llvm.ConstInt):
        ops, each = _operands(state, i.vector)
        at = i.index.value * each
        state.forward(i.result, ops[at : at + each] or (Imm(0),) * each)
        return
    row = _row(state, i.vector)
    index = _index(state, i.index)
    bit = 0
    while len(row) > 1:
        odd = state.new(T.PRED)
        to_predicate(state, odd, index, 32, bit)
        pairs = zip(row[::2], row[1::2], strict=False)
        alone = row[len(row) // 2 * 2 :]
        row = [_one_of(state, i.type, odd, b, a) for a, b in pairs] + alone
        bit += 1
    state.forward(i.result, row[0])


def insert_element(state: FunctionState, i: ir.InsertElement) -> None:
    """A vector with one element replaced."""
    new = state.value(i.element)
    if isinstance(i.index, llvm.ConstInt):
        ops, each = _operands(state, i.vector)
        at = i.index.value * each
        is_inside = at < len(ops)
        state.forward(i.result, (*ops[:at], *new, *ops[at + each :]) if is_inside else ops)
        return
    row = _row(state, i.vector)
    index = _index(state, i.index)
    results = state.define(i.result, i.type)
    each = len(new)
    for at, old in enumerate(row):
        here = state.new(T.PRED)
        test = form("setp.int", p=True, cmp=Cmp.EQ, type=T.B32)
        state.emit(test, here, index, Imm(at))
        for n, (yes, no) in enumerate(zip(new, old, strict=True)):
            choose(state, results[at * each + n], here, yes, no)


def shuffle(state: FunctionState, i: ir.ShuffleVector) -> None:
    """Elements of two vectors, by a constant mask."""
    row = _row(state, i.first) + _row(state, i.second)
    chosen = [_poison(row) if at < 0 else row[at] for at in i.mask]
    state.forward(i.result, tuple(op for ops in chosen for op in ops))


def _operands(state: FunctionState, vector: llvm.Value) -> tuple[Values, int]:
    """The operands of a vector, symbols too, and how many each element has."""
    ops = state.value(vector)
    assert isinstance(vector.type, VectorType)
    return ops, len(ops) // vector.type.count


def _row(state: FunctionState, vector: llvm.Value) -> list[Values]:
    """The operands of each element."""
    ops, each = _operands(state, vector)
    return [ops[at : at + each] for at in range(0, len(ops), each)]


def _poison(row: list[Values]) -> Values:
    return tuple(Imm(0) for _ in row[0])


def _index(state: FunctionState, value: llvm.Value) -> Reg:
    """An index in 32 bits: a vector has fewer elements."""
    if len(state.layout.classes(value.type)) > 1:
        op: Scalar = elements(state, value)[0][0]
        bits = 64
    else:
        bits = register_bits(value.type, "an index of a vector")
        op = extended(state, value, signed=False)
    reg = state.reg(op, BITS[bits])
    if bits == 32:
        return reg
    result = state.new(T.B32)
    atype = T.U16 if bits == 16 else T.U64
    state.emit(form("cvt.int", dtype=T.U32, atype=atype), result, reg)
    return result


def _one_of(state: FunctionState, type_: Type, c: Reg, yes: Values, no: Values) -> Values:
    if yes == no:
        return yes
    results = tuple(state.new(cls) for cls in state.layout.classes(type_))
    for result, a, b in zip(results, yes, no, strict=True):
        choose(state, result, c, a, b)
    return results
