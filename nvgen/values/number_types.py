"""The types of numbers that a kernel computes with, and Python numbers as constants of them.

Layer: nvgen.values.  `from nvgen import f32, bf16, i32` gives members of `ElementType` where a
matrix has such elements, so that one name serves a tile and a value, and of `ScalarType` where none
has.  Constants are rounded to nearest even, or refused in words.  PTX ISA, Types.
"""

from __future__ import annotations

import math
import operator
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import ClassVar, Final, Literal, SupportsFloat, TypeVar

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.modifiers import ScalarType
from nvgen.calling.refusals import OF_NUMBERS, Named, described, index_of, refuse
from nvgen.llvm.ir_text import BFloatType
from nvgen.values.regions import Host

E = ElementType
T = ScalarType
NumberType = ElementType | ScalarType
"""What says of which type a number is."""

f16: Final = E.F16
bf16: Final = E.BF16
tf32: Final = E.TF32
f32: Final = E.F32
f64: Final = T.F64
f16x2: Final = T.F16X2
bf16x2: Final = T.BF16X2
f32x2: Final = T.F32X2
e4m3: Final = E.E4M3
e5m2: Final = E.E5M2
i8: Final = E.S8
i16: Final = T.S16
i32: Final = E.S32
i64: Final = T.S64
u8: Final = E.U8
u16: Final = T.U16
u32: Final = T.U32
u64: Final = T.U64

FloatType = Literal[
    E.E4M3, E.E5M2, E.F16, E.BF16, E.F32,
    T.F16, T.BF16, T.F32, T.F64, T.F16X2, T.BF16X2, T.F32X2,
]  # fmt: skip
"""Types of floating-point numbers, and of pairs of them."""

IntType = Literal[
    E.S8, E.U8, E.S32, T.S8, T.S16, T.S32, T.S64, T.U8, T.U16, T.U32, T.U64
]  # fmt: skip
"""Types of integers."""

PAIRS = {T.F16X2: T.F16, T.BF16X2: T.BF16, T.F32X2: T.F32}
"""The types of two numbers side by side, with theirs."""

PAIR_OF = {element: pair for pair, element in PAIRS.items()}
"""The type of two numbers side by side, by theirs."""

_INTEGERS = tuple(ScalarType(f"{sign}{bits}") for bits in (8, 16, 32, 64) for sign in "su")
STORED = (T.E4M3, T.E5M2)
"""Numbers that memory and multiplies have, and that a thread computes with in another type."""

_FLOATS = (T.F16, T.BF16, T.F32, T.F64, *STORED)


def scalar_type(dtype: object) -> ScalarType:
    """The type of a number as a scalar's."""
    if isinstance(dtype, ElementType):
        dtype = next((t for t in ScalarType if t.value == dtype.value), dtype)
    if isinstance(dtype, ScalarType) and dtype in (*_INTEGERS, *_FLOATS, *PAIRS):
        return dtype
    got = str(dtype.value) if isinstance(dtype, NumberType) else described(dtype)
    expected = "i8 to i64, u8 to u64, e4m3, e5m2, f16, bf16, f32, f64, f16x2, bf16x2 or f32x2"
    hint = "from nvgen import f32, bf16, i32, …"
    raise refuse("no type of numbers", got=got, expected=expected, hint=hint)


def is_float(type_: ScalarType) -> bool:
    """Whether a scalar type is of floating-point numbers, or of pairs of them."""
    return type_ in _FLOATS or type_ in PAIRS


def element_of(type_: ScalarType) -> ScalarType:
    """The type of one number of a pair; that of a number is its own."""
    return PAIRS.get(type_, type_)


def suffix_of(type_: ScalarType) -> str:
    """What LLVM appends to the name of an overloaded intrinsic for numbers, or pairs, of a type."""
    return f"v2{PAIRS[type_].value}" if type_ in PAIRS else type_.value


def llvm_type_of(type_: ScalarType) -> ir.Type:
    """LLVM's type of a number, or of a pair of them."""
    if type_ in PAIRS:
        return ir.VectorType(llvm_type_of(PAIRS[type_]), 2)
    match type_:
        case T.F16:
            return ir.HalfType()
        case T.BF16:
            return BFloatType()
        case T.F32:
            return ir.FloatType()
        case T.F64:
            return ir.DoubleType()
        case _:
            return ir.IntType(type_.bits)


# ---- numbers -------------------------------------------------------------------------------------


class Scalar(Named, ABC):
    """What all numbers of a kernel have in common."""

    __slots__ = ()

    elsewhere: ClassVar[Mapping[str, str]] = OF_NUMBERS
    builder: Host

    @property
    @abstractmethod
    def words(self) -> str:
        """Its type, in words."""

    def __repr__(self) -> str:
        return f"<{self.words} of {self.builder.name}>"

    def __hash__(self) -> int:
        return id(self)


class Several:
    """Numbers of one type, several in a thread.  Beside a number their own operators are asked."""

    __slots__ = ()


def worded(value: object) -> str:
    """The type of a number of the kernel, or what something else is."""
    return value.words if isinstance(value, Scalar) else described(value)


# ---- constants -----------------------------------------------------------------------------------

_LARGEST = {
    T.E4M3: 448.0, T.E5M2: 57344.0,
    T.F16: 65504.0, T.BF16: 3.3895313892515355e38, T.F32: 3.4028234663852886e38,
}  # fmt: skip


_BEYOND_F32 = (2 - 2.0**-24) * 2.0**127
"""From here on numbers are rounded to infinity."""


def instead(given: object) -> str:
    """What to write in place of what is no integer of the kernel, nor a whole number."""
    if hasattr(given, "word"):
        return "x.to(u32) is the number as an integer, x.word the register's bits as one"
    if hasattr(given, "set"):
        return "v.value is what the variable holds at this place"
    if isinstance(given, float):
        return "b.f32(1.5) is a number in f32, b.f32(word) the one whose bits a word holds"
    return ""


def checked_width(bits: int, least: int = 1) -> int:
    """The number of bits of an integer, of which LLVM has up to 2**23."""
    if type(bits) is not int or not least <= bits <= 1 << 23:
        expected = f"a whole number of bits, {least} or more"
        hint = "b.f32(1.5) and b.u64(1) are constants of a type, x.to(f32) converts"
        hint = hint if isinstance(bits, NumberType) else ""
        raise refuse("no width of an integer", got=described(bits), expected=expected, hint=hint)
    return bits


def constant(given: object, bits: int, *, signed: bool = False) -> ir.Constant:
    """A constant of a width; of an unsigned type a negative one counts from the top."""
    value, bits = index_of(given), checked_width(bits)
    if value is None:
        expected = f"i{bits}, or a whole number"
        raise refuse("no integer", got=described(given), expected=expected, hint=instead(given))
    if not -(1 << max(bits - 1, 1)) <= value < 1 << bits - (signed and bits > 1):
        told = described(value)
        raise refuse(f"{told} does not fit into {bits} bits", got=told, expected=f"i{bits}")
    return ir.Constant(ir.IntType(bits), value)


def float_constant(given: SupportsFloat, type_: ScalarType) -> ir.Constant:
    """The number of a type next to a Python number, in a pair twice."""
    element = element_of(type_)
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise refuse("no number", got=repr(given)[:60], expected="a number of Python's") from None
    except OverflowError:  # an int beyond f64's numbers
        most = f"±{_LARGEST.get(element, sys.float_info.max):.5g}"
        raise refuse(f"the number is beyond {element.value}'s", expected=most) from None
    if math.isfinite(number) and abs(number) > _LARGEST.get(element, math.inf):
        most = f"±{_LARGEST[element]:.5g}"
        if element is not T.F32 or abs(number) >= _BEYOND_F32:
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


# ---- operations ----------------------------------------------------------------------------------


def called(host: Host, name: str, *values: ir.Value) -> ir.Value:
    """A call of an intrinsic whose arguments and whose result are of one type."""
    type_ = values[0].type
    function = host.declare(name, ir.FunctionType(type_, [type_] * len(values)))
    return host.at_caller().call(function, list(values))


Powered = TypeVar("Powered")

_MOST_POWER = 64
"""The greatest exponent: of a greater one the roundings of the products add up."""


def power(
    number: Powered, exponent: object, hint: str, product: Callable[[Powered, Powered], Powered]
) -> Powered:
    """A number to the power of a known exponent from 1 on: squares, and products of these."""
    if not isinstance(exponent, Integral) or not 1 <= operator.index(exponent) <= _MOST_POWER:
        got, expected = described(exponent), f"a whole Python number from 1 to {_MOST_POWER}"
        raise refuse("no exponent", got=got, expected=expected, hint=hint)
    found = number
    for digit in f"{operator.index(exponent):b}"[1:]:
        found = product(found, found)
        if digit == "1":
            found = product(found, number)
    return found


def name_of_type(type_: ScalarType) -> str:
    """What a number type is called in nvgen: i32, which is s32 in PTX."""
    signed = type_.is_signed and type_.kind == "i"
    return f"i{type_.bits}" if signed and not type_.is_packed else type_.value


def not_known(hint: str) -> InputError:
    """What is said where Python asks for the value of a number."""
    return refuse(
        "a value of the kernel is not known while the kernel is built",
        got="a value that the GPU computes", expected="Python's", hint=hint,
    )  # fmt: skip


def no_conversion(got: str, type_: ScalarType) -> InputError:
    """What is said of a conversion from or to a pair."""
    return refuse(
        "a pair is not converted to one number, nor the other way round",
        got=f"{got} to {type_.value}",
        expected="pair[0], pair[1]; b.pair(x, y)",
    )


def narrow_word(host: Host, low: ir.Value, high: ir.Value, type_: ScalarType) -> ir.Value:
    """Two f32, rounded to a type of 8 bits, in 16 bits."""
    made = ir.FunctionType(ir.IntType(16), [low.type, low.type])
    function = host.declare(f"llvm.nvvm.ff.to.{type_.value}x2.rn", made)
    return host.at_caller().call(function, [high, low])


def wide_pair(host: Host, word: ir.Value, type_: ScalarType) -> ir.Value:
    """Two numbers of 8 bits as a pair in f16, which has them all."""
    made = ir.FunctionType(llvm_type_of(T.F16X2), [word.type])
    function = host.declare(f"llvm.nvvm.{type_.value}x2.to.f16x2.rn", made)
    return host.at_caller().call(function, [word])
