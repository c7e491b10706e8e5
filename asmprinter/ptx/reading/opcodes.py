"""An instruction's dotted name to a row and qualifier values.

Layer: asmprinter.  Input: `tcgen05.ld.sync.aligned.32x32b.x8.b32`.  Output: the rows that the name
may belong to, with their qualifiers filled and everything that does not fit.  The longest head
wins; after it modifiers may stand in any order, but for types, state spaces and formats, whose
order tells them apart. PTX ISA, Instruction Statements.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from intrinsics.catalog import (
    OTHER_HEADS,
    Head,
    find_head,
    first_word,
    other_instructions,
    rows_of,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import CachePriority, CopyFormat, Modifier, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.row import Attribute, Literal, Problem, Qualifier, Row

TWICE = ("sync", "sat", "relu", "uni", "approx", "satfinite", "NaN")
"""Modifiers that ptxas lets stand twice, in the head and after it."""

_ORDERED: dict[type[Modifier], str] = {
    ScalarType: "types",
    Space: "state spaces",
    CopyFormat: "formats",
    BitOperation: "operations",
    MmaLayout: "layouts",
    CachePriority: "priorities",
}
"""Modifiers whose order counts, and what a message calls them."""

_MOST_MODIFIERS = 64
"""No instruction has half as many."""

_PAIRS_OF_BITS = "b2"
_OTHER_TYPES = (_PAIRS_OF_BITS, *(t.value for t in MatrixType))
"""Types among the others that no register has, so they are none of `ScalarType`."""

_LITERAL = (ScalarType, Space, CopyFormat)
"""Those of them that may stand in a name without a choice."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reading of a name: a row, its qualifiers, and what is wrong with it.

    `foreign` names a modifier that PTX has with this head in a form that nvgen does not know.
    """

    row: Row
    attributes: dict[str, Attribute]
    problems: tuple[Problem, ...]
    foreign: str = ""


@dataclass(frozen=True, slots=True)
class OpcodeReading:
    """All readings of a name, best first; none when no row has such a head."""

    candidates: tuple[Candidate, ...]
    known_elsewhere: bool = False  # PTX has the instruction, nvgen has no row for it


@functools.cache
def read_opcode(name: str) -> OpcodeReading:
    """Read an instruction's dotted name."""
    if name.count(".") > _MOST_MODIFIERS:
        return OpcodeReading(())
    head, modifiers = find_head(name)
    others = (o for o in OTHER_HEADS if name == o or name.startswith(o + "."))
    if len(max(others, key=len, default="")) > (len(head.text) if head else 0):
        return OpcodeReading((), known_elsewhere=True)
    if head is None:
        return OpcodeReading((), known_elsewhere=name.split(".")[0] in other_instructions())
    head, modifiers = _late_head(head, modifiers)
    found = [_read(row, head, modifiers) for row in head.rows]
    found.sort(key=lambda c: (len(c.problems), not c.foreign))
    return OpcodeReading(tuple(found))


def _late_head(head: Head, modifiers: list[str]) -> tuple[Head, list[str]]:
    """A part of the head that ptxas also takes among the modifiers (`tcgen05.mma….sp`)."""
    for row in head.rows:
        for text, longer in row.late.items():
            if text in modifiers:
                rest = list(modifiers)
                rest.remove(text)
                found, _ = find_head(longer)
                assert found is not None
                return found, rest
    return head, modifiers


def _read(row: Row, head: Head, modifiers: list[str]) -> Candidate:
    attributes: dict[str, Attribute] = dict.fromkeys(row.qualifier)
    attributes.update(head.preset)
    problems: list[Problem] = []
    foreign = ""
    literals = {item.text for item in row.items if isinstance(item, Literal)}
    filled = set(head.preset)
    modifiers = [m for m in modifiers if not (m in TWICE and m in head.text.split("."))]
    ordered: dict[type[Modifier], list[str]] = {}
    orders = _orders(row)
    for token in modifiers:
        cls = next((c for c in _classes(token) if c in orders), None)
        if cls is not None:
            ordered.setdefault(cls, []).append(token)
        elif token in literals:
            if token in filled and token not in TWICE:
                problems.append(_duplicate(token, token))
            filled.add(token)
        elif (qualifier := _qualifier_of(row, token)) is None:
            foreign = foreign or (token if token in row.elsewhere else "")
            problems.append(_unknown(row, token))
        elif qualifier.name in filled:
            known = attributes[qualifier.name]
            if token not in TWICE or not isinstance(known, Modifier) or known.value != token:
                problems.append(_duplicate(qualifier.name, token))
        else:
            filled.add(qualifier.name)
            attributes[qualifier.name] = next(v for v in qualifier.values if v.value == token)
    for cls, items in orders.items():
        tokens = ordered.get(cls, [])
        if not _align(items, tokens, attributes, filled):
            problems.append(_disordered(cls, items, tokens))
            foreign = foreign or next((t for t in tokens if t in row.elsewhere), "")
    problems += _missing(row, filled)
    return Candidate(row, attributes, tuple(problems), foreign)


def _spells(cls: type[Modifier], token: str) -> bool:
    """Whether `token` is a modifier of a class whose order counts."""
    return token in cls._value2member_map_ or (cls is ScalarType and token in _OTHER_TYPES)


def _ordered_class(item: Qualifier | Literal) -> type[Modifier] | None:
    """The class of an item whose order counts."""
    if isinstance(item, Literal):
        return next((cls for cls in _LITERAL if _spells(cls, item.text)), None)
    cls = type(item.values[0])
    if cls is MatrixType:
        return ScalarType
    return cls if cls in _ORDERED else None


@functools.cache
def _classes(token: str) -> tuple[type[Modifier], ...]:
    """The classes whose order counts that `token` may belong to."""
    return tuple(cls for cls in _ORDERED if _spells(cls, token))


@functools.cache
def _orders(row: Row) -> dict[type[Modifier], tuple[Qualifier | Literal, ...]]:
    """The modifiers of each class whose order counts, in order."""
    found: dict[type[Modifier], tuple[Qualifier | Literal, ...]] = {}
    for cls in _ORDERED:
        if items := tuple(item for item in row.items if _ordered_class(item) is cls):
            found[cls] = items
    return found


def _align(
    items: Sequence[Qualifier | Literal],
    tokens: Sequence[str],
    attributes: dict[str, Attribute],
    filled: set[str],
) -> bool:
    """Give `tokens` to `items` in order, leaving optional ones out where that makes it fit."""
    if not items:
        return not tokens
    item, rest = items[0], items[1:]
    if tokens:
        if isinstance(item, Literal):
            if item.text == tokens[0] and _align(rest, tokens[1:], attributes, filled):
                filled.add(item.text)
                return True
        else:
            value = next((v for v in item.values if v.value == tokens[0]), None)
            if value is not None and _align(rest, tokens[1:], attributes, filled):
                attributes[item.name] = value
                filled.add(item.name)
                return True
    return (
        isinstance(item, Qualifier) and item.optional and _align(rest, tokens, attributes, filled)
    )


def _qualifier_of(row: Row, token: str) -> Qualifier | None:
    return _qualifiers_by_word(row).get(token)


@functools.cache
def _qualifiers_by_word(row: Row) -> dict[str, Qualifier]:
    """The first qualifier that each modifier of a row may belong to."""
    found: dict[str, Qualifier] = {}
    for qualifier in row.qualifier.values():
        for value in qualifier.values:
            found.setdefault(value.value, qualifier)
    return found


def _duplicate(name: str, token: str) -> Problem:
    return Problem("duplicate-modifier", f"a second .{name}", "." + token, f"one .{name}")


def _choices(qualifier: Qualifier) -> str:
    return _choices_among(qualifier.values)


@functools.cache
def _choices_among(values: tuple[Modifier, ...]) -> str:
    return " or ".join(v.ptx for v in values[:8]) + (" …" if len(values) > 8 else "")


def _unknown(row: Row, token: str) -> Problem:
    relatives = _relatives_with(row, token)
    return Problem(
        "unknown-modifier",
        f"{row.head} has no modifier .{token}",
        "." + token,
        _modifiers(row),
        hint=f".{token} goes with {' and '.join(relatives)}" if relatives else "",
    )


@functools.cache
def _modifiers(row: Row) -> str:
    """The modifiers of a row, in words."""
    legal = [v.ptx for qualifier in row.qualifier.values() for v in qualifier.values]
    legal += [item.ptx for item in row.items if isinstance(item, Literal)]
    return ", ".join(legal[:12]) + (" …" if len(legal) > 12 else "") or "no modifier"


@functools.cache
def _relatives_with(row: Row, token: str) -> tuple[str, ...]:
    """Other instructions whose names begin alike (`tcgen05.mma`) and that have a modifier."""
    family = row.head.split(".")[:2]
    if len(family) < 2:
        return ()
    having = [
        r.head
        for r in rows_of(first_word(row.head))
        if r.head.split(".")[:2] == family and _qualifier_of(r, token)
    ]
    return () if row.head in having else tuple(dict.fromkeys(having))


def _disordered(
    cls: type[Modifier], items: Sequence[Qualifier | Literal], tokens: Sequence[str]
) -> Problem:
    what = _ORDERED[cls]
    wanted = [item.ptx if isinstance(item, Literal) else _choices(item) for item in items]
    shown = " ".join("." + t for t in tokens) or "none"
    return Problem(
        what.replace(" ", "-"), f"{what} do not fit the instruction", shown, ", then ".join(wanted)
    )


def _missing(row: Row, filled: set[str]) -> list[Problem]:
    problems = []
    for item in row.items:
        if isinstance(item, Qualifier):
            if item.optional or item.name in filled or _ordered_class(item) is not None:
                continue
            problems.append(
                Problem("missing-modifier", f"{row.head} needs .{item.name}", "", _choices(item))
            )
        elif item.text not in filled and _ordered_class(item) is None:
            problems.append(
                Problem("missing-modifier", f"{row.head} needs {item.ptx}", "", item.ptx)
            )
    return problems
