"""Parts that statements of several kinds have: blocks, attachments, orderings.

Layer: isel.llvm (standard library only). Input: a cursor at a part of a statement. Output: what it
says.
"""

from __future__ import annotations

from collections.abc import Mapping

from isel.llvm.grammar.lexer import Cursor, UnreadableError
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.values import read_typed_value
from isel.llvm.ir import Attachment, Attachments
from isel.llvm.values import Value
from isel.llvm.vocabulary import Ordering

ORDERINGS: Mapping[str, Ordering] = {ordering.value: ordering for ordering in Ordering}


def read_attachment(cursor: Cursor) -> Attachment:
    """`!kind !7`, or `!kind !DIExpression()`."""
    return cursor.name("!"), read_node(cursor)


def read_attachments(cursor: Cursor) -> tuple[int | None, Attachments]:
    """`!dbg !7, !kind !8`: the node of `dbg`, and the other attachments."""
    dbg: int | None = None
    others: list[Attachment] = []
    while True:
        kind, node = read_attachment(cursor)
        if kind == "dbg" and isinstance(node, int):
            dbg = node
        else:
            others.append((kind, node))
        if not cursor.accept(","):
            return dbg, tuple(others)


def read_node(cursor: Cursor) -> int | str:
    """`!7`, as its number, or `!DIExpression()`, as its text."""
    token = cursor.next()
    if token[0] != "!":
        raise UnreadableError(f"expected a node, found {token!r}")
    return int(token[1:]) if token[1:].isdecimal() else token + cursor.group()


def read_block(cursor: Cursor) -> str:
    """`label %block`."""
    cursor.expect("label")
    return cursor.name("%")


def read_blocks(cursor: Cursor) -> tuple[str, ...]:
    """`[label %block, …]`."""
    cursor.expect("[")
    blocks: list[str] = []
    while not cursor.accept("]"):
        if blocks:
            cursor.expect(",")
        blocks.append(read_block(cursor))
    return tuple(blocks)


def read_next_value(cursor: Cursor, scope: SymbolTable) -> Value:
    """A comma, and a value with its type."""
    cursor.expect(",")
    return read_typed_value(cursor, scope)


def read_sync_scope(cursor: Cursor) -> str:
    """`syncscope("…")` if it comes next; the whole system is ""."""
    if not cursor.accept("syncscope"):
        return ""
    cursor.expect("(")
    name = cursor.string()
    cursor.expect(")")
    return name


def read_ordering(cursor: Cursor) -> Ordering:
    """`acquire` and its like."""
    word = cursor.next()
    if word not in ORDERINGS:
        raise UnreadableError(f"no ordering is called {word!r}")
    return ORDERINGS[word]
