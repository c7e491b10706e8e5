"""Instructions that access memory, and addresses.

Layer: isel.llvm (standard library only). Input: the pieces of an instruction, or a cursor behind
its opcode. Output: its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller

from isel.llvm.grammar.forms import Statement, Syntax
from isel.llvm.grammar.lexer import Cursor, read_whole
from isel.llvm.grammar.parts import read_next_value, read_ordering, read_sync_scope
from isel.llvm.grammar.pieces import Pieces, read_alignment
from isel.llvm.grammar.types import read_address_space, read_type
from isel.llvm.grammar.values import address_type, read_typed_value
from isel.llvm.ir import (
    Alloca,
    AtomicRMW,
    Common,
    CompareExchange,
    Fence,
    GetElementPtr,
    Instruction,
    Load,
    Store,
    VAArg,
)
from isel.llvm.types import I1, I32, PTR, VOID, PointerType, StructType
from isel.llvm.values import ConstInt, Value
from isel.llvm.vocabulary import Opcode, Ordering, RMWOperation

_OPERATIONS = {operation.value: operation for operation in RMWOperation}
_ONE = ConstInt(I32, 1)


def _words_before(piece: str, *words: str) -> tuple[list[bool], str]:
    """Whether each of these words stands before a piece, in this order; and what follows them."""
    found: list[bool] = []
    for word in words:
        found.append(piece.startswith(word + " "))
        piece = piece[len(word) + 1 :] if found[-1] else piece
    return found, piece


def _alloca(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, *others = pieces
    (inalloca, swifterror), allocated = _words_before(first, "inalloca", "swifterror")
    type, alignment = PTR, None
    count: Value = _ONE
    for piece in others:
        if piece.startswith("align "):
            alignment = read_alignment(piece)
        elif piece.startswith("addrspace("):
            type = PointerType(read_whole(piece, read_address_space))
        else:
            count = p.typed(piece)
    return Alloca(*at, type, p.types[allocated].type, count, alignment, inalloca, swifterror)


def _load(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, third = pieces
    alignment = read_alignment(third)
    if first[:8] != "volatile" and first[:6] != "atomic":
        return Load(*at, p.types[first].type, p.typed(second), alignment, False, None, "")
    (atomic, volatile), type = _words_before(first, "atomic", "volatile")
    pointer, scope, ordering = _address(p, second, atomic)
    return Load(*at, p.types[type].type, pointer, alignment, volatile, ordering, scope)


def _store(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, third = pieces
    alignment = read_alignment(third)
    if first[:8] != "volatile" and first[:6] != "atomic":
        return Store(*at, VOID, p.typed(first), p.typed(second), alignment, False, None, "")
    (atomic, volatile), value = _words_before(first, "atomic", "volatile")
    pointer, scope, ordering = _address(p, second, atomic)
    return Store(*at, VOID, p.typed(value), pointer, alignment, volatile, ordering, scope)


def _address(p: Pieces, piece: str, atomic: bool) -> tuple[Value, str, Ordering | None]:
    """An address, with the scope and the ordering of an atomic access."""
    return p.ordered(piece) if atomic else (p.typed(piece), "", None)


def _atomicrmw(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, third = pieces
    (volatile,), first = _words_before(first, "volatile")
    operation, _, place = first.partition(" ")
    pointer = p.typed(place)
    value, scope, ordering = p.ordered(second)
    return AtomicRMW(
        *at,
        value.type,
        _OPERATIONS[operation],
        pointer,
        value,
        ordering,
        scope,
        read_alignment(third),
        volatile,
    )


def _cut_getelementptr(body: str) -> list[str]:
    # A struct ends before the pointer; one inside another is cut too early.
    end = body.index("}, ptr ") + 1 if "{" in body else body.index(", ")
    return [body[:end], *body[end + 2 :].split(", ")]


def _getelementptr(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, *others = pieces
    flags, elements = p.flagged_types[first]
    operands = tuple([p.typed(piece) for piece in others])
    type = address_type(operands)
    return GetElementPtr(*at, type, elements.type, operands[0], operands[1:], flags)


_LAST_TWO = methodcaller("rsplit", ", ", 2)  # a type has commas, too

MEMORY: Mapping[Opcode, Syntax] = {
    Opcode.ALLOCA: Syntax(_alloca, methodcaller("rsplit", ", ", 1)),
    Opcode.LOAD: Syntax(_load, _LAST_TWO),
    Opcode.STORE: Syntax(_store, _LAST_TWO),
    Opcode.ATOMICRMW: Syntax(_atomicrmw),
    Opcode.GETELEMENTPTR: Syntax(_getelementptr, _cut_getelementptr),
}
"""Accesses of memory and addresses."""


def _fence(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    scope = read_sync_scope(cursor)
    return Fence(*at, VOID, read_ordering(cursor), scope)


def _cmpxchg(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    weak = cursor.accept("weak")
    volatile = cursor.accept("volatile")
    pointer = read_typed_value(cursor, p.scope)
    expected = read_next_value(cursor, p.scope)
    replacement = read_next_value(cursor, p.scope)
    scope = read_sync_scope(cursor)
    success, failure = read_ordering(cursor), read_ordering(cursor)
    return CompareExchange(
        *at,
        StructType((expected.type, I1)),
        pointer,
        expected,
        replacement,
        success,
        failure,
        scope,
        _alignment(cursor),
        weak,
        volatile,
    )


def _alignment(cursor: Cursor) -> int | None:
    if not cursor.another():
        return None
    cursor.expect("align")
    return cursor.integer()


def _va_arg(cursor: Cursor, p: Pieces, at: Common) -> Instruction:
    pointer = read_typed_value(cursor, p.scope)
    cursor.expect(",")
    type = read_type(cursor, p.scope)
    return VAArg(*at, type, pointer)


RARE_MEMORY: Mapping[Opcode, Statement] = {
    Opcode.FENCE: _fence,
    Opcode.CMPXCHG: _cmpxchg,
    Opcode.VA_ARG: _va_arg,
}
"""Those that are read token by token."""
