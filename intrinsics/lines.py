"""Offsets of a text as lines and columns.

Layer: intrinsics (standard library).
"""

from __future__ import annotations

import re
from bisect import bisect_right


class Lines:
    """Positions of the lines of a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1, columns in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
