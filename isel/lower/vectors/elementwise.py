"""Intrinsics and casts of scalars and of vectors, one element after the other.

Layer: isel.lower.  What computes one element is in `integer_math`, `float_math` and `conversions`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from isel.llvm import ir
from isel.llvm.types import FloatType, IntType, StructType, Type, VectorType
from isel.llvm.vocabulary import Opcode
from isel.lower.arithmetic import conversions, float_math, integer_math
from isel.lower.rewriter import Replacement, Rewriter, Values

_NAME = re.compile(r"llvm\.([a-z.]+?)(?:\.(?:v\d+)?(?:b?f\d+|i\d+))+")
_LIMB = 64
Element = Callable[[Rewriter, Values], Values]


def lowered(i: ir.Instruction) -> Replacement | None:
    """The replacement of such an instruction; None for others."""
    element = _of_call(i) if isinstance(i, ir.Call) else _of_cast(i)
    return None if element is None else lambda out: _each(out, i, element)


@functools.lru_cache(maxsize=1024)
def _base(name: str) -> str:
    """What stands between `llvm.` and the types in the name of an intrinsic."""
    match = _NAME.fullmatch(name)
    return match[1] if match else ""


def _of_call(call: ir.Call) -> Element | None:
    name = call.callee_name
    if name is None or not name.startswith("llvm.") or not call.arguments:
        return None
    base = _base(name)
    if not base:
        return None
    source, results = call.arguments[0].type.scalar, _results(call.type)
    if isinstance(source, IntType) and isinstance(results[0].scalar, IntType):
        expand = integer_math.expansion(base, source, call.arguments)
        # a comparison of two bits is the only one whose result is of another type
        other = results[0].scalar if base in ("ucmp", "scmp") else source
        assert isinstance(other, IntType)
        return None if expand is None else lambda out, ops: expand(out, ops, other)
    if not float_math.is_known(source):
        return None
    to = results[0].scalar
    if base in ("fptosi.sat", "fptoui.sat"):
        if not isinstance(to, IntType) or not conversions.needs_more_bits(to):
            return None
        signed, width = base == "fptosi.sat", to
        return lambda out, ops: (conversions.saturated(out, ops[0], width, signed=signed),)
    found = float_math.EXPANSIONS.get(base)
    types = tuple(t.scalar for t in results)
    return None if found is None else lambda out, ops: found(out, ops, types)


def _of_cast(i: ir.Instruction) -> Element | None:
    if not isinstance(i, ir.Cast):
        return None
    source, to = i.operand.type.scalar, i.type.scalar
    match i.opcode:
        case Opcode.SITOFP | Opcode.UITOFP:
            if not isinstance(source, IntType) or source.bits <= _LIMB:
                return None
            if not isinstance(to, FloatType) or not float_math.is_known(to):
                return None
            signed, kind = i.opcode is Opcode.SITOFP, to
            return lambda out, ops: (conversions.from_wide(out, ops[0], kind, signed=signed),)
        case Opcode.FPTOSI | Opcode.FPTOUI:
            if not isinstance(to, IntType) or to.bits <= _LIMB or not float_math.is_known(source):
                return None
            signed, width = i.opcode is Opcode.FPTOSI, to
            return lambda out, ops: (conversions.to_wide(out, ops[0], width, signed=signed),)
    return None


def _results(type_: Type) -> tuple[Type, ...]:
    return type_.elements if isinstance(type_, StructType) else (type_,)


def _each(out: Rewriter, i: ir.Instruction, element: Element) -> None:
    """The results of all elements: one value, or one struct of two."""
    arguments = i.arguments if isinstance(i, ir.Call) else i.operands()
    first = _results(i.type)[0]
    count = first.count if isinstance(first, VectorType) else 1
    found = [
        element(out, tuple(out.element(argument, at) for argument in arguments))
        for at in range(count)
    ]
    columns = list(zip(*found, strict=True))
    whole = [out.vector(c) if isinstance(first, VectorType) else c[0] for c in columns]
    if isinstance(i.type, StructType):
        out.pair(whole[0], whole[1], i.result or out.name("t"))
    else:
        out.named(whole[0], i.result)
