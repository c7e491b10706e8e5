"""Operands of a row: kind, type and access, with one constructor for each kind.

Layer: intrinsics.row.  PTX ISA, Instruction Operands.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, ScalarType, Space
from intrinsics.row.attributes import Attributes, By, Count, under
from intrinsics.row.numbers import ANY_NUMBER, Numbers


class Kind(Enum):
    """The kind of an operand: what it may be."""

    REGISTER = "register"
    VALUE = "register or number"
    NUMBER = "number"
    PREDICATE = "predicate"
    ADDRESS = "address"
    TENSOR_ADDRESS = "tensor memory address"
    MATRIX = "shared memory descriptor or tensor memory address"
    VECTOR = "vector"
    LABEL = "label"
    LABELS = "table of labels"
    TEXT = "text"
    PHI = "incoming values or blocks"
    SOURCE = "register, number, special register, symbol or vector"


class Access(Enum):
    """Whether an instruction reads or writes an operand, or both (it is then written once in
    PTX).
    """

    READ = "read"
    WRITE = "write"
    UPDATE = "update"


class VectorNumbers(Enum):
    """Whether literals may be elements of a vector: never, beside a register, or alone too."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


class Residency(Modifier):
    """The memory of a matrix operand, which its syntax shows (a plain operand, or brackets)."""

    SHARED = "shared memory descriptor"
    TENSOR = "tensor memory address"


OperandType: TypeAlias = ScalarType | str | By[ScalarType]
"""A type, the qualifier that names it, or a table over a qualifier."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a row; its position is given by the row's operand string."""

    name: str
    kind: Kind
    type: OperandType = ScalarType.B32
    access: Access = Access.READ
    space: Space | str | None = None
    count: Count | None = None
    numbers: Numbers | By[Numbers] = ANY_NUMBER
    negatable: bool = False  # `!p`
    number_too: bool | By[bool] = False  # a predicate that may be a literal
    sink: bool = False  # `_` discards the result, or one register of a vector
    unused: bool = False  # `_` discards a whole vector
    widened: bool = False  # its register may be wider than the type (ld, st, cvt)
    untyped: bool = False  # a tensor address whose register must be declared .b32
    symbols: bool = False  # it may be `symbol+4`
    specials: bool = False  # it may be a special register
    wide: bool = False  # an address whose register has 32 or 64 bits
    pointer: bool = False  # a generic or global address never stands in a register of 32 bits
    distinct: bool = False  # no register twice, in a vector and among all such operands
    within: Space | None = None  # the space of a symbol where the address is generic
    stored: bool = False  # an address that is written
    bare: bool = False  # an address without an offset
    held: bool = False  # an address in a register, never a symbol
    vector_numbers: VectorNumbers = VectorNumbers.NONE
    each: tuple[Numbers | By[Numbers], ...] = ()  # the literals that each element takes
    limit: str = ""  # the operand that bounds this one
    fraction: bool = False  # a floating-point literal is above 0, and 1 at most

    def type_under(self, attributes: Attributes) -> ScalarType:
        """The operand's type, looked up where a qualifier names it."""
        if isinstance(self.type, ScalarType):
            return self.type
        if isinstance(self.type, By):
            return self.type.of(attributes)
        found = attributes.get(self.type)
        assert isinstance(found, ScalarType), (self.name, self.type)
        return found

    def numbers_under(self, attributes: Attributes) -> Numbers:
        """The literals that the operand takes."""
        return under(self.numbers, attributes)

    def takes_number(self, attributes: Attributes) -> bool:
        """Whether a predicate may be a literal."""
        return under(self.number_too, attributes)

    def each_under(self, attributes: Attributes) -> tuple[Numbers, ...]:
        """The literals that the elements of a vector take, in turn; () for any."""
        return tuple(under(numbers, attributes) for numbers in self.each)


def result(
    name: str,
    type: OperandType,
    *,
    sink: bool = False,
    widened: bool = False,
    distinct: bool = False,
) -> Operand:
    """A register that the instruction writes."""
    return Operand(
        name, Kind.REGISTER, type, Access.WRITE, sink=sink, widened=widened, distinct=distinct
    )


def predicate_result(name: str, *, sink: bool = False) -> Operand:
    """A predicate that the instruction writes."""
    return Operand(name, Kind.REGISTER, ScalarType.PRED, Access.WRITE, sink=sink)


def register(name: str, type: OperandType) -> Operand:
    """A register that the instruction reads."""
    return Operand(name, Kind.REGISTER, type)


def value(
    name: str,
    type: OperandType,
    numbers: Numbers | By[Numbers] = ANY_NUMBER,
    *,
    widened: bool = False,
    symbols: bool = True,
    specials: bool = False,
    limit: str = "",
) -> Operand:
    """A register or a number."""
    return Operand(
        name,
        Kind.VALUE,
        type,
        numbers=numbers,
        widened=widened,
        symbols=symbols,
        specials=specials,
        limit=limit,
    )


def number(name: str, numbers: Numbers | By[Numbers] = ANY_NUMBER) -> Operand:
    """A number, never a register."""
    return Operand(name, Kind.NUMBER, ScalarType.S64, numbers=numbers)


def predicate(
    name: str,
    numbers: Numbers = ANY_NUMBER,
    *,
    negatable: bool = True,
    number_too: bool | By[bool] = False,
) -> Operand:
    """A predicate that the instruction reads; `numbers` are the literals that it may be."""
    return Operand(
        name,
        Kind.PREDICATE,
        ScalarType.PRED,
        numbers=numbers,
        negatable=negatable,
        number_too=number_too,
    )


def address(
    name: str,
    space: Space | str | None = None,
    *,
    wide: bool = False,
    pointer: bool = False,
    within: Space | None = None,
    stored: bool = False,
    bare: bool = False,
    held: bool = False,
) -> Operand:
    """An address in a state space (or the generic one): a register or a symbol, plus an offset."""
    return Operand(
        name,
        Kind.ADDRESS,
        ScalarType.B64,
        space=space,
        wide=wide,
        pointer=pointer,
        within=within,
        stored=stored,
        bare=bare,
        held=held,
    )


def tensor_address(name: str, *, untyped: bool = False) -> Operand:
    """An address in tensor memory: always 32 bits, lane << 16 | column."""
    return Operand(name, Kind.TENSOR_ADDRESS, space=Space.TENSOR, untyped=untyped)


def matrix(name: str) -> Operand:
    """A matrix: a 64-bit shared memory descriptor, or an address in tensor memory in brackets."""
    return Operand(name, Kind.MATRIX, ScalarType.B64, space=Space.TENSOR, untyped=True)


def label(name: str) -> Operand:
    """A branch target."""
    return Operand(name, Kind.LABEL)


def labels(name: str) -> Operand:
    """The branch targets of a table, in order."""
    return Operand(name, Kind.LABELS)


def vector(
    name: str,
    type: OperandType,
    count: Count,
    access: Access = Access.READ,
    *,
    numbers: VectorNumbers = VectorNumbers.NONE,
    widened: bool = False,
    sink: bool = False,
    unused: bool = False,
    distinct: bool = False,
    each: tuple[Numbers | By[Numbers], ...] = (),
) -> Operand:
    """Registers in braces; a count of 0 is one register without braces."""
    return Operand(
        name,
        Kind.VECTOR,
        type,
        access,
        count=count,
        sink=sink,
        unused=unused,
        widened=widened,
        vector_numbers=numbers,
        distinct=distinct,
        each=each,
    )
