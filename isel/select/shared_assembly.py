"""Texts of assembly that a module's functions have in common: each is read once.

Layer: isel.select.  Input: text, and the registers that it is given.  Output: its statements.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType, Space
from isel.diagnostics import Unselectable

if TYPE_CHECKING:
    from asmprinter.ptx.reading.fragment import Fragment

WORD = re.compile(r"[A-Za-z_$%][\w$]*")
"""What may be a name in assembly."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """Texts that were read already, by what the statements are and may name."""

    symbols: Mapping[str, Space | None]
    known: dict[tuple[str, tuple[tuple[int, ScalarType], ...]], Fragment]

    def fragment(self, text: str, registers: Mapping[int, ScalarType]) -> Fragment:
        """The statements of a text.

        Raises: Unselectable for what is no PTX.
        """
        key = text, tuple(registers.items())
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = _read(*key, self._named_in(text))
        for error in found.errors:
            raise Unselectable(
                "inline-asm",
                f"the inline assembly is no PTX: {error.message}",
                op=error.op or "asm",
                got=error.got,
                expected=error.expected,
                hint=error.hint or f"line {error.place.line} of the text",
                section=error.section,
            )
        return found

    def _named_in(self, text: str) -> tuple[tuple[str, Space | None], ...]:
        """The symbols that a text may name, which are few: most are another text's."""
        words = dict.fromkeys(WORD.findall(text))
        return tuple([(word, self.symbols[word]) for word in words if word in self.symbols])


@functools.lru_cache(1024)  # compilers have a few texts, which stand in all of their modules
def _read(
    text: str,
    registers: tuple[tuple[int, ScalarType], ...],
    symbols: tuple[tuple[str, Space | None], ...],
) -> Fragment:
    from asmprinter.ptx.reading.fragment import read_fragment  # what most modules never need

    return read_fragment(text, {f"${n}": cls for n, cls in registers}, dict(symbols))
