"""How instructions are read: as pieces that a line is cut into, or token by token.

Layer: isel.llvm (standard library only). Input: an instruction behind its opcode. Output: its
record, by what the tables in `arithmetic`, `memory`, `calls` and `control` say.

Each instruction is described once.  A `Syntax` says what its pieces mean, and how its text is cut
into them: in a way that is right for common lines, and in one that takes nothing within brackets or
quotation marks for a comma between pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from isel.llvm.grammar.lexer import Cursor, cut_at_commas
from isel.llvm.grammar.pieces import Pieces
from isel.llvm.ir import Common, Instruction

Cut: TypeAlias = Callable[[str], list[str]]

Statement: TypeAlias = Callable[[Cursor, Pieces, Common], Instruction]
"""What reads an instruction behind its opcode token by token."""

_STRING = re.compile(r'"[^"]*"')
_HIDDEN = re.compile(r'"(\d+)"')


class Syntax(NamedTuple):
    """An instruction that is read piece by piece.

    `cut` is fast; None is `str.split` at ", ".  A cut of its that goes through brackets leaves a
    piece that cannot be read: then `cut_exactly` cuts again.
    """

    read: Callable[[Pieces, Common, list[str]], Instruction]
    cut: Cut | None = None
    cut_exactly: Cut = cut_at_commas


def whole(text: str) -> list[str]:
    """A text that is one piece."""
    return [text]


def outside_strings(cut: Cut) -> Cut:
    """The same cut, ignoring separators inside quotation marks."""

    def cut_exactly(text: str) -> list[str]:
        strings = _STRING.findall(text)
        numbers = iter(range(len(strings)))
        hidden = _STRING.sub(lambda _: f'"{next(numbers)}"', text)
        return [_HIDDEN.sub(lambda m: strings[int(m[1])], piece) for piece in cut(hidden)]

    return cut_exactly
