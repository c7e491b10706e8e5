"""Operators that go element by element: of vectors, and of matrices in registers.

Layer: nvgen.builder.  Floating-point numbers are computed as LLVM's vectors, which selection takes
apart, or to pairs where the target has instructions for them; other numbers one by one.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TypeVar

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.float_values import Float, Number
from nvgen.builder.number_types import llvm_type_of, scalar_type
from nvgen.builder.values import Int, described, refuse

if TYPE_CHECKING:
    from nvgen.builder.registers import Vector

T = ScalarType
_SCALARS = {T.F16: "f16", T.BF16: "bf16", T.F32: "f32", T.F64: "f64"}
_WORD = 32
_OPERATORS: dict[str, Callable[[Number, Number], Number]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": operator.truediv,
}


class Elementwise(ABC):
    """Numbers of one type, several in a thread.

    The other side of an operator is of the same kind, or a number for all of them.  Each operation
    raises InputError for another kind, and as the same operation of a number does.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def vector(self) -> Vector:
        """The numbers of a thread."""

    @abstractmethod
    def made(self, vector: Vector) -> Self:
        """The same kind of thing with other numbers."""

    @abstractmethod
    def spread(self, other: Elementwise) -> Vector:
        """The numbers of another one, one for each of this one's.

        Raises: InputError for one that does not fit.
        """

    # ---- one by one --------------------------------------------------------------------------

    def map(self, function: Callable[[Number], Number]) -> Self:
        """What `function` makes of each of the numbers.

        Raises: InputError where it does not make numbers of one type.
        """
        from nvgen.builder.registers import vector_of

        made = function_of(function)
        return self.made(vector_of([made(number) for number in self.vector]))

    def to(self, dtype: object) -> Self:
        """The same numbers in another type; see `to` of a number."""
        mine, type_ = self.vector, scalar_type(dtype)
        if mine.type is type_:
            return self
        if mine.type not in _SCALARS or type_ not in _SCALARS:
            return self.map(lambda number: number.to(type_))
        assert mine.type is not None
        if mine.type.bits == type_.bits:
            return self.to(T.F32).to(type_)
        builder = mine.builder.at_caller()
        convert = builder.fpext if type_.bits > mine.type.bits else builder.fptrunc
        found = convert(mine.typed, ir.VectorType(llvm_type_of(type_), mine.count))
        if type_.bits * mine.count % _WORD == 0:  # what is carried on is carried on in words
            words = ir.VectorType(ir.IntType(_WORD), type_.bits * mine.count // _WORD)
            found = builder.bitcast(found, words) if type_.bits < _WORD else found
        return self._of(found, type_)

    # ---- operators ---------------------------------------------------------------------------

    def _of(self, value: ir.Value, type_: ScalarType) -> Self:
        from nvgen.builder.registers import Vector

        mine = self.vector
        return self.made(Vector(mine.builder, value, mine.count, type_))

    def _operand(self, other: object) -> Vector:
        """The other side as numbers, one for each of these."""
        mine = self.vector
        if not isinstance(other, Elementwise):
            return mine.splat(other)
        found = self.spread(other)
        if found.type is not mine.type:
            raise refuse(
                "numbers of two types in one operation",
                got=f"{mine.words}, {found.words}",
                expected="one type: x.to(f32)",
            )
        return found

    def _arithmetic(self, name: str, other: object, *, swapped: bool = False) -> Self:
        from nvgen.builder.registers import vector_of

        mine, theirs = self.vector, self._operand(other)
        pair = (theirs, mine) if swapped else (mine, theirs)
        if mine.type in _SCALARS:
            assert mine.type is not None
            compute = getattr(mine.builder.at_caller(), name)
            return self._of(compute(*(one.typed for one in pair)), mine.type)
        compute = _OPERATORS[name]
        return self.made(vector_of([compute(a, b) for a, b in zip(*pair, strict=True)]))

    def _called(self, name: str, *others: object) -> Self:
        """An intrinsic of LLVM's, and the method of a number that is called so."""
        from nvgen.builder.registers import vector_of

        mine = self.vector
        given = [mine, *(self._operand(other) for other in others)]
        if mine.type not in _SCALARS:
            method = {"minnum": "min", "maxnum": "max", "fabs": "abs"}.get(name, name)
            numbers = zip(*given, strict=True)
            return self.made(vector_of([getattr(n, method)(*rest) for n, *rest in numbers]))
        assert mine.type is not None
        type_ = mine.typed.type
        full = f"llvm.{name}.v{mine.count}{_SCALARS[mine.type]}"
        function = mine.builder.declare(full, ir.FunctionType(type_, [type_] * len(given)))
        found = mine.builder.at_caller().call(function, [one.typed for one in given])
        return self._of(found, mine.type)

    def _each(self, function: Callable[[Float], Float]) -> Self:
        """A function of floating-point numbers."""

        def checked(number: Number) -> Float:
            if isinstance(number, Int):
                raise refuse("no floating-point number", got=number.words, expected="x.to(f32)")
            return function(number)

        return self.map(checked)

    def __add__(self, other: Elementwise | Number | float) -> Self:
        return self._arithmetic("fadd", other)

    def __sub__(self, other: Elementwise | Number | float) -> Self:
        return self._arithmetic("fsub", other)

    def __mul__(self, other: Elementwise | Number | float) -> Self:
        return self._arithmetic("fmul", other)

    def __truediv__(self, other: Elementwise | Number | float) -> Self:
        return self._arithmetic("fdiv", other)

    def __radd__(self, other: Number | float) -> Self:
        return self._arithmetic("fadd", other, swapped=True)

    def __rsub__(self, other: Number | float) -> Self:
        return self._arithmetic("fsub", other, swapped=True)

    def __rmul__(self, other: Number | float) -> Self:
        return self._arithmetic("fmul", other, swapped=True)

    def __rtruediv__(self, other: float) -> Self:
        return self._arithmetic("fdiv", other, swapped=True)

    def __neg__(self) -> Self:
        mine = self.vector
        if mine.type not in _SCALARS:
            return self.map(lambda number: -number)
        assert mine.type is not None
        return self._of(mine.builder.at_caller().fneg(mine.typed), mine.type)

    # ---- functions ---------------------------------------------------------------------------

    def min(self, other: Elementwise | Number | float) -> Self:
        """The lesser of each two numbers; the other one where one is a NaN."""
        return self._called("minnum", other)

    def max(self, other: Elementwise | Number | float) -> Self:
        """The greater of each two numbers; the other one where one is a NaN."""
        return self._called("maxnum", other)

    def fma(
        self, factor: Elementwise | Number | float, addend: Elementwise | Number | float
    ) -> Self:
        """Each number times `factor` plus `addend`, rounded once."""
        return self._called("fma", factor, addend)

    def abs(self) -> Self:
        """The numbers without their signs."""
        return self._called("fabs")

    def ex2(self, *, ftz: bool = False) -> Self:
        """2 to the power of each; see `ex2` of a number."""
        return self._each(lambda x: x.ex2(ftz=ftz))

    def lg2(self, *, ftz: bool = False) -> Self:
        """The logarithms to base 2; see `lg2` of a number."""
        return self._each(lambda x: x.lg2(ftz=ftz))

    def rsqrt(self, *, ftz: bool = False) -> Self:
        """1 over the square roots; see `rsqrt` of a number."""
        return self._each(lambda x: x.rsqrt(ftz=ftz))

    def rcp(self, *, approx: bool = False) -> Self:
        """1 over each; see `rcp` of a number."""
        return self._each(lambda x: x.rcp(approx=approx))

    def sqrt(self, *, approx: bool = False) -> Self:
        """The square roots; see `sqrt` of a number."""
        return self._each(lambda x: x.sqrt(approx=approx))

    def tanh(self) -> Self:
        """The hyperbolic tangents; see `tanh` of a number."""
        return self._each(lambda x: x.tanh())


Function = TypeVar("Function", bound=Callable[..., object])


def function_of(given: Function) -> Function:
    """A function of Python's.

    Raises: InputError for what is none.
    """
    if not callable(given):
        raise refuse("no function", got=described(given), expected="a function: lambda x: …")
    return given
