"""Loads and stores of numbers, one or several that lie side by side.

Layer: nvgen.builder.  Input: an address, a type.  Several numbers go at once as far as `align` lets
them, 16 bytes at most.  PTX ISA, ld; st.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.float_values import Float, Number
from nvgen.builder.number_types import element_of, llvm_type_of, scalar_type
from nvgen.builder.registers import Vector, register_of
from nvgen.builder.values import Int, Pointer, refuse, whole


def load_number(pointer: Pointer, type_: ScalarType) -> Number:
    """One number."""
    llvm, align = llvm_type_of(type_), type_.bits // 8
    value = pointer.builder.at_caller().load(pointer.value, typ=llvm, align=align)
    return register_of(pointer.builder, value, type_)


def load_numbers(pointer: Pointer, dtype: object, count: int, align: int | None) -> Vector:
    """`count` numbers that lie side by side.

    Raises: InputError for what is no type of numbers, a count below 1 and an alignment that is no
    power of two.
    """
    type_, count = scalar_type(dtype), whole(count, "number of numbers")
    if type_ is not element_of(type_):
        raise refuse(
            "no such numbers", got=f"{count} of {type_.value}", expected="one or more, no pairs"
        )
    align = checked_align(align, type_.bits // 8)
    llvm = ir.VectorType(llvm_type_of(type_), count)
    value = pointer.builder.at_caller().load(pointer.value, typ=llvm, align=align)
    return Vector(pointer.builder, value, count, type_)


def store_number(pointer: Pointer, type_: ScalarType, value: Number | float) -> None:
    """Store a number of `type_`, or a Python number.

    Raises: InputError for a number of another type.
    """
    if isinstance(value, (Int, Float)):
        same = isinstance(value, Float) or value.signed is type_.is_signed
        if value.value.type != llvm_type_of(type_) or not same:
            raise refuse(
                "a number of another type is stored",
                got=value.words,
                expected=type_.value,
                hint=f"x.to({type_.value})",
            )
        stored = value.value
    else:
        undefined = ir.Constant(llvm_type_of(type_), ir.Undefined)
        stored = register_of(pointer.builder, undefined, type_).taken(value)
    pointer.builder.at_caller().store(stored, pointer.value, align=type_.bits // 8)


def checked_align(align: int | None, least: int) -> int:
    """An alignment in bytes; that of one number where none is given.

    Raises: InputError for what is no power of two.
    """
    if align is None:
        return least
    if not isinstance(align, int) or align < 1 or align & align - 1:
        raise refuse("no alignment", got=repr(align), expected="a power of two, in bytes")
    return align
