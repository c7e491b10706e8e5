"""Readers of instructions that access memory, and of addresses.

Layer: isel.llvm (standard library only). Input: an instruction behind its opcode. Output: its
record.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_parts import Reader, read_next_value
from isel.llvm.read_types import read_address_space, read_type
from isel.llvm.read_values import address_type, read_flags, read_typed_value
from isel.llvm.scope import SymbolTable
from isel.llvm.types import I1, I32, VOID, PointerType, StructType
from isel.llvm.values import ConstInt, Value
from isel.llvm.vocabulary import Opcode, Ordering, RMWOperation

ORDERINGS = {ordering.value: ordering for ordering in Ordering}
OPERATIONS = {operation.value: operation for operation in RMWOperation}


def _alloca(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    inalloca = cursor.accept("inalloca")
    swifterror = cursor.accept("swifterror")
    allocated = read_type(cursor, scope)
    count: Value = ConstInt(I32, 1)
    alignment: int | None = None
    address_space = 0
    while cursor.another():
        if cursor.accept("align"):
            alignment = cursor.integer()
        elif cursor.peek() == "addrspace":
            address_space = read_address_space(cursor)
        else:
            count = read_typed_value(cursor, scope)
    type = PointerType(address_space)
    return Alloca(*at, type, allocated, count, alignment, inalloca, swifterror)


def _load(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    type = read_type(cursor, scope)
    pointer = read_next_value(cursor, scope)
    scope_name, ordering = _sync_scope(cursor), _ordering(cursor) if atomic else None
    alignment = _alignment(cursor)
    return Load(*at, type, pointer, alignment, volatile, ordering, scope_name)


def _store(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    value = read_typed_value(cursor, scope)
    pointer = read_next_value(cursor, scope)
    scope_name, ordering = _sync_scope(cursor), _ordering(cursor) if atomic else None
    alignment = _alignment(cursor)
    return Store(*at, VOID, value, pointer, alignment, volatile, ordering, scope_name)


def _sync_scope(cursor: Cursor) -> str:
    if not cursor.accept("syncscope"):
        return ""
    cursor.expect("(")
    name = cursor.string()
    cursor.expect(")")
    return name


def _ordering(cursor: Cursor) -> Ordering:
    word = cursor.next()
    if word not in ORDERINGS:
        raise UnreadableError(f"no ordering is called {word!r}")
    return ORDERINGS[word]


def _alignment(cursor: Cursor) -> int | None:
    if not cursor.another():
        return None
    cursor.expect("align")
    return cursor.integer()


def _fence(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    scope_name = _sync_scope(cursor)
    ordering = _ordering(cursor)
    return Fence(*at, VOID, ordering, scope_name)


def _cmpxchg(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    weak = cursor.accept("weak")
    volatile = cursor.accept("volatile")
    pointer = read_typed_value(cursor, scope)
    expected = read_next_value(cursor, scope)
    replacement = read_next_value(cursor, scope)
    scope_name = _sync_scope(cursor)
    success, failure = _ordering(cursor), _ordering(cursor)
    alignment = _alignment(cursor)
    type = StructType((expected.type, I1))
    return CompareExchange(
        *at,
        type,
        pointer,
        expected,
        replacement,
        success,
        failure,
        scope_name,
        alignment,
        weak,
        volatile,
    )


def _atomicrmw(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    volatile = cursor.accept("volatile")
    word = cursor.next()
    if word not in OPERATIONS:
        raise UnreadableError(f"no atomic operation is called {word!r}")
    pointer = read_typed_value(cursor, scope)
    value = read_next_value(cursor, scope)
    scope_name = _sync_scope(cursor)
    ordering = _ordering(cursor)
    alignment = _alignment(cursor)
    return AtomicRMW(
        *at,
        value.type,
        OPERATIONS[word],
        pointer,
        value,
        ordering,
        scope_name,
        alignment,
        volatile,
    )


def _getelementptr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    element_type = read_type(cursor, scope)
    operands = [read_next_value(cursor, scope)]
    while cursor.another():
        operands.append(read_typed_value(cursor, scope))
    base, *indices = operands
    return GetElementPtr(
        *at, address_type(tuple(operands)), element_type, base, tuple(indices), flags
    )


def _va_arg(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    pointer = read_typed_value(cursor, scope)
    cursor.expect(",")
    type = read_type(cursor, scope)
    return VAArg(*at, type, pointer)


MEMORY: Mapping[Opcode, Reader] = {
    Opcode.ALLOCA: _alloca,
    Opcode.LOAD: _load,
    Opcode.STORE: _store,
    Opcode.FENCE: _fence,
    Opcode.CMPXCHG: _cmpxchg,
    Opcode.ATOMICRMW: _atomicrmw,
    Opcode.GETELEMENTPTR: _getelementptr,
    Opcode.VA_ARG: _va_arg,
}
"""What reads accesses of memory and addresses."""
