"""Values in a kernel under construction: typed, with the operators that their type has.

Layer: nvgen.builder.  A value knows its builder, so `warp == 0` or `taddr + 64` adds an
instruction. Mixing widths, or an integer that does not fit, is refused with the line that did it.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, TypeAlias, overload

from llvmlite import ir

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import Finding, InputError, Severity, input_error
from intrinsics.modifiers import ScalarType
from nvgen.callers import place_of_caller

if TYPE_CHECKING:
    from nvgen.builder.base import BuilderBase
    from nvgen.builder.float_values import Float, Number
    from nvgen.builder.number_types import FloatType, IntType


def refuse(message: str, *, got: str = "", expected: str = "", hint: str = "") -> InputError:
    """What the builder says of nonsense, with the line of Python that asked for it."""
    place = place_of_caller()
    return input_error("builder/value", message, place=place, got=got, expected=expected, hint=hint)


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """An integer that knows its sign (i1 for conditions); indices and sizes are unsigned.

    Comparisons, divisions, shifts to the right and conversions to more bits take it for what it
    is.  `//` and `%` round towards zero, as PTX's div and rem do; what leaves the range begins anew
    at the other end.  A Python number takes the other side's type.
    """

    builder: BuilderBase
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

    def like(self, value: ir.Value) -> Int:
        """Another value of llvmlite's as a number of this type."""
        return Int(self.builder, value, self.signed)

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's.

        Raises: InputError for another width, sign or type, and for a number that does not fit.
        """
        if isinstance(other, Int):
            if other.bits != self.bits:
                raise refuse(
                    "integers of different widths",
                    got=other.words,
                    expected=self.words,
                    hint=f"convert one: x.to({self.words})",
                )
            if other.signed != self.signed and self.bits > 1:
                raise refuse(
                    "a signed and an unsigned integer in one operation",
                    got=f"{self.words} and {other.words}",
                    expected="two of one sign",
                    hint=f"convert one: x.to({self.words})",
                )
            return other.value
        if not isinstance(other, SupportsIndex):
            raise refuse(
                "no operand of an integer",
                got=described(other),
                expected="an integer",
                hint=_instead(other),
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

        Raises: InputError for what is no type of numbers.
        """
        from nvgen.builder.conversions import convert_integer

        return convert_integer(self, dtype)

    def min(self, other: IntLike) -> Int:
        """The lesser of two numbers of one type."""
        return self._extreme("min", other)

    def max(self, other: IntLike) -> Int:
        """The greater of two numbers of one type."""
        return self._extreme("max", other)

    def _extreme(self, name: str, other: IntLike) -> Int:
        type_, full = self.value.type, ("s" if self.signed else "u") + name
        made = ir.FunctionType(type_, [type_, type_])
        function = self.builder.declare(f"llvm.{full}.i{self.bits}", made)
        return self.like(self.builder.at_caller().call(function, [self.value, self.taken(other)]))

    def _binary(self, name: str, other: IntLike) -> Int:
        operation = getattr(self.builder.at_caller(), name)
        return self.like(operation(self.value, self.taken(other)))

    def _of_sign(self, signed: str, unsigned: str, other: IntLike) -> Int:
        return self._binary(signed if self.signed else unsigned, other)

    def _left(self, other: int) -> Int:
        return self.like(constant(other, self.bits, signed=self.signed))

    def __add__(self, other: IntLike) -> Int:
        return self._binary("add", other)

    def __sub__(self, other: IntLike) -> Int:
        return self._binary("sub", other)

    def __mul__(self, other: IntLike) -> Int:
        return self._binary("mul", other)

    def __floordiv__(self, other: IntLike) -> Int:
        return self._of_sign("sdiv", "udiv", other)

    def __mod__(self, other: IntLike) -> Int:
        return self._of_sign("srem", "urem", other)

    def __and__(self, other: IntLike) -> Int:
        return self._binary("and_", other)

    def __or__(self, other: IntLike) -> Int:
        return self._binary("or_", other)

    def __xor__(self, other: IntLike) -> Int:
        return self._binary("xor", other)

    def __lshift__(self, other: IntLike) -> Int:
        return self._binary("shl", other)

    def __rshift__(self, other: IntLike) -> Int:
        return self._of_sign("ashr", "lshr", other)

    def __neg__(self) -> Int:
        return 0 - self

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

    def __radd__(self, other: int) -> Int:
        return self + other

    def __rsub__(self, other: int) -> Int:
        return self._left(other) - self

    def __rmul__(self, other: int) -> Int:
        return self * other

    def __rfloordiv__(self, other: int) -> Int:
        return self._left(other) // self

    def __rmod__(self, other: int) -> Int:
        return self._left(other) % self

    def __rlshift__(self, other: int) -> Int:
        return self._left(other) << self

    def __rrshift__(self, other: int) -> Int:
        return self._left(other) >> self

    def __rand__(self, other: int) -> Int:
        return self & other

    def __ror__(self, other: int) -> Int:
        return self | other

    def __rxor__(self, other: int) -> Int:
        return self ^ other

    def _compare(self, predicate: str, other: IntLike) -> Int:
        builder = self.builder.at_caller()
        compare = builder.icmp_signed if self.signed else builder.icmp_unsigned
        return Int(self.builder, compare(predicate, self.value, self.taken(other)))

    def __eq__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("==", _int_like(other))

    def __ne__(self, other: object) -> Int:  # type: ignore[override]
        return self._compare("!=", _int_like(other))

    def __lt__(self, other: IntLike) -> Int:
        return self._compare("<", other)

    def __le__(self, other: IntLike) -> Int:
        return self._compare("<=", other)

    def __gt__(self, other: IntLike) -> Int:
        return self._compare(">", other)

    def __ge__(self, other: IntLike) -> Int:
        return self._compare(">=", other)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise refuse(
            "a value of the kernel is not known while the kernel is built",
            hint="branch on it with `with b.if_(condition):`; & and | join conditions, ~ turns one",
        )


IntLike: TypeAlias = Int | int


def _int_like(value: object) -> IntLike:
    if isinstance(value, Int):
        return value
    if isinstance(value, SupportsIndex):
        return operator.index(value)
    raise refuse(
        "an integer is compared with something else",
        got=type(value).__name__,
        expected="an integer",
        hint=_instead(value),
    )


def whole(value: object, what: str, least: int = 1) -> int:
    """A whole number that is known while the kernel is built, Python's or numpy's.

    Raises: InputError for anything else, and for less than `least`.
    """
    if not isinstance(value, SupportsIndex) or operator.index(value) < least:
        raise refuse(f"no {what}", got=described(value), expected=f"a whole number from {least}")
    return operator.index(value)


def described(value: object) -> str:
    """What was given in place of a number: the type of a value of the kernel."""
    type_ = type(value)
    return type_.__name__ if type_.__module__.startswith(__package__) else repr(value)


def _instead(given: object) -> str:
    """What to write in place of what is no integer."""
    if hasattr(given, "word"):
        return "x.to(u32) is the number as an integer, x.word the register's bits as one"
    if hasattr(given, "set"):
        return "v.value is what the variable holds at this place"
    if isinstance(given, float):
        return "b.f32(1.5) is a number in f32, b.f32(word) the one whose bits a word holds"
    return ""


def constant(given: object, bits: int, *, signed: bool = False) -> ir.Constant:
    """A constant of a width; of an unsigned type a negative one counts from the top.

    Raises: InputError when it is no whole number, or does not fit.
    """
    if not isinstance(given, SupportsIndex):
        raise refuse(
            "no integer",
            got=described(given),
            expected=f"i{bits}, or a whole number",
            hint=_instead(given),
        )
    value = operator.index(given)
    if not -(1 << max(bits - 1, 1)) <= value < 1 << bits - (signed and bits > 1):
        raise refuse(f"{value} does not fit into {bits} bits", got=str(value), expected=f"i{bits}")
    return ir.Constant(ir.IntType(bits), value)


@dataclass(slots=True, eq=False)
class Layout:
    """How a tile lies in shared memory: what it is declared with, and what its uses have said.

    `room` is what it and its neighbours in a ring take, in bytes.  `matters` once something has
    asked where its elements lie; `otherwise` is a tensor map that copies it in another swizzling,
    in words.
    """

    swizzle: Swizzle
    room: int
    matters: bool = False
    otherwise: str = ""

    def ask(self) -> None:
        """Note that where elements lie matters.

        Raises: InputError when a copy puts them elsewhere.
        """
        self.matters = True
        self._check()

    def copy(self, name: str, swizzle: Swizzle) -> None:
        """Note a copy through a tensor map.

        Raises: InputError when it puts elements elsewhere than where they are sought.
        """
        if swizzle != self.swizzle:
            self.otherwise = f"{swizzle.words} of tensor map {name}"
            self._check()

    def _check(self) -> None:
        if self.matters and self.otherwise:
            finding = Finding(
                "builder/map-swizzle",
                Severity.ERROR,
                "a tile lies in shared memory otherwise than its tensor map copies it",
                got=f"{self.otherwise}, {self.swizzle.words} of the tile",
                expected="the same of both",
                hint="b.tensor_map(…, swizzle=…) and b.shared_tile(…, swizzle=…) agree",
                section="PTX ISA, Swizzling Modes",
            )
            raise InputError([finding.at(place_of_caller())])


_TENSOR = 6
_NARROW_SPACES = (3, _TENSOR, 7)
"""LLVM's numbers of tensor memory, and of all memory whose addresses have 32 bits."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address in one of LLVM's address spaces.

    Within a tile in shared memory it keeps how the tile lies there.  One to numbers of a `dtype`
    loads and stores them by their index: `x[i]`, `x[i] = y`; `+` goes by bytes all the same.
    """

    builder: BuilderBase
    value: ir.Value
    layout: Layout | None = None
    dtype: ScalarType | None = None

    @property
    def space(self) -> int:
        """The address space: 1 global, 3 shared, 6 tensor memory."""
        space: int = self.value.type.addrspace
        return space

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"an address in space {self.space}"

    def like(self, value: ir.Value) -> Pointer:
        """Another value of llvmlite's as such an address."""
        return replace(self, value=value)

    def taken(self, other: object) -> ir.Value:
        """Another address in the same space as llvmlite's.

        Raises: InputError for anything else.
        """
        if not isinstance(other, Pointer) or other.space != self.space:
            raise refuse("another address", got=described(other), expected=self.words)
        return other.value

    def __add__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes (in tensor memory: columns, or lanes << 16) further on.

        An unsigned `Int` of 32 bits reaches 4 GiB ahead, never back; a signed one both ways.
        """
        bits = 32 if self.space == _TENSOR else 64
        index = self._wide(offset).value if isinstance(offset, Int) else constant(offset, bits)
        moved = self.builder.at_caller().gep(self.value, [index], source_etype=ir.IntType(8))
        return replace(self, value=moved)

    def of(self, dtype: object) -> Pointer:
        """The same address, of numbers of a type.

        Raises: InputError for what is no type of numbers.
        """
        from nvgen.builder.number_types import scalar_type

        return replace(self, dtype=scalar_type(dtype))

    def at(self, index: IntLike) -> Pointer:
        """The address of the number of that index.

        Raises: InputError for a pointer without a type of numbers.
        """
        size = self._typed().bits // 8
        offset = self._wide(index) if isinstance(index, Int) else index
        return self + offset * size

    def __getitem__(self, index: IntLike) -> Number:
        from nvgen.builder.memory import load_number

        return load_number(self.at(index), self._typed())

    def __setitem__(self, index: IntLike, value: Number | float) -> None:
        from nvgen.builder.memory import store_number

        store_number(self.at(index), self._typed(), value)

    def __iter__(self) -> NoReturn:
        raise refuse("a pointer has no end", got="an iteration", expected="x[i]")

    def _typed(self) -> ScalarType:
        if self.dtype is None:
            raise refuse(
                "a pointer whose numbers have no type",
                got="an index",
                expected="b.pointer(name, f32), or pointer.of(f32)",
            )
        return self.dtype

    def __sub__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes before; see `+`."""
        return self + -(self._wide(offset) if isinstance(offset, Int) else offset)

    def _wide(self, offset: Int) -> Int:
        """An offset as wide as an address.

        Shared and tensor memory have addresses of 32 bits, in which it is the same either way.
        """
        is_narrow = self.space in _NARROW_SPACES
        return offset if is_narrow or offset.bits >= 64 else self.builder.widened(offset, 64)


@dataclass(frozen=True, slots=True)
class Barrier:
    """An mbarrier object in shared memory."""

    name: str
    pointer: Pointer


@dataclass(frozen=True, slots=True)
class Barriers:
    """Several mbarrier objects, one after the other in shared memory."""

    name: str
    first: Pointer
    count: int

    @property
    def pointer(self) -> Pointer:
        """Where the only one is.

        Raises: InputError when there are several.
        """
        if self.count > 1:
            raise refuse(
                f"{self.name} is {self.count} mbarriers",
                got="all of them",
                expected=f"one: {self.name}[0] to {self.name}[{self.count - 1}]",
            )
        return self.first

    def __getitem__(self, number: IntLike) -> Barrier:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for what is no number, or one that is known and too large.
        """
        return Barrier(self.name, self.first + index_of(number, self.count, self.name) * 8)


def pointer_of(mbar: object) -> Pointer:
    """Where an mbarrier is.

    Raises: InputError for what is no mbarrier, and for several.
    """
    if not isinstance(mbar, (Barrier, Barriers)):
        raise refuse(
            "no mbarrier",
            got=described(mbar),
            expected="b.mbarrier(name), or one of b.mbarriers(name, count)",
        )
    return mbar.pointer


def index_of(number: object, count: int, name: str) -> IntLike:
    """The number of one of `count` things called `name`.

    Raises: InputError for what is no number, or one that is known and too large.
    """
    if isinstance(number, Int):
        return number
    known = operator.index(number) if isinstance(number, SupportsIndex) else None
    if known is None or not 0 <= known < count:
        raise refuse(f"{name} has no such number", got=repr(number), expected=f"0..{count - 1}")
    return known
