"""Tokens of LLVM's printed text, and a cursor over them.

Layer: isel.llvm (standard library only). Input: one statement (an instruction with its continuation
lines, a global, a function's header). Output: `Cursor`, which yields tokens and raises
`UnreadableError` at an unexpected one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

# Possessive, so that a comment at the end can't be taken apart into tokens.
_SKIPPED = r"\s*+(?:(?:;[^\n]*+|/\*.*?\*/)\s*+)*+"
_TOKEN = re.compile(
    rf"""{_SKIPPED}(
      [%@$!c]?"[^"]*"               # a string, a quoted name, a metadata string, a c"…" constant
    | [%@$!][-\w$.\\]+              # a name; metadata's have escapes without quotes
    | 0x[KLMHR]?[0-9A-Fa-f]+        # a floating-point number as bits
    | [-+]?\d+\.\d*(?:e[-+]?\d+)?   # a floating-point number in decimal
    | -?\d+
    | [A-Za-z_][\w.]*               # a word
    | \.\.\.
    | \#\d+                         # an attribute group
    | .
    | \Z                            # so that a comment at the end is skipped, not searched
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")
_LOOKS_NUMBERED = re.compile(r'("*)[0-9]+\1')
_PLAIN_NAME = re.compile(r"[-\w$.]+", re.ASCII)
_QUOTED_NAME = re.compile(r'[%@]"[^"]*"')

OPENING = frozenset("([{<")
CLOSING = frozenset(")]}>")


class UnreadableError(Exception):
    """Text that this reader cannot parse; the module reader adds the line."""


class Cursor:
    """A statement's tokens and a position; after the last token stands ""."""

    __slots__ = ("_position", "_spans", "_text", "_tokens")

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = _TOKEN.findall(text)
        self._spans: list[tuple[int, int]] | None = None
        self._position = 0

    def peek(self, ahead: int = 0) -> str:
        """The token `ahead` places further on, without taking it."""
        if not ahead:  # the "" after the last token is never taken
            return self._tokens[self._position]
        index = self._position + ahead
        return self._tokens[index] if index < len(self._tokens) else ""

    def next(self) -> str:
        """Take the next token."""
        token = self._tokens[self._position]
        if not token:
            raise UnreadableError("the text ends too early")
        self._position += 1
        return token

    def accept(self, token: str) -> bool:
        """Take the next token if it is `token`."""
        if self._tokens[self._position] != token:
            return False
        self._position += 1
        return True

    def until(self, token: str) -> list[str]:
        """The tokens before the next `token`, which stay; none where there is no such token."""
        try:
            return self._tokens[self._position : self._tokens.index(token, self._position)]
        except ValueError:
            return []

    def skip(self, count: int) -> None:
        """Take `count` tokens that were peeked at."""
        self._position += count

    def expect(self, token: str) -> None:
        """Take `token`, which must come next."""
        if not self.accept(token):
            raise UnreadableError(f"expected {token!r}, found {self.peek()!r}")

    def another(self) -> bool:
        """Take a comma, unless what follows it is a metadata attachment."""
        return not self.peek(1).startswith("!") and self.accept(",")

    def integer(self) -> int:
        """Take a decimal integer."""
        token = self.next()
        try:
            return int(token)
        except ValueError:
            raise UnreadableError(f"expected a number, found {token!r}") from None

    def string(self) -> str:
        """Take a quoted string; its text without quotes and escapes."""
        token = self.next()
        if token[0] != '"' or len(token) < 2:
            raise UnreadableError(f"expected a string, found {token!r}")
        return unescape(token[1:-1])

    def name(self, sigil: str) -> str:
        """Take a name with this sigil; its text without sigil, quotes and escapes."""
        token = self.next()
        if token[0] != sigil or len(token) < 2:
            raise UnreadableError(f"expected a name with {sigil}, found {token!r}")
        return name_of(token)

    def group(self) -> str:
        """Take a group in brackets, which comes next; its text, brackets included."""
        first = self._position
        depth = 0
        while True:
            token = self.next()
            depth += (token in OPENING) - (token in CLOSING)
            if depth <= 0:
                return self._text_since(first)

    def text_before(self, *ends: str) -> str:
        """Take what comes before the first of these tokens outside of brackets, as text."""
        first = self._position
        depth = 0
        while depth > 0 or self.peek() not in ends:
            token = self.next()
            depth += (token in OPENING) - (token in CLOSING)
        return self._text_since(first) if self._position > first else ""

    def text_before_attachments(self) -> str:
        """Take what comes before the comma of the first metadata attachment, as text."""
        first = self._position
        depth = 0
        while not self.at_end() and (depth or self.peek() != "," or self.peek(1)[:1] != "!"):
            token = self.next()
            depth += (token in OPENING) - (token in CLOSING)
        return self._text_since(first) if self._position > first else ""

    def _text_since(self, first: int) -> str:
        """The text from the token `first` to the last one taken."""
        if self._spans is None:  # positions are computed on demand
            self._spans = [match.span(1) for match in _TOKEN.finditer(self._text)]
        return self._text[self._spans[first][0] : self._spans[self._position - 1][1]]

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return not self._tokens[self._position]

    def expect_end(self) -> None:
        """Check that no token is left."""
        if not self.at_end():
            raise UnreadableError(f"did not expect {self.peek()!r}")


def cut_at_commas(text: str) -> list[str]:
    """Split a text at the commas outside of brackets and quotation marks."""
    cursor = Cursor(text)
    pieces = [cursor.text_before(",", "")]
    while cursor.accept(","):
        pieces.append(cursor.text_before(",", ""))
    return pieces


def read_whole(text: str, read: Callable[[Cursor], _T]) -> _T:
    """Parse all of a text.

    Raises: UnreadableError where something is left, and what `read` raises.
    """
    cursor = Cursor(text)
    found = read(cursor)
    cursor.expect_end()
    return found


def unescape(text: str) -> str:
    r"""Undo `\5C`, `\\` and their like; bytes that are not UTF-8 become surrogate escapes."""
    if "\\" not in text:
        return text
    return unescape_bytes(text).decode("utf-8", "surrogateescape")


def unescape_bytes(text: str) -> bytes:
    r"""The bytes that a string with `\5C`, `\\` and their like stands for."""
    return _ESCAPE.sub(
        lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]),
        text.encode("utf-8", "surrogateescape"),
    )


def name_of(token: str) -> str:
    """The name in `%x`, `@"a b"` or `!kind`: without sigil, quotes and escapes.

    A quoted name that would read as a number keeps quotation marks (see `values`), and one that is
    a number inside quotation marks gets another pair, so that different names stay different.
    """
    if token[1] != '"':
        return unescape(token[1:])
    name = unescape(token[2:-1])
    return f'"{name}"' if _LOOKS_NUMBERED.fullmatch(name) else name


def plain_name(text: str) -> str:
    """The name in `%x`, `@x` or `%"a b"`."""
    name = text[1:]
    # isalnum is the cheap question, and settles most names.
    if name.isalnum() or _PLAIN_NAME.fullmatch(name) is not None:
        return name
    if _QUOTED_NAME.fullmatch(text) is None:
        raise UnreadableError(f"{text!r} is no name")
    return name_of(text)
