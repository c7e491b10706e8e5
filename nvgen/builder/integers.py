"""Operators and functions of the integers of a kernel, which know their sign.

Layer: nvgen.builder.  A number knows its kernel, so `warp == 0` adds an instruction.  Two types are
never mixed: `x.to(u32)`; a Python number takes the type of the other side.  PTX ISA, Integer
Arithmetic Instructions; Comparison and Selection Instructions; Logic and Shift Instructions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Self, SupportsIndex, TypeVar

from llvmlite import ir

from intrinsics.lazy_dataclass import dataclass
from nvgen.builder.number_types import called, constant, instead, not_known, power
from nvgen.builder.regions import Host
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, no_method, refuse

Own = TypeVar("Own", bound="Integer")


def _ints(
    name: str, unsigned: str = "", *, swapped: bool = False
) -> Callable[[Own, Own | int], Own]:
    """An operator of integers: LLVM's instruction, and the one for unsigned ones."""

    def operate(self: Own, other: Own | int) -> Own:
        chosen = unsigned if unsigned and not self.signed else name
        pair = (self.value, self.taken(other))
        if not swapped and not isinstance(other, Integer):
            _check_constant(name, self, operator.index(other))
        operation = getattr(self.builder.at_caller(), chosen)
        return self.like(operation(*(pair[::-1] if swapped else pair)))

    return operate


_SHIFTS = ("shl", "ashr")
_DIVISIONS = ("sdiv", "srem")


def _check_constant(name: str, number: Integer, other: int) -> None:
    """Whether an operation by a known number has a result."""
    if name in _SHIFTS and not 0 <= other < number.bits:
        expected = f"0 to {number.bits - 1}, of {number.words}"
        raise refuse("a shift by more bits than there are", got=str(other), expected=expected)
    if name in _DIVISIONS and other == 0:
        raise refuse("a division by 0", got=f"{number.words} by 0", expected="another divisor")


def _int_order(predicate: str) -> Callable[[Own, object], Own]:
    def compare(self: Own, other: object) -> Own:
        if not isinstance(other, (Integer, SupportsIndex)):
            raise refuse(
                "an integer is compared with something else",
                got=type(other).__name__,
                expected="an integer",
                hint=instead(other),
            )
        builder = self.builder.at_caller()
        operation = builder.icmp_signed if self.signed else builder.icmp_unsigned
        return self.unsigned(operation(predicate, self.value, self.taken(other)))

    return compare


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class Integer:
    """What integers have in common with no other numbers; `Int` also converts them."""

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

    def like(self, value: ir.Value) -> Self:
        """Another value of llvmlite's as a number of this type."""
        return type(self)(self.builder, value, self.signed)

    def unsigned(self, value: ir.Value) -> Self:
        """Another value of llvmlite's as an unsigned number, or a condition."""
        return type(self)(self.builder, value)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's."""
        if isinstance(other, Integer):
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

    def zext(self, bits: int) -> Self:
        """Zero-extended to `bits` bits, as an unsigned integer.

        Raises: InputError for fewer.
        """
        return self.unsigned(self._wider(bits, "zext"))

    def widened(self, bits: int) -> Self:
        """Sign- or zero-extended to `bits` bits, by its own signedness.

        Raises: InputError for fewer.
        """
        return self.like(self._wider(bits, "sext" if self.signed else "zext"))

    def _wider(self, bits: int, name: str) -> ir.Value:
        if bits <= self.bits:
            raise refuse("no wider integer", got=f"i{bits}", expected=f"more than i{self.bits}")
        return getattr(self.builder.at_caller(), name)(self.value, ir.IntType(bits))

    def min(self, other: Self | int) -> Self:
        """The minimum of two numbers of one type."""
        return self._extreme("min", other)

    def max(self, other: Self | int) -> Self:
        """The maximum of two numbers of one type."""
        return self._extreme("max", other)

    def abs(self) -> Self:
        """The absolute value; that of the least number is itself."""
        return self.max(-self) if self.signed else self

    def popc(self) -> Self:
        """The number of bits that are set."""
        return self._of_bits("ctpop")

    def clz(self) -> Self:
        """The number of leading zeros; the width for 0."""
        return self._of_bits("ctlz", ir.Constant(ir.IntType(1), 0))

    def brev(self) -> Self:
        """The bits in reverse order."""
        return self._of_bits("bitreverse")

    def _of_bits(self, name: str, *said: ir.Constant) -> Self:
        """An intrinsic of LLVM's that takes the bits, and constants besides."""
        type_ = self.value.type
        made = ir.FunctionType(type_, [type_, *(one.type for one in said)])
        function = self.builder.declare(f"llvm.{name}.i{self.bits}", made)
        return self.like(self.builder.at_caller().call(function, [self.value, *said]))

    __abs__ = abs

    def _extreme(self, name: str, other: Self | int) -> Self:
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

    def __neg__(self) -> Self:
        return 0 - self

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(no_method(name, self), name=name, obj=self)

    def __pow__(self, exponent: object) -> Self:
        """By a known whole exponent, as products."""
        return power(self, exponent, "1 << n is 2 to the power of n", operator.mul)

    def __invert__(self) -> Self:
        return self ^ (-1 if self.signed else (1 << self.bits) - 1)

    def __truediv__(self, other: object) -> Self:
        raise refuse(
            "integers have no quotient with a fraction",
            got=f"a division by {described(other)}",
            expected="x // y, which is the whole part",
            hint="x.to(f32) / y is a quotient in f32",
        )

    __rtruediv__ = __truediv__

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> NoReturn:
        raise not_known(
            "branch on it with `with b.if_(condition):`; & and | join conditions, ~ turns one; "
            "x.max(y) and x.min(y) are Python's max and min"
        )
