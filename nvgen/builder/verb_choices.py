"""The rows that a verb may become, with the intrinsics of LLVM's that each of them has.

Layer: nvgen.builder.  Input: a row, and the attributes that a verb's name states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.modifiers import Modifier
from intrinsics.patterns import arguments, results
from intrinsics.row import Attribute, Attributes, Row
from nvgen.builder.verb_rules import Draft


@dataclass(frozen=True)
class Choice:
    """A row that a verb may become, with the attributes that all its intrinsics have in common."""

    row: Row
    spellings: tuple[Spelling, ...]

    @cached_property
    def constants(self) -> dict[str, Attribute]:
        """Qualifiers that have one value in all intrinsics of the row."""
        found: dict[str, Attribute] = {}
        for name in self.row.qualifier:
            values = {spelling.attributes.get(name) for spelling in self.spellings}
            if len(values) == 1 and None not in values:
                (found[name],) = values
        return found

    def takes(self, draft: Draft) -> bool:
        """Whether the instruction has all that is given."""
        qualifiers, operands = self.row.qualifier, self.row.operand
        attributes = ((n, f) for n, f in draft.attributes.items() if isinstance(f, Modifier))
        fits = all(
            f in qualifiers[n].attributes if n in qualifiers else n in operands
            for n, f in attributes
        )
        return fits and set(draft.operands) <= operands.keys()


def choice_of(row: Row, stated: Attributes) -> Choice:
    """A row with the intrinsics that have all the attributes that a verb states."""
    states = {n: f for n, f in stated.items() if n in row.qualifier}
    given = {n for n in stated if n in row.operand}
    fitting = (s for s in catalog.spellings_of(row) if _agrees(s, states))
    return Choice(row, tuple(s for s in fitting if given <= _results(s)))


def _agrees(spelling: Spelling, states: Attributes) -> bool:
    return all(
        spelling.attributes.get(name) is attribute or name in spelling.pattern.codes
        for name, attribute in states.items()
    )


def _results(spelling: Spelling) -> set[str]:
    return {part.name for part in results(spelling.pattern.result)}


def operands_of(spelling: Spelling) -> tuple[list[str], list[str]]:
    """The operands that an intrinsic must have, and those that a flag lets be left out."""
    formal = arguments(spelling.pattern.args)
    flagged = {a.name for a in formal if a.sign == "?"}
    names = [a.name for a in formal if a.sign == ":"]
    must = [n for n in names if n not in flagged] + list(spelling.pattern.numbers)
    return must, [n for n in names if n in flagged]
