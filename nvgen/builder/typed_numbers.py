"""Numbers by their type: parameters of the kernel, constants, and what bits mean.

Layer: nvgen.builder.  `b.f32("scale")`, before `begin`, declares a parameter; `b.f32(1.5)` is a
constant; `b.f32(word)` is the number whose bits an integer holds.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias, overload

from intrinsics.modifiers import ScalarType
from nvgen.builder.base import BuilderBase
from nvgen.builder.float_values import F32, Float, as_float, float_of
from nvgen.builder.registers import WordLike
from nvgen.builder.values import Int, constant, refuse

T = ScalarType

Given: TypeAlias = WordLike | float
"""Bits, or a number that is known."""


class TypedNumbers(BuilderBase):
    """One method for each type of numbers.

    Each takes the name of a parameter, a Python number, or an integer of the kernel with the
    number's bits; each raises InputError for anything else, for a number beyond the type's, and for
    a parameter that is declared behind `begin` or twice.
    """

    @abstractmethod
    def declare_number(self, name: str, type_: ScalarType) -> None:
        """Declare a parameter of a number."""

    @overload
    def f16(self, value: str) -> None: ...

    @overload
    def f16(self, value: Given) -> Float: ...

    def f16(self, value: str | Given) -> Float | None:
        """A number in f16: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.F16)
        return float_of(self, as_float(self, value, T.F16), T.F16)

    @overload
    def bf16(self, value: str) -> None: ...

    @overload
    def bf16(self, value: Given) -> Float: ...

    def bf16(self, value: str | Given) -> Float | None:
        """A number in bf16: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.BF16)
        return float_of(self, as_float(self, value, T.BF16), T.BF16)

    @overload
    def f32(self, value: str) -> None: ...

    @overload
    def f32(self, value: Given) -> F32: ...

    def f32(self, value: str | Given) -> F32 | None:
        """A number in f32: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.F32)
        return F32(self, as_float(self, value, T.F32))

    @overload
    def f64(self, value: str) -> None: ...

    @overload
    def f64(self, value: Given) -> Float: ...

    def f64(self, value: str | Given) -> Float | None:
        """A number in f64: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.F64)
        return float_of(self, as_float(self, value, T.F64), T.F64)

    @overload
    def i32(self, value: str) -> None: ...

    @overload
    def i32(self, value: Given) -> Int: ...

    def i32(self, value: str | Given) -> Int | None:
        """A signed integer of 32 bits: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.S32)
        return self._integer(value, T.S32)

    @overload
    def u32(self, value: str) -> None: ...

    @overload
    def u32(self, value: Given) -> Int: ...

    def u32(self, value: str | Given) -> Int | None:
        """An unsigned integer of 32 bits: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.U32)
        return self._integer(value, T.U32)

    @overload
    def i64(self, value: str) -> None: ...

    @overload
    def i64(self, value: Given) -> Int: ...

    def i64(self, value: str | Given) -> Int | None:
        """A signed integer of 64 bits: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.S64)
        return self._integer(value, T.S64)

    @overload
    def u64(self, value: str) -> None: ...

    @overload
    def u64(self, value: Given) -> Int: ...

    def u64(self, value: str | Given) -> Int | None:
        """An unsigned integer of 64 bits: a parameter by its name, a constant, or by its bits."""
        if isinstance(value, str):
            return self.declare_number(value, T.U64)
        return self._integer(value, T.U64)

    def f16x2(self, value: Given) -> Float:
        """Two numbers in f16: a Python number twice, or by their bits; see `pair`."""
        return float_of(self, as_float(self, value, T.F16X2), T.F16X2)

    def bf16x2(self, value: Given) -> Float:
        """Two numbers in bf16: a Python number twice, or by their bits; see `pair`."""
        return float_of(self, as_float(self, value, T.BF16X2), T.BF16X2)

    def f32x2(self, value: Given) -> Float:
        """Two numbers in f32: a Python number twice, or by their bits; see `pair`."""
        return float_of(self, as_float(self, value, T.F32X2), T.F32X2)

    def _integer(self, value: Given, type_: ScalarType) -> Int:
        if isinstance(value, Float):
            value = value.word
        if not isinstance(value, Int):
            number = constant(value, type_.bits, signed=type_.is_signed)
            return Int(self, number, type_.is_signed)
        if value.bits != type_.bits:
            raise refuse(
                "bits of another width",
                got=value.words,
                expected=f"{type_.bits} bits",
                hint="x.to(…) is the same number in another type",
            )
        return Int(self, value.value, type_.is_signed)
