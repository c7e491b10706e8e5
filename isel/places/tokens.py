"""The instructions of a user's LLVM IR, cut out token by token.

Layer: isel (standard library).  Input: the text that the user gave.  Output: the instructions of
each named function.

The scan is no parser.  LLVM IR has no mark between instructions, but each begins with a name and
`=`, or with its opcode; and an opcode in the middle of one is a constant expression, which has
parentheses right after it, or an atomic operation.  That is enough to cut a body into instructions.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.lines import Lines
from isel.llvm.grammar.lexer import CLOSING, OPENING, name_of
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode, TailKind
from isel.places.lines import DEBUG_CALLS, OPCODES

_TOKEN = re.compile(
    r"""(?:\s++|;[^\n]*+|/\*.*?\*/)*+(
      "[^"]*":?                   # a string, or a label in quotes
    | [%@$!c]"[^"]*"              # a quoted name, a metadata string, a c"…" constant
    | [%@$!\#^][-\w$.\\]*         # a name, a debug record, an attribute group
    | [-\w$.]+:?                  # a word, a number, a label
    | .
    | \Z                          # so that a comment at the end is skipped, not searched
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_TAILS = frozenset(tail.value for tail in TailKind if tail is not TailKind.NONE)
_STARTS = OPCODES | _TAILS
# What may stand between the opcode of a constant expression and its parenthesis.
_FLAGS = frozenset(word.value for words in (Flag, IntPredicate, FloatPredicate) for word in words)


Position: TypeAlias = tuple[int, int]
"""A line and a column, from 1."""


@dataclass(slots=True)
class Found:
    """An instruction of the user's text; `place` is its line and column, from 1."""

    place: Position
    result: str | None
    opcode: str
    callee: str = ""


def scan_tokens(text: str) -> dict[str, list[Found]]:
    """The instructions of each named function whose closing brace is found."""
    return _Scanner(text).scan()


class _Scanner:
    """Tokens of the user's text; methods take and return positions, which are indices."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._tokens: list[str] = []
        self._offsets: list[int] = []
        for match in _TOKEN.finditer(text):
            self._tokens.append(match[1])
            self._offsets.append(match.start(1))
        # Empty tokens at the end, so that looking ahead needs no test.
        self._tokens += [""] * 8

    def scan(self) -> dict[str, list[Found]]:
        """The instructions of each named function whose closing brace is found."""
        functions: dict[str, list[Found]] = {}
        index = 0
        while index < len(self._offsets):
            if self._tokens[index] != "define":
                index += 1
                continue
            name, index = self._skip_header(index + 1)
            found, index = self._scan_body(index)
            if name and found is not None:
                functions[name] = found
        return functions

    def _skip_header(self, index: int) -> tuple[str, int]:
        """The function's name, and the index after the brace that opens its body."""
        name = ""
        depth = 0
        while token := self._tokens[index]:
            index += 1
            if depth == 0 and not name and token[0] == "@":
                name = token
            if depth == 0 and token == "{" and self._begins_body(index):
                break
            depth += (token in OPENING) - (token in CLOSING)
        named = len(name) > 1 and not name[1:].isdecimal()
        return name_of(name) if named else "", index

    def _begins_body(self, index: int) -> bool:
        # Prefix and prologue data come before the body, and may be structs in braces.
        return (
            self._is_label(index)
            or self._tokens[index].startswith("#dbg_")
            or self._is_definition(index)
            or self._is_opcode(index)
        )

    def _is_label(self, index: int) -> bool:
        return len(self._tokens[index]) > 1 and self._tokens[index][-1] == ":"

    def _is_definition(self, index: int) -> bool:
        token = self._tokens[index]
        return len(token) > 1 and token[0] == "%" and self._tokens[index + 1] == "="

    def _is_opcode(self, index: int) -> bool:
        """Whether an opcode stands here that is not a constant expression's."""
        if self._tokens[index] not in _STARTS:
            return False
        index += 1
        while self._tokens[index] in _FLAGS:
            index += 1
        return self._tokens[index] not in ("(", "inrange")

    def _scan_body(self, index: int) -> tuple[list[Found] | None, int]:
        """The instructions up to the closing brace, and the index after it; None without one."""
        instructions: list[Found] = []
        depth = 0
        while token := self._tokens[index]:
            if token in OPENING:
                depth += 1
            elif token in CLOSING:
                if depth == 0:
                    return [f for f in instructions if not _is_debug_call(f)], index + 1
                depth -= 1
            elif depth == 0:
                if self._is_definition(index) or self._is_opcode(index):
                    found, index = self._take_instruction(index)
                    instructions.append(found)
                    continue
                if token[0] == "@" and instructions and not instructions[-1].callee:
                    instructions[-1].callee = token
            index += 1
        return None, index

    def _take_instruction(self, index: int) -> tuple[Found, int]:
        """What begins at `index`, and the index after its opcode and an atomic operation's name."""
        offset = self._offsets[index]
        result: str | None = None
        if self._is_definition(index):
            result = name_of(self._tokens[index])
            index += 2
        if self._tokens[index] in _TAILS:
            index += 1
        opcode = self._tokens[index]
        index += 1
        if opcode == Opcode.ATOMICRMW.value:
            index += 2 if self._tokens[index] == "volatile" else 1
        return Found(self._lines.position(offset), result, opcode), index


def _is_debug_call(found: Found) -> bool:
    return found.opcode == Opcode.CALL.value and DEBUG_CALLS.match(found.callee) is not None
