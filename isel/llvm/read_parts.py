"""Parts that instructions of several kinds have: values, blocks, attachments.

Layer: isel.llvm (standard library only). Input: a cursor at a part of an instruction. Output: what
it says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from isel.llvm.ir import Attachment, Common, Instruction
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_values import read_typed_value
from isel.llvm.scope import SymbolTable
from isel.llvm.values import Value

Reader: TypeAlias = Callable[[Cursor, SymbolTable, Common], Instruction]
"""What reads an instruction behind its opcode."""


def read_attachment(cursor: Cursor) -> Attachment:
    """`!kind !7`, or `!kind !DIExpression()`."""
    return cursor.name("!"), read_node(cursor)


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
