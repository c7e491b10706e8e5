"""Integer comparison to records, element by element.

Layer: isel.select.  Pointers are compared as integers; the order of single bits, which are
predicates, is logic.
"""

from __future__ import annotations

import functools

from intrinsics.mir import Form, Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.diagnostics import not_yet
from isel.llvm import ir
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED, container
from isel.llvm.types import IntType, PointerType
from isel.llvm.vocabulary import IntPredicate
from isel.select.integers import wide
from isel.select.register_facts import Compared
from isel.select.state import FunctionState, Values, form
from isel.select.widths import LIMB, elements, extend, zeros_from

T = ScalarType

_COMPARISONS: dict[IntPredicate, tuple[Cmp, dict[int, ScalarType]]] = {
    IntPredicate.EQ: (Cmp.EQ, BITS),
    IntPredicate.NE: (Cmp.NE, BITS),
    IntPredicate.UGT: (Cmp.GT, UNSIGNED),
    IntPredicate.UGE: (Cmp.GE, UNSIGNED),
    IntPredicate.ULT: (Cmp.LT, UNSIGNED),
    IntPredicate.ULE: (Cmp.LE, UNSIGNED),
    IntPredicate.SGT: (Cmp.GT, SIGNED),
    IntPredicate.SGE: (Cmp.GE, SIGNED),
    IntPredicate.SLT: (Cmp.LT, SIGNED),
    IntPredicate.SLE: (Cmp.LE, SIGNED),
}
_SINGLE_BITS = {
    IntPredicate.UGT: ("and", False),
    IntPredicate.SLT: ("and", False),
    IntPredicate.ULT: ("and", True),
    IntPredicate.SGT: ("and", True),
    IntPredicate.UGE: ("or", False),
    IntPredicate.SLE: ("or", False),
    IntPredicate.ULE: ("or", True),
    IntPredicate.SGE: ("or", True),
}
"""The order of single bits: the row, and whether its left side (else its right) is negated.

As a signed number a set bit is -1.
"""


def compare(state: FunctionState, i: ir.Compare) -> None:
    """icmp of integers and pointers, and of vectors of them."""
    if not isinstance(i.predicate, IntPredicate):
        raise not_yet("fcmp")
    element = i.lhs.type.scalar
    if isinstance(element, PointerType):
        width = state.layout.pointer_bits(element.address_space)
    elif isinstance(element, IntType):
        width = element.bits
    else:
        raise not_yet(f"icmp of {i.lhs.type}")
    results = state.define(i.result, i.type)
    sides = zip(results, elements(state, i.lhs), elements(state, i.rhs), strict=True)
    for result, lhs, rhs in sides:
        compare_element(state, i.predicate, width, result, lhs, rhs)


def compare_element(
    state: FunctionState,
    predicate: IntPredicate,
    width: int,
    result: Reg,
    lhs: Values,
    rhs: Values,
) -> None:
    """One comparison of integers of `width` bits."""
    if width == 1:
        left, right = (state.reg(side[0], T.PRED) for side in (lhs, rhs))
        _compare_predicates(state, predicate, result, left, right)
        return
    cmp, types = _COMPARISONS[predicate]
    signed = types is SIGNED
    if width > LIMB:
        wide.compare(state, cmp, width, result, lhs, rhs, signed=signed)
        return
    bits = container(width)
    a, b = lhs[0], rhs[0]
    if width != bits:
        a = extend(state, a, width, signed=signed)
        b = extend(state, b, width, signed=signed)
    if isinstance(a, Imm):
        a = state.reg(a, BITS[bits])
    if bits == LIMB and not signed and type(a) is int and _is_half(state, a) and _is_half(state, b):
        a, b, bits = _lower_half(state, a), _lower_half(state, b), 32
    assert type(a) is int
    state.emit(_comparison(cmp, types[bits]), result, a, b)
    state.compared[result] = Compared(cmp, types[bits], a, b)


def _is_half(state: FunctionState, op: Scalar) -> bool:
    """Whether the upper half of 64 bits is known to be zero."""
    return 0 <= op.value < 1 << 32 if type(op) is Imm else zeros_from(state, op, LIMB) <= 32


def _lower_half(state: FunctionState, op: Scalar) -> Scalar:
    """The lower half of 64 bits; a number's as a signed one."""
    if type(op) is Imm:
        return Imm(op.value - (op.value >> 31 << 32))
    return state.computed(form("cvt.int", dtype=T.U32, atype=T.U64), op, cls=T.B32)


@functools.cache
def _comparison(cmp: Cmp, type: ScalarType) -> Form:
    return form("setp.int", p=True, cmp=cmp, type=type)


def _compare_predicates(
    state: FunctionState, predicate: IntPredicate, result: Reg, left: Reg, right: Reg
) -> None:
    if predicate is IntPredicate.NE:
        state.emit(form("xor", type=T.PRED), result, left, right)
        return
    other = state.new(T.PRED)
    if predicate is IntPredicate.EQ:
        state.emit(form("xor", type=T.PRED), other, left, right)
        state.emit(form("not", type=T.PRED), result, other)
        return
    row, negates_left = _SINGLE_BITS[predicate]
    state.emit(form("not", type=T.PRED), other, left if negates_left else right)
    pair = (right, other) if negates_left else (left, other)
    state.emit(form(row, type=T.PRED), result, *pair)
