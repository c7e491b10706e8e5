"""Operands: locals, constants, globals, inline assembly, metadata.

Layer: isel.llvm (standard library only). Input: fields.  Output: immutable, hashable records that
compare by content.

Names carry no sigil, quotes or escapes; bytes that are not UTF-8 stand as surrogate escapes.  LLVM
numbers what has no name, so `%7` is the name "7".  A value that is *named* "7" prints as `%"7"` and
keeps the quotation marks here, so that the two never meet.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.types import (
    I8,
    METADATA,
    TOKEN,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from isel.llvm.vocabulary import AsmFlag, Flag, Opcode


class Value:
    """Anything that can be an operand; every value has a `type`."""

    __slots__ = ()

    type: Type


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Local(Value):
    """`%name`: an argument or an instruction's result."""

    name: str
    type: Type


class Constant(Value):
    """A value known before the program runs, up to the addresses of globals."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ConstInt(Constant):
    """An integer as its unsigned bit pattern; `true` is 1."""

    type: IntType
    value: int

    @property
    def signed(self) -> int:
        """The value read as two's complement."""
        bits = self.type.bits
        return self.value - (1 << bits) if self.value >> (bits - 1) else self.value


@dataclass(frozen=True, slots=True)
class ConstFloat(Constant):
    """A floating-point number as the exact bits in its type."""

    type: Type
    bits: int


@dataclass(frozen=True, slots=True)
class Null(Constant):
    """`null`."""

    type: Type


@dataclass(frozen=True, slots=True)
class Undef(Constant):
    """`undef`."""

    type: Type


@dataclass(frozen=True, slots=True)
class Poison(Constant):
    """`poison`."""

    type: Type


@dataclass(frozen=True, slots=True)
class Zero(Constant):
    """`zeroinitializer`."""

    type: Type


@dataclass(frozen=True, slots=True)
class NoneToken(Constant):
    """`none`: the token that stands for no token."""

    type: Type = TOKEN


@dataclass(frozen=True, slots=True)
class ConstString(Constant):
    """`c"…"`: an array of i8, as bytes."""

    type: Type
    data: bytes


@dataclass(frozen=True, slots=True)
class ConstArray(Constant):
    """`[T a, T b]`."""

    type: Type
    elements: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ConstVector(Constant):
    """`<T a, T b>`."""

    type: Type
    elements: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ConstStruct(Constant):
    """`{ T a, U b }`, or `<{ T a, U b }>` when its type is packed."""

    type: Type
    elements: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Splat(Constant):
    """`splat (T a)`: a vector all of whose elements are one constant."""

    type: Type
    element: Value


@dataclass(frozen=True, slots=True)
class GlobalRef(Constant):
    """`@name`: the address of a global variable, function, alias or ifunc."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class ConstExpr(Constant):
    """`opcode flags (operands)`: an operation on constants that LLVM left to the linker.

    `element_type` and `in_range` belong to getelementptr, `mask` to shufflevector.
    """

    opcode: Opcode
    type: Type
    operands: tuple[Value, ...]
    flags: frozenset[Flag] = frozenset()
    element_type: Type | None = None
    in_range: tuple[int, int] | None = None
    mask: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockAddress(Constant):
    """`blockaddress(@function, %block)`."""

    function: str
    block: str
    type: Type


@dataclass(frozen=True, slots=True)
class PtrAuth(Constant):
    """`ptrauth (ptr p, i32 key[, i64 discriminator[, ptr address[, ptr deactivation]]])`."""

    type: Type
    operands: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class InlineAsm(Value):
    """`asm flags "text", "constraints"`: what a call may call."""

    text: str
    constraints: str
    flags: frozenset[AsmFlag]
    type: Type


@dataclass(frozen=True, slots=True)
class NodeRef:
    """`!7`: a numbered metadata node."""

    id: int


@dataclass(frozen=True, slots=True)
class MetadataString:
    """`!"text"`."""

    text: str


@dataclass(frozen=True, slots=True)
class InlineNode:
    """A node written where it is used, `!DIExpression()`: its text."""

    text: str


@dataclass(frozen=True, slots=True)
class WrappedValue:
    """A typed value where metadata stands, `i32 1` or `ptr @kernel`."""

    value: Value


MetadataOperand = NodeRef | MetadataString | InlineNode | WrappedValue | None  # None is `null`


@dataclass(frozen=True, slots=True)
class MetadataValue(Value):
    """`metadata …` as an argument of a call."""

    content: MetadataOperand
    type: Type = METADATA


def elements_of(value: Value) -> tuple[Value, ...] | None:
    """The elements of an aggregate or vector constant, whichever way it is spelled.

    None when `value` is no such constant, or a scalable vector, whose length is not known.
    """
    match value:
        case ConstArray() | ConstVector() | ConstStruct():
            return value.elements
        case ConstString():
            return tuple(ConstInt(I8, byte) for byte in value.data)
        case Splat(type=VectorType(scalable=False) as vector):
            return (value.element,) * vector.count
        case Zero():
            return _each(value.type, zero_of)
        case Undef():
            return _each(value.type, Undef)
        case Poison():
            return _each(value.type, Poison)
    return None


def zero_of(type: Type) -> Value:
    """Zero of any type that has one."""
    match type:
        case IntType():
            return ConstInt(type, 0)
        case FloatType():
            return ConstFloat(type, 0)
        case PointerType():
            return Null(type)
    return Zero(type)


def _each(type: Type, make: Callable[[Type], Value]) -> tuple[Value, ...] | None:
    match type:
        case VectorType(scalable=False) | ArrayType():
            return (make(type.element),) * type.count
        case StructType():
            return tuple(make(element) for element in type.elements)
    return None
