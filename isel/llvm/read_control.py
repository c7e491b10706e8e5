"""Readers of instructions that end a block, exceptions among them.

Layer: isel.llvm (standard library only). Input: an instruction behind its opcode. Output: its
record; one without a counterpart in PTX keeps its values and its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from isel.llvm.lexer import Cursor
from isel.llvm.read_parts import Reader, read_block, read_blocks
from isel.llvm.read_types import read_type
from isel.llvm.read_values import read_typed_value, read_value
from isel.llvm.scope import SymbolTable
from isel.llvm.types import TOKEN, VOID
from isel.llvm.values import Value
from isel.llvm.vocabulary import Opcode


def _unwind(cursor: Cursor) -> tuple[str, ...]:
    """The block that an exception goes to, if it does not go to the caller."""
    cursor.expect("unwind")
    if cursor.accept("to"):
        cursor.expect("caller")
        return ()
    return (read_block(cursor),)


def _ret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    value: Value | None = None
    if not cursor.accept("void"):
        value = read_typed_value(cursor, scope)
    return Return(*at, VOID, value)


def _br(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    if cursor.peek() == "label":
        target = read_block(cursor)
        return Branch(*at, VOID, target)
    condition = read_typed_value(cursor, scope)
    cursor.expect(",")
    if_true = read_block(cursor)
    cursor.expect(",")
    if_false = read_block(cursor)
    return CondBranch(*at, VOID, condition, if_true, if_false)


def _switch(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    condition = read_typed_value(cursor, scope)
    cursor.expect(",")
    default = read_block(cursor)
    cursor.expect("[")
    cases: list[tuple[Value, str]] = []
    while not cursor.accept("]"):
        value = read_typed_value(cursor, scope)
        cursor.expect(",")
        cases.append((value, read_block(cursor)))
    return Switch(*at, VOID, condition, default, tuple(cases))


def _indirectbr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    address = read_typed_value(cursor, scope)
    cursor.expect(",")
    blocks = read_blocks(cursor)
    return IndirectBr(*at, VOID, address, blocks)


def _unreachable(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    return Unreachable(*at, VOID)


def _resume(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    return Unsupported(*at, VOID, (read_typed_value(cursor, scope),), ())


def _landingpad(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    type = read_type(cursor, scope)
    cursor.accept("cleanup")
    clauses: list[Value] = []
    while cursor.peek() in ("catch", "filter"):
        cursor.next()
        clauses.append(read_typed_value(cursor, scope))
    return Unsupported(*at, type, tuple(clauses), ())


def _catchswitch(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    parent = _parent(cursor, scope)
    handlers = read_blocks(cursor)
    return Unsupported(*at, TOKEN, (parent,), (*_unwind(cursor), *handlers))


def _parent(cursor: Cursor, scope: SymbolTable) -> Value:
    cursor.expect("within")
    return read_value(cursor, scope, TOKEN)


def _pad(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    """`catchpad` or `cleanuppad within parent [arguments]`."""
    parent = _parent(cursor, scope)
    cursor.expect("[")
    arguments: list[Value] = []
    while not cursor.accept("]"):
        if arguments:
            cursor.expect(",")
        arguments.append(read_typed_value(cursor, scope))
    return Unsupported(*at, TOKEN, (*arguments, parent), ())


def _catchret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, scope, TOKEN)
    cursor.expect("to")
    return Unsupported(*at, VOID, (pad,), (read_block(cursor),))


def _cleanupret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, scope, TOKEN)
    return Unsupported(*at, VOID, (pad,), _unwind(cursor))


CONTROL: Mapping[Opcode, Reader] = {
    Opcode.RET: _ret,
    Opcode.BR: _br,
    Opcode.SWITCH: _switch,
    Opcode.INDIRECTBR: _indirectbr,
    Opcode.UNREACHABLE: _unreachable,
    Opcode.RESUME: _resume,
    Opcode.LANDINGPAD: _landingpad,
    Opcode.CATCHSWITCH: _catchswitch,
    Opcode.CATCHPAD: _pad,
    Opcode.CLEANUPPAD: _pad,
    Opcode.CATCHRET: _catchret,
    Opcode.CLEANUPRET: _cleanupret,
}
"""What reads what ends a block."""
