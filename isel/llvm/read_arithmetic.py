"""Readers of arithmetic, casts, comparisons, and of what takes vectors and aggregates apart.

Layer: isel.llvm (standard library only). Input: an instruction behind its opcode. Output: its
record.
"""

from __future__ import annotations

from collections.abc import Mapping

from isel.llvm.ir import (
    BinaryOp,
    Cast,
    Common,
    Compare,
    ExtractElement,
    ExtractValue,
    Freeze,
    InsertElement,
    InsertValue,
    Instruction,
    Phi,
    Select,
    ShuffleVector,
    UnaryOp,
)
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_parts import Reader, read_next_value
from isel.llvm.read_types import read_type
from isel.llvm.read_values import read_flags, read_shuffle_mask, read_typed_value, read_value
from isel.llvm.scope import SymbolTable
from isel.llvm.types import I1, ArrayType, StructType, Type, with_shape_of
from isel.llvm.values import Value
from isel.llvm.vocabulary import BINARY_OPCODES, CAST_OPCODES, FloatPredicate, IntPredicate, Opcode

_INT_PREDICATES = {predicate.value: predicate for predicate in IntPredicate}
_FLOAT_PREDICATES = {predicate.value: predicate for predicate in FloatPredicate}


def _binary(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    lhs = read_typed_value(cursor, scope)
    cursor.expect(",")
    rhs = read_value(cursor, scope, lhs.type)
    return BinaryOp(*at, lhs.type, lhs, rhs, flags)


def _unary(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    operand = read_typed_value(cursor, scope)
    return UnaryOp(*at, operand.type, operand, flags)


def _freeze(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    operand = read_typed_value(cursor, scope)
    return Freeze(*at, operand.type, operand)


def _cast(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    operand = read_typed_value(cursor, scope)
    cursor.expect("to")
    type = read_type(cursor, scope)
    return Cast(*at, type, operand, flags)


def _compare(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    predicate = read_predicate(cursor, at[0])
    lhs = read_typed_value(cursor, scope)
    cursor.expect(",")
    rhs = read_value(cursor, scope, lhs.type)
    type = with_shape_of(I1, lhs.type)
    return Compare(*at, type, predicate, lhs, rhs, flags)


def read_predicate(cursor: Cursor, opcode: Opcode) -> IntPredicate | FloatPredicate:
    """The predicate of a comparison."""
    word = cursor.next()
    if opcode is Opcode.ICMP and word in _INT_PREDICATES:
        return _INT_PREDICATES[word]
    if opcode is Opcode.FCMP and word in _FLOAT_PREDICATES:
        return _FLOAT_PREDICATES[word]
    raise UnreadableError(f"no predicate of {opcode.value} is called {word!r}")


def _select(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    condition = read_typed_value(cursor, scope)
    if_true = read_next_value(cursor, scope)
    if_false = read_next_value(cursor, scope)
    return Select(*at, if_true.type, condition, if_true, if_false, flags)


def _phi(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    type = read_type(cursor, scope)
    incoming: list[tuple[Value, str]] = []
    while not incoming or cursor.another():
        cursor.expect("[")
        value = read_value(cursor, scope, type)
        cursor.expect(",")
        incoming.append((value, cursor.name("%")))
        cursor.expect("]")
    return Phi(*at, type, tuple(incoming), flags)


def _extractelement(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    vector = read_typed_value(cursor, scope)
    index = read_next_value(cursor, scope)
    type = vector.type.scalar
    return ExtractElement(*at, type, vector, index)


def _insertelement(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    vector = read_typed_value(cursor, scope)
    element = read_next_value(cursor, scope)
    index = read_next_value(cursor, scope)
    return InsertElement(*at, vector.type, vector, element, index)


def _shufflevector(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    first = read_typed_value(cursor, scope)
    second = read_next_value(cursor, scope)
    cursor.expect(",")
    shape, mask = read_shuffle_mask(cursor, scope)
    type = with_shape_of(first.type.scalar, shape)
    return ShuffleVector(*at, type, first, second, mask)


def _indices(cursor: Cursor) -> tuple[int, ...]:
    indices: list[int] = []
    while cursor.another():
        indices.append(cursor.integer())
    return tuple(indices)


def element_type_at(type: Type, indices: tuple[int, ...]) -> Type:
    """The type of the element of an aggregate that the indices lead to."""
    for index in indices:
        match type:
            case StructType():
                type = type.elements[index]
            case ArrayType():
                type = type.element
            case _:
                raise UnreadableError(f"{type} has no elements")
    return type


def _extractvalue(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    aggregate = read_typed_value(cursor, scope)
    indices = _indices(cursor)
    type = element_type_at(aggregate.type, indices)
    return ExtractValue(*at, type, aggregate, indices)


def _insertvalue(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    aggregate = read_typed_value(cursor, scope)
    element = read_next_value(cursor, scope)
    indices = _indices(cursor)
    return InsertValue(*at, aggregate.type, aggregate, element, indices)


ARITHMETIC: Mapping[Opcode, Reader] = {
    **dict.fromkeys(BINARY_OPCODES, _binary),
    **dict.fromkeys(CAST_OPCODES, _cast),
    Opcode.FNEG: _unary,
    Opcode.FREEZE: _freeze,
    Opcode.ICMP: _compare,
    Opcode.FCMP: _compare,
    Opcode.SELECT: _select,
    Opcode.PHI: _phi,
    Opcode.EXTRACTELEMENT: _extractelement,
    Opcode.INSERTELEMENT: _insertelement,
    Opcode.SHUFFLEVECTOR: _shufflevector,
    Opcode.EXTRACTVALUE: _extractvalue,
    Opcode.INSERTVALUE: _insertvalue,
}
"""What reads arithmetic, comparisons, vectors and aggregates."""
