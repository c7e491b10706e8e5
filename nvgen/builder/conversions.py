"""Numbers of a kernel in another type.

Layer: nvgen.builder.  Input: a number and a type.  Output: the number in it; integers keep their
sign when they widen, floats are rounded to nearest even, and towards zero on the way to integers.
PTX ISA, cvt.
"""

from __future__ import annotations

from intrinsics.modifiers import ScalarType
from nvgen.builder.float_values import Float, Number, float_of
from nvgen.builder.number_types import PAIR_OF, element_of, is_float, llvm_type_of, scalar_type
from nvgen.builder.values import Int, refuse

T = ScalarType


def convert_integer(value: Int, dtype: object) -> Number:
    """An integer in another type.

    Raises: InputError for what is no type of numbers, or for pairs of them.
    """
    type_ = scalar_type(dtype)
    builder, llvm = value.builder.at_caller(), llvm_type_of(type_)
    if type_ in PAIR_OF.values():
        raise _impossible(value.words, type_)
    if is_float(type_):
        convert = builder.sitofp if value.signed else builder.uitofp
        return float_of(value.builder, convert(value.value, llvm), type_)
    if type_.bits > value.bits:
        widen = builder.sext if value.signed and value.bits > 1 else builder.zext
        return Int(value.builder, widen(value.value, llvm), type_.is_signed)
    if type_.bits < value.bits:
        return Int(value.builder, builder.trunc(value.value, llvm), type_.is_signed)
    return Int(value.builder, value.value, type_.is_signed)


def convert_float(value: Float, dtype: object) -> Number:
    """A floating-point number in another type; of a pair both numbers.

    Raises: InputError for what is no type of numbers, or where one is a pair and the other is not.
    """
    type_ = scalar_type(dtype)
    builder, llvm = value.builder.at_caller(), llvm_type_of(type_)
    if type_ is value.type:
        return value
    if (type_ in PAIR_OF.values()) is not (value.type in PAIR_OF.values()):
        raise _impossible(value.words, type_)
    if not is_float(type_):
        convert = builder.fptosi if type_.is_signed else builder.fptoui
        return Int(value.builder, convert(value.value, llvm), type_.is_signed)
    here, there = element_of(value.type).bits, element_of(type_).bits
    if here == there:
        wider = T.F32X2 if type_ in PAIR_OF.values() else T.F32
        return value.to(wider).to(type_)
    convert = builder.fpext if there > here else builder.fptrunc
    return float_of(value.builder, convert(value.value, llvm), type_)


def _impossible(got: str, type_: ScalarType) -> Exception:
    return refuse(
        "a pair is not converted to one number, nor the other way round",
        got=f"{got} to {type_.value}",
        expected="pair[0], pair[1]; b.pair(x, y)",
    )
