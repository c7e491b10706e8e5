"""Types from text.

Layer: isel.llvm (standard library only).
Input: a cursor at a type, and the module's scope for named structs.  Output: `Type`.
"""

from __future__ import annotations

import re

from isel.llvm.grammar.lexer import Cursor, UnreadableError, name_of
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    LABEL,
    METADATA,
    PPC_FP128,
    TOKEN,
    VOID,
    X86_AMX,
    X86_FP80,
    ArrayType,
    FunctionType,
    IntType,
    OpaqueType,
    PointerType,
    StructType,
    TargetType,
    Type,
    VectorType,
)

_KEYWORDS: dict[str, Type] = {
    str(type): type
    for type in (
        *(VOID, LABEL, METADATA, TOKEN, X86_AMX),
        *(HALF, BFLOAT, FLOAT, DOUBLE, X86_FP80, FP128, PPC_FP128),
    )
}
_INTEGER = re.compile(r"i\d+")
_COMMON: dict[str, Type] = {
    **_KEYWORDS,
    **{f"i{bits}": IntType(bits) for bits in (1, 8, 16, 32, 64, 128)},
}
"""The types of one word that most types are."""


def starts_type(token: str) -> bool:
    """Whether `token` can begin a type, where otherwise a word or a value would stand."""
    return (
        token in _KEYWORDS
        or token in ("ptr", "target", "{", "[", "<")
        or token.startswith("%")
        or _INTEGER.fullmatch(token) is not None
    )


def read_type(cursor: Cursor, scope: SymbolTable) -> Type:
    """The type at the cursor; `T (A, B)` is read whole, as a function type."""
    result = _plain_type(cursor, scope)
    while cursor.accept("("):
        parameters, vararg = _parameters(cursor, scope)
        result = FunctionType(result, parameters, vararg)
    return result


def read_struct_body(cursor: Cursor, scope: SymbolTable, name: str | None) -> StructType:
    """`{ T, U }` or `<{ T, U }>`; `name` is that of the type defined, None for a literal."""
    packed = cursor.accept("<")
    cursor.expect("{")
    elements: list[Type] = []
    while not cursor.accept("}"):
        if elements:
            cursor.expect(",")
        elements.append(read_type(cursor, scope))
    if packed:
        cursor.expect(">")
    return StructType(tuple(elements), packed, name)


def read_named_type(name: str, scope: SymbolTable) -> StructType | OpaqueType:
    """The struct that the module calls `name`, read now if it was not needed before."""
    if name in scope.types:
        return scope.types[name]
    if name not in scope.type_texts:
        raise UnreadableError(f"type %{name} is not defined")
    # Taken out while it is read: a struct that holds itself, which LLVM refuses, would not end.
    cursor = Cursor(scope.type_texts.pop(name))
    if cursor.accept("opaque"):
        scope.types[name] = OpaqueType(name)
    else:
        scope.types[name] = read_struct_body(cursor, scope, name)
    cursor.expect_end()
    return scope.types[name]


def _plain_type(cursor: Cursor, scope: SymbolTable) -> Type:
    token = cursor.peek()
    if token == "{" or (token == "<" and cursor.peek(1) == "{"):
        return read_struct_body(cursor, scope, None)
    cursor.next()
    if token in _COMMON:
        return _COMMON[token]
    if token == "ptr":
        return PointerType(read_address_space(cursor))
    if _INTEGER.fullmatch(token):
        return IntType(int(token[1:]))
    if token == "<":
        return _vector(cursor, scope)
    if token == "[":
        return _array(cursor, scope)
    if token == "target":
        return _target(cursor, scope)
    if token[0] == "%" and len(token) > 1:
        return read_named_type(name_of(token), scope)
    raise UnreadableError(f"expected a type, found {token!r}")


def read_address_space(cursor: Cursor) -> int:
    """`addrspace(N)` if it comes next; 0 otherwise."""
    if not cursor.accept("addrspace"):
        return 0
    cursor.expect("(")
    number = cursor.integer()
    cursor.expect(")")
    return number


def _vector(cursor: Cursor, scope: SymbolTable) -> Type:
    scalable = cursor.accept("vscale")
    if scalable:
        cursor.expect("x")
    count = cursor.integer()
    cursor.expect("x")
    element = read_type(cursor, scope)
    cursor.expect(">")
    return VectorType(element, count, scalable)


def _array(cursor: Cursor, scope: SymbolTable) -> Type:
    count = cursor.integer()
    cursor.expect("x")
    element = read_type(cursor, scope)
    cursor.expect("]")
    return ArrayType(element, count)


def _target(cursor: Cursor, scope: SymbolTable) -> Type:
    cursor.expect("(")
    name = cursor.string()
    types: list[Type] = []
    integers: list[int] = []
    while cursor.accept(","):
        if cursor.peek().isdecimal():
            integers.append(cursor.integer())
        else:
            types.append(read_type(cursor, scope))
    cursor.expect(")")
    return TargetType(name, tuple(types), tuple(integers))


def _parameters(cursor: Cursor, scope: SymbolTable) -> tuple[tuple[Type, ...], bool]:
    types: list[Type] = []
    while not cursor.accept(")"):
        if types:
            cursor.expect(",")
        if cursor.accept("..."):
            cursor.expect(")")
            return tuple(types), True
        types.append(read_type(cursor, scope))
    return tuple(types), False
