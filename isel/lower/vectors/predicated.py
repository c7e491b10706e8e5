"""LLVM's vector-predicated intrinsics, as what does all elements and leaves some out.

Layer: isel.lower.  A mask and a number of elements say which results count; the others are poison,
so that what has no effect is done for all.  A divisor that does not count is one, a summand
nothing; accesses are those of `masked`.  LLVM Language Reference, Vector Predication Intrinsics.
"""

from __future__ import annotations

import dataclasses
import re

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import PTR, IntType, Type, VectorType
from isel.llvm.vocabulary import DIVISIONS, FloatPredicate, Opcode
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.lower.rewriter import Replacement, Rewriter, number

_NAME = re.compile(r"llvm\.vp\.([a-z.]+)\.(v\d.*)")
_BINARY = {
    op.value: op
    for op in (
        *(Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.AND, Opcode.OR, Opcode.XOR),
        *(Opcode.SHL, Opcode.LSHR, Opcode.ASHR, Opcode.UDIV, Opcode.SDIV, Opcode.UREM, Opcode.SREM),
        *(Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM),
    )
}
_CASTS = {
    op.value: op
    for op in (
        *(Opcode.TRUNC, Opcode.ZEXT, Opcode.SEXT, Opcode.FPTRUNC, Opcode.FPEXT, Opcode.FPTOUI),
        *(Opcode.FPTOSI, Opcode.UITOFP, Opcode.SITOFP, Opcode.PTRTOINT, Opcode.INTTOPTR),
    )
}
_REDUCTIONS = {
    "add": (Opcode.ADD, 0), "mul": (Opcode.MUL, 1), "and": (Opcode.AND, -1),
    "or": (Opcode.OR, 0), "xor": (Opcode.XOR, 0),
}  # fmt: skip
_ACCESSES = ("load", "store", "gather", "scatter")
_OTHER_NAMES = {"roundtozero": "trunc"}
_OTHERS = (
    *("smax", "smin", "umax", "umin", "abs", "ctlz", "cttz", "ctpop", "bswap", "bitreverse"),
    *("fshl", "fshr", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "fma", "fmuladd", "fabs"),
    *("sqrt", "ceil", "floor", "rint", "nearbyint", "round", "roundeven", "roundtozero", "lrint"),
    *("llrint", "copysign", "minnum", "maxnum", "minimum", "maximum", "is.fpclass"),
)
"""What is an intrinsic without the mask, too."""


def lowered(i: ir.Instruction) -> Replacement | None:
    """The replacement of a vector-predicated intrinsic; None for other instructions."""
    name = i.callee_name if isinstance(i, ir.Call) else None
    match = _NAME.fullmatch(name) if name is not None and name.startswith("llvm.vp.") else None
    if match is None or not isinstance(i, ir.Call) or "vscale" in str(i.type):
        return None
    verb, types = match[1], match[2]
    if verb in _BINARY:
        return lambda out: _binary(out, i, _BINARY[verb])
    if verb in _CASTS:
        return lambda out: _cast(out, i, _CASTS[verb])
    if verb in ("icmp", "fcmp"):
        return lambda out: _compare(out, i, verb)
    if verb in ("select", "merge"):
        return lambda out: _choose(out, i)
    if verb == "fneg":
        return lambda out: out.named(out.negative(i.arguments[0]), i.result)
    if verb in _ACCESSES:
        return lambda out: _access(out, i, f"llvm.masked.{verb}.{types}", verb)
    if verb.removeprefix("reduce.") in _REDUCTIONS and verb.startswith("reduce."):
        return lambda out: _reduce(out, i, verb.removeprefix("reduce."), types)
    if verb in _OTHERS:
        plain = f"llvm.{_OTHER_NAMES.get(verb, verb)}.{types}"
        return lambda out: out.call(plain, i.type, i.arguments[:-2], i.result)
    return None


def _allowed(out: Rewriter, mask: llvm.Value, count: llvm.Value) -> llvm.Value:
    """The bits of a mask below a number of elements."""
    assert isinstance(mask.type, VectorType)
    assert isinstance(count.type, IntType)
    every = mask.type.count
    if isinstance(count, llvm.ConstInt) and count.value >= every:
        return mask
    below = [out.compare(Icmp.ULT, number(count.type, at), count) for at in range(every)]
    return out.binary(Opcode.AND, mask, out.vector(below))


def _splat(type_: Type, value: int) -> llvm.Value:
    assert isinstance(type_, VectorType)
    assert isinstance(type_.element, IntType)
    return llvm.ConstVector(type_, (number(type_.element, value),) * type_.count)


def _binary(out: Rewriter, call: ir.Call, opcode: Opcode) -> None:
    left, right, mask, count = call.arguments
    if opcode in DIVISIONS:
        right = out.select(_allowed(out, mask, count), right, _splat(right.type, 1))
    out.binary(opcode, left, right, call.result)


def _cast(out: Rewriter, call: ir.Call, opcode: Opcode) -> None:
    out.cast(opcode, call.arguments[0], call.type, call.result or out.name("t"))


def _compare(out: Rewriter, call: ir.Call, verb: str) -> None:
    left, right, how = call.arguments[:3]
    assert isinstance(how, llvm.MetadataValue)
    assert isinstance(how.content, llvm.MetadataString)
    word = how.content.text
    predicate = Icmp(word) if verb == "icmp" else FloatPredicate(word)
    out.compare(predicate, left, right, call.result)


def _choose(out: Rewriter, call: ir.Call) -> None:
    """merge takes what does not count from its second operand, of select it is poison."""
    condition, yes, no, count = call.arguments
    out.select(_allowed(out, condition, count), yes, no, call.result)


def _access(out: Rewriter, call: ir.Call, name: str, verb: str) -> None:
    *given, mask, count = call.arguments
    given.append(_allowed(out, mask, count))
    if verb in ("load", "gather"):
        given.append(llvm.Poison(call.type))
    kept = {n: a for n, a in call.argument_attributes.items() if n < len(call.arguments) - 2}
    out.add(
        dataclasses.replace(
            call,
            callee=llvm.GlobalRef(name, PTR),
            arguments=tuple(given),
            argument_attributes=kept,
        )
    )


def _reduce(out: Rewriter, call: ir.Call, word: str, types: str) -> None:
    start, vector, mask, count = call.arguments
    opcode, nothing = _REDUCTIONS[word]
    counted = out.select(_allowed(out, mask, count), vector, _splat(vector.type, nothing))
    total = out.call(f"llvm.vector.reduce.{word}.{types}", call.type, (counted,))
    out.binary(opcode, start, total, call.result)
