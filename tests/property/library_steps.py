"""Steps that call more of LLVM: of whole vectors, of classes of numbers, with masks."""

from __future__ import annotations

from tests.property.irtypes import (
    BFLOAT,
    FLOAT,
    I1,
    I32,
    I64,
    Float,
    Int,
    Type,
    Vector,
    element,
    like,
    suffix,
)
from tests.property.irtypes import align as abi_align
from tests.property.operations import floats_of, positive_zero, small, vector_of
from tests.property.plans import Picks
from tests.property.writer import Scope, Value, Writer, bits_of


def reduce(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """One number of all lanes; sums and products of floating point in the order of the lanes."""
    found = vector_of(type_)
    if isinstance(found.element, Float):
        name = picks.one(("fadd", "fmul", "fmin", "fmax", "fminimum", "fmaximum"))
        given = [w.operand(scope, found, picks)]
        if name in ("fadd", "fmul"):
            given.insert(0, w.operand(scope, found.element, picks))
        result = w.call(f"llvm.vector.reduce.{name}.{suffix(found)}", found.element, *given)
        return positive_zero(w, result) if name in ("fmin", "fmax") else result
    name = picks.one(("add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin"))
    if name == "mul" and bits_of(found) > 64:
        found = Vector(found.count, I64)
    vector = w.operand(scope, found, picks)
    return w.call(f"llvm.vector.reduce.{name}.{suffix(found)}", found.element, vector)


def lanes(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """The lanes of one vector or of two in another order, or some of them."""
    found = vector_of(type_)
    a, b = w.operand(scope, found, picks), w.operand(scope, found, picks)
    double = Vector(2 * found.count, found.element)
    match picks.below(5):
        case 0:
            return w.call(f"llvm.vector.reverse.{suffix(found)}", found, a)
        case 1:
            first = Value(str(picks.below(2 * found.count) - found.count), I32)
            return w.call(f"llvm.vector.splice.{suffix(found)}", found, a, b, first)
        case 2:
            return w.call(f"llvm.vector.interleave2.{suffix(double)}", double, a, b)
        case 3:
            both = w.call(f"llvm.vector.interleave2.{suffix(double)}", double, a, b)
            where = Value(str(found.count * picks.below(2)), I64)
            name = f"llvm.vector.extract.{suffix(found)}.{suffix(double)}"
            return w.call(name, found, both, where)
        case _:
            both = w.call(f"llvm.vector.interleave2.{suffix(double)}", double, b, a)
            where = Value(str(found.count * picks.below(2)), I64)
            name = f"llvm.vector.insert.{suffix(double)}.{suffix(found)}"
            return w.call(name, double, both, a, where)


_NAN = 3
"""Both sorts of NaN in a mask of ten classes: nobody promises which one comes."""


def classify(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """Whether a number is of some classes; a number scaled by a power of two, or as an integer."""
    found, kind = floats_of(type_, w.features), picks.below(3)
    if kind and element(found) == BFLOAT:  # the host rounds these twice, or has no such function
        found = like(found, FLOAT)
    value = w.operand(scope, found, picks)
    if kind == 0:
        mask = (picks.below(256) * 4) | _NAN * picks.below(2)
        given = value, Value(str(mask), I32)
        return w.call(f"llvm.is.fpclass.{suffix(found)}", like(found, I1), *given)
    if kind == 1:
        powers = like(found, I32)
        power = w.operand(scope, powers, picks)
        return w.call(f"llvm.ldexp.{suffix(found)}.{suffix(powers)}", found, value, power)
    result, name = like(found, I64), picks.one(("lround", "llround", "lrint", "llrint"))
    return w.call(f"llvm.{name}.{suffix(result)}.{suffix(found)}", result, small(w, value))


def masked(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """Some lanes loaded from memory, or stored there and all loaded."""
    found = vector_of(type_)
    if found.element not in (FLOAT, I32, I64, Int(8), Int(16), Float("double"), Float("half")):
        found = Vector(found.count, I32)
    value, other = w.operand(scope, found, picks), w.operand(scope, found, picks)
    mask = w.operand(scope, Vector(found.count, I1), picks)
    name = "%" + w.name("mem")
    w.allocas.append(f"  {name} = alloca {found}, align {abi_align(found)}")
    w.emit(f"store {value}, ptr {name}, align {abi_align(found)}")
    of, align = suffix(found), bits_of(found) // 8
    declared = f"ptr, i32, {mask.type}"
    if picks.below(2) == 0:
        callee = f"llvm.masked.load.{of}.p0"
        w.module.declares[callee] = f"declare {found} @{callee}({declared}, {found})"
        return w.value(found, f"call {found} @{callee}(ptr {name}, i32 {align}, {mask}, {other})")
    callee = f"llvm.masked.store.{of}.p0"
    w.module.declares[callee] = f"declare void @{callee}({found}, {declared})"
    w.emit(f"call void @{callee}({other}, ptr {name}, i32 {align}, {mask})")
    return w.value(found, f"load {found}, ptr {name}, align {abi_align(found)}")


LIBRARY = {"reduce": reduce, "lanes": lanes, "classify": classify, "masked": masked}
