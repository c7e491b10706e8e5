"""The notation of a row: its modifiers and its operand list, parsed.

Layer: intrinsics.row.  The notation is described in the package's docstring.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from enum import Enum

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier
from intrinsics.row.attributes import Attribute


@dataclass(frozen=True, slots=True)
class Qualifier:
    """A modifier with a choice of values."""

    name: str
    values: tuple[Modifier, ...]
    optional: bool

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Its values, and None when it may be absent."""
        return (None, *self.values) if self.optional else self.values


@dataclass(frozen=True, slots=True)
class Literal:
    """A fixed modifier: `.sync`."""

    text: str

    @property
    def ptx(self) -> str:
        """The spelling in an instruction's name."""
        return "." + self.text


class Bracket(Enum):
    """The syntax of one operand position."""

    PLAIN = "x"
    ADDRESS = "[x]"
    TENSOR = "[x, y]"
    PAIR = "x|y"


@dataclass(frozen=True, slots=True)
class Element:
    """One position in the operand list; positions of the same `group` are present or absent
    together.
    """

    names: tuple[str, ...]
    bracket: Bracket
    group: int | None  # None: always present

    @property
    def pair_optional(self) -> bool:
        """Whether the second of a pair may be left out (`p{|q}`)."""
        return self.bracket is Bracket.PAIR and self.names[1].startswith("?")


def parse_modifiers(
    text: str, qualifiers: Mapping[str, Iterable[Modifier]]
) -> tuple[Qualifier | Literal, ...]:
    """The modifiers of a row in print order; the names in `qualifiers` are those with a choice."""
    items: list[Qualifier | Literal] = []
    for match in re.finditer(r"(\{)?(?:\.|(?<![\w:])::)([\w:]+)\}?", text):
        name, optional = match[2], match[1] is not None
        if name in qualifiers:
            items.append(Qualifier(name, tuple(qualifiers[name]), optional))
        else:
            assert not optional, f"{name}: an optional modifier must be a declared qualifier"
            items.append(Literal(name))
    return tuple(items)


def parse_operands(text: str) -> tuple[Element, ...]:
    """The operand positions of a row in PTX order; `{, x}` is an optional group."""
    elements: list[Element] = []
    groups = itertools.count()
    for part in re.finditer(r"\{\s*,\s*((?:[^{}])*)\}|([^{}]+(?:\{\|\w+\}[^{}]*)?)", text):
        group = next(groups) if part[1] is not None else None
        body = (part[1] if part[1] is not None else part[2]).strip().strip(",")
        for place in re.finditer(r"\[([^\]]*)\]|(\w+)(?:\|(\w+)|\{\|(\w+)\})?", body):
            if place[1] is not None:
                names = tuple(n.strip() for n in place[1].split(","))
                bracket = Bracket.ADDRESS if len(names) == 1 else Bracket.TENSOR
            elif place[3] is not None:
                names, bracket = (place[2], place[3]), Bracket.PAIR
            elif place[4] is not None:
                names, bracket = (place[2], "?" + place[4]), Bracket.PAIR
            else:
                names, bracket = (place[2],), Bracket.PLAIN
            elements.append(Element(names, bracket, group))
    return tuple(elements)
