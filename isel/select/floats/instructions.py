"""Floating-point instructions of LLVM's, to records: arithmetic, negation, comparison.

Layer: isel.select.  A sum of a product that both carry `contract` becomes an fma, at every level of
optimisation; all other arithmetic names its rounding, so that ptxas fuses nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from intrinsics.mir import Form, Imm, Op, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import Rounding, ScalarType
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import Type, VectorType
from isel.llvm.vocabulary import Flag, FloatPredicate, Opcode
from isel.select.floats.steps import PAIRS, Floats, kind_of
from isel.select.state import FunctionState, form

T = ScalarType
RN = Rounding.RN

FLOAT_OPERATIONS = (Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM)
_HEADS = {Opcode.FADD: "add", Opcode.FSUB: "sub", Opcode.FMUL: "mul"}


def float_binary(state: FunctionState, i: ir.BinaryOp) -> None:
    """fadd, fsub, fmul, fdiv, frem."""
    kind = kind_of(i.type, i.opcode)
    floats = Floats(state, i.flags)
    lhs, rhs = state.value(i.lhs), state.value(i.rhs)
    head = _HEADS.get(i.opcode)
    if head is None:
        compute = floats.quotient if i.opcode is Opcode.FDIV else floats.remainder
        state.forward(i.result, floats.elementwise(i.type, kind, (lhs, rhs), compute))
        return
    if Flag.CONTRACT in i.flags and _contracted(floats, i, kind):
        return
    found: tuple[Scalar, ...]
    if isinstance(i.type, VectorType):
        pair_form, pair_operands = _pair_arithmetic(floats, head, kind)
        compute = functools.partial(floats.arithmetic, head)
        found = floats.elementwise(i.type, kind, (lhs, rhs), compute, pair_form, pair_operands)
    else:
        found = (floats.arithmetic(head, kind, lhs[0], rhs[0]),)
    state.forward(i.result, found)
    if head == "mul" and Flag.CONTRACT in i.flags and i.result is not None:
        state.products[i.result] = (lhs, rhs)


def _pair_arithmetic(
    floats: Floats, head: str, kind: ScalarType
) -> tuple[Form | None, Callable[[list[Reg]], list[Op]]]:
    """The packed form of add, sub or mul, and how its operands follow from the packed values."""
    pair = PAIRS.get(kind)
    if pair is None:
        return None, lambda regs: [*regs]
    chosen = floats.form(f"{head}.float", pair, rnd=RN)
    if floats.has(chosen) or kind is not T.BF16:
        return chosen, lambda regs: [*regs]

    def by_fma(regs: list[Reg]) -> list[Op]:
        a, b = regs
        constant = {"add": 0x3F80, "sub": 0xBF80, "mul": 0x8000}[head] * 0x10001
        number = floats.state.reg(Imm(constant), T.B32)
        orders: dict[str, list[Op]] = {
            "add": [a, number, b],
            "sub": [b, number, a],
            "mul": [a, b, number],
        }
        return orders[head]

    return form("fma", rnd=RN, type=pair), by_fma


def _contracted(floats: Floats, i: ir.BinaryOp, kind: ScalarType) -> bool:
    """Make an fma of a sum or difference with a product of the same block."""
    if i.opcode is Opcode.FMUL:
        return False
    state = floats.state
    for product, other, first in ((i.lhs, i.rhs, True), (i.rhs, i.lhs, False)):
        factors = state.products.get(product.name) if isinstance(product, llvm.Local) else None
        if factors is None:
            continue
        addends = state.value(other)
        a, b = factors
        if i.opcode is Opcode.FSUB:
            if first:
                addends = negatives(floats, i.type, kind, addends)
            else:
                a = negatives(floats, i.type, kind, a)
        state.forward(i.result, fused(floats, i.type, kind, (a, b, addends)))
        return True
    return False


def fused(
    floats: Floats, type_: Type, kind: ScalarType, operands: Sequence[Sequence[Scalar]]
) -> tuple[Scalar, ...]:
    """fma of scalars or vectors."""
    pair = PAIRS.get(kind) if isinstance(type_, VectorType) else None
    chosen = floats.form("fma", pair, rnd=RN) if pair is not None else None
    return floats.elementwise(type_, kind, operands, floats.fma, chosen)


def negatives(
    floats: Floats, type_: Type, kind: ScalarType, values: Sequence[Scalar]
) -> tuple[Scalar, ...]:
    """-a of scalars or vectors."""
    return floats.elementwise(
        type_, kind, (values,), floats.negative, pair_sign(floats, "neg", kind)
    )


def pair_sign(floats: Floats, head: str, kind: ScalarType) -> Form | None:
    """The packed form of neg or abs."""
    pair = PAIRS.get(kind) if kind in (T.F16, T.BF16) else None
    return floats.form(f"{head}.float", pair) if pair is not None else None


def float_negate(state: FunctionState, i: ir.UnaryOp) -> None:
    """fneg."""
    kind = kind_of(i.type, i.opcode)
    floats = Floats(state, i.flags)
    state.forward(i.result, negatives(floats, i.type, kind, state.value(i.operand)))


_COMPARISONS = {
    FloatPredicate.OEQ: Cmp.EQ,
    FloatPredicate.OGT: Cmp.GT,
    FloatPredicate.OGE: Cmp.GE,
    FloatPredicate.OLT: Cmp.LT,
    FloatPredicate.OLE: Cmp.LE,
    FloatPredicate.ONE: Cmp.NE,
    FloatPredicate.ORD: Cmp.NUM,
    FloatPredicate.UEQ: Cmp.EQU,
    FloatPredicate.UGT: Cmp.GTU,
    FloatPredicate.UGE: Cmp.GEU,
    FloatPredicate.ULT: Cmp.LTU,
    FloatPredicate.ULE: Cmp.LEU,
    FloatPredicate.UNE: Cmp.NEU,
    FloatPredicate.UNO: Cmp.NAN,
}


def float_compare(state: FunctionState, i: ir.Compare) -> None:
    """fcmp of scalars and, element by element, of vectors."""
    predicate = i.predicate
    assert isinstance(predicate, FloatPredicate)
    kind = kind_of(i.lhs.type, "fcmp")
    floats = Floats(state, i.flags)
    lhs, rhs = state.value(i.lhs), state.value(i.rhs)
    cmp = _COMPARISONS.get(predicate)
    if cmp is None:
        state.forward(i.result, (Imm(int(predicate is FloatPredicate.TRUE)),) * len(lhs))
        return
    found = [float_test(floats, cmp, kind, a, b) for a, b in zip(lhs, rhs, strict=True)]
    state.forward(i.result, tuple(found))


def float_test(floats: Floats, cmp: Cmp, kind: ScalarType, a: Scalar, b: Scalar) -> Reg:
    """One comparison; a bfloat is compared as a float where the target compares no bfloats."""
    chosen = form("setp.float", p=True, cmp=cmp, type=kind, ftz=floats.ftz(kind))
    if not floats.has(chosen):
        a, b, kind = floats.widened(a, kind), floats.widened(b, kind), T.F32
    return floats.test(cmp, kind, a, b, ftz=floats.ftz(kind))
