"""Invariants of every row: what LLVM's spellings say of it."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from intrinsics import catalog
from intrinsics.catalog import forms, spellings
from intrinsics.modifiers import Modifier
from intrinsics.row import (
    Access,
    Attribute,
    Literal,
    Llvm,
    Row,
)
from intrinsics.targets import TARGETS
from tests.intrinsics.rows import ROWS, each_row, is_legal, values_of
from tests.oracle.tensor_forms import IMPOSSIBLE


def test_spellings_are_unique():
    """No LLVM name selects to two rows, or twice to one."""
    names = [s.name for row in ROWS for pattern in row.llvm for s in catalog._expand(row, pattern)]
    assert [name for name, n in Counter(names).items() if n > 1] == []
    assert set(names) == set(spellings())


ARGUMENT = re.compile(
    r"(i1|i8|i16|i32|i64|i128|float|double|p\d*|v\*(?:i32|float)|i32\*|n\*(?:i16|i32|i64|float|double|v2f16))"
    r"([:#?])(\w+)(?:([/%])(\d+))?"
)


def _arguments(text: str) -> list[tuple[str, str, str]]:
    parts = [part.strip() for part in text.strip("{}").split(",") if part.strip()]
    matches = [ARGUMENT.fullmatch(part) for part in parts]
    assert all(matches), text
    return [(m[1], m[2], m[3]) for m in matches if m]


@each_row
def test_patterns_speak_of_the_row(row: Row):
    for pattern in row.llvm:
        for _, sign, name in _arguments(pattern.args):
            if sign == "#":
                assert name in row.qualifier
                assert name in pattern.codes
                assert set(pattern.codes[name].values()) <= {*row.qualifier[name].attributes, None}
            else:
                assert name in row.operand
                assert row.operand[name].access in (Access.READ, Access.UPDATE)
            if sign == "?":
                assert name in row.optional
        for _, sign, name in _arguments(pattern.result):
            assert sign == ":"
            assert row.operand[name].access in (Access.WRITE, Access.UPDATE)


@each_row
def test_patterns_settle_every_form(row: Row):
    """Each qualifier that must be there is given, spelled or encoded; operands are arguments."""
    for pattern in row.llvm:
        settled = set(pattern.given) | set(re.findall(r"\{(\w+)\}", pattern.name))
        for hole in pattern.holes.values():
            for stated in hole.values():
                settled |= set(stated) if isinstance(stated, dict) else set()
        settled |= {name for _, sign, name in _arguments(pattern.args) if sign == "#"}
        needed = {a.name for a in row.qualifier.values() if not a.optional and len(a.values) > 1}
        assert needed <= settled, pattern.name
        _check_operands(row, pattern)


def _check_operands(row: Row, pattern: Llvm) -> None:
    given = {name for _, sign, name in _arguments(pattern.args) if sign in ":?"}
    given |= set(pattern.numbers)
    given |= {name for _, _, name in _arguments(pattern.result)}
    needed = {operand.name for operand in row.operands} - row.optional
    assert needed <= given, pattern.name
    assert given <= set(row.operand), pattern.name


@each_row
def test_spelled_attributes_are_attributes_of_the_row(row: Row):
    for spelling in catalog.spellings_of(row):
        for name, attribute in spelling.attributes.items():
            assert name in row.attribute_names
            assert attribute in (*values_of(row, name), None)


@each_row
def test_every_spelling_has_a_legal_form(row: Row):
    """On some target: a name that no machine takes is no intrinsic."""
    for spelling in catalog.spellings_of(row):
        if re.fullmatch(IMPOSSIBLE, spelling.name):
            continue
        codes = [name for name in spelling.pattern.codes if f"#{name}" in spelling.pattern.args]
        choices = [list(spelling.pattern.codes[name].values()) for name in codes]
        assert any(
            _has_a_machine(
                row, _attributes_of(row, spelling.pattern, spelling.attributes, codes, values)
            )
            for values in itertools.product(*choices)
        ), spelling.name


def _attributes_of(
    row: Row, pattern: Llvm, stated: object, codes: list[str], values: tuple[Attribute, ...]
) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {
        name: values_of(row, name)[0] for name in row.attribute_names
    }
    attributes.update({a.name: None for a in row.qualifier.values() if a.optional})
    assert isinstance(stated, dict)
    attributes.update(stated)
    attributes.update(zip(codes, values, strict=True))
    there = {name for _, sign, name in _arguments(pattern.args) if sign in ":?"}
    there |= {name for _, _, name in _arguments(pattern.result)}
    attributes.update({name: name in there for name in row.optional})
    for qualifier, operand in row.tied.items():
        if attributes[operand] and attributes[qualifier] is None:
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    return attributes


def _has_a_machine(row: Row, attributes: dict[str, Attribute]) -> bool:
    return any(is_legal(row, attributes, target) for target in TARGETS.values())


@each_row
def test_a_spelled_name_reads_as_it_is_written(row: Row):
    """Heads and modifiers are lower case words, and a row's name begins with its head."""
    for form in itertools.islice(forms(row), 20):
        attributes = dict(form.attributes)
        if row.packed_fields is not None:
            attributes.update(
                {name: row.qualifier[name].attributes[-1] for name in row.packed_fields.qualifiers}
            )
        spelled = row.spell(attributes)
        assert spelled.startswith(row.head)
        for item in row.items:
            if isinstance(item, Literal):
                assert f".{item.text}" in spelled
            elif isinstance(attribute := attributes.get(item.name), Modifier):
                assert attribute.value in spelled
