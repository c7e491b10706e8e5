"""Values in a kernel under construction: typed, with the operators that their type has.

Layer: nvgen.builder.  A value knows its builder, so `warp == 0` or `taddr + 64` adds an
instruction. Mixing widths, or an integer that does not fit, is refused with the line that did it.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

from llvmlite import ir

from intrinsics.findings import Finding, InputError, Severity, input_error
from intrinsics.smem_desc import Swizzle
from nvgen.callers import place_of_caller

if TYPE_CHECKING:
    from nvgen.builder.base import BuilderBase


def refuse(message: str, *, got: str = "", expected: str = "", hint: str = "") -> InputError:
    """What the builder says of nonsense, with the line of Python that asked for it."""
    place = place_of_caller()
    return input_error("builder/value", message, place=place, got=got, expected=expected, hint=hint)


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """An unsigned integer (i1 for conditions), as indices and sizes are.

    Comparisons, divisions and conversions to more bits take it for one; what falls below 0 begins
    anew at the top, as everywhere in unsigned arithmetic.
    """

    builder: BuilderBase
    value: ir.Value

    @property
    def bits(self) -> int:
        """The width."""
        width: int = self.value.type.width
        return width

    def _other(self, other: IntLike) -> ir.Value:
        if isinstance(other, Int):
            if other.bits != self.bits:
                raise refuse(
                    "integers of different widths",
                    got=f"i{other.bits}",
                    expected=f"i{self.bits}",
                    hint="convert one: b.zext(value, 64)",
                )
            return other.value
        if not isinstance(other, SupportsIndex):
            raise refuse(
                "no operand of an integer",
                got=type(other).__name__,
                expected="an integer",
                hint=_instead(other),
            )
        return constant(other, self.bits)

    def _binary(self, name: str, other: IntLike) -> Int:
        operation = getattr(self.builder.at_caller(), name)
        return Int(self.builder, operation(self.value, self._other(other)))

    def __add__(self, other: IntLike) -> Int:
        return self._binary("add", other)

    def __sub__(self, other: IntLike) -> Int:
        return self._binary("sub", other)

    def __mul__(self, other: IntLike) -> Int:
        return self._binary("mul", other)

    def __floordiv__(self, other: IntLike) -> Int:
        return self._binary("udiv", other)

    def __mod__(self, other: IntLike) -> Int:
        return self._binary("urem", other)

    def __and__(self, other: IntLike) -> Int:
        return self._binary("and_", other)

    def __or__(self, other: IntLike) -> Int:
        return self._binary("or_", other)

    def __xor__(self, other: IntLike) -> Int:
        return self._binary("xor", other)

    def __lshift__(self, other: IntLike) -> Int:
        return self._binary("shl", other)

    def __rshift__(self, other: IntLike) -> Int:
        return self._binary("lshr", other)

    def __neg__(self) -> Int:
        return 0 - self

    def __invert__(self) -> Int:
        return self ^ (1 << self.bits) - 1

    def __truediv__(self, other: object) -> Int:
        raise refuse(
            "integers have no quotient with a fraction",
            got=f"a division by {described(other)}",
            expected="x // y, which is the whole part",
        )

    def __radd__(self, other: int) -> Int:
        return self + other

    def __rsub__(self, other: int) -> Int:
        return Int(self.builder, constant(other, self.bits)) - self

    def __rmul__(self, other: int) -> Int:
        return self * other

    def __rand__(self, other: int) -> Int:
        return self & other

    def __ror__(self, other: int) -> Int:
        return self | other

    def __rxor__(self, other: int) -> Int:
        return self ^ other

    def _compare(self, predicate: str, other: IntLike) -> Int:
        found = self.builder.at_caller().icmp_unsigned(predicate, self.value, self._other(other))
        return Int(self.builder, found)

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
            hint="branch on it with `with b.if_(condition):`",
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
        return "x.word is the register's bits as an unsigned integer"
    if hasattr(given, "set"):
        return "v.value is what the variable holds at this place"
    if isinstance(given, float):
        return "b.f32(1.5) is a number in f32, b.f32(word) the one whose bits a word holds"
    return ""


def constant(given: object, bits: int) -> ir.Constant:
    """A constant of a width.

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
    if not -(1 << max(bits - 1, 1)) <= value < 1 << bits:
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

    Within a tile in shared memory it keeps how the tile lies there.
    """

    builder: BuilderBase
    value: ir.Value
    layout: Layout | None = None

    @property
    def space(self) -> int:
        """The address space: 1 global, 3 shared, 6 tensor memory."""
        space: int = self.value.type.addrspace
        return space

    def __add__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes (in tensor memory: columns, or lanes << 16) further on.

        An `Int` is unsigned here as elsewhere: one of 32 bits reaches 4 GiB ahead, never back.
        """
        bits = 32 if self.space == _TENSOR else 64
        index = self._wide(offset).value if isinstance(offset, Int) else constant(offset, bits)
        moved = self.builder.at_caller().gep(self.value, [index], source_etype=ir.IntType(8))
        return Pointer(self.builder, moved, self.layout)

    def __sub__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes before; see `+`."""
        return self + -(self._wide(offset) if isinstance(offset, Int) else offset)

    def _wide(self, offset: Int) -> Int:
        """An offset as wide as an address.

        Shared and tensor memory have addresses of 32 bits, in which it is the same either way.
        """
        is_narrow = self.space in _NARROW_SPACES
        return offset if is_narrow or offset.bits >= 64 else self.builder.zext(offset, 64)


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
