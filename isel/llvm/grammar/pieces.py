"""The pieces that a line is cut into, looked up in what is kept of them (`kept`).

Layer: isel.llvm (standard library only). Input: a piece of a line: a type with flags, a value, the
head of a call. Output: its meaning, or an error where the cut went through brackets.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from intrinsics.memo import Memo
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.grammar.heads import read_groups
from isel.llvm.grammar.kept import ComparisonHead, Flags, Values, kept_of
from isel.llvm.grammar.lexer import UnreadableError, plain_name, read_whole
from isel.llvm.grammar.parts import ORDERINGS, read_block, read_ordering, read_sync_scope
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.values import read_inline_asm, read_typed_value, read_value
from isel.llvm.types import PointerType
from isel.llvm.values import GlobalRef, Value
from isel.llvm.vocabulary import Opcode, Ordering

_NO_ARGUMENT_ATTRIBUTES: Mapping[int, Attributes] = {}


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

    def compared(self, opcode: Opcode, piece: str) -> tuple[ComparisonHead, Value]:
        """`flags predicate T value`: what stands before the value, and the value."""
        head, _, text = piece.rpartition(" ")
        found = self._comparison_heads[opcode, head]
        if found is None:
            return self._compared_whole[opcode, piece]
        return found, found[3][text]

    def ordered(self, piece: str) -> tuple[Value, str, Ordering]:
        """`T value syncscope("…") ordering`."""
        head, _, word = piece.rpartition(" ")
        if word in ORDERINGS and not head.endswith(")"):
            return self.typed(head), "", ORDERINGS[word]
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


def _read_callee(text: str, scope: SymbolTable, type: PointerType) -> Value:
    if text.startswith("asm "):
        return read_whole(text, read_inline_asm)
    if text[0] == "@":
        return GlobalRef(plain_name(text), type)
    return read_whole(text, lambda cursor: read_value(cursor, scope, type))


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
