"""Numbers of a kernel: integers that know their sign, floats, and pairs of floats.

Layer: nvgen.builder.  A number knows its kernel, so `warp == 0` or `x * 0.5` adds an instruction.
Two types are never mixed: `x.to(f32)`; a Python number takes the type of the other side.  Floats
are rounded to nearest even.  PTX ISA, Integer Arithmetic Instructions; Floating Point Instructions;
Half Precision Floating Point Instructions; cvt.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, SupportsFloat, SupportsIndex, TypeAlias, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.approximations import erf_of_size, power
from nvgen.builder.llvm_ext import vector_value
from nvgen.builder.names_elsewhere import no_method
from nvgen.builder.number_types import (
    PAIR_OF,
    STORED,
    FloatType,
    IntType,
    constant,
    element_of,
    float_constant,
    instead,
    is_float,
    llvm_type_of,
    scalar_type,
)
from nvgen.builder.refusals import described, refuse
from nvgen.builder.regions import Host

T = ScalarType
_PAIRS = tuple(PAIR_OF.values())

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

_SUFFIXES = {
    T.F16: "f16", T.BF16: "bf16", T.F32: "f32", T.F64: "f64",
    T.F16X2: "v2f16", T.BF16X2: "v2bf16", T.F32X2: "v2f32",
}  # fmt: skip
"""What LLVM appends to the name of an overloaded intrinsic."""


def called(host: Host, name: str, *values: ir.Value) -> ir.Value:
    """A call of an intrinsic whose arguments and whose result are of one type."""
    type_ = values[0].type
    function = host.declare(name, ir.FunctionType(type_, [type_] * len(values)))
    return host.at_caller().call(function, list(values))


def _not_known(hint: str) -> NoReturn:
    raise refuse("a value of the kernel is not known while the kernel is built", hint=hint)


# ---- integers ----------------------------------------------------------------------------------


def _ints(name: str, unsigned: str = "", *, swapped: bool = False) -> Callable[[Int, IntLike], Int]:
    """An operator of integers: LLVM's instruction, and the one for unsigned ones."""

    def operate(self: Int, other: IntLike) -> Int:
        chosen = unsigned if unsigned and not self.signed else name
        pair = (self.value, self.taken(other))
        if not swapped and not isinstance(other, Int):
            _check_constant(name, self, operator.index(other))
        operation = getattr(self.builder.at_caller(), chosen)
        return self.like(operation(*(pair[::-1] if swapped else pair)))

    return operate


_SHIFTS = ("shl", "ashr")
_DIVISIONS = ("sdiv", "srem")


def _check_constant(name: str, number: Int, other: int) -> None:
    """Whether an operation by a known number has a result.

    Raises: InputError for a shift by as many bits as there are, and a division by 0.
    """
    if name in _SHIFTS and not 0 <= other < number.bits:
        expected = f"0 to {number.bits - 1}, of {number.words}"
        raise refuse("a shift by more bits than there are", got=str(other), expected=expected)
    if name in _DIVISIONS and other == 0:
        raise refuse("a division by 0", got=f"{number.words} by 0", expected="another divisor")


def _int_order(predicate: str) -> Callable[[Int, object], Int]:
    def compare(self: Int, other: object) -> Int:
        if not isinstance(other, (Int, SupportsIndex)):
            raise refuse(
                "an integer is compared with something else",
                got=type(other).__name__,
                expected="an integer",
                hint=instead(other),
            )
        builder = self.builder.at_caller()
        operation = builder.icmp_signed if self.signed else builder.icmp_unsigned
        return Int(self.builder, operation(predicate, self.value, self.taken(other)))

    return compare


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """An integer that knows its sign (i1 for conditions); indices and sizes are unsigned.

    Comparisons, divisions, shifts to the right and conversions to more bits take it for what it
    is.  `//` and `%` round towards zero, as PTX's div and rem do; what leaves the range begins anew
    at the other end.  A shift by as many bits as there are, or more, and a division by 0 have no
    meaning.  A Python number takes the other side's type.
    """

    builder: Host
    value: ir.Value
    signed: bool = False

    @property
    def bits(self) -> int:
        """The width."""
        width: int = self.value.type.width
        return width

    @property
    def words(self) -> str:
        """Its type: i32, u64; i1 of a condition, which has no sign."""
        return f"{'i' if self.signed or self.bits == 1 else 'u'}{self.bits}"

    def __repr__(self) -> str:
        return f"<{self.words} of {self.builder.name}>"

    def like(self, value: ir.Value) -> Int:
        """Another value of llvmlite's as a number of this type."""
        return Int(self.builder, value, self.signed)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's.

        Raises: InputError for another width, sign or type, and for a number that does not fit.
        """
        if isinstance(other, Int):
            hint = f"convert one: x.to({self.words})"
            if other.bits != self.bits:
                raise refuse(
                    "integers of different widths",
                    got=other.words,
                    expected=self.words,
                    hint=hint,
                )
            if other.signed != self.signed and self.bits > 1:
                raise refuse(
                    "a signed and an unsigned integer in one operation",
                    got=f"{self.words} and {other.words}",
                    expected="two of one sign",
                    hint=hint,
                )
            return other.value
        if not isinstance(other, SupportsIndex):
            raise refuse(
                "no operand of an integer",
                got=described(other),
                expected="an integer",
                hint=instead(other),
            )
        return constant(other, self.bits, signed=self.signed)

    @overload
    def to(self, dtype: FloatType) -> Float: ...

    @overload
    def to(self, dtype: IntType) -> Int: ...

    @overload
    def to(self, dtype: object) -> Number: ...

    def to(self, dtype: object) -> Number:
        """The same number in another type: more or fewer bits, another sign, a float's.

        To more bits it keeps its sign; to fewer the low ones are kept.  A float is rounded to
        nearest even.  A condition becomes 0 or 1.

        Raises: InputError for what is no type of numbers, or for pairs of them.
        """
        type_ = scalar_type(dtype)
        builder, llvm = self.builder.at_caller(), llvm_type_of(type_)
        if type_ in _PAIRS:
            raise _no_conversion(self.words, type_)
        if is_float(type_):
            convert = builder.sitofp if self.signed else builder.uitofp
            return float_of(self.builder, convert(self.value, llvm), type_)
        value = self.value
        if type_.bits > self.bits:
            signed = self.signed and self.bits > 1
            value = builder.sext(value, llvm) if signed else builder.zext(value, llvm)
        elif type_.bits < self.bits:
            value = builder.trunc(value, llvm)
        return Int(self.builder, value, type_.is_signed)

    def zext(self, bits: int) -> Int:
        """The bits in more bits, with zeros before them, as an unsigned integer.

        Raises: InputError for fewer.
        """
        return Int(self.builder, self._wider(bits, "zext"))

    def widened(self, bits: int) -> Int:
        """The same number in more bits, by its sign.

        Raises: InputError for fewer.
        """
        return self.like(self._wider(bits, "sext" if self.signed else "zext"))

    def _wider(self, bits: int, name: str) -> ir.Value:
        if bits <= self.bits:
            raise refuse("no wider integer", got=f"i{bits}", expected=f"more than i{self.bits}")
        return getattr(self.builder.at_caller(), name)(self.value, ir.IntType(bits))

    def min(self, other: IntLike) -> Int:
        """The lesser of two numbers of one type."""
        return self._extreme("min", other)

    def max(self, other: IntLike) -> Int:
        """The greater of two numbers of one type."""
        return self._extreme("max", other)

    def abs(self) -> Int:
        """The number without its sign; the least one stays as it is."""
        return self.max(-self) if self.signed else self

    def popc(self) -> Int:
        """How many bits are set."""
        return self._of_bits("ctpop")

    def clz(self) -> Int:
        """How many zeros the bits begin with, from the highest on; all of them where it is 0."""
        return self._of_bits("ctlz", ir.Constant(ir.IntType(1), 0))

    def brev(self) -> Int:
        """The bits in the opposite order."""
        return self._of_bits("bitreverse")

    def _of_bits(self, name: str, *said: ir.Constant) -> Int:
        """An intrinsic of LLVM's that takes the bits, and is told something."""
        type_ = self.value.type
        made = ir.FunctionType(type_, [type_, *(one.type for one in said)])
        function = self.builder.declare(f"llvm.{name}.i{self.bits}", made)
        return self.like(self.builder.at_caller().call(function, [self.value, *said]))

    __abs__ = abs

    def _extreme(self, name: str, other: IntLike) -> Int:
        full = f"llvm.{'s' if self.signed else 'u'}{name}.i{self.bits}"
        return self.like(called(self.builder, full, self.value, self.taken(other)))

    __add__ = __radd__ = _ints("add")
    __sub__, __rsub__ = _ints("sub"), _ints("sub", swapped=True)
    __mul__ = __rmul__ = _ints("mul")
    __and__ = __rand__ = _ints("and_")
    __or__ = __ror__ = _ints("or_")
    __xor__ = __rxor__ = _ints("xor")
    __floordiv__, __rfloordiv__ = _ints("sdiv", "udiv"), _ints("sdiv", "udiv", swapped=True)
    __mod__, __rmod__ = _ints("srem", "urem"), _ints("srem", "urem", swapped=True)
    __lshift__, __rlshift__ = _ints("shl"), _ints("shl", swapped=True)
    __rshift__, __rrshift__ = _ints("ashr", "lshr"), _ints("ashr", "lshr", swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_int_order, ("<", "<=", ">", ">="))
    __eq__ = _int_order("==")  # type: ignore[assignment]  # a comparison is a value of the kernel
    __ne__ = _int_order("!=")  # type: ignore[assignment]  # this one, too

    def __neg__(self) -> Int:
        return 0 - self

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(no_method(name, self), name=name, obj=self)

    def __pow__(self, exponent: object) -> Int:
        """By a known whole exponent, as products."""
        return power(self, exponent, "1 << n is 2 to the power of n", operator.mul)

    def __invert__(self) -> Int:
        return self ^ (-1 if self.signed else (1 << self.bits) - 1)

    def __truediv__(self, other: object) -> Int:
        raise refuse(
            "integers have no quotient with a fraction",
            got=f"a division by {described(other)}",
            expected="x // y, which is the whole part",
            hint="x.to(f32) / y is a quotient in f32",
        )

    __rtruediv__ = __truediv__

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        _not_known(
            "branch on it with `with b.if_(condition):`; & and | join conditions, ~ turns one; "
            "x.max(y) and x.min(y) are Python's max and min"
        )


IntLike: TypeAlias = Int | int
"""An integer: the kernel's, or one that is known."""


# ---- floats ------------------------------------------------------------------------------------


def _floats(name: str, *, swapped: bool = False) -> Callable[[Float, FloatLike], Float]:
    """An operator of floats: LLVM's instruction."""

    def operate(self: Float, other: FloatLike) -> Float:
        pair = (self._computed().value, self.taken(other))
        operation = getattr(self.builder.at_caller(), name)
        return self.like(operation(*(pair[::-1] if swapped else pair)))

    return operate


def _float_order(predicate: str) -> Callable[[Float, object], Int]:
    def compare(self: Float, other: object) -> Int:
        if self._computed().type in _PAIRS:
            raise refuse("a pair has no order", got=self.words, expected="one of it: pair[0]")
        given, builder = self.taken(other), self.builder.at_caller()
        operation = builder.fcmp_unordered if predicate == "!=" else builder.fcmp_ordered
        return Int(self.builder, operation(predicate, self.value, given))

    return compare


@dataclass(frozen=True, slots=True, eq=False)
class Float:
    """A floating-point number, or a pair of them; operators round to nearest even.

    Pairs (f16x2, bf16x2 and, from sm_100 on in one instruction, f32x2) are computed side by side.
    A Python number takes the type of the other side, in a pair for both.  Comparisons give
    conditions, false where one is a NaN but for `!=`.  Two types are never mixed: `x.to(f32)`.
    e4m3 and e5m2 are loaded, stored and converted; one computes with them in another type.
    """

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

    @property
    def word(self) -> Int:
        """Its bits as an unsigned integer."""
        bits = ir.IntType(self.bits)
        return Int(self.builder, self.builder.at_caller().bitcast(self.value, bits))

    def __repr__(self) -> str:
        return f"<{self.words} of {self.builder.name}>"

    def like(self, value: ir.Value) -> Float:
        """Another value of llvmlite's as a number of this type."""
        return float_of(self.builder, value, self.type)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's.

        Raises: InputError for another type, and for a number beyond the type's.
        """
        if isinstance(other, Float) and other.type is self.type:
            return other.value
        if isinstance(other, (Int, Float)) or not isinstance(other, SupportsFloat):
            given = other.words if isinstance(other, (Int, Float)) else described(other)
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
        integer of the type is has no meaning.  To e4m3 and e5m2 (sm_89) what is beyond the largest
        number becomes that; two numbers of a vector are converted with one instruction.

        Raises: InputError for what is no type of numbers, and of a pair for what is none.
        """
        type_ = scalar_type(dtype)
        builder, llvm = self.builder.at_caller(), llvm_type_of(type_)
        if type_ is self.type:
            return self
        if (type_ in _PAIRS) is not (self.type in _PAIRS):
            raise _no_conversion(self.words, type_)
        if type_ in STORED:
            one = self.to(T.F32)
            word = narrow_word(one, ir.Constant(one.value.type, 0.0), type_)
            return Float(self.builder, builder.trunc(word, llvm), type_)
        if self.type in STORED:
            word = builder.zext(self.value, ir.IntType(16))
            return wide_pair(self.builder, word, self.type)[0].to(type_)
        if not is_float(type_):
            convert = builder.fptosi if type_.is_signed else builder.fptoui
            return Int(self.builder, convert(self.value, llvm), type_.is_signed)
        here, there = element_of(self.type).bits, element_of(type_).bits
        if here == there:
            return self.to(T.F32X2 if type_ in _PAIRS else T.F32).to(type_)
        convert = builder.fpext if there > here else builder.fptrunc
        return float_of(self.builder, convert(self.value, llvm), type_)

    # ---- operators ---------------------------------------------------------------------------

    __add__, __radd__ = _floats("fadd"), _floats("fadd", swapped=True)
    __sub__, __rsub__ = _floats("fsub"), _floats("fsub", swapped=True)
    __mul__, __rmul__ = _floats("fmul"), _floats("fmul", swapped=True)
    __truediv__, __rtruediv__ = _floats("fdiv"), _floats("fdiv", swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_float_order, ("<", "<=", ">", ">="))
    __eq__ = _float_order("==")  # type: ignore[assignment]  # a comparison is a value of the kernel
    __ne__ = _float_order("!=")  # type: ignore[assignment]  # this one, too

    def __neg__(self) -> Float:
        return self.like(self.builder.at_caller().fneg(self._computed().value))

    def _computed(self) -> Float:
        """Itself, where PTX computes with such numbers."""
        if self.type in STORED:
            hint = "x.to(f32), and back"
            raise refuse("no arithmetic of 8 bits", got=self.words, expected="f32", hint=hint)
        return self

    def _no_integer(self, *_: object) -> NoReturn:
        raise refuse(
            "an integer operation on a register that holds no unsigned integer",
            got=f"an {self.type.value}",
            expected="an Int",
            hint="x.word is its bits as an unsigned integer, x.to(u32) the number as one; "
            "(x / y).floor() is a whole quotient, n.to(f32) an integer as a float",
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_integer
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_integer
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __index__ = _no_integer

    def __bool__(self) -> bool:
        _not_known("branch on it with `with b.if_(condition):`")

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, number: int) -> Float:
        """One number of a pair: 0 is the one in the lower half.

        Raises: InputError for a number that is no pair, or another part.
        """
        if self.type not in _PAIRS or number not in (0, 1):
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
        return self._approximated("tanh")

    def exp(self, *, ftz: bool = False) -> Float:
        """e to the power of the number: `ex2` of x times the logarithm of e, as f32.

        The relative error is at most 1.23 |x| 2^-24 + 2^-22, 6.7e-6 at x = 88: what the product and
        the logarithm lose by rounding is an error of the exponent, and ex2 has two units of its
        own.  Results below the normal numbers are also off by up to 2^-149, or with `ftz` zeros.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: (x * math.log2(math.e)).ex2(ftz=ftz))

    def log(self, *, ftz: bool = False) -> Float:
        """The natural logarithm: `lg2` times the logarithm of 2, as f32.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: x.lg2(ftz=ftz) * math.log(2))

    def sin(self, *, ftz: bool = False) -> Float:
        """The sine of an angle in radians, approximated: to 2^-20.5 from -π to π.  PTX ISA, sin.

        Raises: InputError for f64.
        """
        return self._approximated("sin", ftz=ftz)

    def cos(self, *, ftz: bool = False) -> Float:
        """The cosine of an angle in radians, approximated as `sin` is.  PTX ISA, cos.

        Raises: InputError for f64.
        """
        return self._approximated("cos", ftz=ftz)

    def erf(self) -> Float:
        """The error function, as f32; the relative error is at most 2^-22.

        x · (1 + erf(x / √2)) / 2 is GELU as it is defined; with `tanh` it is approximated.

        Raises: InputError for f64.
        """
        return self._in_f32(lambda x: erf_of_size(x.abs())._called("copysign", x))

    def floor(self) -> Float:
        """The largest whole number that is not greater."""
        return self._in_f32(lambda x: x._called("floor"))

    def ceil(self) -> Float:
        """The smallest whole number that is not less."""
        return self._in_f32(lambda x: x._called("ceil"))

    def trunc(self) -> Float:
        """The whole part."""
        return self._in_f32(lambda x: x._called("trunc"))

    def round(self) -> Float:
        """The nearest whole number, of two the even one."""
        return self._in_f32(lambda x: x._called("roundeven"))

    def rcp(self, *, approx: bool = False) -> Float:
        """1 over the number, rounded to nearest even, or of f32 approximated with `approx`, which
        takes numbers below the normal ones for zeros.  PTX ISA, rcp.
        """
        return self._approximated("rcp") if approx else 1.0 / self

    def sqrt(self, *, approx: bool = False) -> Float:
        """The square root, rounded to nearest even, or of f32 approximated with `approx`.

        PTX ISA, sqrt.
        """
        return self._approximated("sqrt") if approx else self._called("sqrt")

    def _approximated(self, head: str, *, ftz: bool = False) -> Float:
        name = _APPROXIMATE[head].get(self.type)
        if name is None and self.type is not T.F64:
            return self._in_f32(lambda x: x._approximated(head, ftz=ftz))
        if name is None:
            raise refuse(f"PTX has no {head} of f64", got="f64", expected="f32: x.to(f32)")
        if ftz and self.type is T.F32:
            name = name.replace(".approx", ".approx.ftz")
        return self.like(called(self.builder, f"llvm.nvvm.{name}", self.value))

    def _in_f32(self, operation: Callable[[Float], Float]) -> Float:
        """What `operation` makes of the number, or of both of a pair; of narrower ones in f32."""
        if self.type in (T.F32, T.F64):
            return operation(self)
        if self.type in _PAIRS:
            low, high = (self[i] for i in (0, 1))
            return pair_of(low._in_f32(operation), high._in_f32(operation))
        found = operation(self.to(T.F32)).to(self.type)
        assert isinstance(found, Float)
        return found

    def __round__(self, digits: object = None) -> Float:
        if digits is not None:
            raise refuse(
                "a float is not rounded to digits",
                got=f"round(x, {described(digits)})",
                expected="round(x)",
                hint="round(x * 100) / 100 is near the number with two digits",
            )
        return self.round()

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(no_method(name, self), name=name, obj=self)

    def __pow__(self, exponent: object) -> Float:
        """By a known whole exponent, as products; each is rounded."""
        hint = "(x.lg2() * y).ex2() is x to the power of y, of f32 from 0 on"
        return power(self, exponent, hint, operator.mul)

    __abs__, __floor__, __ceil__, __trunc__ = abs, floor, ceil, trunc

    def _called(self, name: str, *others: FloatLike) -> Float:
        given = [self._computed().value, *(self.taken(other) for other in others)]
        return self.like(called(self.builder, f"llvm.{name}.{_SUFFIXES[self.type]}", *given))


class F32(Float):
    """A number in f32; `b.f32(word)` is the number whose bits an integer holds."""

    __slots__ = ()

    def __init__(self, builder: Host, value: ir.Value) -> None:
        super().__init__(builder, value, ScalarType.F32)

    def like(self, value: ir.Value) -> F32:
        """Another value of llvmlite's as an f32."""
        return F32(self.builder, value)


FloatLike: TypeAlias = Float | float
"""A floating-point number: the kernel's, or one that is known."""

Number: TypeAlias = Int | Float
"""A number of the kernel: a register, whatever its bits mean."""

WordLike: TypeAlias = Number | int
"""A register of the kernel, or a number as its bits."""


def float_of(builder: Host, value: ir.Value, type_: ScalarType) -> Float:
    """A floating-point number of llvmlite's as the builder's."""
    return F32(builder, value) if type_ is T.F32 else Float(builder, value, type_)


def number_of(builder: Host, value: ir.Value, type_: ScalarType | None) -> Number:
    """A register with bits that mean a number of `type_`; an Int where that is not said."""
    if type_ is None:
        return Int(builder, value)
    if is_float(type_):
        return float_of(builder, builder.at_caller().bitcast(value, llvm_type_of(type_)), type_)
    return Int(builder, value, type_.is_signed)


def type_of(number: Number) -> ScalarType:
    """The type of a number; a condition has none.

    Raises: InputError for what is no number of the kernel, and for a condition.
    """
    if isinstance(number, Float):
        return number.type
    if not isinstance(number, Int) or number.bits not in (8, 16, 32, 64):
        raise refuse("no number of the kernel", got=described(number), expected="an Int or a Float")
    return ScalarType(f"{'s' if number.signed else 'u'}{number.bits}")


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
    pair, element = (low.value, high.value), llvm_type_of(low.type)
    found = vector_value(low.builder.at_caller(), element, 2, pair)
    return Float(low.builder, found, PAIR_OF[low.type])


def _no_conversion(got: str, type_: ScalarType) -> Exception:
    return refuse(
        "a pair is not converted to one number, nor the other way round",
        got=f"{got} to {type_.value}",
        expected="pair[0], pair[1]; b.pair(x, y)",
    )


def narrow_word(low: Number, high: ir.Value, type_: ScalarType) -> ir.Value:
    """Two f32, rounded to a type of 8 bits, in 16 bits."""
    f32 = low.value.type
    made = ir.FunctionType(ir.IntType(16), [f32, f32])
    function = low.builder.declare(f"llvm.nvvm.ff.to.{type_.value}x2.rn", made)
    return low.builder.at_caller().call(function, [high, low.value])


def wide_pair(host: Host, word: ir.Value, type_: ScalarType) -> Float:
    """Two numbers of 8 bits as f16, which has them all."""
    made = ir.FunctionType(llvm_type_of(T.F16X2), [word.type])
    function = host.declare(f"llvm.nvvm.{type_.value}x2.to.f16x2.rn", made)
    return Float(host, host.at_caller().call(function, [word]), T.F16X2)


def as_float(builder: Host, value: object, type_: ScalarType) -> ir.Value:
    """A number of `type_` as llvmlite's: the kernel's, its bits in an integer, or a known one.

    Raises: InputError for another width or type, and for a number beyond the type's.
    """
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
