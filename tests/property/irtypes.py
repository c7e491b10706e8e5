"""The types of LLVM IR that random programs use: spelling, size, alignment, parts.

Sizes and alignments are those of both the host's and the GPU's data layout; a test holds them
against LLVM's for both.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Int:
    """An integer of `bits` bits."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True)
class Float:
    """half, bfloat, float or double."""

    name: str

    @property
    def bits(self) -> int:
        return {"half": 16, "bfloat": 16, "float": 32, "double": 64}[self.name]

    @property
    def suffix(self) -> str:
        """How the names of intrinsics spell it."""
        return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[self.name]

    def __str__(self) -> str:
        return self.name


Scalar = Int | Float


@dataclass(frozen=True)
class Vector:
    """`<count x element>`."""

    count: int
    element: Scalar

    def __str__(self) -> str:
        return f"<{self.count} x {self.element}>"


@dataclass(frozen=True)
class Array:
    """`[count x element]`."""

    count: int
    element: Type

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@dataclass(frozen=True)
class Struct:
    """`{ elements }`, or packed."""

    elements: tuple[Type, ...]
    packed: bool = False

    def __str__(self) -> str:
        inner = "{ " + ", ".join(str(e) for e in self.elements) + " }"
        return f"<{inner}>" if self.packed else inner


Simple = Int | Float | Vector
Aggregate = Array | Struct
Type = Int | Float | Vector | Array | Struct

I1, I8, I16, I32, I64, I128 = (Int(n) for n in (1, 8, 16, 32, 64, 128))
HALF, BFLOAT, FLOAT, DOUBLE = (Float(n) for n in ("half", "bfloat", "float", "double"))


def suffix(type_: Simple) -> str:
    """How the names of intrinsics spell a type: i32, v4f16."""
    if isinstance(type_, Vector):
        return f"v{type_.count}{suffix(type_.element)}"
    return type_.suffix if isinstance(type_, Float) else str(type_)


def element(type_: Simple) -> Scalar:
    """The type of each lane; of a scalar the scalar."""
    return type_.element if isinstance(type_, Vector) else type_


def like(type_: Simple, scalar: Scalar) -> Simple:
    """`scalar` in the shape of `type_`."""
    return Vector(type_.count, scalar) if isinstance(type_, Vector) else scalar


def bits(type_: Simple) -> int:
    """How many bits a register of the type holds."""
    return type_.count * type_.element.bits if isinstance(type_, Vector) else type_.bits


def align(type_: Type) -> int:
    """The ABI's alignment, in bytes."""
    match type_:
        case Array():
            return align(type_.element)
        case Struct():
            return 1 if type_.packed else max((align(e) for e in type_.elements), default=1)
        case _:
            count = (bits(type_) + 7) // 8
            return min(_power(count), 16) if isinstance(type_, Int) else _power(count)


def size(type_: Type) -> int:
    """Bytes from one element of an array to the next."""
    match type_:
        case Array():
            return type_.count * size(type_.element)
        case Struct():
            offset = 0
            for e in type_.elements:
                offset = offset if type_.packed else _up(offset, align(e))
                offset += size(e)
            return _up(offset, align(type_))
        case _:
            return _up((bits(type_) + 7) // 8, align(type_))


def parts(type_: Aggregate) -> tuple[Type, ...]:
    """The elements of an aggregate."""
    return (type_.element,) * type_.count if isinstance(type_, Array) else type_.elements


def _power(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
