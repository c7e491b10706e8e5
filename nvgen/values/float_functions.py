"""Functions of floats: what LLVM has intrinsics for, and what the builder makes of these.

Layer: nvgen.values.  An approximation that PTX has not for a type is computed in f32.  PTX has no
erf: polynomials of f32, least-squares fits at Chebyshev nodes to Python's `math.erf`, are near it;
tests hold how far they are off.  PTX ISA, Floating Point Instructions; Half Precision Floating
Point Instructions.
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Self, SupportsFloat

from llvmlite import ir

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, refuse
from nvgen.values.number_types import (
    STORED,
    Scalar,
    called,
    float_constant,
    instead,
    power,
    suffix_of,
    worded,
)
from nvgen.values.regions import Host

T = ScalarType

_APPROXIMATE: dict[str, dict[ScalarType, str]] = {
    "ex2": {T.F32: "ex2.approx.f", T.F16: "ex2.approx.f16", T.F16X2: "ex2.approx.f16x2",
            T.BF16: "ex2.approx.ftz.bf16", T.BF16X2: "ex2.approx.ftz.bf16x2"},
    "lg2": {T.F32: "lg2.approx.f"},
    "rsqrt": {T.F32: "rsqrt.approx.f", T.F64: "rsqrt.approx.d"},
    "tanh": {T.F32: "tanh.approx.f32", T.F16: "tanh.approx.f16", T.BF16: "tanh.approx.bf16",
             T.F16X2: "tanh.approx.f16x2", T.BF16X2: "tanh.approx.bf16x2"},
    "rcp": {T.F32: "rcp.approx.ftz.f"},
    "sqrt": {T.F32: "sqrt.approx.f"},
    "sin": {T.F32: "sin.approx.f"},
    "cos": {T.F32: "cos.approx.f"},
}  # fmt: skip
"""LLVM's names of approximations; the types that are missing are computed in f32."""

_ERF_ODD = (
    1.1283791065216064, -0.3761262595653534, 0.11283597350120544, -0.02685432881116867,
    0.005189312156289816, -0.0008018855005502701, 7.882497448008507e-05,
)  # fmt: skip
"""erf(x) / x as a polynomial of x², for x up to 1."""

_ERF_TAIL = (
    0.0004434802394825965, -1.630496859550476, -0.9117016196250916, -0.1586247682571411,
    0.037991784512996674, -0.006814078893512487, 0.0008477041847072542, -6.458346615545452e-05,
    2.2511851511808345e-06,
)  # fmt: skip
"""The logarithm to base 2 of 1 - erf(x) as a polynomial of x, from 1 to 4, where f32 has 1."""

_ERF_WHOLE = 4.0


@guarded
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FloatFunctions(Scalar):
    """A number, or a pair of them, and functions of it, or of both; `Float` also converts it."""

    builder: Host
    value: ir.Value
    type: ScalarType

    @property
    def bits(self) -> int:
        """The width."""
        return self.type.bits

    @property
    def words(self) -> str:
        """Its type, in words."""
        return self.type.value

    def like(self, value: ir.Value) -> Self:
        """Another value of llvmlite's as a number of this type."""
        return type(self)(self.builder, value, self.type)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's."""
        if isinstance(other, FloatFunctions) and other.type is self.type:
            return other.value
        if not isinstance(other, SupportsFloat):
            raise refuse(
                f"{'an' if self.type in (T.F32, T.F16, T.F64) else 'a'} {self.words} and another "
                "type in one operation",
                got=worded(other),
                expected=f"{self.words}, or a Python number",
                hint=instead(other)
                if hasattr(other, "set")
                else f"x.to({self.words}) is the number "
                f"in {self.words}, b.{self.words}(word) the one whose bits a word holds",
            )
        return float_constant(other, self.type)

    @abstractmethod
    def _in_f32(self, operation: Callable[[Self], Self]) -> Self:
        """What `operation` makes of the number, or of both of a pair; of narrower ones in f32."""

    def _computed(self) -> ir.Value:
        """It as llvmlite's, where PTX computes with such numbers."""
        if self.type in STORED:
            hint = "x.to(f32), and back"
            raise refuse("no arithmetic of 8 bits", got=self.words, expected="f32", hint=hint)
        return self.value

    def min(self, other: Self | float, *, nan: bool = False) -> Self:
        """The minimum of two numbers; if one is a NaN the other one, or with `nan` the NaN."""
        return self._called("minimum" if nan else "minnum", other)

    def max(self, other: Self | float, *, nan: bool = False) -> Self:
        """The maximum of two numbers; if one is a NaN the other one, or with `nan` the NaN."""
        return self._called("maximum" if nan else "maxnum", other)

    def fma(self, factor: Self | float, addend: Self | float) -> Self:
        """This number times `factor` plus `addend`, rounded once."""
        return self._called("fma", factor, addend)

    def abs(self) -> Self:
        """The absolute value."""
        return self._called("fabs")

    def ex2(self, *, ftz: bool = False) -> Self:
        """2 to the power of the number, approximated to two units in the last place of f32.

        With `ftz` subnormal numbers are flushed to zero, which is one instruction; bf16 always is.
        PTX ISA, ex2.

        Raises: InputError for f64, which PTX has no instruction for.
        """
        return self._approximated("ex2", ftz=ftz)

    def lg2(self, *, ftz: bool = False) -> Self:
        """The logarithm to base 2, approximated.  PTX ISA, lg2.

        Raises: InputError for f64.
        """
        return self._approximated("lg2", ftz=ftz)

    def rsqrt(self, *, ftz: bool = False) -> Self:
        """1 over the square root, approximated.  PTX ISA, rsqrt."""
        return self._approximated("rsqrt", ftz=ftz)

    def tanh(self) -> Self:
        """The hyperbolic tangent, approximated (sm_75 and later; bf16 sm_90).  PTX ISA, tanh.

        Raises: InputError for f64.
        """
        return self._approximated("tanh")

    def exp(self, *, ftz: bool = False) -> Self:
        """e to the power of the number: `ex2` of x times the logarithm of e, as f32.

        The relative error is at most 1.23 |x| 2^-24 + 2^-22, 6.7e-6 at x = 88: the rounding of the
        product and of log2(e) is an error of the exponent, to which ex2's two ulps are added.
        Subnormal results are also off by up to 2^-149, or with `ftz` zeros.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: x._times(math.log2(math.e)).ex2(ftz=ftz))

    def log(self, *, ftz: bool = False) -> Self:
        """The natural logarithm: `lg2` times the logarithm of 2, as f32.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: x.lg2(ftz=ftz)._times(math.log(2)))

    def sin(self, *, ftz: bool = False) -> Self:
        """The sine of an angle in radians, approximated: to 2^-20.5 from -π to π.  PTX ISA, sin.

        Raises: InputError for f64.
        """
        return self._approximated("sin", ftz=ftz)

    def cos(self, *, ftz: bool = False) -> Self:
        """The cosine of an angle in radians, approximated as `sin` is.  PTX ISA, cos.

        Raises: InputError for f64.
        """
        return self._approximated("cos", ftz=ftz)

    def erf(self) -> Self:
        """The error function, as f32; the relative error is at most 2^-22.

        The exact GELU is x · (1 + erf(x / √2)) / 2; `tanh` gives the approximate one.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: x.abs()._erf_of_size()._called("copysign", x))

    def floor(self) -> Self:
        """The largest whole number that is not greater."""
        return self._in_f32(lambda x: x._called("floor"))

    def ceil(self) -> Self:
        """The smallest whole number that is not less."""
        return self._in_f32(lambda x: x._called("ceil"))

    def trunc(self) -> Self:
        """The whole part."""
        return self._in_f32(lambda x: x._called("trunc"))

    def round(self) -> Self:
        """The nearest whole number, ties to even."""
        return self._in_f32(lambda x: x._called("roundeven"))

    def rcp(self, *, approx: bool = False) -> Self:
        """1 over the number, rounded to nearest even, or with `approx` (f32) approximated, where
        subnormal numbers are zeros.  PTX ISA, rcp.
        """
        if approx:
            return self._approximated("rcp")
        mine, one = self._computed(), self.taken(1.0)
        return self.like(self.builder.at_caller().fdiv(one, mine))

    def sqrt(self, *, approx: bool = False) -> Self:
        """The square root, rounded to nearest even, or with `approx` (f32) approximated.

        PTX ISA, sqrt.
        """
        return self._approximated("sqrt") if approx else self._called("sqrt")

    def _approximated(self, head: str, *, ftz: bool = False) -> Self:
        name = _APPROXIMATE[head].get(self.type)
        if name is None and self.type is not T.F64:
            return self._in_f32(lambda x: x._approximated(head, ftz=ftz))
        if name is None:
            raise refuse(f"PTX has no {head} of f64", got="f64", expected="f32: x.to(f32)")
        if ftz and self.type is T.F32:
            name = name.replace(".approx", ".approx.ftz")
        return self.like(called(self.builder, f"llvm.nvvm.{name}", self.value))

    def _erf_of_size(self) -> Self:
        """The error function of an f32 that is not negative; a NaN of a NaN."""
        whole = self.like(self.taken(_ERF_WHOLE))
        tail = self._chosen(self._is(">", _ERF_WHOLE), whole, self)._polynomial(_ERF_TAIL).ex2()
        far = self.like(self.builder.at_caller().fsub(self.taken(1.0), tail.value))
        is_near = self._is("<", 1.0)
        return self._chosen(is_near, self._by(self._by(self)._polynomial(_ERF_ODD)), far)

    def _polynomial(self, coefficients: Sequence[float]) -> Self:
        """By Horner's rule, the constant first among the coefficients."""
        *rest, highest = coefficients
        found = self.like(self.taken(highest))
        for coefficient in reversed(rest):
            found = found.fma(self, coefficient)
        return found

    def _is(self, predicate: str, limit: float) -> ir.Value:
        return self.builder.at_caller().fcmp_ordered(predicate, self.value, self.taken(limit))

    def _chosen(self, condition: ir.Value, yes: Self, no: Self) -> Self:
        return self.like(self.builder.at_caller().select(condition, yes.value, no.value))

    def _by(self, other: Self) -> Self:
        return self.like(self.builder.at_caller().fmul(self.value, other.value))

    def _times(self, factor: float) -> Self:
        return self.like(self.builder.at_caller().fmul(self._computed(), self.taken(factor)))

    def __round__(self, digits: object = None) -> Self:
        if digits is not None:
            got = f"round(x, {described(digits)})"
            hint = "round(x * 100) / 100 is near the number with two digits"
            raise refuse(
                "a float is not rounded to digits", got=got, expected="round(x)", hint=hint
            )
        return self.round()

    def __pow__(self, exponent: object) -> Self:
        """By a known whole exponent, as products; each is rounded."""
        hint = "(x.lg2() * y).ex2() is x to the power of y, of f32 from 0 on"
        return power(self, exponent, hint, operator.mul)

    __abs__, __floor__, __ceil__, __trunc__ = abs, floor, ceil, trunc

    def _called(self, name: str, *others: Self | float) -> Self:
        given = [self._computed(), *(self.taken(other) for other in others)]
        return self.like(called(self.builder, f"llvm.{name}.{suffix_of(self.type)}", *given))
