"""The names of what lies in dynamic shared memory, in comments of printed PTX or MIR.

Layer: asmprinter.  Input: the text, and where the parts of dynamic shared memory begin.  Output:
the text, in which each address that is an offset there has the part's name beside it.  PTX has one
array of dynamic shared memory, and no names for its parts.  PTX ISA, Comments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from intrinsics.mir import Module
from intrinsics.modifiers import Space

Parts = Sequence[tuple[str, int]]
"""Names, and the bytes of dynamic shared memory where they begin."""


def with_part_names(text: str, module: Module, parts: Parts, comment: str) -> str:
    """The text with names; `comment` begins a comment in its language."""
    names = [v.name for v in module.variables if v.space is Space.SHARED and not v.size]
    if not parts or not names:
        return text
    parts = [(name if name.isprintable() else ascii(name), at) for name, at in parts]
    address = re.compile(rf"(?<![\w$.])(?:{'|'.join(map(re.escape, names))})(?:\+(\d+))?(?![\w$+])")
    lines = text.split("\n")
    for number, line in enumerate(lines):
        found = [int(offset or 0) for offset in address.findall(line)]
        if not found:
            continue
        is_declaration = line.lstrip(".").startswith("extern ")
        said = _all(parts) if is_declaration else ", ".join(_name(parts, at) for at in found)
        lines[number] += f", {said}" if comment in line else f"  {comment} {said}"
    return "\n".join(lines)


def _all(parts: Parts) -> str:
    return ", ".join(f"{name} at {at}" for name, at in parts)


def _name(parts: Parts, offset: int) -> str:
    """The part that an offset is in: they follow one another from 0 on."""
    name, at = max((part for part in parts if part[1] <= offset), key=lambda part: part[1])
    return f"{name}+{offset - at}" if offset > at else name
