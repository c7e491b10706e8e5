"""Comparisons of halves that choose between what they compare: the least or the greatest.

Layer: isel.lower.  `x > 0 ? x : 0` of a float ptxas makes one instruction, of a half or a bfloat
it does not.  Where one side is a constant no value differs from what the comparison chooses:

* a NaN is not chosen by an ordered comparison, and min and max give the other side then;
* of zeros that differ in sign a comparison takes either, min -0 and max +0: a constant that is a
  zero must be the one that both give.

PTX ISA, Half Precision Floating Point Instructions: max, min.
"""

from __future__ import annotations

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import FloatType, Type, VectorType
from isel.llvm.vocabulary import Flag, Opcode
from isel.llvm.vocabulary import FloatPredicate as Fcmp
from isel.lower.rewriter import Replacement, Rewriter

_SUFFIX = {"half": "f16", "bfloat": "bf16"}
_INFINITY = {"half": 0x7C00, "bfloat": 0x7F80}
_SIGN = 0x8000
_INVERSE = {
    Fcmp.OGT: Fcmp.ULE, Fcmp.OGE: Fcmp.ULT, Fcmp.OLT: Fcmp.UGE, Fcmp.OLE: Fcmp.UGT,
    Fcmp.UGT: Fcmp.OLE, Fcmp.UGE: Fcmp.OLT, Fcmp.ULT: Fcmp.OGE, Fcmp.ULE: Fcmp.OGT,
}  # fmt: skip
_SWAPPED = {
    Fcmp.OGT: Fcmp.OLT, Fcmp.OGE: Fcmp.OLE, Fcmp.OLT: Fcmp.OGT, Fcmp.OLE: Fcmp.OGE,
    Fcmp.UGT: Fcmp.ULT, Fcmp.UGE: Fcmp.ULE, Fcmp.ULT: Fcmp.UGT, Fcmp.ULE: Fcmp.UGE,
}  # fmt: skip
_GREATEST, _LEAST = (Fcmp.OGT, Fcmp.OGE), (Fcmp.OLT, Fcmp.OLE)
_ZERO = {Fcmp.OGT: 0, Fcmp.OLT: _SIGN}
"""The zero that a strict comparison with it gives where both sides are zeros."""


def with_extremes(function: ir.Function, types: frozenset[str]) -> ir.Function:
    """The function with min and max of those `types` ("half", "bfloat") that the target has."""
    made = {
        i.result: i
        for i in function.instructions()
        if isinstance(i, ir.Compare) and i.opcode is Opcode.FCMP and _keyword(i.lhs.type) in types
    }
    if not made:
        return function

    def choose(i: ir.Instruction) -> Replacement | None:
        if not isinstance(i, ir.Select) or not isinstance(i.condition, llvm.Local):
            return None
        compare = made.get(i.condition.name)
        return None if compare is None else _extreme(i, compare)

    return Rewriter(function).run(choose)


def _keyword(type_: Type) -> str:
    scalar = type_.scalar
    return scalar.keyword if isinstance(scalar, FloatType) else ""


def _extreme(select: ir.Select, compare: ir.Compare) -> Replacement | None:
    """The replacement of a select by a comparison; None where it is no minimum and no maximum."""
    found = _with_constant(select, compare)
    if found is None:
        return None
    value, constant, predicate = found
    numbers = _numbers(constant)
    signless = Flag.NSZ in select.flags
    if numbers is None or not (signless or all(_agrees(n, predicate) for n in numbers)):
        return None
    if predicate not in _GREATEST and predicate not in _LEAST:
        return None
    type_ = select.type
    count = f"v{type_.count}" if isinstance(type_, VectorType) else ""
    verb = "maxnum" if predicate in _GREATEST else "minnum"
    name = f"llvm.{verb}.{count}{_SUFFIX[_keyword(type_)]}"
    return lambda out: out.call(name, type_, (value, constant), select.result)


def _with_constant(
    select: ir.Select, compare: ir.Compare
) -> tuple[llvm.Value, llvm.Constant, Fcmp] | None:
    """A value, a constant, and the predicate of the two with which the value is chosen."""
    lhs, rhs, predicate = compare.lhs, compare.rhs, compare.predicate
    if not isinstance(predicate, Fcmp) or predicate not in _INVERSE:
        return None
    if (select.if_true, select.if_false) == (rhs, lhs):
        predicate = _INVERSE[predicate]
    elif (select.if_true, select.if_false) != (lhs, rhs):
        return None
    if isinstance(rhs, llvm.Constant):
        return lhs, rhs, predicate
    if isinstance(lhs, llvm.Constant):
        return rhs, lhs, _SWAPPED[_INVERSE[predicate]]
    return None


def _numbers(constant: llvm.Constant) -> list[int] | None:
    """The bits of all elements; None where one is no number."""
    elements = llvm.elements_of(constant) or (constant,)
    found = [e.bits for e in elements if isinstance(e, llvm.ConstFloat)]
    infinity = _INFINITY[_keyword(constant.type)]
    if len(found) < len(elements) or any(bits & ~_SIGN > infinity for bits in found):
        return None
    return found


def _agrees(bits: int, predicate: Fcmp) -> bool:
    """Whether a comparison with a number gives what min or max gives, of zeros too."""
    return bits & ~_SIGN != 0 or _ZERO.get(predicate) == bits
