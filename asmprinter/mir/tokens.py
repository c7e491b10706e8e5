"""The words of MIR text: tokens with their places, and a position among them.

Layer: asmprinter.  Input: lines of MIR text.  Output: tokens, comments left out, and what is wrong
where a token is not the one that the grammar wants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from asmprinter.mir.names import PLAIN, STRING, bare, unquoted

END = "end"
"""The kind of the token behind the last one."""

BAD = "bad"
"""The kind of a piece of text that is no token."""

_WIDTH = 60
"""Messages show no more of a token."""

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<comment>;.*)"
    rf"|(?P<string>{STRING})"
    rf"|(?P<reg>%(?:{PLAIN}|{STRING})(?:\#[0-9]+)?)"
    r"|(?P<literal>(?:imm|fimm|sreg):[^\s;,=\[\]{}()]+)"
    rf"|(?P<text>text:{STRING})"
    rf"|(?P<sym>@(?:{PLAIN}|{STRING}))"
    rf"|(?P<label>bb\.(?:%?{PLAIN}|{STRING}))"
    r"|(?P<loc>![0-9]+)"
    r"|(?P<word>[A-Za-z_]\w*(?:\.\w+)*(?:::\w+)*)"
    r"|(?P<hex>0x[0-9A-Fa-f]*)"
    r"|(?P<version>[0-9]+\.[0-9]+)"
    r"|(?P<int>[0-9]+)"
    r"|(?P<mark>\.\.\.|[][{}(),:=@!+-])"
    r'|(?P<bad>".*|\S.{0,19})'  # a string that nothing closes takes all
    r")"
)

_WANTED = {
    "": "more",
    "mark": "a mark",
    "label": "a block (bb.entry)",
    "string": 'a "string"',
    "reg": "a register (%r:b32)",
    "sym": "a name (@x)",
    "loc": "a location (!1)",
    "word": "a word",
    "hex": "bytes (0x2a00)",
    "version": "a version (8.6)",
    "int": "an integer",
}


class Token(NamedTuple):
    """A word, and the line and column where it begins, both counted from 1."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def shown(self) -> str:
        """The token as messages show it."""
        if self.kind == END:
            return "the end of the line"
        return self.text if len(self.text) <= _WIDTH else self.text[: _WIDTH - 1] + "…"


class BadTextError(Exception):
    """Text that does not follow the grammar, or names something undefined."""

    def __init__(self, message: str, token: Token, expected: str = "", got: str = "") -> None:
        super().__init__(message)
        self.token = token
        self.expected = expected
        self.got = got or token.shown


def tokenize(number: int, text: str) -> list[Token]:
    """The tokens of line `number`; nothing but the end if only a comment stands there."""
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, text
        kind = match.lastgroup
        assert kind is not None
        at = match.end()
        if kind == "comment":
            break
        shown = match[kind]
        if '"' in shown and not _can_be_read(shown):
            kind = BAD
        tokens.append(Token(kind, shown, number, match.start(kind) + 1))
    end = tokens[-1].column + len(tokens[-1].text) if tokens else 1
    return [*tokens, Token(END, "", number, end)]


def _can_be_read(shown: str) -> bool:
    try:
        unquoted(shown[shown.index('"') : shown.rindex('"') + 1])
    except ValueError:
        return False
    return True


def integer(token: Token, digits: str) -> int:
    """The value of decimal `digits`, which stand in `token`.

    Raises: BadTextError.
    """
    try:
        return int(digits)
    except ValueError:
        raise BadTextError(f"{token.shown} is too long", token, "an integer") from None


class Tokens:
    """A position among the tokens of a line, or of a function's header."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> Token:
        """The next token; END behind the last."""
        return self.tokens[self.at]

    @property
    def last(self) -> Token:
        """The token that was taken last."""
        return self.tokens[max(self.at - 1, 0)]

    def ahead(self, distance: int) -> Token:
        """The token that stands `distance` behind the next."""
        return self.tokens[min(self.at + distance, len(self.tokens) - 1)]

    def is_next(self, kind: str, text: str = "") -> bool:
        """Whether the next token is of this kind, and reads like this."""
        return self.next.kind == kind and (not text or self.next.text == text)

    def take(self, kind: str = "", text: str = "") -> str:
        """The text of the next token, which must be of this kind, or read like this.

        Raises: BadTextError.
        """
        token = self.next
        wrong = token.kind in (END, BAD) or (kind and token.kind != kind)
        if wrong or (text and token.text != text):
            raise self.unexpected(f"'{text}'" if text else _WANTED[kind])
        self.at += 1
        return token.text

    def take_if(self, kind: str, text: str) -> bool:
        """Whether the next token was this one, and is taken."""
        if not self.is_next(kind, text):
            return False
        self.at += 1
        return True

    def integer(self) -> int:
        """The next token, an integer without a sign.

        Raises: BadTextError.
        """
        token = self.next
        return integer(token, self.take("int"))

    def string(self) -> str:
        """The text of the next token, a string.

        Raises: BadTextError.
        """
        return unquoted(self.take("string"))

    def symbol(self) -> str:
        """The name of the next token, a symbol.

        Raises: BadTextError.
        """
        return bare(self.take("sym")[1:])

    def block(self) -> str:
        """The name of the next token, a block.

        Raises: BadTextError.
        """
        return bare(self.take("label")[3:])

    def location(self) -> int:
        """The number of the next token, a location.

        Raises: BadTextError.
        """
        token = self.next
        return integer(token, self.take("loc")[1:])

    def end(self) -> None:
        """Nothing may follow.

        Raises: BadTextError.
        """
        token, wanted = self.next, "the end of the line"
        if token.kind == BAD:
            raise self.unexpected(wanted)
        if token.kind != END:
            raise BadTextError(f"unexpected '{token.shown}'", token, wanted)

    def unexpected(self, wanted: str) -> BadTextError:
        """The error that the next token is not what the grammar wants."""
        token = self.next
        if token.kind == BAD:
            return BadTextError(f"cannot read '{token.shown}'", token, wanted)
        quote = "" if token.kind == END else "'"
        return BadTextError(f"expected {wanted}, got {quote}{token.shown}{quote}", token, wanted)
