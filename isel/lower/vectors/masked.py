"""Accesses that a mask allows element by element: a branch around each, where it is not known.

Layer: isel.lower.  As in LLVM's code, an element has the bytes that it has in an array, also where
a plain vector has its bits closer together (`<4 x i7>`); a mask that is known to allow all is none,
and there the vector is such a plain one.  LLVM Language Reference, Masked Vector Load and Store
Intrinsics; Masked Vector Gather and Scatter Intrinsics; Masked Vector Expanding Load and
Compressing Store Intrinsics.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I64, Type, VectorType
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_FAMILY = "llvm.masked."


@dataclass(frozen=True, slots=True)
class _Access:
    """One of the family: what is accessed, where, and under which mask.

    `rest` is what elements are that are not loaded, None for a store; `value` what is stored.
    """

    pointer: llvm.Value
    mask: llvm.Value
    vector: VectorType
    size: int
    align: int
    rest: llvm.Value | None
    value: llvm.Value | None
    packed: bool  # elements in memory stand for those only that the mask allows


def lowered(i: ir.Instruction, layout: TypeLayout) -> Replacement | None:
    """The replacement of a masked intrinsic; None for other instructions."""
    name = i.callee_name if isinstance(i, ir.Call) else None
    if name is None or not isinstance(i, ir.Call) or not name.startswith(_FAMILY):
        return None
    access = _access(i, name.removeprefix(_FAMILY).partition(".")[0], layout)
    if access is None:
        return None
    if _allows_all(access):
        return lambda out: _whole(out, i, access)
    return lambda out: _each(out, i, access)


def _access(call: ir.Call, verb: str, layout: TypeLayout) -> _Access | None:
    given = call.arguments
    value: llvm.Value | None = None
    rest: llvm.Value | None = None
    match verb:
        case "load" | "gather" | "expandload":
            place, (pointer, mask, rest) = 0, given
        case "store" | "scatter" | "compressstore":
            place, (value, pointer, mask) = 1, given
        case _:
            return None
    vector = value.type if value is not None else call.type
    if not isinstance(vector, VectorType):
        return None
    attributes = call.argument_attributes.get(place)
    packed = verb in ("expandload", "compressstore")
    size = layout.size(vector.element)
    stated = attributes.integer("align") if attributes is not None else None
    align = stated or (1 if packed else layout.align(vector.element))
    return _Access(pointer, mask, vector, size, align, rest, value, packed)


def _allows_all(access: _Access) -> bool:
    """Whether a vector at one address is accessed as a whole: of odd integers, without gaps."""
    if access.packed or isinstance(access.pointer.type, VectorType):
        return False
    bits = llvm.elements_of(access.mask) or ()
    return bool(bits) and all(isinstance(bit, llvm.ConstInt) and bit.value for bit in bits)


def _whole(out: Rewriter, call: ir.Call, access: _Access) -> None:
    """A plain load or store."""
    if access.value is not None:
        out.store(access.value, access.pointer, access.align)
    else:
        out.load(access.vector, access.pointer, access.align, result=call.result or "")


def _each(out: Rewriter, call: ir.Call, access: _Access) -> None:
    """One access after the other, in the order of the elements."""
    found: list[llvm.Value] = []
    passed: llvm.Value = number(I64, 0)
    for at in range(access.vector.count):
        bit = out.element(access.mask, at)
        pointer, align = _place(out, access, at, passed)
        if access.value is not None:
            _guarded(out, bit, _storing(out, out.element(access.value, at), pointer, align))
        elif access.rest is not None:
            load = _loading(out, access.vector.element, pointer, align)
            found.append(_chosen(out, bit, load, out.element(access.rest, at)))
        if access.packed:
            passed = out.binary(Opcode.ADD, passed, out.cast(Opcode.ZEXT, bit, I64))
    if found:
        out.named(out.vector(found), call.result)


def _place(out: Rewriter, access: _Access, at: int, passed: llvm.Value) -> tuple[llvm.Value, int]:
    """The address of an element, and its alignment."""
    if isinstance(access.pointer.type, VectorType):
        return out.element(access.pointer, at), access.align
    if access.packed:
        offset = out.binary(Opcode.MUL, passed, number(I64, access.size))
        return out.offset(access.pointer, offset), math.gcd(access.align, access.size)
    distance = at * access.size
    pointer = out.offset(access.pointer, number(I64, distance)) if at else access.pointer
    return pointer, math.gcd(access.align, distance) if at else access.align


def _loading(
    out: Rewriter, type_: Type, pointer: llvm.Value, align: int
) -> Callable[[], llvm.Value]:
    return lambda: out.load(type_, pointer, align)


def _storing(
    out: Rewriter, value: llvm.Value, pointer: llvm.Value, align: int
) -> Callable[[], None]:
    return lambda: out.store(value, pointer, align)


def _guarded(out: Rewriter, bit: llvm.Value, make: Callable[[], None]) -> None:
    """What is done where the bit is set."""
    if isinstance(bit, llvm.Constant):
        if isinstance(bit, llvm.ConstInt) and bit.value:
            make()
        return
    inside, behind = out.name("allowed"), out.name("masked")
    out.branch_if(bit, inside, behind)
    out.open(inside)
    make()
    out.branch(behind)
    out.open(behind)


def _chosen(
    out: Rewriter, bit: llvm.Value, make: Callable[[], llvm.Value], otherwise: llvm.Value
) -> llvm.Value:
    """What is loaded where the bit is set, else another value."""
    if isinstance(bit, llvm.Constant):
        return make() if isinstance(bit, llvm.ConstInt) and bit.value else otherwise
    before = out.here
    made: list[llvm.Value] = []
    _guarded(out, bit, lambda: made.append(make()))
    return out.phi(otherwise.type, (made[0], out.blocks[-2].name), (otherwise, before))
