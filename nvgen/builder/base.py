"""What every part of the builder stands on: llvmlite's builder, Python lines, plain values.

Layer: nvgen.builder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from intrinsics.targets import Target
from nvgen.builder.float_values import (
    Float,
    FloatLike,
    Number,
    Register,
    as_float,
    pair_of,
)
from nvgen.builder.map_checks import DeclaredMap
from nvgen.builder.regions import PlacedBuilder, Regions
from nvgen.builder.registers import Vector, WordLike, vector_of
from nvgen.builder.values import Int, IntLike, Pointer, constant, described, refuse

_FLOATS = {ir.FloatType: ScalarType.F32, ir.DoubleType: ScalarType.F64}


class BuilderBase:
    """A module under construction, and where its next instruction goes."""

    target: Target | None = None
    """The target that the kernel is for, where operations differ with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = ir.Module(name=name)
        self.module.triple = "nvptx64-nvidia-cuda"
        self._functions: dict[str, ir.Function] = {}
        self._maps: dict[str, DeclaredMap] = {}  # tensor maps among the parameters
        self.regions = Regions()
        self._ir: PlacedBuilder | None = None

    def at_caller(self) -> ir.IRBuilder:
        """llvmlite's builder, set to the lines of Python that called into nvgen."""
        if self._ir is None:
            raise refuse("the kernel has no body yet", hint="call begin() first")
        self._ir.at_caller()
        return self._ir

    def known_target(self) -> Target:
        """The target that the kernel is for.

        Raises: InputError where it was not said.
        """
        if self.target is None:
            raise refuse(
                "what this operation becomes depends on the target",
                got="no target",
                expected="KernelBuilder(…, target=…)",
            )
        return self.target

    def declared_map(self, tmap: Pointer) -> DeclaredMap:
        """What is known of a tensor map among the parameters.

        Raises: InputError for another one.
        """
        known = self._maps.get(tmap.value.name) if isinstance(tmap, Pointer) else None
        if known is None:
            raise refuse(
                "no tensor map of this kernel",
                got=str(getattr(tmap, "value", tmap)),
                expected="a parameter: b.tile_map(name, …), then args[name]",
            )
        return known

    def declare(self, name: str, type_: ir.FunctionType) -> ir.Function:
        """The declaration of a function."""
        if name not in self._functions:
            self._functions[name] = ir.Function(self.module, type_, name)
        return self._functions[name]

    def int_type(self, bits: int) -> ir.IntType:
        """LLVM's integer type."""
        return ir.IntType(bits)

    def const(self, value: int, bits: int = 32) -> Int:
        """A constant."""
        return Int(self, constant(value, bits))

    def zext(self, value: Int, bits: int) -> Int:
        """The bits of an integer in more bits, with zeros before them.

        Raises: InputError for fewer.
        """
        self._check_wider(value, bits)
        return Int(self, self.at_caller().zext(value.value, ir.IntType(bits)))

    def widened(self, value: Int, bits: int) -> Int:
        """The same number in more bits, by its sign.

        Raises: InputError for fewer.
        """
        self._check_wider(value, bits)
        builder = self.at_caller()
        widen = builder.sext if value.signed else builder.zext
        return value.like(widen(value.value, ir.IntType(bits)))

    @staticmethod
    def _check_wider(value: Int, bits: int) -> None:
        if bits <= value.bits:
            raise refuse("no wider integer", got=f"i{bits}", expected=f"more than i{value.bits}")

    def trunc(self, value: Int, bits: int) -> Int:
        """The low bits.

        Raises: InputError for more than there are.
        """
        if not 0 < bits < value.bits:
            raise refuse("no narrower integer", got=f"i{bits}", expected=f"less than i{value.bits}")
        return Int(self, self.at_caller().trunc(value.value, ir.IntType(bits)))

    @overload
    def select(
        self, condition: Int, if_true: IntLike, if_false: IntLike, bits: int = 32
    ) -> Int: ...

    @overload
    def select(self, condition: Int, if_true: Float, if_false: FloatLike) -> Float: ...

    @overload
    def select(self, condition: Int, if_true: float, if_false: Float) -> Float: ...

    def select(
        self,
        condition: Int,
        if_true: WordLike | float,
        if_false: WordLike | float,
        bits: int = 32,
    ) -> Number:
        """One of two values of a type, by a condition; Python numbers take the other one's type.

        Two Python integers are unsigned, of `bits` bits.

        Raises: InputError for values of two types.
        """
        if not isinstance(condition, Int) or condition.bits != 1:
            raise refuse(
                "no condition of the kernel",
                got=described(condition),
                expected="i1, as a comparison gives it",
            )
        typed = next((v for v in (if_true, if_false) if isinstance(v, (Int, Float))), None)
        if typed is None:
            yes, no = self.number(if_true, bits), self.number(if_false, bits)
            return Int(self, self.at_caller().select(condition.value, yes, no))
        pair = [typed.taken(one) for one in (if_true, if_false)]
        return typed.like(self.at_caller().select(condition.value, *pair))

    def words(self, values: Sequence[WordLike]) -> Vector:
        """A vector of registers, 32 bits each.

        Raises: InputError for less than two, or for other widths.
        """
        if len(values) < 2:
            raise refuse("a vector of registers", got=str(len(values)), expected="two or more")
        i32 = ir.IntType(32)
        found: ir.Value = ir.Constant(ir.VectorType(i32, len(values)), ir.Undefined)
        for index, value in enumerate(values):
            place = ir.Constant(i32, index)
            given = self.raw(value, i32)
            found = self.at_caller().insert_element(found, given, place)
        return Vector(self, found, len(values))

    def vector(self, values: Sequence[Number]) -> Vector:
        """Numbers of one type side by side.

        Raises: InputError for none, and for numbers of several types.
        """
        return vector_of(values)

    def pair(self, low: Float, high: Float) -> Float:
        """Two numbers of one type as f16x2, bf16x2 or f32x2, the first in the lower half.

        Raises: InputError for two types, and for one without pairs.
        """
        return pair_of(low, high)

    @overload
    def min(self, a: Int, b: IntLike) -> Int: ...

    @overload
    def min(self, a: Float, b: FloatLike) -> Float: ...

    def min(self, a: Number, b: WordLike | float) -> Number:
        """The lesser of two numbers of one type."""
        return _extreme("min", a, b)

    @overload
    def max(self, a: Int, b: IntLike) -> Int: ...

    @overload
    def max(self, a: Float, b: FloatLike) -> Float: ...

    def max(self, a: Number, b: WordLike | float) -> Number:
        """The greater of two numbers of one type."""
        return _extreme("max", a, b)

    def number(self, value: object, bits: int = 32) -> ir.Value:
        """A value, or a constant of `bits` bits."""
        return value.value if isinstance(value, Int) else constant(value, bits)

    def raw(self, value: WordLike | Pointer | float, type_: ir.Type) -> ir.Value:
        """A value as llvmlite's, checked against the type that is wanted.

        Of a register that is no integer an integer has the bits.  A shared address stands for one
        in the cluster's shared memory where that is wanted, a global one for a generic one.

        Raises: InputError when it is of another type.
        """
        if isinstance(value, Register) and value.value.type == type_:
            return value.value
        if isinstance(type_, (ir.FloatType, ir.DoubleType)) and not isinstance(value, Pointer):
            return as_float(self, value, _FLOATS[type(type_)])
        if isinstance(value, Register) and isinstance(type_, ir.IntType):
            value = value.word
        if not isinstance(value, (Int, Pointer, Register)):
            if not isinstance(type_, ir.IntType):
                raise refuse(
                    "a number where an address is wanted", got=str(value), expected=str(type_)
                )
            return constant(value, type_.width)
        if value.value.type == type_:
            return value.value
        cluster = ir.PointerType(addrspace=7)
        widened = ((3, cluster), (1, ir.PointerType()))
        if isinstance(value, Pointer) and (value.space, type_) in widened:
            return self.at_caller().addrspacecast(value.value, type_)
        raise refuse("an operand of another type", got=str(value.value.type), expected=str(type_))


def _extreme(name: str, a: Number, b: WordLike | float) -> Number:
    """`a.min(b)` or `a.max(b)`; a Python number may come first.

    Raises: InputError for two Python numbers.
    """
    first, second = (a, b) if isinstance(a, (Int, Float)) else (b, a)
    if not isinstance(first, (Int, Float)):
        raise refuse("no value of the kernel", got=f"{a} and {b}", expected="one at least")
    found: Number = getattr(first, name)(second)
    return found
