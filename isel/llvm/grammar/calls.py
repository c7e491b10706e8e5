"""Calls: what stands before the callee, arguments, attributes and bundles.

Layer: isel.llvm (standard library only). Input: the pieces of a call, or a cursor behind its
opcode. Output: its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isel.llvm.attributes import Attributes
from isel.llvm.grammar.forms import Statement, Syntax
from isel.llvm.grammar.heads import CallHead, read_call_head, read_groups
from isel.llvm.grammar.lexer import Cursor, UnreadableError, cut_at_commas
from isel.llvm.grammar.parts import read_block, read_blocks
from isel.llvm.grammar.pieces import Pieces
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.values import read_inline_asm, read_typed_value, read_value
from isel.llvm.ir import Attachments, Bundle, Call, Common, Instruction, Invoke, Unsupported
from isel.llvm.types import FunctionType, Type
from isel.llvm.values import Value
from isel.llvm.vocabulary import Opcode, TailKind

# The fields of `CallBase`, in order: those of `Instruction`, then its own.
_NO_TAIL = TailKind.NONE

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
    Mapping[int, Attributes],
    tuple[Bundle, ...],
    FunctionType | None,
]


def _fields(
    p: Pieces, at: Common, head: CallHead, callee: Value, arguments: Sequence[str],
    attributes: Attributes, bundles: tuple[Bundle, ...] = (),
) -> _CallFields:  # fmt: skip
    values, argument_attributes = p.arguments(arguments)
    return (
        *at,
        head.return_type,
        callee,
        values,
        head.calling_convention,
        attributes,
        head.return_attributes,
        argument_attributes,
        bundles,
        head.vararg_type,
    )


def _cut_call(body: str) -> list[str]:
    """What stands before the callee, the callee, the groups, and the arguments."""
    if '"' in body and " asm " in body:
        name = body.index(" asm ")
        opening = _behind_asm(body)
    else:
        name = body.index(" @")
        opening = body.index("(", name)
    closing = body.rindex(")")
    pieces = [body[:name], body[name + 1 : opening], body[closing + 1 :]]
    if opening + 1 < closing:
        pieces += body[opening + 1 : closing].split(", ")
    return pieces


def _behind_asm(body: str) -> int:
    """Where the arguments of a call of inline assembly begin."""
    _, _, comma, _, arguments = body.split('"')
    if comma != ", " or arguments[0] != "(":
        raise UnreadableError("no plain call of inline assembly")
    return len(body) - len(arguments)


def _call(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    before, name, groups, *arguments = pieces
    head = p.call_heads[before]
    callee = p.callee(name, head.callee_type)
    return Call(*_fields(p, at, head, callee, arguments, p.groups[groups]), _NO_TAIL, head.flags)


CALLS: Mapping[Opcode, Syntax] = {Opcode.CALL: Syntax(_call, _cut_call)}
"""Calls by name, and of inline assembly; `RARE_CALLS` reads others."""


def _any_fields(cursor: Cursor, p: Pieces, at: Common) -> tuple[CallHead, _CallFields]:
    head = read_call_head(cursor, p.scope)
    is_assembly = cursor.peek() == "asm"
    callee = (
        read_inline_asm(cursor) if is_assembly else read_value(cursor, p.scope, head.callee_type)
    )
    if cursor.peek() != "(":
        raise UnreadableError("expected arguments")
    listed = cursor.group()[1:-1]
    arguments = cut_at_commas(listed) if listed else []
    if arguments[-1:] == ["..."]:  # a musttail call passes on the caller's variable arguments
        arguments.pop()
    attributes = read_groups(cursor, p.scope)
    bundles = _bundles(cursor, p.scope)
    return head, _fields(p, at, head, callee, arguments, attributes, bundles)


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


def _any_call(cursor: Cursor, p: Pieces, at: Common) -> Call:
    head, fields = _any_fields(cursor, p, at)
    return Call(*fields, TailKind.NONE, head.flags)


def _invoke(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    _, fields = _any_fields(cursor, p, at)
    cursor.expect("to")
    normal = read_block(cursor)
    cursor.expect("unwind")
    return Invoke(*fields, normal, read_block(cursor))


def _callbr(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    call = _any_call(cursor, p, at)
    cursor.expect("to")
    default = read_block(cursor)
    return Unsupported(*at, call.type, call.operands(), (default, *read_blocks(cursor)))


RARE_CALLS: Mapping[Opcode, Statement] = {
    Opcode.CALL: _any_call,
    Opcode.INVOKE: _invoke,
    Opcode.CALLBR: _callbr,
}
"""Calls of every kind, token by token."""
