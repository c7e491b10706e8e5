"""PTX text by position: comments, strings, statement ends, lines and columns.

Layer: asmprinter.  Input: the text of a PTX module.  Output: the same text with comments blanked,
and where its statements end.  PTX ISA, Source Format; Comments.
"""

from __future__ import annotations

import re

from intrinsics.lines import Lines

NAME = r"[A-Za-z_$%][A-Za-z0-9_$]*"
"""An identifier.  PTX ISA, Identifiers."""

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def strip_comments(text: str) -> str:
    """The text with comments blanked out, so that every offset stays what it was."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)


class Source:
    """A PTX module's text without its comments."""

    def __init__(self, text: str) -> None:
        self.text = strip_comments(text)
        self._code = _STRING.sub(lambda m: '"' + "_" * (len(m[0]) - 2) + '"', self.text)
        self._lines = Lines(self.text)

    def __len__(self) -> int:
        return len(self.text)

    def skip_space(self, at: int) -> int:
        """The first offset from `at` on that is no white space."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def find(self, marks: str, at: int) -> int:
        """The first of the characters `marks` that stands in no string, or -1."""
        found = [i for mark in marks if (i := self._code.find(mark, at)) >= 0]
        return min(found, default=-1)

    def line_end(self, at: int) -> int:
        """The offset of the line's end."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def closing_brace(self, at: int) -> int:
        """The offset behind the brace that closes the first one from `at` on, or -1."""
        depth = 0
        for match in re.compile("[{}]").finditer(self._code, at):
            depth += 1 if match[0] == "{" else -1
            if depth <= 0:
                return match.end()
        return -1

    def line_column(self, at: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        return self._lines.position(at)
