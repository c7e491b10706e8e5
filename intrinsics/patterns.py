"""The notation in which rows spell LLVM's intrinsics, and the intrinsic that says a form.

Layer: intrinsics.  `type:operand`, `type#qualifier`, `type?operand` and `type=number` are
arguments. Intrinsics of a row differ in modifiers, operands, and the address spaces of pointers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.legality import expected, got, judge, section_of
from intrinsics.modifiers import Space
from intrinsics.row import Attribute, Row

PREFIX = "llvm.nvvm."

PAIRS = {"v2f16": "<2 x half>"}
"""Vectors that one register holds: LLVM's type."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a pattern: `type:operand`, `type#qualifier`, `type?operand`, `type=number`."""

    type: str
    sign: str
    name: str
    scale: tuple[str, int] = ("", 1)  # "/" or "%" by a number: a part of a qualifier's code


@functools.cache
def arguments(text: str) -> tuple[Argument, ...]:
    """The arguments that a pattern lists."""
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"([\w*]+)([:#?=])(\w+)(?:([/%])(\d+))?", part)
        assert match is not None, part
        scale = (match[4], int(match[5])) if match[4] else ("", 1)
        found.append(Argument(match[1], match[2], match[3], scale))
    return tuple(found)


@functools.cache
def results(text: str) -> tuple[Argument, ...]:
    """The results that a pattern lists, in order."""
    return arguments(text.strip("{}"))


def element_type(text: str) -> str:
    """The type of one of the values that `n*T` lists."""
    return text.removeprefix("n*")


# ---- the intrinsic of a form -------------------------------------------------------------------


def find_spelling(
    row_id: str,
    wanted: Mapping[str, Attribute],
    operands: Mapping[str, object],
    spaces: Mapping[str, int],
) -> Spelling:
    """LLVM's intrinsic for a row with attributes and operands; `spaces` are those of pointers.

    A state space that `wanted` does not have is that of the pointers.

    Raises: InputError when LLVM has none, with the words of the rule that forbids the form, if one
    does.
    """
    row = catalog.row(row_id)
    able = catalog.spellings_of(row)
    fitting = [s for s in able if _fits(s, wanted, operands, by_pointer=bool(spaces))]
    fitting.sort(key=lambda spelling: _casts(spelling, spaces))
    for spelling in fitting:
        if _has_codes(spelling, wanted):
            return spelling
    _check_rules(row, wanted, operands)
    if fitting:
        return fitting[0]
    shown = row.spell(wanted)
    names = ", ".join(s.name for s in catalog.spellings_of(row)[:6])
    finding = Finding(
        "builder/no-intrinsic",
        Severity.ERROR,
        f"LLVM has no intrinsic for {shown} with {', '.join(operands) or 'no operand'}",
        op=shown,
        expected=f"one of {names} …",
        section=f"PTX ISA, {row.section}",
    )
    raise InputError([finding])


def _casts(spelling: Spelling, spaces: Mapping[str, int]) -> int:
    """How many pointers are in another address space than the intrinsic's."""
    formal = (a for a in arguments(spelling.pattern.args) if a.name in spaces)
    return sum(a.type != f"p{spaces[a.name] or ''}" for a in formal)


def _check_rules(row: Row, wanted: Mapping[str, Attribute], operands: Mapping[str, object]) -> None:
    """Whether a form that LLVM has no intrinsic for is one at all.

    Raises: InputError with the rules that it breaks.
    """
    attributes: dict[str, Attribute] = dict.fromkeys(row.attribute_names)
    attributes |= {name: name in operands for name in row.optional}
    attributes |= wanted
    broken = [rule for rule in judge(row, attributes).broken if rule.text]
    if broken:
        raise InputError(
            [
                Finding(
                    f"{row.head}/{rule.id}",
                    Severity.ERROR,
                    rule.text,
                    op=row.spell(attributes),
                    got=got(rule, attributes),
                    expected=expected(rule),
                    hint=rule.hint,
                    section=f"PTX ISA, {section_of(row, rule)}",
                )
                for rule in broken
            ]
        )


def _fits(
    spelling: Spelling,
    wanted: Mapping[str, Attribute],
    operands: Mapping[str, object],
    *,
    by_pointer: bool,
) -> bool:
    formal = arguments(spelling.pattern.args)
    immediates = {a.name for a in formal if a.sign == "#"}
    flagged = {a.name for a in formal if a.sign == "?"}
    required = {a.name for a in formal if a.sign == ":"} - flagged
    given = set(operands) - set(spelling.pattern.numbers)
    if any(operands.get(n) != number for n, number in spelling.pattern.numbers.items()):
        return False
    if not required <= given <= required | flagged:
        return False
    stated = {n: f for n, f in spelling.attributes.items() if f is not None and n not in given}
    for name, attribute in stated.items():
        said = wanted.get(name)
        is_tied = spelling.row.tied.get(name) in given
        is_open = said is None and (is_tied or (by_pointer and isinstance(attribute, Space)))
        if name != "state" and said is not attribute and not is_open:
            return False
    return all(
        name in stated or name in immediates or _implied(spelling, name, attribute)
        for name, attribute in wanted.items()
    )


def _has_codes(spelling: Spelling, wanted: Mapping[str, Attribute]) -> bool:
    """Whether the numbers that the intrinsic takes can say all that is wanted."""
    return all(
        any(known is wanted.get(a.name) for known in spelling.pattern.codes[a.name].values())
        for a in arguments(spelling.pattern.args)
        if a.sign == "#"
    )


def _implied(spelling: Spelling, name: str, attribute: Attribute) -> bool:
    if spelling.attributes.get(name) is attribute or name in spelling.row.tied:
        return True
    return attribute is True and name in {
        result.name for result in results(spelling.pattern.result)
    }
