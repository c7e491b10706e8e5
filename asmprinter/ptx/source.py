"""PTX text by position: comments, strings, statement ends, lines and columns.

Layer: asmprinter.  Input: the text of a PTX module.  Output: the same text with comments blanked,
and where its statements end.  PTX ISA, Source Format; Comments.
"""

from __future__ import annotations

import functools
import re

from intrinsics.lines import Lines

NAME = r"[A-Za-z_$%][A-Za-z0-9_$]*"
"""An identifier.  PTX ISA, Identifiers."""

STRING = r'(?:"(?:\\.|[^"\\\n])*+")'
"""A string, which ends on its line."""

OPEN_STRING = r'(?:"(?:\\.|[^"\\\n])*+"?)'
"""A string, or what stands behind a quotation mark that nothing closes: every mark begins one, so
that none is looked at twice."""

NOUNROLL = '.pragma "nounroll";'
"""What stands before the first statement of a loop that is not to be unrolled.  PTX ISA, Pragma
Strings."""

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*+(?P<closed>")?')
_COMMENT = re.compile(rf"{OPEN_STRING}|(?P<comment>//[^\n]*|/\*.*?\*/)|/\*.*", re.DOTALL)
_BRACE = re.compile("[{}]")


def strip_comments(text: str) -> str:
    """The text with comments blanked out, so that every offset stays what it was."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0]) if match["comment"] else match[0]

    return _COMMENT.sub(blank, text)


class Source:
    """A PTX module's text without its comments."""

    def __init__(self, text: str) -> None:
        self.text = strip_comments(text)
        self._code = _STRING.sub(_blank_string, self.text)
        self._closing: dict[int, int] | None = None
        self._lines = Lines(self.text)

    def __len__(self) -> int:
        return len(self.text)

    def skip_space(self, at: int) -> int:
        """The first offset from `at` on that is no white space."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def find(self, marks: str, at: int) -> int:
        """The first of the characters `marks` that stands in no string, or -1."""
        match = _marks(marks).search(self._code, at)
        return match.start() if match else -1

    def line_end(self, at: int) -> int:
        """The offset of the line's end."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def closing_brace(self, at: int) -> int:
        """The offset behind the brace that closes the first one from `at` on, or -1."""
        if self._closing is None:
            self._closing = _pairs(self._code)
        first = _BRACE.search(self._code, at)
        if first is None:
            return -1
        return first.end() if first[0] == "}" else self._closing.get(first.start(), -1)

    def line_column(self, at: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        return self._lines.position(at)


def _blank_string(match: re.Match[str]) -> str:
    """A string without what stands in it; a quotation mark that nothing closes hides nothing."""
    return '"' + "_" * (len(match[0]) - 2) + '"' if match["closed"] else match[0]


@functools.cache
def _marks(marks: str) -> re.Pattern[str]:
    return re.compile("[" + re.escape(marks) + "]")


def _pairs(code: str) -> dict[int, int]:
    """For every brace that is closed, the offset behind the one that closes it."""
    found: dict[int, int] = {}
    left: list[int] = []
    for match in _BRACE.finditer(code):
        if match[0] == "{":
            left.append(match.start())
        elif left:
            found[left.pop()] = match.end()
    return found
