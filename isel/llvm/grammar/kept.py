"""What pieces of lines mean, parsed once by the grammar, and kept.

Layer: isel.llvm (standard library only). Input: a piece, or its words before a value. Output: its
meaning; None for words that run into a value, which are then parsed with it.

Most pieces are a few words in front of a value.  What the words say is kept apart from the value,
for values are many.  A piece of another kind, such as `i32 ptrtoint (ptr @g to i32)`, is parsed as
a whole, so that every piece of LLVM's grammar is read.

Where a module names no types, a piece has the same meaning in every such module: small modules, of
which a program may compile hundreds, share what is kept.
"""

from __future__ import annotations

import functools

from intrinsics.memo import Memo
from isel.llvm.attributes import Attributes
from isel.llvm.grammar.attributes import read_attributes
from isel.llvm.grammar.heads import CallHead, read_call_head, read_predicate
from isel.llvm.grammar.lexer import Cursor, UnreadableError, plain_name, read_whole
from isel.llvm.grammar.parts import read_attachments
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_type
from isel.llvm.grammar.values import read_flags, read_shuffle_mask, read_typed_value, read_value
from isel.llvm.ir import Attachments
from isel.llvm.types import I1, Type, VectorType, with_shape_of
from isel.llvm.values import Local, Value
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode

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


Flags = frozenset[Flag]
ComparisonHead = tuple[Flags, IntPredicate | FloatPredicate, Type, Values]


class ParseCache:
    """The parses of pieces of text under a set of named types, each made once.

    It has no reference cycles, so that it is freed without the collector.
    """

    def __init__(self, scope: SymbolTable) -> None:
        self.length = 0  # of the texts that were read with it
        reader = _Reader(scope)
        self.types = reader.types
        self.heads = Memo(reader.head)
        self.whole = Memo(reader.typed_value)
        self.flagged_types = reader.flagged_types
        self.flagged_heads = Memo(reader.flagged_head)
        self.flagged_whole = Memo(reader.flagged_value)
        self.comparison_heads = Memo(reader.comparison_head)
        self.compared_whole = Memo(reader.compared_value)
        self.argument_heads = Memo(reader.argument_head)
        self.argument_whole = Memo(reader.argument)
        self.masks = Memo(reader.mask)
        self.call_heads = Memo(reader.call_head)
        self.attachments = Memo(_read_attached)


class _Reader:
    """Parses pieces that are not kept yet."""

    def __init__(self, scope: SymbolTable) -> None:
        self._scope = scope
        self._values: Memo[Type, Values] = Memo(functools.partial(Values, scope))
        self.types = Memo(functools.partial(_values_of_type, scope, self._values))
        self.flagged_types = Memo(functools.partial(_values_of_flagged, scope, self._values))

    def head(self, text: str) -> Values | None:
        """The values of a type; None where `text` runs into a value, such as `splat (i32 1)`."""
        try:
            return self.types[text]
        except UnreadableError:
            return None

    def typed_value(self, piece: str) -> Value:
        """A type and a value of it."""
        return read_whole(piece, lambda cursor: read_typed_value(cursor, self._scope))

    def flagged_head(self, text: str) -> tuple[Flags, Values] | None:
        """Flags, and the values of the type behind them; None where `text` runs into a value."""
        try:
            return self.flagged_types[text]
        except UnreadableError:
            return None

    def flagged_value(self, piece: str) -> tuple[Flags, Values, Value]:
        """Flags, and a value with its type."""
        flags, value = read_whole(
            piece, lambda cursor: (read_flags(cursor), read_typed_value(cursor, self._scope))
        )
        return flags, self._values[value.type], value

    def comparison_head(self, key: tuple[Opcode, str]) -> ComparisonHead | None:
        """The text before the operands of a comparison, parsed; None if it runs into an operand."""
        opcode, head = key
        named = "%" in head
        try:
            found = _comparison(opcode, head, self._scope) if named else _unnamed_comparison(*key)
        except UnreadableError:
            return None
        return self._compared(*found)

    def compared_value(self, key: tuple[Opcode, str]) -> tuple[ComparisonHead, Value]:
        """A comparison up to its first operand, parsed, and that operand."""
        opcode, piece = key
        flags, predicate, value = read_whole(
            piece,
            lambda cursor: (
                read_flags(cursor),
                read_predicate(cursor, opcode),
                read_typed_value(cursor, self._scope),
            ),
        )
        return self._compared(flags, predicate, value.type), value

    def _compared(
        self, flags: Flags, predicate: IntPredicate | FloatPredicate, type: Type
    ) -> ComparisonHead:
        return flags, predicate, with_shape_of(I1, type), self._values[type]

    def mask(self, text: str) -> tuple[VectorType, tuple[int, ...]]:
        """The mask of a shuffle."""
        return read_whole(text, lambda cursor: read_shuffle_mask(cursor, self._scope))

    def call_head(self, text: str) -> CallHead:
        """The text before the callee, parsed."""
        return read_whole(text, lambda cursor: read_call_head(cursor, self._scope))

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

    def argument(self, piece: str) -> tuple[Value, Attributes]:
        """An argument with its type and attributes."""
        return read_whole(piece, self._read_argument)

    def _read_argument(self, cursor: Cursor) -> tuple[Value, Attributes]:
        type = read_type(cursor, self._scope)
        attributes = read_attributes(cursor, self._scope)
        return read_value(cursor, self._scope, type), attributes


def kept_of(scope: SymbolTable, length: int) -> ParseCache:
    """The cache for a text of `length` characters; small texts without named types share one."""
    if scope.types or length > _SMALL:
        return ParseCache(scope)
    shared = _shared()
    shared.length += length
    if shared.length > _MOST:
        _shared.cache_clear()
    return shared


@functools.cache
def _shared() -> ParseCache:
    return ParseCache(SymbolTable())


def _values_of_type(scope: SymbolTable, values: Memo[Type, Values], text: str) -> Values:
    return values[_type_of(text, scope) if "%" in text else _unnamed_type(text)]


def _values_of_flagged(
    scope: SymbolTable, values: Memo[Type, Values], text: str
) -> tuple[Flags, Values]:
    flags, type = _flagged_type(text, scope) if "%" in text else _unnamed_flagged_type(text)
    return flags, values[type]


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


def _read_attached(text: str) -> tuple[int | None, Attachments]:
    if text.startswith("!dbg !") and text[6:].isdecimal():  # as most are
        return int(text[6:]), ()
    return read_whole(text, read_attachments)
