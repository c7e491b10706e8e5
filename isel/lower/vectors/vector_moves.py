"""Intrinsics that put the elements of vectors in other places, and small ones of that kind.

Layer: isel.lower.  LLVM Language Reference, Vector Manipulation Intrinsics; llvm.stepvector;
llvm.get.active.lane.mask; llvm.ptrmask; llvm.load.relative; llvm.get.rounding; llvm.objectsize.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I32, IntType, StructType, Type, VectorType
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_NAME = re.compile(
    r"llvm\.(vector\.(?:reverse|splice|extract|insert|(?:de)?interleave)"
    r"|stepvector|get\.active\.lane\.mask|experimental\.(?:cttz\.elts|vector\.compress)|ptrmask|load\.relative"
    r"|get\.rounding|objectsize)(\d+|\.left|\.right)?(?=\.|$).*"
)
_NEAREST = 1
"""To nearest, ties to even, as llvm.get.rounding numbers it."""


def lowered(i: ir.Instruction) -> Replacement | None:
    """The replacement of such an instruction; None for others."""
    name = i.callee_name if isinstance(i, ir.Call) else None
    match = _NAME.fullmatch(name) if name is not None and name.startswith("llvm.") else None
    if match is None or not isinstance(i, ir.Call):
        return None
    make = _TABLE[match[1]]
    if any(map(_is_scalable, (i.type, *(value.type for value in i.arguments)))):
        return None
    if match[2] and not match[2].isdigit():
        return lambda out: make(out, i, match[2] == ".right")
    return lambda out: make(out, i, False)


def _is_scalable(type_: Type) -> bool:
    return "vscale" in str(type_)


def _all(out: Rewriter, vector: llvm.Value) -> list[llvm.Value]:
    """The elements of a vector."""
    assert isinstance(vector.type, VectorType)
    return [out.element(vector, at) for at in range(vector.type.count)]


def _give(out: Rewriter, call: ir.Call, elements: Sequence[llvm.Value]) -> None:
    """Let the result be these elements."""
    out.named(out.vector(elements), call.result)


def _constant(value: llvm.Value) -> int:
    assert isinstance(value, llvm.ConstInt)
    return value.signed


# ---- places ----------------------------------------------------------------------------------


def _reverse(out: Rewriter, call: ir.Call, _: bool) -> None:
    _give(out, call, _all(out, call.arguments[0])[::-1])


def _splice(out: Rewriter, call: ir.Call, right: bool) -> None:
    """As many elements from a place on; `right`, or below zero, counts from the first's end."""
    first, second, offset = call.arguments
    every = [*_all(out, first), *_all(out, second)]
    count, at = len(every) // 2, _constant(offset)
    start = count - at if right else at % count if at < 0 else at
    _give(out, call, every[start : start + count])


def _extract(out: Rewriter, call: ir.Call, _: bool) -> None:
    vector, at = call.arguments
    assert isinstance(call.type, VectorType)
    start = _constant(at)
    _give(out, call, _all(out, vector)[start : start + call.type.count])


def _insert(out: Rewriter, call: ir.Call, _: bool) -> None:
    vector, part, at = call.arguments
    found, parts, start = _all(out, vector), _all(out, part), _constant(at)
    found[start : start + len(parts)] = parts
    _give(out, call, found)


def _interleave(out: Rewriter, call: ir.Call, _: bool) -> None:
    columns = [_all(out, vector) for vector in call.arguments]
    _give(out, call, [element for row in zip(*columns, strict=True) for element in row])


def _deinterleave(out: Rewriter, call: ir.Call, _: bool) -> None:
    """A structure of vectors, that take the elements by turns."""
    every, type_ = _all(out, call.arguments[0]), call.type
    assert isinstance(type_, StructType)
    step = len(type_.elements)
    whole: llvm.Value = llvm.Poison(type_)
    for at in range(step):
        name = (call.result if at == step - 1 else None) or out.name("t")
        whole = out.insert(whole, out.vector(every[at::step]), at, name)


def _compress(out: Rewriter, call: ir.Call, _: bool) -> None:
    """The elements that the mask chooses, one behind the other, before those of another vector."""
    vector, mask, found = call.arguments
    at: llvm.Value = number(I32, 0)
    for element, bit in zip(_all(out, vector), _all(out, mask), strict=True):
        more = out.insert_element(found, element, at)
        found = out.select(bit, more, found)
        at = out.binary(Opcode.ADD, at, out.cast(Opcode.ZEXT, bit, I32))
    out.named(found, call.result)


# ---- numbers ---------------------------------------------------------------------------------


def _steps(out: Rewriter, call: ir.Call, _: bool) -> None:
    type_ = call.type
    assert isinstance(type_, VectorType)
    assert isinstance(type_.element, IntType)
    _give(out, call, [number(type_.element, at) for at in range(type_.count)])


def _lanes(out: Rewriter, call: ir.Call, _: bool) -> None:
    """Whether the first number plus the place of an element is below the second."""
    base, end = call.arguments
    assert isinstance(base.type, IntType)
    assert isinstance(call.type, VectorType)
    some = out.compare(Icmp.ULT, base, end)
    wider = IntType(max(base.type.bits, 32))
    left = out.resize(out.binary(Opcode.SUB, end, base), wider)
    found = []
    for at in range(call.type.count):
        more = out.compare(Icmp.ULT, number(wider, at), left)
        found.append(out.binary(Opcode.AND, some, more))
    _give(out, call, found)


def _first_set(out: Rewriter, call: ir.Call, _: bool) -> None:
    """The place of the first element that is not zero; their number where there is none."""
    type_, every = call.type, _all(out, call.arguments[0])
    assert isinstance(type_, IntType)
    found: llvm.Value = number(type_, len(every))
    for at in reversed(range(len(every))):
        element = every[at]
        assert isinstance(element.type, IntType)
        bit = out.compare(Icmp.NE, element, number(element.type, 0))
        found = out.select(bit, number(type_, at), found)
    out.named(found, call.result)


def _rounding(out: Rewriter, call: ir.Call, _: bool) -> None:
    assert isinstance(call.type, IntType)
    out.named(number(call.type, _NEAREST), call.result)


def _object_size(out: Rewriter, call: ir.Call, _: bool) -> None:
    """Not known: the least or the most that it may be."""
    assert isinstance(call.type, IntType)
    least = _constant(call.arguments[1])
    out.named(number(call.type, 0 if least else -1), call.result)


# ---- pointers --------------------------------------------------------------------------------


def _pointer_mask(out: Rewriter, call: ir.Call, _: bool) -> None:
    pointer, mask = call.arguments
    bits = out.cast(Opcode.PTRTOINT, pointer, mask.type)
    kept = out.binary(Opcode.AND, bits, mask)
    out.cast(Opcode.INTTOPTR, kept, call.type, call.result or out.name("t"))


def _relative(out: Rewriter, call: ir.Call, _: bool) -> None:
    """The pointer plus the distance that is stored at an offset from it."""
    pointer, offset = call.arguments
    distance = out.load(I32, out.offset(pointer, offset), 4)
    out.named(out.offset(pointer, distance), call.result)


_TABLE: dict[str, Callable[[Rewriter, ir.Call, bool], None]] = {
    "vector.reverse": _reverse,
    "vector.splice": _splice,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
    "experimental.vector.compress": _compress,
    "stepvector": _steps,
    "get.active.lane.mask": _lanes,
    "experimental.cttz.elts": _first_set,
    "get.rounding": _rounding,
    "objectsize": _object_size,
    "ptrmask": _pointer_mask,
    "load.relative": _relative,
}
