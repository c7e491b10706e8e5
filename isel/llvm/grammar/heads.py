"""What stands before the operands of comparisons and before the callees of calls.

Layer: isel.llvm (standard library only). Input: a cursor behind the opcode. Output: a predicate, a
`CallHead`, attribute groups.
"""

from __future__ import annotations

from typing import NamedTuple

from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.grammar.attributes import read_attributes
from isel.llvm.grammar.lexer import Cursor, UnreadableError
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_address_space, read_type
from isel.llvm.grammar.values import read_flags
from isel.llvm.types import FunctionType, PointerType, Type
from isel.llvm.vocabulary import (
    C_CALLING_CONVENTION,
    CALLING_CONVENTIONS,
    Flag,
    FloatPredicate,
    IntPredicate,
    Opcode,
)

_INT_PREDICATES = {predicate.value: predicate for predicate in IntPredicate}
_FLOAT_PREDICATES = {predicate.value: predicate for predicate in FloatPredicate}


def read_predicate(cursor: Cursor, opcode: Opcode) -> IntPredicate | FloatPredicate:
    """The predicate of a comparison."""
    word = cursor.next()
    if opcode is Opcode.ICMP and word in _INT_PREDICATES:
        return _INT_PREDICATES[word]
    if opcode is Opcode.FCMP and word in _FLOAT_PREDICATES:
        return _FLOAT_PREDICATES[word]
    raise UnreadableError(f"no predicate of {opcode.value} is called {word!r}")


class CallHead(NamedTuple):
    """The part of a call between the opcode and the callee."""

    flags: frozenset[Flag]
    calling_convention: str
    return_attributes: Attributes
    return_type: Type
    vararg_type: FunctionType | None
    callee_type: PointerType


def read_call_head(cursor: Cursor, scope: SymbolTable) -> CallHead:
    """Flags, calling convention, the result's attributes, address space and type."""
    flags = read_flags(cursor)
    convention = read_calling_convention(cursor)
    attributes = read_attributes(cursor, scope)
    callee_type = PointerType(read_address_space(cursor))
    type = read_type(cursor, scope)
    if isinstance(type, FunctionType):
        return CallHead(flags, convention, attributes, type.return_type, type, callee_type)
    return CallHead(flags, convention, attributes, type, None, callee_type)


def read_calling_convention(cursor: Cursor) -> str:
    """A calling convention if one comes next, else C's."""
    word = cursor.peek()
    if word not in CALLING_CONVENTIONS and not (word[:2] == "cc" and word[2:].isdecimal()):
        return C_CALLING_CONVENTION
    cursor.next()
    return word + cursor.group() if cursor.peek() == "(" else word


def read_groups(cursor: Cursor, scope: SymbolTable) -> Attributes:
    """The attributes of the groups `#N` at the cursor, together."""
    attributes = NO_ATTRIBUTES
    while cursor.peek()[:1] == "#":
        number = int(cursor.next()[1:])
        if number not in scope.groups:
            raise UnreadableError(f"no attribute group #{number}")
        attributes = attributes.merged(scope.groups[number])
    return attributes
