"""LLVM IR under construction: values, constants, operands of any type out of what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np

from tests.oracle.integer_edges import constant as integer_constant
from tests.oracle.integer_edges import edges
from tests.property.irtypes import (
    BFLOAT,
    FLOAT,
    HALF,
    I1,
    I32,
    I64,
    Aggregate,
    Array,
    Float,
    Int,
    Scalar,
    Simple,
    Struct,
    Type,
    Vector,
    bits,
    element,
    like,
    parts,
    suffix,
)
from tests.property.plans import Picks

NUMBERS = (0.0, 1.0, -0.0, 0.5, -1.5, 3.0, 2.5, 1 / 3, -7.25, 100.0, 65504.0, 1e9, 1e-7, 2.0**-149)
"""Numbers of every format, rounded to it; more come from the bit patterns of the input."""

_DTYPES = {
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(ml_dtypes.bfloat16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


@dataclass(frozen=True)
class Value:
    """An SSA name or a constant, and its type."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Object:
    """Memory that the program may use: a pointer, and the type of what it points to.

    Memory without a type is bytes, `[64 x i8]`, read and written as anything.
    """

    name: str
    space: int
    type: Type
    mutable: bool = True

    @property
    def pointer(self) -> str:
        return f"{pointer_type(self.space)} {self.name}"


def pointer_type(space: int) -> str:
    """A pointer's spelling."""
    return f"ptr addrspace({space})" if space else "ptr"


@dataclass
class Scope:
    """What a place in the program can use."""

    values: list[Value] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)

    def inner(self) -> Scope:
        """The scope of a block that this one dominates."""
        return Scope([*self.values], [*self.objects])

    def add(self, *values: Value) -> None:
        self.values.extend(values)


@dataclass
class ModuleText:
    """What stands outside of functions."""

    globals: list[str] = field(default_factory=list)
    declares: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)


class Writer:
    """The body of one function."""

    def __init__(self, module: ModuleText, features: frozenset[str]) -> None:
        self.module = module
        self.features = features
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.block = "entry"
        self.rounds = 1
        self.cost = 0
        self._count = 0

    # ---- text ----------------------------------------------------------------------------

    def name(self, stem: str = "v") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def emit(self, line: str) -> None:
        self.cost += self.rounds
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def value(self, type_: Type, text: str) -> Value:
        """An instruction with a result."""
        found = Value("%" + self.name(), type_)
        self.emit(f"{found.name} = {text}")
        return found

    def op(self, name: str, a: Value, b: Value) -> Value:
        """A binary operation."""
        return self.value(a.type, f"{name} {a.type} {a.name}, {b.name}")

    def call(self, name: str, result: Type, *arguments: Value) -> Value:
        """A call of an intrinsic, which is declared."""
        shape = ", ".join(str(a.type) for a in arguments)
        self.module.declares[name] = f"declare {result} @{name}({shape})"
        given = ", ".join(str(a) for a in arguments)
        return self.value(result, f"call {result} @{name}({given})")

    # ---- constants -----------------------------------------------------------------------

    def constant(self, type_: Type, picks: Picks) -> Value:
        return Value(constant_text(type_, picks), type_)

    def splat(self, type_: Simple, text: str) -> Value:
        """One scalar in every lane."""
        if not isinstance(type_, Vector):
            return Value(text, type_)
        lanes = ", ".join(f"{type_.element} {text}" for _ in range(type_.count))
        return Value(f"<{lanes}>", type_)

    def number(self, type_: Simple, number: int) -> Value:
        """An integer in every lane."""
        scalar = element(type_)
        assert isinstance(scalar, Int)
        return self.splat(type_, integer_constant(number, scalar.bits))

    # ---- operands ------------------------------------------------------------------------

    def operand(self, scope: Scope, type_: Type, picks: Picks) -> Value:
        """A value of a type: one that there is, a conversion of another, or a constant."""
        known = [v for v in scope.values[-24:] if v.type == type_][-8:]
        choice = picks.below(16)
        if choice < 11:
            if known:
                return known[-1 - picks.below(len(known))]
            if choice and scope.values:
                return self.made(scope, type_, picks)
        if choice < 13 and scope.values:
            return self.made(scope, type_, picks)
        return self.constant(type_, picks)

    def made(self, scope: Scope, type_: Type, picks: Picks) -> Value:
        """A new value of a type, that depends on others."""
        match type_:
            case Vector():
                return self._vector(scope, type_, picks)
            case Array() | Struct():
                return self._aggregate(scope, type_, picks)
            case _:
                recent = scope.values[-8:]
                return self.convert(recent[-1 - picks.below(len(recent))], type_, picks)

    def _vector(self, scope: Scope, type_: Vector, picks: Picks) -> Value:
        """Lane by lane, each another value."""
        found = Value("poison", type_)
        for lane in range(type_.count):
            scalar = self.operand(scope, type_.element, picks)
            found = self.value(type_, f"insertelement {found}, {scalar}, i32 {lane}")
        return found

    def _aggregate(self, scope: Scope, type_: Aggregate, picks: Picks) -> Value:
        found = Value("poison", type_)
        for index, part in enumerate(parts(type_)):
            inner = self.operand(scope, part, picks)
            found = self.value(type_, f"insertvalue {found}, {inner}, {index}")
        return found

    def index(self, scope: Scope, count: int, picks: Picks) -> Value:
        """An index below `count`: a constant, or computed."""
        if picks.below(2) == 0 or not scope.values:
            return Value(str(picks.below(count)), I32)
        type_ = picks.one((I32, I64))
        return self.below(self.operand(scope, type_, picks), count)

    def below(self, value: Value, count: int) -> Value:
        """An integer (or a vector of them) brought below `count` without a sign."""
        assert isinstance(value.type, Int | Float | Vector)
        scalar = element(value.type)
        if scalar == I1 or count >= 1 << (scalar.bits - 1):
            return value
        if count & (count - 1) == 0:
            return self.op("and", value, self.number(value.type, count - 1))
        return self.op("urem", value, self.number(value.type, count))

    # ---- conversions ---------------------------------------------------------------------

    def convert(self, value: Value, type_: Scalar, picks: Picks) -> Value:
        """Any value as a scalar of another type."""
        match value.type:
            case Array() | Struct():
                inner = parts(value.type)
                index = picks.below(len(inner))
                found = self.value(inner[index], f"extractvalue {value}, {index}")
                return self.convert(found, type_, picks)
            case Vector():
                lane = picks.below(value.type.count)
                found = self.value(value.type.element, f"extractelement {value}, i32 {lane}")
                return self.convert(found, type_, picks)
            case Int() | Float():
                return self._scalar(value, value.type, type_, picks)

    def _scalar(self, value: Value, old: Scalar, new: Scalar, picks: Picks) -> Value:
        if old == new:
            return value
        if isinstance(old, Int) and isinstance(new, Int):
            return self.resize(value, new, signed=picks.below(2) == 1)
        if isinstance(old, Float) and isinstance(new, Float):
            return self.refloat(value, new)
        if isinstance(old, Int):
            assert isinstance(new, Float)
            if picks.below(2) and converts(old, new):
                return self.value(new, f"{picks.one(('sitofp', 'uitofp'))} {value} to {new}")
            return self.pattern(self.resize(value, Int(new.bits)), new)
        assert isinstance(new, Int)
        if picks.below(2) and 1 < new.bits <= 64:
            name, to = picks.one(("fptosi", "fptoui")), self.saturable(new)
            found = self.call(f"llvm.{name}.sat.{suffix(to)}.{suffix(old)}", to, value)
            return self.resize(found, new)
        return self.resize(self.exposed(value), new)

    def resize(self, value: Value, type_: Simple, *, signed: bool = False) -> Value:
        """An integer, or integers, in another width."""
        assert isinstance(value.type, Int | Vector)
        old, new = bits_of(value.type), bits_of(type_)
        if old == new:
            return value
        cast = "trunc" if new < old else "sext" if signed else "zext"
        return self.value(type_, f"{cast} {value} to {type_}")

    def saturable(self, type_: Int) -> Int:
        """The width, or the widest that the host converts numbers to."""
        return Int(64) if type_.bits > 64 else type_

    def refloat(self, value: Value, type_: Simple) -> Value:
        """Floating point in another format; half and bfloat meet in float."""
        assert isinstance(value.type, Float | Vector)
        old, new = element(value.type), element(type_)
        if old == new:
            return value
        if {old, new} == {HALF, BFLOAT}:
            value = self.value(like(type_, FLOAT), f"fpext {value} to {like(type_, FLOAT)}")
            old = FLOAT
        cast = "fpext" if old.bits < new.bits else "fptrunc"
        return self.value(type_, f"{cast} {value} to {type_}")

    def pattern(self, value: Value, type_: Simple) -> Value:
        """An integer's bits as floating point, without signalling NaNs."""
        return self.canonical(self.value(type_, f"bitcast {value} to {type_}"))

    def exposed(self, value: Value) -> Value:
        """The bits of floating point; every NaN has the same."""
        assert isinstance(value.type, Float | Vector)
        value = self.canonical(value)
        type_ = like(value.type, Int(element(value.type).bits))
        return self.value(type_, f"bitcast {value} to {type_}")

    def canonical(self, value: Value) -> Value:
        """The value with one NaN for all NaNs; what is not floating point remains as it is.

        Signs and payloads of NaNs are nobody's promise, so they must never be seen.
        """
        match value.type:
            case Float() | Vector(_, Float()):
                nan = self.splat(value.type, NAN[str(element(value.type))])
                flags = like(value.type, I1)
                test = self.value(flags, f"fcmp uno {value}, {value.name}")
                return self.value(value.type, f"select {test}, {nan}, {value}")
            case Array() | Struct() if has_float(value.type):
                for index, part in enumerate(parts(value.type)):
                    if has_float(part):
                        inner = self.value(part, f"extractvalue {value}, {index}")
                        inner = self.canonical(inner)
                        text = f"insertvalue {value}, {inner}, {index}"
                        value = self.value(value.type, text)
                return value
            case _:
                return value

    def leaves(self, value: Value) -> list[Value]:
        """The scalars that a value is made of."""
        match value.type:
            case Array() | Struct():
                found = []
                for index, part in enumerate(parts(value.type)):
                    found += self.leaves(self.value(part, f"extractvalue {value}, {index}"))
                return found
            case Vector(count, scalar):
                return [
                    self.value(scalar, f"extractelement {value}, i32 {lane}")
                    for lane in range(count)
                ]
            case _:
                return [value]


NAN = {
    "half": "0xH7E00",
    "bfloat": "0xR7FC0",
    "float": "0x7FF8000000000000",
    "double": "0x7FF8000000000000",
}


def converts(integer: Scalar, to: Scalar) -> bool:
    """Whether an integer is converted to floating point with one rounding, on host and GPU.

    LLVM for the host goes to bfloat by way of float, which takes 24 bits exactly; LLVM for the GPU
    converts no i128.
    """
    return integer.bits <= (24 if to == BFLOAT else 64)


def bits_of(type_: Simple) -> int:
    """The width of each lane."""
    return bits(element(type_))


def has_float(type_: Type) -> bool:
    """Whether there is floating point in a type."""
    match type_:
        case Array() | Struct():
            return any(has_float(p) for p in parts(type_))
        case Int():
            return False
        case _:
            return isinstance(element(type_), Float)


def constant_text(type_: Type, picks: Picks) -> str:
    """A constant as LLVM spells it."""
    match type_:
        case Int(width):
            return integer_constant(picks.one(edges(width)), width)
        case Float():
            return float_text(picks.one(NUMBERS), type_)
        case Vector(count, scalar):
            inner = _list([scalar] * count, picks)
            return f"<{inner}>"
        case Array(count, part):
            return f"[{_list([part] * count, picks)}]"
        case Struct(elements, packed):
            inner = "{ " + _list(elements, picks) + " }"
            return f"<{inner}>" if packed else inner


def _list(types: Sequence[Type], picks: Picks) -> str:
    return ", ".join(f"{t} {constant_text(t, picks)}" for t in types)


def float_text(number: float, type_: Float) -> str:
    """A number, rounded to a format, in LLVM's hexadecimal spelling."""
    with np.errstate(over="ignore"):
        rounded = np.array(number).astype(_DTYPES[type_.name])
    if type_ == HALF:
        return f"0xH{int(rounded.view(np.uint16)):04X}"
    if type_ == BFLOAT:
        return f"0xR{int(rounded.view(np.uint16)):04X}"
    return f"0x{int(rounded.astype(np.float64).view(np.uint64)):016X}"


def mutable(found: Object, *, yes: bool) -> Object:
    """The same memory, writable or not."""
    return replace(found, mutable=yes)
