"""What every part of the builder stands on: llvmlite's builder, Python lines, plain values.

Layer: nvgen.builder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from llvmlite import ir

from intrinsics.targets import Target
from nvgen.builder.map_checks import DeclaredMap
from nvgen.builder.regions import PlacedBuilder, Regions
from nvgen.builder.registers import F32, F32Like, Register, Vector, WordLike, as_f32
from nvgen.builder.values import Int, IntLike, Pointer, constant, refuse


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
        """The same unsigned number in more bits.

        Raises: InputError for fewer.
        """
        if bits <= value.bits:
            raise refuse("no wider integer", got=f"i{bits}", expected=f"more than i{value.bits}")
        return Int(self, self.at_caller().zext(value.value, ir.IntType(bits)))

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
    def select(self, condition: Int, if_true: F32, if_false: F32Like) -> F32: ...

    @overload
    def select(self, condition: Int, if_true: float, if_false: F32) -> F32: ...

    def select(
        self,
        condition: Int,
        if_true: WordLike | float,
        if_false: WordLike | float,
        bits: int = 32,
    ) -> Int | F32:
        """One of two values, by a condition: two integers, or two f32 if one of them is an `F32`.

        Raises: InputError for values of two types.
        """
        builder = self.at_caller()
        if isinstance(if_true, F32) or isinstance(if_false, F32):
            either = (if_true, if_false)
            if any(isinstance(one, Int) for one in either):
                raise refuse("values of two types", got="an Int and an F32", expected="two F32")
            pair = [as_f32(self, one) for one in either]
            return F32(self, builder.select(condition.value, *pair))
        yes, no = self.number(if_true, bits), self.number(if_false, bits)
        return Int(self, builder.select(condition.value, yes, no))

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

    def min(self, a: Int, b: IntLike) -> Int:
        """The lesser of two unsigned numbers of one width."""
        return self._extreme_of("umin", a, b)

    def max(self, a: Int, b: IntLike) -> Int:
        """The greater of two unsigned numbers of one width."""
        return self._extreme_of("umax", a, b)

    def _extreme_of(self, name: str, a: Int, b: IntLike) -> Int:
        type_ = ir.IntType(a.bits)
        function = self.declare(f"llvm.{name}.i{a.bits}", ir.FunctionType(type_, [type_, type_]))
        return Int(self, self.at_caller().call(function, [a.value, self.raw(b, type_)]))

    def number(self, value: object, bits: int = 32) -> ir.Value:
        """A value, or a constant of `bits` bits."""
        return value.value if isinstance(value, Int) else constant(value, bits)

    def raw(self, value: WordLike | Pointer, type_: ir.Type) -> ir.Value:
        """A value as llvmlite's, checked against the type that is wanted.

        Of a register that is no integer an integer has the bits.  A shared address stands for one
        in the cluster's shared memory where that is wanted, a global one for a generic one.

        Raises: InputError when it is of another type.
        """
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
