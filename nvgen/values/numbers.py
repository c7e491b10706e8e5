"""Numbers of a kernel: integers that know their sign, floats, and pairs of floats.

Layer: nvgen.values.  A number knows its kernel, so `x * 0.5` adds an instruction.  Two types are
never mixed: `x.to(f32)`; a Python number takes the type of the other side.  Floats are rounded to
nearest even.  PTX ISA, Integer Arithmetic Instructions; Comparison and Selection Instructions;
Logic and Shift Instructions; Floating Point Instructions; Half Precision Floating Point
Instructions; cvt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NoReturn, Self, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, overload

from llvmlite import ir

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, refuse
from nvgen.llvm.ir_text import vector_value
from nvgen.values.float_functions import FloatFunctions
from nvgen.values.number_types import (
    PAIR_OF,
    PAIRS,
    STORED,
    FloatType,
    IntType,
    Scalar,
    Several,
    called,
    checked_width,
    constant,
    element_of,
    float_constant,
    instead,
    is_float,
    llvm_type_of,
    narrow_word,
    no_conversion,
    not_known,
    power,
    scalar_type,
    wide_pair,
)
from nvgen.values.regions import Host

T = ScalarType
Own = TypeVar("Own", bound="Float")


def _ints(name: str, unsigned: str = "", *, swapped: bool = False) -> Callable[[Int, IntLike], Int]:
    """An operator of integers: LLVM's instruction, and the one for unsigned ones."""

    def operate(self: Int, other: IntLike) -> Int:
        if isinstance(other, Several):
            return NotImplemented  # type: ignore[no-any-return]  # Python asks the other side
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
    """Whether an operation by a known number has a result."""
    if name in _SHIFTS and not 0 <= other < number.bits:
        expected = f"0 to {number.bits - 1}, of {number.words}"
        raise refuse("a shift by more bits than there are", got=str(other), expected=expected)
    if name in _DIVISIONS and other == 0:
        raise refuse("a division by 0", got=f"{number.words} by 0", expected="another divisor")


def _int_order(predicate: str) -> Callable[[Int, object], Int]:
    def compare(self: Int, other: object) -> Int:
        builder = self.builder.at_caller()
        operation = builder.icmp_signed if self.signed else builder.icmp_unsigned
        return Int(self.builder, operation(predicate, self.value, self.taken(other)))

    return compare


@guarded
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Int(Scalar):
    """A signed or unsigned integer, or a condition (i1); indices and sizes are unsigned.

    Comparisons, divisions, right shifts and extensions go by its signedness.  `//` and `%` round
    towards zero, as PTX's div and rem do; overflow wraps around.  A shift by the width or more, and
    a division by 0, are undefined.  A Python number takes the other operand's type.
    """

    builder: Host
    value: ir.Value
    signed: bool = False

    @overload
    def to(self, dtype: FloatType) -> Float: ...

    @overload
    def to(self, dtype: IntType) -> Int: ...

    @overload
    def to(self, dtype: object) -> Number: ...

    def to(self, dtype: object) -> Number:
        """Convert to another type: more or fewer bits, other signedness, or a float.

        It is sign- or zero-extended by its own signedness, or truncated.  A float is rounded to
        nearest even.  A condition becomes 0 or 1.

        Raises: InputError for what is no number type, and for a type of pairs.
        """
        type_ = scalar_type(dtype)
        builder, llvm = self.builder.at_caller(), llvm_type_of(type_)
        if type_ in PAIRS:
            raise no_conversion(self.words, type_)
        if is_float(type_):
            convert = builder.sitofp if self.signed else builder.uitofp
            return Float(self.builder, convert(self.value, llvm), type_)
        value = self.value
        if type_.bits > self.bits:
            signed = self.signed and self.bits > 1
            value = builder.sext(value, llvm) if signed else builder.zext(value, llvm)
        elif type_.bits < self.bits:
            value = builder.trunc(value, llvm)
        return Int(self.builder, value, type_.is_signed)

    @property
    def bits(self) -> int:
        """The width."""
        width: int = self.value.type.width
        return width

    @property
    def words(self) -> str:
        """Its type: i32, u64; i1 of a condition, which has no sign."""
        return f"{'i' if self.signed or self.bits == 1 else 'u'}{self.bits}"

    def like(self, value: ir.Value) -> Int:
        """Another value of llvmlite's as a number of this type."""
        return Int(self.builder, value, self.signed)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's."""
        if isinstance(other, Int):
            hint = f"convert one: x.to({self.words})"
            if other.bits != self.bits:
                got, expected = other.words, self.words
                raise refuse("integers of different widths", got=got, expected=expected, hint=hint)
            if other.signed != self.signed and self.bits > 1:
                raise refuse(
                    "a signed and an unsigned integer in one operation",
                    got=f"{self.words} and {other.words}", expected="two of one sign", hint=hint,
                )  # fmt: skip
            return other.value
        if not isinstance(other, (int, SupportsIndex)):
            got, hint = described(other), instead(other)
            raise refuse("no operand of an integer", got=got, expected="an integer", hint=hint)
        return constant(other, self.bits, signed=self.signed)

    def zext(self, bits: int) -> Int:
        """Zero-extended to `bits` bits, as an unsigned integer.

        Raises: InputError for fewer.
        """
        type_ = ir.IntType(checked_width(bits, self.bits + 1))
        return Int(self.builder, self.builder.at_caller().zext(self.value, type_))

    def min(self, other: Int | int) -> Int:
        """The minimum of two numbers of one type."""
        return self._extreme("min", other)

    def max(self, other: Int | int) -> Int:
        """The maximum of two numbers of one type."""
        return self._extreme("max", other)

    def abs(self) -> Int:
        """The absolute value; that of the least number is itself."""
        return self.max(-self) if self.signed else self

    def popc(self) -> Int:
        """The number of bits that are set."""
        return self._of_bits("ctpop")

    def clz(self) -> Int:
        """The number of leading zeros; the width for 0."""
        return self._of_bits("ctlz", ir.Constant(ir.IntType(1), 0))

    def brev(self) -> Int:
        """The bits in reverse order."""
        return self._of_bits("bitreverse")

    def _of_bits(self, name: str, *said: ir.Constant) -> Int:
        """An intrinsic of LLVM's that takes the bits, and constants besides."""
        type_ = self.value.type
        made = ir.FunctionType(type_, [type_, *(one.type for one in said)])
        function = self.builder.declare(f"llvm.{name}.i{self.bits}", made)
        return self.like(self.builder.at_caller().call(function, [self.value, *said]))

    __abs__ = abs

    def _extreme(self, name: str, other: Int | int) -> Int:
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

    def __pow__(self, exponent: object) -> Int:
        """By a known whole exponent, as products."""
        return power(self, exponent, "1 << n is 2 to the power of n", operator.mul)

    def __invert__(self) -> Int:
        return self ^ (-1 if self.signed else (1 << self.bits) - 1)

    def __truediv__(self, other: object) -> Int:
        got, expected = f"a division by {described(other)}", "x // y, which is the whole part"
        hint = "x.to(f32) / y is a quotient in f32"
        raise refuse(
            "integers have no quotient with a fraction", got=got, expected=expected, hint=hint
        )

    __rtruediv__ = __truediv__

    __hash__ = Scalar.__hash__

    def __index__(self) -> NoReturn:
        raise not_known("a loop of the kernel is `with b.range(n) as i:`, an index of memory x[i]")

    def __bool__(self) -> NoReturn:
        raise not_known(
            "branch on it with `with b.if_(condition):`; & and | join conditions, ~ turns one; "
            "x.max(y) and x.min(y) are Python's max and min"
        )


IntLike: TypeAlias = Int | int
"""An integer: the kernel's, or one that is known."""


def _floats(name: str, *, swapped: bool = False) -> Callable[[Own, FloatLike], Own]:
    """An operator of floats: LLVM's instruction."""

    def operate(self: Own, other: FloatLike) -> Own:
        if isinstance(other, Several):
            return NotImplemented  # type: ignore[no-any-return]  # Python asks the other side
        pair = (self._computed(), self.taken(other))
        operation = getattr(self.builder.at_caller(), name)
        return self.like(operation(*(pair[::-1] if swapped else pair)))

    return operate


def _float_order(predicate: str) -> Callable[[Float, object], Int]:
    def compare(self: Float, other: object) -> Int:
        mine = self._computed()
        if self.type in PAIRS:
            raise refuse("a pair has no order", got=self.words, expected="one of it: pair[0]")
        given, builder = self.taken(other), self.builder.at_caller()
        operation = builder.fcmp_unordered if predicate == "!=" else builder.fcmp_ordered
        return Int(self.builder, operation(predicate, mine, given))

    return compare


@guarded
class Float(FloatFunctions):
    """A floating-point number, or a pair of them; operators round to nearest even.

    Operations on pairs (f16x2, bf16x2 and, in one instruction from sm_100 on, f32x2) are element by
    element.  A Python number takes the other operand's type, in a pair for both.  Comparisons give
    conditions; with a NaN all but `!=` are false.  Types do not mix: convert with `x.to(f32)`. e4m3
    and e5m2 are only loaded, stored and converted.
    """

    __slots__ = ()

    @property
    def word(self) -> Int:
        """Its bits as an unsigned integer."""
        bits = ir.IntType(self.bits)
        return Int(self.builder, self.builder.at_caller().bitcast(self.value, bits))

    @overload
    def to(self, dtype: FloatType) -> Float: ...

    @overload
    def to(self, dtype: IntType) -> Int: ...

    @overload
    def to(self, dtype: object) -> Number: ...

    def to(self, dtype: object) -> Number:
        """The same number in another type.

        A narrower float is rounded to nearest even; an integer is truncated towards zero, and
        undefined out of its range. e4m3 and e5m2 (sm_89) saturate; two elements of a vector are
        converted by one instruction.

        Raises: InputError for what is no number type, and from a pair to what is none.
        """
        type_ = scalar_type(dtype)
        builder, llvm = self.builder.at_caller(), llvm_type_of(type_)
        if type_ is self.type:
            return self
        if (type_ in PAIRS) is not (self.type in PAIRS):
            raise no_conversion(self.words, type_)
        if type_ in STORED:
            one = self.to(T.F32)
            zero = ir.Constant(one.value.type, 0.0)
            word = narrow_word(self.builder, one.value, zero, type_)
            return Float(self.builder, builder.trunc(word, llvm), type_)
        if self.type in STORED:
            word = builder.zext(self.value, ir.IntType(16))
            pair = wide_pair(self.builder, word, self.type)
            return Float(self.builder, pair, T.F16X2)[0].to(type_)
        if not is_float(type_):
            convert = builder.fptosi if type_.is_signed else builder.fptoui
            return Int(self.builder, convert(self.value, llvm), type_.is_signed)
        here, there = element_of(self.type).bits, element_of(type_).bits
        if here == there:
            return self.to(T.F32X2 if type_ in PAIRS else T.F32).to(type_)
        convert = builder.fpext if there > here else builder.fptrunc
        return Float(self.builder, convert(self.value, llvm), type_)

    # ---- operators ---------------------------------------------------------------------------

    __add__, __radd__ = _floats("fadd"), _floats("fadd", swapped=True)
    __sub__, __rsub__ = _floats("fsub"), _floats("fsub", swapped=True)
    __mul__, __rmul__ = _floats("fmul"), _floats("fmul", swapped=True)
    __truediv__, __rtruediv__ = _floats("fdiv"), _floats("fdiv", swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_float_order, ("<", "<=", ">", ">="))
    __eq__ = _float_order("==")  # type: ignore[assignment]  # a comparison is a value of the kernel
    __ne__ = _float_order("!=")  # type: ignore[assignment]  # this one, too

    def __neg__(self) -> Self:
        return self.like(self.builder.at_caller().fneg(self._computed()))

    def _in_f32(self, operation: Callable[[Self], Self]) -> Self:
        if self.type in (T.F32, T.F64):
            return operation(self)
        if self.type in PAIRS:
            pair = self[0], self[1]
            low, high = (one._in_f32(operation) for one in pair)  # type: ignore[arg-type]  # floats, too
            return self.like(pair_of(low, high).value)
        return self.like(operation(self.to(T.F32)).to(self.type).value)  # type: ignore[arg-type]  # a float, too

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
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = _no_integer

    def __index__(self) -> NoReturn:
        raise not_known("functions of Python's math are methods here: x.exp(), x.sqrt(); x.to(u32) "
                        "is an index of memory")  # fmt: skip

    def __bool__(self) -> NoReturn:
        raise not_known("branch on it with `with b.if_(condition):`")

    __hash__ = Scalar.__hash__

    def __getitem__(self, number: int) -> Float:
        """One number of a pair: 0 is the one in the lower half.

        Raises: InputError for a number that is no pair, or another part.
        """
        if self.type not in PAIRS or number not in (0, 1):
            raise refuse("no such part", got=f"{self.words}[{number!r}]", expected="pair[0 or 1]")
        place = ir.Constant(ir.IntType(32), number)
        found = self.builder.at_caller().extract_element(self.value, place)
        return Float(self.builder, found, element_of(self.type))


F32: TypeAlias = Float
"""A number in f32, in annotations; `Float` is the type of all floating-point numbers."""

FloatLike: TypeAlias = Float | float
"""A floating-point number: the kernel's, or one that is known."""

Number: TypeAlias = Int | Float
"""A number of the kernel: a register, whatever its bits mean."""

WordLike: TypeAlias = Number | int
"""A register of the kernel, or a number as its bits."""

Given: TypeAlias = WordLike | float
"""Bits, or a number that is known."""


def number_of(builder: Host, value: ir.Value, type_: ScalarType | None) -> Number:
    """A register with bits that mean a number of `type_`; an Int where that is not said."""
    if type_ is None:
        return Int(builder, value)
    if is_float(type_):
        return Float(builder, builder.at_caller().bitcast(value, llvm_type_of(type_)), type_)
    return Int(builder, value, type_.is_signed)


def type_of(number: Number) -> ScalarType:
    """The type of a number; a condition has none."""
    if isinstance(number, Float):
        return number.type
    if not isinstance(number, Int) or number.bits not in (8, 16, 32, 64):
        raise refuse("no number of the kernel", got=described(number), expected="an Int or a Float")
    return ScalarType(f"{'s' if number.signed else 'u'}{number.bits}")


def pair_of(low: object, high: object) -> Float:
    """Two numbers of one type as f16x2, bf16x2 or f32x2, the first in the lower half.

    Raises: InputError for two types, and for one without pairs.
    """
    if not isinstance(low, Float) or not isinstance(high, Float):
        got = f"{described(low)} and {described(high)}"
        raise refuse("no pair", got=got, expected="two f16, two bf16 or two f32 of the kernel")
    if low.type is not high.type or low.type not in PAIR_OF:
        got = f"{low.words} and {high.words}"
        hint = "b.pair(x, y).to(bf16x2) rounds two f32 with one instruction"
        raise refuse("no pair", got=got, expected="two f16, two bf16 or two f32", hint=hint)
    pair, element = (low.value, high.value), llvm_type_of(low.type)
    found = vector_value(low.builder.at_caller(), element, 2, pair)
    return Float(low.builder, found, PAIR_OF[low.type])


def as_float(builder: Host, value: object, type_: ScalarType) -> ir.Value:
    """A number of `type_` as llvmlite's: the kernel's, its bits in an integer, or a known one."""
    if isinstance(value, Float) and value.type is type_:
        return value.value
    if isinstance(value, Int) and value.bits == type_.bits:
        return builder.at_caller().bitcast(value.value, llvm_type_of(type_))
    if isinstance(value, (Int, Float)) or not isinstance(value, SupportsFloat):
        several = not isinstance(value, (Int, Float)) and hasattr(value, "count")
        article = "an F32" if type_ is T.F32 else f"a number in {type_.value}"
        expected = f"{article}, {type_.bits} bits of one, or a Python number"
        hint = "registers one by one: values[0]" if several else f"x.to({type_.value})"
        raise refuse(f"no {type_.value}", got=described(value), expected=expected, hint=hint)
    return float_constant(value, type_)
