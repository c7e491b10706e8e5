"""Registers whose bits are no integer: floating-point numbers, and what several numbers share.

Layer: nvgen.builder.  A multiply gives registers of its sums' type.  An f32 has arithmetic of its
own, rounded to nearest even; of the others only the bits are at hand.  `word` is a register's bits
as an integer, whatever they mean.  PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, SupportsFloat, SupportsIndex, TypeAlias, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.values import Int, described, refuse

if TYPE_CHECKING:
    from nvgen.builder.base import BuilderBase

_F32 = ir.FloatType()
_MEANINGS = {
    ScalarType.F16X2: "two f16",
    ScalarType.S32: "a signed integer",
    ScalarType.F64: "an f64",
}


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """A register of a `type`; it is stored, exchanged and multiplied as it is."""

    builder: BuilderBase
    value: ir.Value
    type: ScalarType

    @property
    def bits(self) -> int:
        """The width."""
        return self.type.bits

    @property
    def word(self) -> Int:
        """Its bits as an unsigned integer."""
        bits = ir.IntType(self.bits)
        return Int(self.builder, self.builder.at_caller().bitcast(self.value, bits))

    def _no_integer(self, *_: object) -> NoReturn:
        meaning = _MEANINGS.get(self.type, f"an {self.type.value}")
        raise refuse(
            "an integer operation on a register that holds no unsigned integer",
            got=meaning,
            expected="an Int",
            hint="x.word is its bits as an unsigned integer",
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_integer
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_integer
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __index__ = _no_integer

    def __bool__(self) -> bool:
        raise refuse(
            "a value of the kernel is not known while the kernel is built",
            hint="branch on it with `with b.if_(condition):`",
        )


class Packed(Register):
    """A register without arithmetic in the builder: two f16, or a signed sum."""

    __slots__ = ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = Register._no_integer
    __truediv__ = __rtruediv__ = __neg__ = Register._no_integer
    __lt__ = __le__ = __gt__ = __ge__ = Register._no_integer

    def __eq__(self, other: object) -> NoReturn:
        self._no_integer()

    def __ne__(self, other: object) -> NoReturn:
        self._no_integer()

    def __hash__(self) -> int:
        return id(self)


class F32(Register):
    """A number in f32: `+`, `-` and `*` round to nearest even, comparisons give conditions.

    A Python number stands for the f32 next to it.  `b.fma_f32` multiplies and adds with one
    rounding; `b.f32(word)` is the number whose bits an integer holds.
    """

    __slots__ = ()

    def __init__(self, builder: BuilderBase, value: ir.Value) -> None:
        super().__init__(builder, value, ScalarType.F32)

    def _other(self, other: F32Like) -> ir.Value:
        if isinstance(other, (Int, Register)) and not isinstance(other, F32):
            raise refuse(
                "an f32 and another type in one operation",
                got=described(other),
                expected="an F32, or a Python number",
                hint="b.f32(word) is the f32 whose bits a word holds",
            )
        return as_f32(self.builder, other)

    def _binary(self, name: str, other: F32Like, *, swapped: bool = False) -> F32:
        given = self._other(other)
        operation = getattr(self.builder.at_caller(), name)
        pair = (given, self.value) if swapped else (self.value, given)
        return F32(self.builder, operation(*pair))

    def __add__(self, other: F32Like) -> F32:
        return self._binary("fadd", other)

    def __sub__(self, other: F32Like) -> F32:
        return self._binary("fsub", other)

    def __mul__(self, other: F32Like) -> F32:
        return self._binary("fmul", other)

    def __radd__(self, other: F32Like) -> F32:
        return self._binary("fadd", other, swapped=True)

    def __rsub__(self, other: F32Like) -> F32:
        return self._binary("fsub", other, swapped=True)

    def __rmul__(self, other: F32Like) -> F32:
        return self._binary("fmul", other, swapped=True)

    def __neg__(self) -> F32:
        return F32(self.builder, self.builder.at_caller().fneg(self.value))

    def __truediv__(self, other: object) -> NoReturn:
        raise refuse(
            "the builder has no quotient of f32",
            got=f"a division by {described(other)}",
            expected="+, - or *",
            hint="by a number that is known: x * (1 / number)",
        )

    __rtruediv__ = __truediv__

    def _compare(self, predicate: str, other: F32Like) -> Int:
        given, builder = self._other(other), self.builder.at_caller()
        compare = builder.fcmp_unordered if predicate == "!=" else builder.fcmp_ordered
        return Int(self.builder, compare(predicate, self.value, given))

    def __eq__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("==", _f32_like(other))

    def __ne__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("!=", _f32_like(other))

    def __lt__(self, other: F32Like) -> Int:
        return self._compare("<", other)

    def __le__(self, other: F32Like) -> Int:
        return self._compare("<=", other)

    def __gt__(self, other: F32Like) -> Int:
        return self._compare(">", other)

    def __ge__(self, other: F32Like) -> Int:
        return self._compare(">=", other)

    def __hash__(self) -> int:
        return id(self)


F32Like: TypeAlias = F32 | float
"""A number in f32: the kernel's, or one that is known."""

Word: TypeAlias = Int | Register
"""A register of the kernel, whatever its bits mean."""

WordLike: TypeAlias = Word | int


def _f32_like(value: object) -> F32Like:
    if isinstance(value, (F32, float)):
        return value
    if isinstance(value, SupportsFloat):
        return float(value)
    raise refuse("an f32 is compared with something else", got=described(value), expected="an F32")


def as_f32(builder: BuilderBase, value: object) -> ir.Value:
    """An f32 as llvmlite's: a number of the kernel, the bits of one in a word, or a known number.

    Raises: InputError for another width or type, and for a number beyond f32's.
    """
    if isinstance(value, F32):
        return value.value
    if isinstance(value, Int) and value.bits == ScalarType.F32.bits:
        return builder.at_caller().bitcast(value.value, _F32)
    if isinstance(value, (Int, Register)) or not isinstance(value, SupportsFloat):
        raise refuse(
            "no f32",
            got=described(value),
            expected="an F32, 32 bits of one, or a Python number",
            hint="registers one by one: values[0]" if isinstance(value, Vector) else "",
        )
    return ir.Constant(_F32, _rounded(value))


def _rounded(value: SupportsFloat) -> float:
    """The f32 next to a number.

    Raises: InputError where none is finite, and the number is.
    """
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", float(value)))
    except OverflowError:
        raise refuse("the number is beyond f32's", got=str(value), expected="±3.4e38") from None
    return float(rounded)


def register_of(builder: BuilderBase, value: ir.Value, type_: ScalarType | None) -> Word:
    """A register with bits that mean a number of `type_`; an Int where that is not said."""
    if type_ is None:
        return Int(builder, value)
    if type_ is ScalarType.F32:
        return F32(builder, builder.at_caller().bitcast(value, _F32))
    return Packed(builder, value, type_)


@dataclass(frozen=True, slots=True)
class Vector:
    """Registers that an instruction gave or takes: a vector of i32 (of i64 for f64).

    `type` is what each of them holds, where that is known: `values[3]` is of it, an Int else.
    """

    builder: BuilderBase
    value: ir.Value
    count: int
    type: ScalarType | None = None

    @overload
    def __getitem__(self, part: int) -> Word: ...

    @overload
    def __getitem__(self, part: slice) -> Vector: ...

    def __getitem__(self, part: int | slice) -> Word | Vector:
        """One of the registers, or some as a vector: `values[3]`, `values[0:4]`.

        Raises: InputError for a part that is not there.
        """
        return self._some(part) if isinstance(part, slice) else self._one(part)

    def __iter__(self) -> Iterator[Word]:
        """The registers, one after the other."""
        return (self._one(number) for number in range(self.count))

    @property
    def f32(self) -> Vector:
        """The same registers, each of which holds an f32."""
        return Vector(self.builder, self.value, self.count, ScalarType.F32)

    def _one(self, number: int) -> Word:
        if not isinstance(number, SupportsIndex) or not 0 <= number < self.count:
            raise refuse("no such register", got=described(number), expected=f"0..{self.count - 1}")
        value = self.value
        if self.count > 1 or isinstance(value.type, ir.VectorType):
            place = ir.Constant(ir.IntType(32), int(number))
            value = self.builder.at_caller().extract_element(value, place)
        return register_of(self.builder, value, self.type)

    def _some(self, part: slice) -> Vector:
        start, stop, step = part.indices(self.count)
        wanted = range(start, stop, step)
        if len(wanted) < 2 or (part.stop or 0) > self.count:
            raise refuse(
                "no such part of the registers",
                got=f"{part.start}:{part.stop}",
                expected=f"two or more of {self.count}",
            )
        i32 = ir.IntType(32)
        mask = ir.Constant(ir.VectorType(i32, len(wanted)), [ir.Constant(i32, i) for i in wanted])
        undefined = ir.Constant(self.value.type, ir.Undefined)
        found = self.builder.at_caller().shuffle_vector(self.value, undefined, mask)
        return Vector(self.builder, found, len(wanted), self.type)
