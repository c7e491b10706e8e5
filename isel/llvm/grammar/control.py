"""Instructions that end a block, exceptions among them.

Layer: isel.llvm (standard library only). Input: the pieces of an instruction, or a cursor behind
its opcode. Output: its record; one without a counterpart in PTX keeps its values and its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

from isel.llvm.grammar.forms import Statement, Syntax, outside_strings, whole
from isel.llvm.grammar.lexer import Cursor, UnreadableError
from isel.llvm.grammar.parts import read_block, read_blocks
from isel.llvm.grammar.pieces import Pieces, read_label
from isel.llvm.grammar.types import read_type
from isel.llvm.grammar.values import read_typed_value, read_value
from isel.llvm.ir import (
    Branch,
    Common,
    CondBranch,
    IndirectBr,
    Instruction,
    Return,
    Switch,
    Unreachable,
    Unsupported,
)
from isel.llvm.types import TOKEN, VOID
from isel.llvm.values import Value
from isel.llvm.vocabulary import Opcode


def _ret(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    (text,) = pieces
    return Return(*at, VOID, None if text == "void" else p.typed(text))


def _br(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    if len(pieces) == 1:
        return Branch(*at, VOID, read_label(pieces[0]))
    first, second, third = pieces
    return CondBranch(*at, VOID, p.typed(first), read_label(second), read_label(third))


def _cut_switch(body: str) -> list[str]:
    """The value, the default, then each case and its block; LLVM prints a case a line."""
    head, _, listed = body.partition(" [\n")
    *cases, end = listed.split("\n")
    if end != "  ]":
        raise UnreadableError("expected cases, a line each")
    pieces = head.rsplit(", ", 1)
    for case in cases:
        pieces += case[4:].split(", ", 1)
    return pieces


def _switch(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    value, default = p.typed(pieces[0]), read_label(pieces[1])
    cases = [
        (p.typed(case), read_label(block))
        for case, block in zip(pieces[2::2], pieces[3::2], strict=True)
    ]
    return Switch(*at, VOID, value, default, tuple(cases))


def _unreachable(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    if pieces != [""]:
        raise UnreadableError(f"did not expect {pieces[0]!r}")
    return Unreachable(*at, VOID)


CONTROL: Mapping[Opcode, Syntax] = {
    Opcode.RET: Syntax(_ret, whole, whole),
    Opcode.BR: Syntax(_br),
    Opcode.SWITCH: Syntax(_switch, _cut_switch, outside_strings(_cut_switch)),
    Opcode.UNREACHABLE: Syntax(_unreachable, whole, whole),
}
"""What ends a block."""


def _unwind(cursor: Cursor) -> tuple[str, ...]:
    """The block that an exception goes to, if it does not go to the caller."""
    cursor.expect("unwind")
    if cursor.accept("to"):
        cursor.expect("caller")
        return ()
    return (read_block(cursor),)


def _indirectbr(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    address = read_typed_value(cursor, p.scope)
    cursor.expect(",")
    blocks = read_blocks(cursor)
    return IndirectBr(*at, VOID, address, blocks)


def _resume(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    return Unsupported(*at, VOID, (read_typed_value(cursor, p.scope),), ())


def _landingpad(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    type = read_type(cursor, p.scope)
    cursor.accept("cleanup")
    clauses: list[Value] = []
    while cursor.peek() in ("catch", "filter"):
        cursor.next()
        clauses.append(read_typed_value(cursor, p.scope))
    return Unsupported(*at, type, tuple(clauses), ())


def _catchswitch(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    parent = _parent(cursor, p)
    handlers = read_blocks(cursor)
    return Unsupported(*at, TOKEN, (parent,), (*_unwind(cursor), *handlers))


def _parent(cursor: Cursor, p: Pieces) -> Value:
    cursor.expect("within")
    return read_value(cursor, p.scope, TOKEN)


def _pad(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    """`catchpad` or `cleanuppad within parent [arguments]`."""
    parent = _parent(cursor, p)
    cursor.expect("[")
    arguments: list[Value] = []
    while not cursor.accept("]"):
        if arguments:
            cursor.expect(",")
        arguments.append(read_typed_value(cursor, p.scope))
    return Unsupported(*at, TOKEN, (*arguments, parent), ())


def _catchret(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, p.scope, TOKEN)
    cursor.expect("to")
    return Unsupported(*at, VOID, (pad,), (read_block(cursor),))


def _cleanupret(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, p.scope, TOKEN)
    return Unsupported(*at, VOID, (pad,), _unwind(cursor))


RARE_CONTROL: Mapping[Opcode, Statement] = {
    Opcode.INDIRECTBR: _indirectbr,
    Opcode.RESUME: _resume,
    Opcode.LANDINGPAD: _landingpad,
    Opcode.CATCHSWITCH: _catchswitch,
    Opcode.CATCHPAD: _pad,
    Opcode.CLEANUPPAD: _pad,
    Opcode.CATCHRET: _catchret,
    Opcode.CLEANUPRET: _cleanupret,
}
"""Those that are read token by token."""
