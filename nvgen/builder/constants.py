"""Python numbers as constants of a kernel, or the words that refuse them.

Layer: nvgen.builder.  Input: a number that is known while the kernel is built, and a type.  Output:
llvmlite's constant, rounded to nearest even.
"""

from __future__ import annotations

import math
import operator
import struct
from typing import SupportsFloat, SupportsIndex

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.modifiers import ScalarType
from nvgen.builder.number_types import STORED, element_of, llvm_type_of
from nvgen.builder.refusals import described, refuse

T = ScalarType
_LARGEST = {
    T.E4M3: 448.0,
    T.E5M2: 57344.0,
    T.F16: 65504.0,
    T.BF16: 3.3895313892515355e38,
    T.F32: 3.4028234663852886e38,
}


def instead(given: object) -> str:
    """What to write in place of what is no integer of the kernel, nor a whole number."""
    if hasattr(given, "word"):
        return "x.to(u32) is the number as an integer, x.word the register's bits as one"
    if hasattr(given, "set"):
        return "v.value is what the variable holds at this place"
    if isinstance(given, float):
        return "b.f32(1.5) is a number in f32, b.f32(word) the one whose bits a word holds"
    return ""


def constant(given: object, bits: int, *, signed: bool = False) -> ir.Constant:
    """A constant of a width; of an unsigned type a negative one counts from the top.

    Raises: InputError when it is no whole number, or does not fit.
    """
    if not isinstance(given, SupportsIndex):
        raise refuse(
            "no integer",
            got=described(given),
            expected=f"i{bits}, or a whole number",
            hint=instead(given),
        )
    value = int(operator.index(given))
    if not -(1 << max(bits - 1, 1)) <= value < 1 << bits - (signed and bits > 1):
        raise refuse(f"{value} does not fit into {bits} bits", got=str(value), expected=f"i{bits}")
    return ir.Constant(ir.IntType(bits), value)


def float_constant(given: SupportsFloat, type_: ScalarType) -> ir.Constant:
    """The number of a type next to a Python number, in a pair twice.

    Raises: InputError where none is finite, and the number is.
    """
    number = float(given)
    element = element_of(type_)
    if math.isfinite(number) and abs(number) > _LARGEST.get(element, math.inf):
        most = f"±{_LARGEST[element]:.5g}"
        if element is not T.F32 or _overflows(number):
            raise refuse(f"the number is beyond {element.value}'s", got=str(given), expected=most)
    if element in STORED:
        return ir.Constant(ir.IntType(8), _bits_of(number, element))
    code = {T.F32: "<f", T.F16: "<e"}.get(element)
    if code:
        (number,) = struct.unpack(code, struct.pack(code, number))
    one = ir.Constant(llvm_type_of(element), number)
    return one if element is type_ else ir.Constant(llvm_type_of(type_), [one, one])


def _bits_of(number: float, type_: ScalarType) -> int:
    """The bits of the nearest number of 8 bits."""
    import numpy as np

    given = np.array([number]).astype(ElementType(type_.value).numpy)
    return int(given.view(np.uint8)[0])


def _overflows(number: float) -> bool:
    try:
        struct.pack("<f", number)
    except OverflowError:
        return True
    return False
