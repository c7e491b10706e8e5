"""Invariants of every row: modifiers, operands and opcodes agree with each other."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter

import pytest

from intrinsics import catalog
from intrinsics.catalog import form_of_opcode, forms
from intrinsics.mir import form_attribute_names, form_of, opcode_name
from intrinsics.modifiers import CachePriority, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import MatrixType
from intrinsics.row import (
    Access,
    Attribute,
    Bracket,
    By,
    Kind,
    Literal,
    Qualifier,
    Row,
)
from tests.intrinsics.rows import ROWS, choices, each_row, values_of


def test_rows_have_names_of_their_own():
    assert [name for name, n in Counter(row.id for row in ROWS).items() if n > 1] == []
    assert all(catalog.row(row.id) is row for row in ROWS)


@each_row
def test_the_modifiers_name_every_qualifier_once(row: Row):
    items = [item.name for item in row.items if isinstance(item, Qualifier)]
    assert sorted(items) == sorted(row.qualifiers)
    literals = [item.text for item in row.items if isinstance(item, Literal)]
    assert len(set(literals)) == len(literals)


@each_row
def test_the_modifiers_are_parsed_whole(row: Row):
    """Put together again, the parts are the text that the row was given."""
    parts = []
    for item in row.items:
        if isinstance(item, Literal):
            parts.append(f".{item.text}")
            continue
        glued = item.values[0].value.startswith("::")
        name = f"::{item.name}" if glued else f".{item.name}"
        parts.append("{" + name + "}" if item.optional else name)
    assert "".join(parts) == row.modifiers


@each_row
def test_the_operands_are_parsed_whole(row: Row):
    brackets = {Bracket.PLAIN: "{}", Bracket.ADDRESS: "[{}]", Bracket.TENSOR: "[{}, {}]"}
    text = ""
    for group, elements in itertools.groupby(row.elements, key=lambda e: e.group):
        shown = []
        for element in elements:
            if element.bracket is Bracket.PAIR:
                first, second = element.names
                shown.append(
                    f"{first}{{|{second[1:]}}}" if second[0] == "?" else f"{first}|{second}"
                )
            else:
                shown.append(brackets[element.bracket].format(*element.names))
        joined = ", ".join(shown)
        if group is None:
            text += joined if not text else f", {joined}"
        else:
            text += f" {{, {joined}}}"
    assert text.replace(" ", "") == row.syntax.replace(" ", "")


@each_row
def test_the_operands_are_those_of_the_syntax(row: Row):
    placed = [name.lstrip("?") for element in row.elements for name in element.names]
    assert sorted(placed) == sorted(operand.name for operand in row.operands)
    assert len(set(placed)) == len(placed)


@each_row
def test_the_values_of_an_qualifier_are_told_apart_by_their_spelling(row: Row):
    """And no word of one qualifier is one of another, but for those whose order counts."""
    words: Counter[str] = Counter()
    for qualifier in row.qualifier.values():
        assert qualifier.values
        placed = (ScalarType, Space, MatrixType, MmaLayout, CachePriority)
        if not isinstance(qualifier.values[0], placed):
            words.update(value.value for value in qualifier.values)
        else:
            assert len({value.value for value in qualifier.values}) == len(qualifier.values)
    words.update(item.text for item in row.items if isinstance(item, Literal))
    assert [word for word, n in words.items() if n > 1] == []


@each_row
def test_what_is_said_of_other_forms_does_not_shadow_this_one(row: Row):
    """A modifier that nvgen knows here is not listed as one that it does not."""
    known = {value.value for qualifier in row.qualifier.values() for value in qualifier.values}
    known |= {item.text for item in row.items if isinstance(item, Literal)}
    assert not known & set(row.elsewhere)


@each_row
def test_slots_are_operands_and_words(row: Row):
    operands = {operand.name for operand in row.operands}
    words = set(row.slot_names) - operands
    assert operands <= set(row.slot_names)
    if row.packed_fields is None:
        assert not words
    else:
        opcode = [{name: row.qualifier[name].attributes[-1] for name in row.opcode_qualifiers}]
        opcode += [dict.fromkeys(row.opcode_qualifiers)]
        assert words == {
            slot for attributes in opcode for slot in row.packed_fields.slots(attributes)
        }
    assert len(set(row.slot_names)) == len(row.slot_names)


@each_row
def test_operands_speak_of_qualifiers_that_exist(row: Row):
    for operand in row.operands:
        mentioned: list[str] = []
        if isinstance(operand.type, str):
            mentioned.append(operand.type)
            assert all(isinstance(v, ScalarType) for v in row.qualifier[operand.type].values)
        for by in (operand.type, operand.numbers):
            if isinstance(by, By):
                mentioned.append(by.qualifier)
                assert set(by.table) <= {*values_of(row, by.qualifier), None}
        if isinstance(operand.space, str):
            mentioned.append(operand.space)
            assert all(isinstance(v, Space) for v in row.qualifier[operand.space].values)
        if operand.count is not None:
            mentioned += [qualifier for qualifier, _ in operand.count.factors]
        assert set(mentioned) <= set(row.qualifier), operand.name


@each_row
def test_results_come_as_registers(row: Row):
    for operand in row.operands:
        if operand.access is not Access.READ:
            assert operand.kind in (Kind.REGISTER, Kind.VECTOR)


@each_row
def test_ties_are_between_optional_modifiers_and_optional_operands(row: Row):
    for qualifier, operand in row.tied.items():
        assert row.qualifier[qualifier].optional
        assert operand in row.optional


@each_row
def test_every_row_says_where_to_read(row: Row):
    assert row.section or row.id in ("opaque", "phi")


@functools.cache
def opcodes(row: Row) -> dict[str, tuple[Attribute, ...]]:
    """Opcodes of a row with its qualifiers."""
    found = {}
    for values in choices(row):
        name = opcode_name(row, dict(zip(row.opcode_qualifiers, values, strict=True)))
        assert name not in found, f"{name} is two forms of {row.id}"
        found[name] = values
    return found


def test_no_two_rows_share_an_opcode():
    homes: dict[str, str] = {}
    for row in ROWS:
        for name in opcodes(row):
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", name)
            assert name not in homes, f"{name} belongs to {homes[name]} and {row.id}"
            homes[name] = row.id
    assert len(homes) > 1_000


SAMPLE = 40


@pytest.mark.turns(3)
@each_row
def test_an_opcode_leads_back_to_its_form(row: Row):
    """For all opcodes of a small row, for evenly chosen ones of a large row."""
    everything = sorted(opcodes(row).items(), key=lambda item: item[0])
    for name, values in everything[:: max(1, len(everything) // SAMPLE)]:
        found = form_of_opcode(name)
        assert found is not None, name
        assert found[0] is row
        assert tuple(found[1][qualifier] for qualifier in row.opcode_qualifiers) == values


@pytest.mark.parametrize(
    "name", ["", "NOP", "TCGEN05_MMA", "tcgen05_ld_32x32b_x8", "TCGEN05_LD_32X32B_X8_", "ADD_"]
)
def test_what_is_no_opcode(name: str):
    assert form_of_opcode(name) is None


def test_the_ten_opcodes_of_the_matrix_multiply_are_published():
    """10521 to 10530, with the dense one of a single CTA in the place that was published first."""
    numbers = {name: n for row in ROWS for name, n in row.numbers.items()}
    expected_names = {
        f"TCGEN05_MMA_CTA_GROUP{group}_{scaled}{sparsity}"
        for group in (1, 2)
        for scaled in ("", "BLOCK_SCALED_")
        for sparsity in ("DENSE", "SPARSE")
    } | {"TCGEN05_MMA_WS_DENSE", "TCGEN05_MMA_WS_SPARSE"}
    assert set(numbers) == expected_names
    assert sorted(numbers.values()) == list(range(10521, 10531))
    assert numbers["TCGEN05_MMA_CTA_GROUP1_DENSE"] == 10522


@each_row
def test_numbers_are_given_to_opcodes_of_the_row(row: Row):
    """All of them, but for those of sm_107, which are newer than the numbers."""
    if row.numbers:
        assert set(row.numbers) == {name for name in opcodes(row) if "_LUT_" not in name}


@each_row
def test_the_forms_of_a_row_are_the_product_of_what_tells_them_apart(row: Row):
    count = 1
    for name in form_attribute_names(row):
        count *= len(values_of(row, name))
    assert sum(1 for _ in itertools.islice(forms(row), 400)) == min(count, 400)


@each_row
def test_forms_are_interned(row: Row):
    """The same attributes give the same object, however often they are asked for."""
    for form in itertools.islice(forms(row), 5):
        assert form_of(row, **form.attributes) is form
        assert set(form.attributes) == set(form_attribute_names(row))
        assert [form.slots[i] for i in form.defs] == [
            name for name in form.slots
            if name in row.operand and row.operand[name].access is Access.WRITE
        ]  # fmt: skip
