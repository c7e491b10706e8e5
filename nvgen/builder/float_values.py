"""Floating-point numbers of a kernel, and pairs of them, with the operators that their type has.

Layer: nvgen.builder.  f16, bf16, f32 and f64 are rounded to nearest even; pairs (f16x2, bf16x2 and,
from sm_100 on in one instruction, f32x2) are computed side by side.  `word` is the bits as an
integer.  PTX ISA, Floating Point Instructions; Half Precision Floating Point Instructions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, SupportsFloat, TypeAlias, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.number_types import PAIR_OF, FloatType, IntType, element_of, llvm_type_of
from nvgen.builder.values import Int, described, refuse

if TYPE_CHECKING:
    from nvgen.builder.base import BuilderBase

T = ScalarType
_F32 = ir.FloatType()
_LARGEST = {T.F16: 65504.0, T.BF16: 3.3895313892515355e38, T.F32: 3.4028234663852886e38}

_APPROXIMATE: dict[str, dict[ScalarType, str]] = {
    "ex2": {T.F32: "ex2.approx.f", T.F16: "ex2.approx.f16", T.F16X2: "ex2.approx.f16x2",
            T.BF16: "ex2.approx.ftz.bf16", T.BF16X2: "ex2.approx.ftz.bf16x2"},
    "lg2": {T.F32: "lg2.approx.f"},
    "rsqrt": {T.F32: "rsqrt.approx.f", T.F64: "rsqrt.approx.d"},
    "tanh": {T.F32: "tanh.approx.f32", T.F16: "tanh.approx.f16", T.BF16: "tanh.approx.bf16",
             T.F16X2: "tanh.approx.f16x2", T.BF16X2: "tanh.approx.bf16x2"},
}  # fmt: skip
"""LLVM's names of approximations; the types that are missing are computed in f32."""


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
    def words(self) -> str:
        """Its type, in words."""
        return self.type.value

    @property
    def word(self) -> Int:
        """Its bits as an unsigned integer."""
        bits = ir.IntType(self.bits)
        return Int(self.builder, self.builder.at_caller().bitcast(self.value, bits))

    def _no_integer(self, *_: object) -> NoReturn:
        raise refuse(
            "an integer operation on a register that holds no unsigned integer",
            got=f"an {self.type.value}",
            expected="an Int",
            hint="x.word is its bits as an unsigned integer, x.to(u32) the number as one",
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_integer
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_integer
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __index__ = _no_integer

    def __bool__(self) -> bool:
        raise refuse(
            "a value of the kernel is not known while the kernel is built",
            hint="branch on it with `with b.if_(condition):`",
        )


class Float(Register):
    """A floating-point number, or a pair of them; operators round to nearest even.

    A Python number takes the type of the other side, in a pair for both.  Comparisons give
    conditions, false where one is a NaN but for `!=`.  Two types are never mixed: `x.to(f32)`.
    """

    __slots__ = ()

    def like(self, value: ir.Value) -> Float:
        """Another value of llvmlite's as a number of this type."""
        return float_of(self.builder, value, self.type)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's.

        Raises: InputError for another type, and for a number beyond the type's.
        """
        if isinstance(other, Float) and other.type is self.type:
            return other.value
        if isinstance(other, (Int, Register)) or not isinstance(other, SupportsFloat):
            given = other.words if isinstance(other, (Int, Register)) else described(other)
            raise refuse(
                f"{'an' if self.type in (T.F32, T.F16, T.F64) else 'a'} {self.words} and another "
                "type in one operation",
                got=given,
                expected=f"{self.words}, or a Python number",
                hint=f"x.to({self.words}) is the number in {self.words}, b.{self.words}(word) the "
                "one whose bits a word holds",
            )
        return float_constant(other, self.type)

    @overload
    def to(self, dtype: FloatType) -> Float: ...

    @overload
    def to(self, dtype: IntType) -> Int: ...

    @overload
    def to(self, dtype: object) -> Number: ...

    def to(self, dtype: object) -> Number:
        """The same number in another type.

        To a narrower float it is rounded to nearest even, to an integer towards zero; what no
        integer of the type is has no meaning.

        Raises: InputError for what is no type of numbers, and of a pair for what is none.
        """
        from nvgen.builder.conversions import convert_float

        return convert_float(self, dtype)

    # ---- operators ---------------------------------------------------------------------------

    def _binary(self, name: str, other: FloatLike, *, swapped: bool = False) -> Float:
        given = self.taken(other)
        operation = getattr(self.builder.at_caller(), name)
        pair = (given, self.value) if swapped else (self.value, given)
        return self.like(operation(*pair))

    def __add__(self, other: FloatLike) -> Float:
        return self._binary("fadd", other)

    def __sub__(self, other: FloatLike) -> Float:
        return self._binary("fsub", other)

    def __mul__(self, other: FloatLike) -> Float:
        return self._binary("fmul", other)

    def __truediv__(self, other: FloatLike) -> Float:
        return self._binary("fdiv", other)

    def __radd__(self, other: FloatLike) -> Float:
        return self._binary("fadd", other, swapped=True)

    def __rsub__(self, other: FloatLike) -> Float:
        return self._binary("fsub", other, swapped=True)

    def __rmul__(self, other: FloatLike) -> Float:
        return self._binary("fmul", other, swapped=True)

    def __rtruediv__(self, other: FloatLike) -> Float:
        return self._binary("fdiv", other, swapped=True)

    def __neg__(self) -> Float:
        return self.like(self.builder.at_caller().fneg(self.value))

    def _compare(self, predicate: str, other: object) -> Int:
        if self.type in PAIR_OF.values():
            raise refuse("a pair has no order", got=self.words, expected="one of it: pair[0]")
        given, builder = self.taken(other), self.builder.at_caller()
        compare = builder.fcmp_unordered if predicate == "!=" else builder.fcmp_ordered
        return Int(self.builder, compare(predicate, self.value, given))

    def __eq__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: FloatLike) -> Int:
        return self._compare("<", other)

    def __le__(self, other: FloatLike) -> Int:
        return self._compare("<=", other)

    def __gt__(self, other: FloatLike) -> Int:
        return self._compare(">", other)

    def __ge__(self, other: FloatLike) -> Int:
        return self._compare(">=", other)

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, number: int) -> Float:
        """One number of a pair: 0 is the one in the lower half.

        Raises: InputError for a number that is no pair, or another part.
        """
        if self.type not in PAIR_OF.values() or number not in (0, 1):
            raise refuse("no such part", got=f"{self.words}[{number!r}]", expected="pair[0 or 1]")
        place = ir.Constant(ir.IntType(32), number)
        found = self.builder.at_caller().extract_element(self.value, place)
        return float_of(self.builder, found, element_of(self.type))

    # ---- functions ---------------------------------------------------------------------------

    def min(self, other: FloatLike, *, nan: bool = False) -> Float:
        """The lesser of two numbers; the other one where one is a NaN, or with `nan` the NaN."""
        return self._called("minimum" if nan else "minnum", other)

    def max(self, other: FloatLike, *, nan: bool = False) -> Float:
        """The greater of two numbers; the other one where one is a NaN, or with `nan` the NaN."""
        return self._called("maximum" if nan else "maxnum", other)

    def fma(self, factor: FloatLike, addend: FloatLike) -> Float:
        """This number times `factor` plus `addend`, rounded once."""
        return self._called("fma", factor, addend)

    def abs(self) -> Float:
        """The number without its sign."""
        return self._called("fabs")

    def ex2(self, *, ftz: bool = False) -> Float:
        """2 to the power of the number, approximated to two units in the last place of f32.

        With `ftz` numbers below the normal ones are zeros, which is one instruction; bf16 is always
        so.  PTX ISA, ex2.

        Raises: InputError for f64, which PTX has no instruction for.
        """
        return self._approximated("ex2", ftz=ftz)

    def lg2(self, *, ftz: bool = False) -> Float:
        """The logarithm to base 2, approximated.  PTX ISA, lg2.

        Raises: InputError for f64.
        """
        return self._approximated("lg2", ftz=ftz)

    def rsqrt(self, *, ftz: bool = False) -> Float:
        """1 over the square root, approximated.  PTX ISA, rsqrt."""
        return self._approximated("rsqrt", ftz=ftz)

    def tanh(self) -> Float:
        """The hyperbolic tangent, approximated (sm_75 and later; bf16 sm_90).  PTX ISA, tanh.

        Raises: InputError for f64.
        """
        return self._approximated("tanh", ftz=False)

    def rcp(self, *, approx: bool = False) -> Float:
        """1 over the number, rounded to nearest even, or of f32 approximated with `approx`, which
        takes numbers below the normal ones for zeros.  PTX ISA, rcp.
        """
        if not approx:
            return 1.0 / self
        if self.type is not T.F32:
            return self._in_f32(lambda x: x.rcp(approx=True))
        return self._named("llvm.nvvm.rcp.approx.ftz.f")

    def sqrt(self, *, approx: bool = False) -> Float:
        """The square root, rounded to nearest even, or of f32 approximated with `approx`.

        PTX ISA, sqrt.
        """
        if not approx:
            return self._called("sqrt")
        if self.type is not T.F32:
            return self._in_f32(lambda x: x.sqrt(approx=True))
        return self._named("llvm.nvvm.sqrt.approx.f")

    def _approximated(self, head: str, *, ftz: bool) -> Float:
        name = _APPROXIMATE[head].get(self.type)
        if name is None and self.type is not T.F64:
            return self._in_f32(lambda x: x._approximated(head, ftz=ftz))
        if name is None:
            raise refuse(f"PTX has no {head} of f64", got="f64", expected="f32: x.to(f32)")
        if ftz and self.type is T.F32:
            name = name.replace(".approx", ".approx.ftz")
        return self._named(f"llvm.nvvm.{name}")

    def _in_f32(self, operation: Callable[[Float], Float]) -> Float:
        """What `operation` makes of the number, or of both of a pair, in f32."""
        if self.type is T.F64:
            raise refuse("no approximation of f64", got="f64", expected="f32: x.to(f32)")
        if self.type in PAIR_OF.values():
            low, high = (self[i] for i in (0, 1))
            if self.type is not T.F32X2:
                return pair_of(low._in_f32(operation), high._in_f32(operation))
            return pair_of(operation(low), operation(high))
        return as_float_number(operation(self.to(T.F32)).to(self.type))

    def _named(self, name: str) -> Float:
        type_ = self.value.type
        function = self.builder.declare(name, ir.FunctionType(type_, [type_]))
        return self.like(self.builder.at_caller().call(function, [self.value]))

    def _called(self, name: str, *others: FloatLike) -> Float:
        given = [self.value, *(self.taken(other) for other in others)]
        type_ = self.value.type
        full = f"llvm.{name}.{_SUFFIXES[self.type]}"
        function = self.builder.declare(full, ir.FunctionType(type_, [type_] * len(given)))
        return self.like(self.builder.at_caller().call(function, given))


_SUFFIXES = {
    T.F16: "f16",
    T.BF16: "bf16",
    T.F32: "f32",
    T.F64: "f64",
    T.F16X2: "v2f16",
    T.BF16X2: "v2bf16",
    T.F32X2: "v2f32",
}
"""What LLVM appends to the name of an overloaded intrinsic."""


class F32(Float):
    """A number in f32; `b.f32(word)` is the number whose bits an integer holds."""

    __slots__ = ()

    def __init__(self, builder: BuilderBase, value: ir.Value) -> None:
        super().__init__(builder, value, ScalarType.F32)

    def like(self, value: ir.Value) -> F32:
        """Another value of llvmlite's as an f32."""
        return F32(self.builder, value)


FloatLike: TypeAlias = Float | float
"""A floating-point number: the kernel's, or one that is known."""

F32Like: TypeAlias = F32 | Float | float
"""A number in f32: the kernel's, or one that is known."""

Number: TypeAlias = Int | Float
"""A number of the kernel."""


def as_float_number(value: Number) -> Float:
    """A number of which it is known that it is no integer."""
    assert isinstance(value, Float)
    return value


def float_of(builder: BuilderBase, value: ir.Value, type_: ScalarType) -> Float:
    """A floating-point number of llvmlite's as the builder's."""
    return F32(builder, value) if type_ is T.F32 else Float(builder, value, type_)


def pair_of(low: object, high: object) -> Float:
    """Two numbers of one type side by side, the first in the lower half.

    Raises: InputError for two types, and for one without pairs.
    """
    if not isinstance(low, Float) or not isinstance(high, Float):
        raise refuse(
            "no pair",
            got=f"{described(low)} and {described(high)}",
            expected="two f16, two bf16 or two f32 of the kernel",
        )
    if low.type is not high.type or low.type not in PAIR_OF:
        raise refuse(
            "no pair",
            got=f"{low.words} and {high.words}",
            expected="two f16, two bf16 or two f32",
            hint="b.pair(x, y).to(bf16x2) rounds two f32 with one instruction",
        )
    type_ = PAIR_OF[low.type]
    found: ir.Value = ir.Constant(llvm_type_of(type_), ir.Undefined)
    for number, value in enumerate((low, high)):
        place = ir.Constant(ir.IntType(32), number)
        found = low.builder.at_caller().insert_element(found, value.value, place)
    return Float(low.builder, found, type_)


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
    if element is T.F32:
        (number,) = struct.unpack("<f", struct.pack("<f", number))
    elif element is T.F16:
        (number,) = struct.unpack("<e", struct.pack("<e", number))
    one = ir.Constant(llvm_type_of(element), number)
    return one if element is type_ else ir.Constant(llvm_type_of(type_), [one, one])


def _overflows(number: float) -> bool:
    try:
        struct.pack("<f", number)
    except OverflowError:
        return True
    return False


def as_f32(builder: BuilderBase, value: object) -> ir.Value:
    """An f32 as llvmlite's: a number of the kernel, the bits of one in a word, or a known number.

    Raises: InputError for another width or type, and for a number beyond f32's.
    """
    if isinstance(value, Float) and value.type is T.F32:
        return value.value
    return as_float(builder, value, T.F32)


def as_float(builder: BuilderBase, value: object, type_: ScalarType) -> ir.Value:
    """A number of `type_` as llvmlite's: the kernel's, its bits in an integer, or a known one.

    Raises: InputError for another width or type, and for a number beyond the type's.
    """
    if isinstance(value, Float) and value.type is type_:
        return value.value
    if isinstance(value, Int) and value.bits == type_.bits:
        return builder.at_caller().bitcast(value.value, llvm_type_of(type_))
    if isinstance(value, (Int, Register)) or not isinstance(value, SupportsFloat):
        several = not isinstance(value, (Int, Register)) and hasattr(value, "count")
        article = "an F32" if type_ is T.F32 else f"a number in {type_.value}"
        raise refuse(
            f"no {type_.value}",
            got=described(value),
            expected=f"{article}, {type_.bits} bits of one, or a Python number",
            hint="registers one by one: values[0]" if several else f"x.to({type_.value})",
        )
    return float_constant(value, type_)
