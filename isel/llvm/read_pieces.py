"""The pieces that `read_lines` cuts lines into: each is parsed once, and cached.

Layer: isel.llvm (standard library only). Input: a piece of a line: a type with flags, a value, the
head of a call. Output: its meaning, or an error where the cut went through brackets.

Where a module names no types, a piece has the same meaning in every such module: small modules, of
which a program may compile hundreds, share a cache.
"""

from __future__ import annotations

import functools
import re

from intrinsics.memo import Memo
from isel.llvm.attributes import Attributes
from isel.llvm.ir import Attachment, Attachments
from isel.llvm.lexer import Cursor, UnreadableError, name_of, read_whole
from isel.llvm.read_arithmetic import read_predicate
from isel.llvm.read_attributes import read_attributes
from isel.llvm.read_calls import CallHead, read_call_head
from isel.llvm.read_parts import read_attachment
from isel.llvm.read_types import read_type
from isel.llvm.read_values import (
    read_flags,
    read_inline_asm,
    read_shuffle_mask,
    read_typed_value,
    read_value,
)
from isel.llvm.scope import SymbolTable
from isel.llvm.types import I1, Type, VectorType, with_shape_of
from isel.llvm.values import InlineAsm, Local, Value
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode

PLAIN_NAME = re.compile(r"[-\w$.]+", re.ASCII)
QUOTED_NAME = re.compile(r'[%@]"[-\w$.]+"', re.ASCII)

_SMALL = 1 << 16
"""The most characters of a module that uses the shared cache."""

_MOST = 1 << 20
"""Characters of modules after which the shared cache is cleared."""


class Values(dict[str, Value]):
    """The values of one type by their texts: locals of any function, and constants."""

    __slots__ = ("_scope", "type")

    def __init__(self, scope: SymbolTable, type: Type) -> None:
        self._scope = scope
        self.type = type

    def __missing__(self, text: str) -> Value:
        value: Value
        if text[0] == "%":
            value = Local(plain_name(text), self.type)
        elif text.isalnum() or (text[0] == "-" and text[1:].isalnum()):
            value = _word_constant(text, self.type)
        else:
            value = _constant(text, self._scope, self.type)
        self[text] = value
        return value


_ComparisonHead = tuple[frozenset[Flag], IntPredicate | FloatPredicate, Type, Values]


class Pieces:
    """The cache of pieces for a set of named types.

    It has no reference cycles, so that it is freed without the collector.
    """

    def __init__(self, scope: SymbolTable) -> None:
        self.length = 0  # of the texts that were read with it
        reader = _Reader(scope)
        self.types = reader.types
        self.heads = Memo(reader.head)
        self.typed_constants = Memo(reader.typed_constant)
        self.flagged_types = Memo(reader.flagged_type)
        self.comparisons = Memo(reader.comparison)
        self.masks = Memo(reader.mask)
        self.call_heads = Memo(reader.call_head)
        self.asm = Memo(reader.inline_asm)
        self.argument_heads = Memo(reader.argument_head)
        self.attachments = Memo(_read_attachments)


class _Reader:
    """Parses pieces that are not in the cache."""

    def __init__(self, scope: SymbolTable) -> None:
        self._scope = scope
        self._values: Memo[Type, Values] = Memo(functools.partial(Values, scope))
        self.types = Memo(functools.partial(_values_of_type, scope, self._values))

    def head(self, text: str) -> Values | None:
        """The values of a type; None where `text` runs into a value, such as `splat (i32 1)`."""
        try:
            return self.types[text]
        except UnreadableError:
            return None

    def typed_constant(self, piece: str) -> Value:
        """A type and a constant of it."""
        return read_whole(piece, lambda cursor: read_typed_value(cursor, self._scope))

    def flagged_type(self, text: str) -> tuple[frozenset[Flag], Values]:
        """Flags, and the values of the type behind them."""
        named = "%" in text
        flags, type = _flagged_type(text, self._scope) if named else _unnamed_flagged_type(text)
        return flags, self._values[type]

    def comparison(self, key: tuple[Opcode, str]) -> _ComparisonHead:
        """What stands before the operands of a comparison, with the type of its result."""
        opcode, head = key
        named = "%" in head
        found = _comparison(opcode, head, self._scope) if named else _unnamed_comparison(*key)
        flags, predicate, source = found
        return flags, predicate, with_shape_of(I1, source), self._values[source]

    def mask(self, text: str) -> tuple[VectorType, tuple[int, ...]]:
        """The mask of a shuffle."""
        return read_whole(text, lambda cursor: read_shuffle_mask(cursor, self._scope))

    def call_head(self, text: str) -> CallHead:
        """What stands before the callee."""
        return read_whole(text, lambda cursor: read_call_head(cursor, self._scope))

    def inline_asm(self, key: tuple[str, str, str]) -> tuple[CallHead, InlineAsm]:
        """The head of a call of inline assembly, its text and its constraints."""
        before, text, constraints = key
        return read_whole(
            f'{before}"{text}", "{constraints}"',
            lambda cursor: (read_call_head(cursor, self._scope), read_inline_asm(cursor)),
        )

    def argument_head(self, text: str) -> tuple[Values, Attributes] | None:
        """An argument's type and attributes; None where `text` runs into its value."""
        scope = self._scope
        try:
            type, attributes = read_whole(
                text, lambda cursor: (read_type(cursor, scope), read_attributes(cursor, scope))
            )
        except UnreadableError:
            return None
        return self._values[type], attributes


def pieces_of(scope: SymbolTable, length: int) -> Pieces:
    """The cache for a text of `length` characters."""
    if scope.types or length > _SMALL:
        return Pieces(scope)
    shared = _shared()
    shared.length += length
    if shared.length > _MOST:
        _shared.cache_clear()
    return shared


@functools.cache
def _shared() -> Pieces:
    return Pieces(SymbolTable())


def _values_of_type(scope: SymbolTable, values: Memo[Type, Values], text: str) -> Values:
    return values[_type_of(text, scope) if "%" in text else _unnamed_type(text)]


def _type_of(text: str, scope: SymbolTable) -> Type:
    return read_whole(text, lambda cursor: read_type(cursor, scope))


def _flagged_type(text: str, scope: SymbolTable) -> tuple[frozenset[Flag], Type]:
    return read_whole(text, lambda cursor: (read_flags(cursor), read_type(cursor, scope)))


_Comparison = tuple[frozenset[Flag], IntPredicate | FloatPredicate, Type]


def _comparison(opcode: Opcode, head: str, scope: SymbolTable) -> _Comparison:
    return read_whole(
        head,
        lambda cursor: (
            read_flags(cursor), read_predicate(cursor, opcode), read_type(cursor, scope)
        ),
    )  # fmt: skip


def _constant(text: str, scope: SymbolTable, type: Type) -> Value:
    return read_whole(text, lambda cursor: read_value(cursor, scope, type))


# Types that name none of the module's mean the same in all modules, and so do constants of one
# word: they are read once.


@functools.lru_cache(4096)
def _word_constant(text: str, type: Type) -> Value:
    return _constant(text, SymbolTable(), type)


@functools.lru_cache(4096)
def _unnamed_type(text: str) -> Type:
    return _type_of(text, SymbolTable())


@functools.lru_cache(4096)
def _unnamed_flagged_type(text: str) -> tuple[frozenset[Flag], Type]:
    return _flagged_type(text, SymbolTable())


@functools.lru_cache(4096)
def _unnamed_comparison(opcode: Opcode, head: str) -> _Comparison:
    return _comparison(opcode, head, SymbolTable())


def _read_attachments(text: str) -> tuple[int | None, Attachments]:
    if text.startswith("!dbg !") and text[6:].isdecimal():
        return int(text[6:]), ()
    cursor = Cursor(text)
    dbg: int | None = None
    attachments: list[Attachment] = []
    while True:
        kind, node = read_attachment(cursor)
        if kind == "dbg" and isinstance(node, int):
            dbg = node
        else:
            attachments.append((kind, node))
        if cursor.at_end():
            return dbg, tuple(attachments)
        cursor.expect(",")


def plain_name(text: str) -> str:
    """The name in `%x`, `@x` or `%"a$b"`."""
    name = text[1:]
    # isalnum is the cheap question, and settles most names.
    if name.isalnum() or PLAIN_NAME.fullmatch(name) is not None:
        return name
    if QUOTED_NAME.fullmatch(text) is None:
        raise UnreadableError(f"{text!r} is no plain name")
    return name_of(text)
