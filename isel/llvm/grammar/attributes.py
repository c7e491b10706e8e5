"""Attribute lists from text.

Layer: isel.llvm (standard library only).
Input: a cursor at the attributes of a parameter, a result or a group.  Output: `Attributes`.
"""

from __future__ import annotations

import functools

from isel.llvm.attributes import NO_ATTRIBUTES, Attributes, AttributeValue
from isel.llvm.grammar.lexer import Cursor
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_type, starts_type
from isel.llvm.vocabulary import Opcode

_WITH_TYPE = frozenset({"byval", "byref", "sret", "inalloca", "preallocated", "elementtype"})

# Words that begin a value, or a callee's address space: they end the attributes before them.
_ENDS = frozenset(
    {
        "addrspace",
        *("true", "false", "null", "undef", "poison", "zeroinitializer", "none", "splat", "asm"),
        *("blockaddress", "dso_local_equivalent", "no_cfi", "ptrauth"),
        *(opcode.value for opcode in Opcode),
    }
)


def read_attributes(cursor: Cursor, scope: SymbolTable) -> Attributes:
    """The attributes at the cursor, up to a type, a value or punctuation."""
    enums: dict[str, AttributeValue] = {}
    strings: dict[str, str] = {}
    while True:
        token = cursor.peek()
        if token.startswith('"'):
            key = cursor.string()
            strings[key] = cursor.string() if cursor.accept("=") else ""
        elif _is_attribute(token):
            cursor.next()
            enums[token] = _value_of(token, cursor, scope)
        else:
            return Attributes(enums, strings) if enums or strings else NO_ATTRIBUTES


@functools.lru_cache(maxsize=1 << 10)
def _is_attribute(token: str) -> bool:
    # c"…" begins with a letter, too.
    word = token[:1].isalpha() and not token.endswith('"')
    return word and token not in _ENDS and not starts_type(token)


def _value_of(name: str, cursor: Cursor, scope: SymbolTable) -> AttributeValue:
    if cursor.accept("=") or (name == "align" and cursor.peek().isdecimal()):
        return cursor.integer()
    if cursor.peek() != "(":
        return True
    if name in _WITH_TYPE:
        cursor.expect("(")
        type = read_type(cursor, scope)
        cursor.expect(")")
        return type
    text = cursor.group()[1:-1]
    return int(text) if text.isdecimal() else text
