"""Number types as methods, `b.f32` and others, and numbers as 32-bit words.

Layer: nvgen.builder.  `b.f32("scale")`, before `begin`, declares a parameter; `b.f32(1.5)` is a
constant; `b.f32(word)` is the number with the bits of an integer.  Instructions that move 32-bit
registers move one word of a number, or two, the lower first.  PTX ISA, shfl.sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, SupportsFloat, TypeAlias, TypeVar, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.number_types import constant, element_of, float_constant, is_float, llvm_type_of
from nvgen.builder.numbers import F32, Float, Int, Number, WordLike, float_of
from nvgen.builder.regions import Host
from nvgen.calling.refusals import described, refuse

T = ScalarType
Made = TypeVar("Made", Int, Float, F32, covariant=True)

Given: TypeAlias = WordLike | float
"""Bits, or a number that is known."""


class Declaring(Host, Protocol):
    """A kernel that may still get parameters."""

    def declare_number(self, name: str, type_: ScalarType) -> None:
        """A parameter that is a number of a type."""


class NumberMaker(Generic[Made]):
    """`b.f32` and its like, of one kernel."""

    def __init__(self, builder: Declaring, type_: ScalarType) -> None:
        self._builder, self._type = builder, type_

    @overload
    def __call__(self, value: str) -> None: ...

    @overload
    def __call__(self, value: Given) -> Made: ...

    def __call__(self, value: str | Given) -> Number | None:
        """A number of the type: a parameter by its name, a constant, or by its bits.

        Raises: InputError for anything else, for a number beyond the type's, and for a parameter
        that is declared behind `begin` or twice.
        """
        b, type_ = self._builder, self._type
        if isinstance(value, str) and element_of(type_) is not type_:
            raise refuse("no parameter is a pair", got=type_.value, expected="two parameters")
        if isinstance(value, str):
            b.declare_number(value, type_)
            return None
        if is_float(type_):
            return float_of(b, as_float(b, value, type_), type_)
        if isinstance(value, Float):
            value = value.word
        if not isinstance(value, Int):
            return Int(b, constant(value, type_.bits, signed=type_.is_signed), type_.is_signed)
        if value.bits != type_.bits:
            raise refuse(
                "bits of another width",
                got=value.words,
                expected=f"{type_.bits} bits",
                hint="x.to(…) is the same number in another type",
            )
        return Int(b, value.value, type_.is_signed)


class NumberVerb(Generic[Made]):
    """A number of one type: its parameters, its constants, and what bits mean."""

    def __init__(self, type_: ScalarType, words: str) -> None:
        self.type = type_
        self.__doc__ = f"{words}: a parameter by its name, a constant, or by its bits."

    def __get__(self, instance: Declaring, owner: type) -> NumberMaker[Made]:
        return NumberMaker(instance, self.type)


def as_float(builder: Host, value: object, type_: ScalarType) -> ir.Value:
    """A number of `type_` as llvmlite's: the kernel's, its bits in an integer, or a known one."""
    if isinstance(value, Float) and value.type is type_:
        return value.value
    if isinstance(value, Int) and value.bits == type_.bits:
        return builder.at_caller().bitcast(value.value, llvm_type_of(type_))
    if isinstance(value, (Int, Float)) or not isinstance(value, SupportsFloat):
        several = not isinstance(value, (Int, Float)) and hasattr(value, "count")
        article = "an F32" if type_ is T.F32 else f"a number in {type_.value}"
        raise refuse(
            f"no {type_.value}",
            got=described(value),
            expected=f"{article}, {type_.bits} bits of one, or a Python number",
            hint="registers one by one: values[0]" if several else f"x.to({type_.value})",
        )
    return float_constant(value, type_)


# ---- words ---------------------------------------------------------------------------------------

WORD = 32
"""Bits of a register that a shuffle moves."""


def words_of(number: Number) -> list[Int]:
    """The words that hold a number's bits, with zeros above them."""
    bits = number.word if isinstance(number, Float) else Int(number.builder, number.value)
    if bits.bits == WORD:
        return [bits]
    if bits.bits < WORD:
        return [bits.zext(WORD)]
    builder, i32 = bits.builder.at_caller(), ir.IntType(WORD)
    return [Int(bits.builder, builder.trunc(part.value, i32)) for part in (bits, bits >> WORD)]


def of_words(number: Number, parts: Sequence[object]) -> object:
    """The results for each word of `words_of(number)`, joined to a number of its type.

    Where an instruction has further results, those for the first word.
    """
    first = parts[0]
    if isinstance(first, tuple):
        firsts = [part[0] for part in parts if isinstance(part, tuple)]
        return (of_words(number, firsts), *first[1:])
    words = [part for part in parts if isinstance(part, Int)]
    builder, width = number.builder.at_caller(), ir.IntType(number.bits)
    if number.bits < WORD:
        found = builder.trunc(words[0].value, width)
    else:
        low, high = (word.zext(2 * WORD) for word in words)
        found = (high << WORD | low).value
    if isinstance(number, Int):
        return number.like(found)
    return number.like(number.builder.at_caller().bitcast(found, number.value.type))
