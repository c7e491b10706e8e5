"""The pieces that a line is cut into: each is parsed once, by the grammar, and kept.

Layer: isel.llvm (standard library only). Input: a piece of a line: a type with flags, a value, the
head of a call. Output: its meaning, or an error where the cut went through brackets.

Most pieces are a few words in front of a value.  What the words say is kept apart from the value,
for values are many.  A piece of another kind, such as `i32 ptrtoint (ptr @g to i32)`, is parsed as
a whole, so that every piece of LLVM's grammar is read.

Where a module names no types, a piece has the same meaning in every such module: small modules, of
which a program may compile hundreds, share what is kept.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from intrinsics.memo import Memo
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.grammar.attributes import read_attributes
from isel.llvm.grammar.heads import CallHead, read_call_head, read_groups, read_predicate
from isel.llvm.grammar.lexer import Cursor, UnreadableError, name_of, read_whole
from isel.llvm.grammar.parts import (
    read_attachments,
    read_block,
    read_ordering,
    read_sync_scope,
)
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_type
from isel.llvm.grammar.values import (
    read_flags,
    read_inline_asm,
    read_shuffle_mask,
    read_typed_value,
    read_value,
)
from isel.llvm.ir import Attachments
from isel.llvm.types import I1, PointerType, Type, VectorType, with_shape_of
from isel.llvm.values import GlobalRef, Local, Value
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode, Ordering

_PLAIN_NAME = re.compile(r"[-\w$.]+", re.ASCII)
_QUOTED_NAME = re.compile(r'[%@]"[^"]*"')
_ORDERINGS: Mapping[str, Ordering] = {ordering.value: ordering for ordering in Ordering}
_NO_ARGUMENT_ATTRIBUTES: Mapping[int, Attributes] = {}

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
_ComparisonHead = tuple[Flags, IntPredicate | FloatPredicate, Type, Values]


class Kept:
    """What pieces mean under a set of named types.

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


class Pieces:
    """Reads the pieces of one module's lines."""

    def __init__(self, scope: SymbolTable, length: int = 0) -> None:
        self.scope = scope
        kept = kept_of(scope, length)
        self.types = kept.types
        self.flagged_types = kept.flagged_types
        self.masks = kept.masks
        self.call_heads = kept.call_heads
        self.attachments = kept.attachments
        self._heads, self._whole = kept.heads, kept.whole
        self._flagged_heads, self._flagged_whole = kept.flagged_heads, kept.flagged_whole
        self._comparison_heads, self._compared_whole = kept.comparison_heads, kept.compared_whole
        self._argument_heads, self._argument_whole = kept.argument_heads, kept.argument_whole
        self._callees: dict[str, Value] = {}
        self.groups = Memo(functools.partial(_read_groups, scope))
        self.groups[""] = NO_ATTRIBUTES

    def typed(self, piece: str) -> Value:
        """`T value`."""
        head, _, text = piece.rpartition(" ")
        values = self._heads[head]
        return self._whole[piece] if values is None else values[text]

    def flagged(self, piece: str) -> tuple[Flags, Values, Value]:
        """`flags T value`: the flags, the values of the type, and this one."""
        head, _, text = piece.rpartition(" ")
        found = self._flagged_heads[head]
        if found is None:
            return self._flagged_whole[piece]
        flags, values = found
        return flags, values, values[text]

    def compared(self, opcode: Opcode, piece: str) -> tuple[_ComparisonHead, Value]:
        """`flags predicate T value`: what stands before the value, and the value."""
        head, _, text = piece.rpartition(" ")
        found = self._comparison_heads[opcode, head]
        if found is None:
            return self._compared_whole[opcode, piece]
        return found, found[3][text]

    def ordered(self, piece: str) -> tuple[Value, str, Ordering]:
        """`T value syncscope("…") ordering`."""
        head, _, word = piece.rpartition(" ")
        if word in _ORDERINGS and not head.endswith(")"):
            return self.typed(head), "", _ORDERINGS[word]
        return read_whole(
            piece,
            lambda cursor: (
                read_typed_value(cursor, self.scope), read_sync_scope(cursor), read_ordering(cursor)
            ),
        )  # fmt: skip

    def callee(self, text: str, type: PointerType) -> Value:
        """A callee of a type: a function, a pointer, or inline assembly."""
        callee = self._callees.get(text)
        if callee is None or callee.type is not type:
            callee = self._callees[text] = _read_callee(text, self.scope, type)
        return callee

    def arguments(
        self, pieces: Sequence[str]
    ) -> tuple[tuple[Value, ...], Mapping[int, Attributes]]:
        """`T attributes value` each: the values, and the attributes of those that have any."""
        if not pieces:
            return (), _NO_ARGUMENT_ATTRIBUTES
        arguments: list[Value] = []
        attributes: dict[int, Attributes] = {}
        heads = self._argument_heads
        for piece in pieces:
            head, _, text = piece.rpartition(" ")
            found = heads[head]
            if found is None:
                value, given = self._argument_whole[piece]
            else:
                values, given = found
                value = values[text]
            if given:
                attributes[len(arguments)] = given
            arguments.append(value)
        return tuple(arguments), attributes


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

    def comparison_head(self, key: tuple[Opcode, str]) -> _ComparisonHead | None:
        """What stands before the operands of a comparison; None where it runs into one."""
        opcode, head = key
        named = "%" in head
        try:
            found = _comparison(opcode, head, self._scope) if named else _unnamed_comparison(*key)
        except UnreadableError:
            return None
        return self._compared(*found)

    def compared_value(self, key: tuple[Opcode, str]) -> tuple[_ComparisonHead, Value]:
        """What stands before the operands of a comparison, and the first of them."""
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
    ) -> _ComparisonHead:
        return flags, predicate, with_shape_of(I1, type), self._values[type]

    def mask(self, text: str) -> tuple[VectorType, tuple[int, ...]]:
        """The mask of a shuffle."""
        return read_whole(text, lambda cursor: read_shuffle_mask(cursor, self._scope))

    def call_head(self, text: str) -> CallHead:
        """What stands before the callee."""
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


def kept_of(scope: SymbolTable, length: int) -> Kept:
    """What is kept for a text of `length` characters."""
    if scope.types or length > _SMALL:
        return Kept(scope)
    shared = _shared()
    shared.length += length
    if shared.length > _MOST:
        _shared.cache_clear()
    return shared


@functools.cache
def _shared() -> Kept:
    return Kept(SymbolTable())


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


def _read_callee(text: str, scope: SymbolTable, type: PointerType) -> Value:
    if text.startswith("asm "):
        return read_whole(text, read_inline_asm)
    if text[0] == "@":
        return GlobalRef(plain_name(text), type)
    return _constant(text, scope, type)


def _read_groups(scope: SymbolTable, text: str) -> Attributes:
    return read_whole(text, lambda cursor: read_groups(cursor, scope))


@functools.lru_cache(4096)
def read_label(text: str) -> str:
    """The name in `label %block`."""
    if text.startswith("label %") and text[7:].isalnum():
        return text[7:]
    return read_whole(text, read_block)


@functools.lru_cache(4096)
def read_local(text: str) -> str:
    """The name in `%block`."""
    if text[:1] != "%":
        raise UnreadableError(f"expected a name with %, found {text!r}")
    return plain_name(text)


@functools.lru_cache(4096)
def read_alignment(text: str) -> int:
    """The number of `align N`."""
    if not text.startswith("align "):
        raise UnreadableError(f"expected an alignment, found {text!r}")
    return int(text[6:])


def _read_attached(text: str) -> tuple[int | None, Attachments]:
    if text.startswith("!dbg !") and text[6:].isdecimal():  # as most are
        return int(text[6:]), ()
    return read_whole(text, read_attachments)


def plain_name(text: str) -> str:
    """The name in `%x`, `@x` or `%"a b"`."""
    name = text[1:]
    # isalnum is the cheap question, and settles most names.
    if name.isalnum() or _PLAIN_NAME.fullmatch(name) is not None:
        return name
    if _QUOTED_NAME.fullmatch(text) is None:
        raise UnreadableError(f"{text!r} is no name")
    return name_of(text)
