"""Readers of calls: what stands before the callee, arguments, attributes and bundles.

Layer: isel.llvm (standard library only). Input: a call behind its opcode. Output: its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.ir import Attachments, Bundle, Call, Common, Instruction, Invoke, Unsupported
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_attributes import read_attributes
from isel.llvm.read_parts import Reader, read_block, read_blocks
from isel.llvm.read_types import read_address_space, read_type
from isel.llvm.read_values import read_flags, read_inline_asm, read_typed_value, read_value
from isel.llvm.scope import SymbolTable
from isel.llvm.types import FunctionType, PointerType, Type
from isel.llvm.values import Value
from isel.llvm.vocabulary import C_CALLING_CONVENTION, CALLING_CONVENTIONS, Flag, Opcode, TailKind


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


# The fields of `CallBase`, in order: those of `Instruction`, then its own.
_CallFields = tuple[
    Opcode,
    str | None,
    int,
    int,
    int | None,
    Attachments,
    Type,
    Value,
    tuple[Value, ...],
    str,
    Attributes,
    Attributes,
    dict[int, Attributes],
    tuple[Bundle, ...],
    FunctionType | None,
]


def _call_fields(
    cursor: Cursor, scope: SymbolTable, at: Common
) -> tuple[frozenset[Flag], _CallFields]:
    head = read_call_head(cursor, scope)
    callee: Value
    if cursor.peek() == "asm":
        callee = read_inline_asm(cursor)
    else:
        callee = read_value(cursor, scope, head.callee_type)
    arguments, argument_attributes = _arguments(cursor, scope)
    attributes = read_groups(cursor, scope)
    return head.flags, (
        *at,
        head.return_type,
        callee,
        arguments,
        head.calling_convention,
        attributes,
        head.return_attributes,
        argument_attributes,
        _bundles(cursor, scope),
        head.vararg_type,
    )


def _arguments(
    cursor: Cursor, scope: SymbolTable
) -> tuple[tuple[Value, ...], dict[int, Attributes]]:
    cursor.expect("(")
    arguments: list[Value] = []
    attributes: dict[int, Attributes] = {}
    while not cursor.accept(")"):
        if arguments:
            cursor.expect(",")
        if cursor.accept("..."):  # a musttail call passes on the caller's variable arguments
            cursor.expect(")")
            break
        type = read_type(cursor, scope)
        found = read_attributes(cursor, scope)
        if found:
            attributes[len(arguments)] = found
        arguments.append(read_value(cursor, scope, type))
    return tuple(arguments), attributes


def read_groups(cursor: Cursor, scope: SymbolTable) -> Attributes:
    """The attributes of the groups `#N` at the cursor, together."""
    attributes = NO_ATTRIBUTES
    while cursor.peek()[:1] == "#":
        number = int(cursor.next()[1:])
        if number not in scope.groups:
            raise UnreadableError(f"no attribute group #{number}")
        attributes = attributes.merged(scope.groups[number])
    return attributes


def _bundles(cursor: Cursor, scope: SymbolTable) -> tuple[Bundle, ...]:
    if not cursor.accept("["):
        return ()
    bundles: list[Bundle] = []
    while not cursor.accept("]"):
        if bundles:
            cursor.expect(",")
        tag = cursor.string()
        cursor.expect("(")
        operands: list[Value] = []
        while not cursor.accept(")"):
            if operands:
                cursor.expect(",")
            operands.append(read_typed_value(cursor, scope))
        bundles.append(Bundle(tag, tuple(operands)))
    return tuple(bundles)


def _call(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags, fields = _call_fields(cursor, scope, at)
    return Call(*fields, TailKind.NONE, flags)


def _invoke(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    _, fields = _call_fields(cursor, scope, at)
    cursor.expect("to")
    normal = read_block(cursor)
    cursor.expect("unwind")
    return Invoke(*fields, normal, read_block(cursor))


def _callbr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags, fields = _call_fields(cursor, scope, at)
    call = Call(*fields, TailKind.NONE, flags)
    cursor.expect("to")
    default = read_block(cursor)
    return Unsupported(*at, call.type, call.operands(), (default, *read_blocks(cursor)))


CALLS: Mapping[Opcode, Reader] = {
    Opcode.CALL: _call,
    Opcode.INVOKE: _invoke,
    Opcode.CALLBR: _callbr,
}
"""What reads calls."""
