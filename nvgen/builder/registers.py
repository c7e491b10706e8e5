"""Registers that instructions give and take: several of them, of a type where it is known.

Layer: nvgen.builder.  A multiply gives registers of its sums' type: floating-point numbers, pairs
of f16, or signed integers.  PTX ISA, Matrix Fragments.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.elementwise import Elementwise
from nvgen.builder.float_values import (
    F32,
    F32Like,
    Float,
    FloatLike,
    Number,
    Register,
    as_f32,
    float_of,
)
from nvgen.builder.number_types import is_float, llvm_type_of
from nvgen.builder.values import Int, described, refuse

if TYPE_CHECKING:
    from nvgen.builder.base import BuilderBase

__all__ = [
    "F32",
    "F32Like",
    "Float",
    "FloatLike",
    "Number",
    "Register",
    "Vector",
    "Word",
    "WordLike",
    "as_f32",
    "register_of",
    "vector_of",
]

Word: TypeAlias = Int | Float
"""A register of the kernel, whatever its bits mean."""

WordLike: TypeAlias = Word | int


def register_of(builder: BuilderBase, value: ir.Value, type_: ScalarType | None) -> Word:
    """A register with bits that mean a number of `type_`; an Int where that is not said."""
    if type_ is None:
        return Int(builder, value)
    if is_float(type_):
        return float_of(builder, builder.at_caller().bitcast(value, llvm_type_of(type_)), type_)
    return Int(builder, value, type_.is_signed)


@dataclass(frozen=True, slots=True, eq=False)
class Vector(Elementwise):
    """Registers that an instruction gave or takes, or numbers that lie side by side in memory.

    `type` is what each of them holds, where that is known: `values[3]` is of it, an Int else, and
    operators go element by element, with another vector of the type or one number for all.
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

    def like(self, value: ir.Value) -> Vector:
        """Another value of llvmlite's as registers of this type."""
        return Vector(self.builder, value, self.count, self.type)

    def taken(self, other: object) -> ir.Value:
        """A vector of this type and length as llvmlite's.

        Raises: InputError for anything else.
        """
        if not isinstance(other, Vector) or (other.count, other.type) != (self.count, self.type):
            raise refuse("another vector", got=described(other), expected=self.words)
        return self.builder.at_caller().bitcast(other.value, self.value.type)

    @property
    def words(self) -> str:
        """How many of which type, in words."""
        return f"{self.count} of {self.type.value if self.type else 'untyped registers'}"

    @property
    def vector(self) -> Vector:
        """Itself."""
        return self

    def made(self, vector: Vector) -> Vector:
        """Another one."""
        return vector

    def spread(self, other: Elementwise) -> Vector:
        """Another vector of as many numbers.

        Raises: InputError for anything else.
        """
        if not isinstance(other, Vector) or (other.count, other.type) != (self.count, self.type):
            got = other.words if isinstance(other, Vector) else described(other)
            raise refuse("vectors of two kinds", got=got, expected=self.words)
        return other

    @property
    def typed(self) -> ir.Value:
        """The numbers as a vector of their own type, as llvmlite's."""
        assert self.type is not None
        llvm = ir.VectorType(llvm_type_of(self.type), self.count)
        return self.builder.at_caller().bitcast(self.value, llvm)

    def splat(self, number: object) -> Vector:
        """As many times one number of the same type, or a Python number.

        Raises: InputError for a number of another type, or where the type is not known.
        """
        if self.type is None:
            raise refuse("registers whose type is not known", got=self.words, expected="values.f32")
        llvm, builder = llvm_type_of(self.type), self.builder.at_caller()
        raw = register_of(self.builder, ir.Constant(llvm, ir.Undefined), self.type).taken(number)
        whole = ir.VectorType(llvm, self.count)
        if isinstance(raw, ir.Constant):
            value = ir.Constant(whole, [raw] * self.count)
        else:
            i32, undefined = ir.IntType(32), ir.Constant(whole, ir.Undefined)
            first = builder.insert_element(undefined, raw, ir.Constant(i32, 0))
            mask = ir.Constant(ir.VectorType(i32, self.count), [ir.Constant(i32, 0)] * self.count)
            value = builder.shuffle_vector(first, undefined, mask)
        return Vector(self.builder, value, self.count, self.type)

    def taken_apart(self, wanted: Sequence[int]) -> Vector:
        """The numbers of these indices, which may repeat, as a vector."""
        i32, words = ir.IntType(32), self._words_of(wanted)
        if words:
            mask = ir.Constant(ir.VectorType(i32, len(words)), [ir.Constant(i32, i) for i in words])
            undefined = ir.Constant(self.value.type, ir.Undefined)
            found = self.builder.at_caller().shuffle_vector(self.value, undefined, mask)
            return Vector(self.builder, found, len(wanted), self.type)
        typed = self.typed
        mask = ir.Constant(ir.VectorType(i32, len(wanted)), [ir.Constant(i32, i) for i in wanted])
        undefined = ir.Constant(typed.type, ir.Undefined)
        found = self.builder.at_caller().shuffle_vector(typed, undefined, mask)
        return Vector(self.builder, found, len(wanted), self.type)

    def reduce(self, function: Callable[[Number, Number], Number]) -> Number:
        """What `function` makes of all the numbers, two at a time, neighbours first."""
        numbers: list[Number] = list(self)
        while len(numbers) > 1:
            pairs = zip(numbers[::2], numbers[1::2], strict=False)
            odd = numbers[-1:] if len(numbers) % 2 else []
            numbers = [*(function(a, b) for a, b in pairs), *odd]
        return numbers[0]

    def sum(self) -> Number:
        """Their sum, in pairs."""
        return self.reduce(operator.add)

    def largest(self) -> Number:
        """The greatest of them."""
        return self.reduce(lambda a, b: a.max(b))  # type: ignore[arg-type]  # of one type

    def _words_of(self, wanted: Sequence[int]) -> list[int]:
        """The words that some numbers are, where numbers lie in words and whole ones are wanted."""
        held = self.value.type
        each = self.count // held.count if isinstance(held, ir.VectorType) else 1
        if each < 2 or len(wanted) % each:
            return []
        starts = [wanted[i] for i in range(0, len(wanted), each)]
        whole = [start + i for start in starts for i in range(each)]
        even = all(start % each == 0 for start in starts)
        return [start // each for start in starts] if even and whole == list(wanted) else []

    def _one(self, number: int) -> Word:
        if not isinstance(number, SupportsIndex) or not 0 <= number < self.count:
            raise refuse("no such register", got=described(number), expected=f"0..{self.count - 1}")
        value = self.value
        if isinstance(value.type, ir.VectorType) and value.type.count != self.count:
            value = self.typed  # several numbers in a word
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
        packed = self.value.type.count != self.count
        value = self.typed if packed else self.value
        undefined = ir.Constant(value.type, ir.Undefined)
        found = self.builder.at_caller().shuffle_vector(value, undefined, mask)
        return Vector(self.builder, found, len(wanted), self.type)


def vector_of(numbers: Sequence[Number]) -> Vector:
    """Numbers of one type side by side: a vector of that type.

    Raises: InputError for none, and for numbers of several types.
    """
    types = {type_of(number) for number in numbers}
    if len(types) != 1:
        words = ", ".join(sorted(number.words for number in numbers)) or "none"
        raise refuse("numbers of one type make a vector", got=words, expected="one or more")
    (type_,), first = types, numbers[0]
    found: ir.Value = ir.Constant(ir.VectorType(llvm_type_of(type_), len(numbers)), ir.Undefined)
    for index, number in enumerate(numbers):
        place = ir.Constant(ir.IntType(32), index)
        found = first.builder.at_caller().insert_element(found, number.value, place)
    return Vector(first.builder, found, len(numbers), type_)


def type_of(number: Number) -> ScalarType:
    """The type of a number; a condition has none.

    Raises: InputError for what is no number of the kernel, and for a condition.
    """
    if isinstance(number, Float):
        return number.type
    if not isinstance(number, Int) or number.bits not in (8, 16, 32, 64):
        raise refuse("no number of the kernel", got=described(number), expected="an Int or a Float")
    return ScalarType(f"{'s' if number.signed else 'u'}{number.bits}")
