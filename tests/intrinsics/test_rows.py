"""Invariants of every row: a slip in the data of an instruction is found here, by its name.

Nothing below knows a particular instruction, but for the numbers that are published.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from intrinsics import catalog
from intrinsics.catalog import form_of_opcode, forms, spellings
from intrinsics.legality import expected, judge, nearest_legal, text_of
from intrinsics.mir import form_attribute_names, form_of, opcode_name
from intrinsics.modifiers import CachePriority, Modifier, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import MatrixType
from intrinsics.row import (
    Access,
    Attribute,
    Bracket,
    By,
    Guard,
    Kind,
    Literal,
    Llvm,
    Never,
    Qualifier,
    Residency,
    Row,
    Rule,
)
from intrinsics.targets import PTX_VERSIONS, TARGETS, Capability, Ptx, Target
from tests.each import each
from tests.oracle.tensor_forms import IMPOSSIBLE

ROWS = catalog.rows()
each_row = each("row", ROWS, ids=lambda row: row.id)
each_ruled_row = each("row", [row for row in ROWS if row.rules], ids=lambda row: row.id)


def values_of(row: Row, name: str) -> tuple[Attribute, ...]:
    """What an attribute of the row may be."""
    if name in row.qualifier:
        return row.qualifier[name].attributes
    return (False, True) if name in row.optional else tuple(Residency)


# ---- syntax ----------------------------------------------------------------------------------


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


# ---- opcodes ---------------------------------------------------------------------------------


MOST = 20_000
"""Opcodes of one row that are all asked."""


def choices(row: Row) -> set[tuple[Attribute, ...]]:
    """What a row's opcode qualifiers may hold: all, or every two in full, the others plain."""
    qualifiers = [row.qualifier[name].attributes for name in row.opcode_qualifiers]
    if math.prod(map(len, qualifiers)) <= MOST:
        return set(itertools.product(*qualifiers))
    found: set[tuple[Attribute, ...]] = set()
    for pair in itertools.combinations(range(len(qualifiers)), 2):
        plain = [
            qualifier if at in pair else qualifier[:1] for at, qualifier in enumerate(qualifiers)
        ]
        found.update(itertools.product(*plain))
    return found


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


# ---- rules -----------------------------------------------------------------------------------


def terms(rule: Rule) -> Iterator[tuple[str, frozenset[Attribute]]]:
    yield from rule.guard.terms
    if isinstance(rule.demand, Guard):
        yield from rule.demand.terms


def is_broken(rule: Rule, attributes: dict[str, Attribute]) -> bool:
    """Whether a rule about attributes alone is broken."""
    if isinstance(rule.demand, Capability) or not rule.guard.holds(attributes):
        return False
    return not (isinstance(rule.demand, Guard) and rule.demand.holds(attributes))


def implied(row: Row) -> Iterator[tuple[set[str], Callable[[dict[str, Attribute]], bool]]]:
    """What the syntax asks for, as the attributes that are looked at and a test of them."""
    for qualifier, operand in row.tied.items():
        yield (
            {qualifier, operand},
            lambda attributes, a=qualifier, o=operand: (attributes[a] is not None) is attributes[o],  # type: ignore[misc]
        )
    for group in row.groups:
        yield set(group), lambda attributes, g=group: len({attributes[name] for name in g}) == 1  # type: ignore[misc]


def completions(
    row: Row, fixed: dict[str, Attribute], kept: list[Rule]
) -> Iterator[dict[str, Attribute]]:
    """All attributes of a row that go with the given ones, suit the syntax and break none of
    `kept`.

    A search that looks at each condition as soon as the last attribute that it asks for is settled,
    so that rows with many qualifiers take no longer than others.
    """
    conditions = list(implied(row))
    for rule in kept:
        names = {name for name, _ in terms(rule)}
        conditions.append((names, lambda attributes, rule=rule: not is_broken(rule, attributes)))  # type: ignore[misc]
    free = [name for name in row.attribute_names if name not in fixed]
    order = [*fixed, *sorted(free, key=lambda name: -sum(name in c for c, _ in conditions))]
    due: dict[str, list[Callable[[dict[str, Attribute]], bool]]] = {name: [] for name in order}
    for names, condition in conditions:
        due[max(names, key=order.index)].append(condition)
    chosen: dict[str, Attribute] = {}

    def search(depth: int) -> Iterator[dict[str, Attribute]]:
        if depth == len(order):
            yield dict(chosen)
            return
        name = order[depth]
        for value in (fixed[name],) if name in fixed else values_of(row, name):
            chosen[name] = value
            if all(condition(chosen) for condition in due[name]):
                yield from search(depth + 1)
        chosen.pop(name, None)

    return search(0)


def under_its_guard(row: Row, rule: Rule) -> Iterator[dict[str, Attribute]]:
    """The attributes that a rule looks at, wherever it has something to say."""
    names = list(dict.fromkeys(name for name, _ in terms(rule) if name in row.attribute_names))
    for values in itertools.product(*(values_of(row, name) for name in names)):
        fixed = dict(zip(names, values, strict=True))
        if rule.guard.holds(fixed):
            yield fixed


def gates(row: Row, attributes: dict[str, Attribute]) -> list[Capability]:
    found = [r.demand for r in row.rules if r.guard.holds(attributes)]
    return [row.needs, *(d for d in found if isinstance(d, Capability))]


MACHINES = [(t, v) for t in TARGETS.values() for v in PTX_VERSIONS if v >= t.first_ptx]


@each_ruled_row
def test_rules_speak_of_attributes_of_their_row(row: Row):
    for rule in row.rules:
        for name, _ in terms(rule):
            assert name in row.attribute_names, f"{rule.id} asks for {name}"


@each_ruled_row
def test_rules_demand_what_the_row_can_have(row: Row):
    """Else the computed "expected …" would offer the user a modifier that does not exist here."""
    for rule in row.rules:
        demanded = rule.demand.terms if isinstance(rule.demand, Guard) else ()
        prohibited = rule.guard.terms if rule.demand is Never.NEVER else ()
        for name, allowed in (*demanded, *prohibited):
            strange = allowed - set(values_of(row, name))
            assert not strange, f"{rule.id}: {name} is never {strange}"


@each_ruled_row
def test_every_rule_can_be_broken(row: Row):
    """By attributes that break no other rule of attributes; a gate, by some target and version."""
    for rule in row.rules:
        others = [other for other in row.rules if other.id != rule.id]
        gate = rule.demand if isinstance(rule.demand, Capability) else None
        assert gate is None or any(not gate.holds(t, v) for t, v in MACHINES)
        tried = [fixed for fixed in under_its_guard(row, rule) if gate or is_broken(rule, fixed)]
        if not any(any(True for _ in completions(row, fixed, others)) for fixed in tried):
            pytest.fail(f"{row.id}/{rule.id} can never be broken alone")


@each_ruled_row
def test_every_rule_can_be_satisfied(row: Row):
    """There is a legal form that the rule speaks of; a prohibition speaks of none."""
    for rule in row.rules:
        if _is_prohibition(rule):
            continue
        found = (completions(row, fixed, list(row.rules)) for fixed in under_its_guard(row, rule))
        legal = itertools.chain.from_iterable(found)
        if not any(_some_machine(tuple(gates(row, attributes))) for attributes in legal):
            pytest.fail(f"{row.id}/{rule.id} speaks of no legal form")


@functools.cache
def _some_machine(needs: tuple[Capability, ...]) -> bool:
    """Whether a target and a version meet all demands."""
    return any(all(gate.holds(t, v) for gate in needs) for t, v in MACHINES)


def _is_prohibition(rule: Rule) -> bool:
    """Whether nothing that the guard allows meets the demand."""
    if not isinstance(rule.demand, Guard):
        return rule.demand is Never.NEVER
    guard = dict(rule.guard.terms)
    return any(name in guard and not guard[name] & allowed for name, allowed in rule.demand.terms)


@each_ruled_row
def test_no_rule_is_there_twice(row: Row):
    said = [(rule.guard, rule.demand) for rule in row.rules]
    assert all(said.count(one) == 1 for one in said)


@each_ruled_row
def test_rules_that_share_an_id_are_of_one_sort(row: Row):
    """One id is one thing to allow or to look up: a gate of targets, or a rule of forms."""
    for rule, other in itertools.combinations(row.rules, 2):
        if rule.id == other.id:
            assert isinstance(rule.demand, Capability) is isinstance(other.demand, Capability)


@each_ruled_row
def test_every_rule_has_words(row: Row):
    for rule in row.rules:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
        assert text_of(rule)
        assert expected(rule)


def test_exceptions_from_ptxas_are_few_and_named():
    """What ptxas accepts and nvgen does not: scale-input-d on kind::i8, which is dropped."""
    lenient = {f"{row.id}/{rule.id}" for row in ROWS for rule in row.rules if rule.ptxas_accepts}
    assert {"tcgen05.mma/scale-d-i8", "tcgen05.mma.sp/scale-d-i8"} <= lenient


# ---- judging ---------------------------------------------------------------------------------

NEWEST = PTX_VERSIONS[-1]


def is_legal(row: Row, attributes: dict[str, Attribute], target: Target, ptx: Ptx = NEWEST) -> bool:
    """By the rules themselves, the ties of the syntax, and operands in the same braces."""
    tied = all((attributes[a] is not None) is attributes[o] for a, o in row.tied.items())
    tied = tied and all(len({attributes[name] for name in group}) == 1 for group in row.groups)
    met = all(gate.holds(target, ptx) for gate in gates(row, attributes))
    return tied and met and not any(is_broken(rule, attributes) for rule in row.rules)


def some_attributes(row: Row, count: int) -> list[dict[str, Attribute]]:
    """Attributes of the row, legal or not, spread evenly over all there are."""
    choices = [values_of(row, name) for name in row.attribute_names]
    total = 1
    for choice in choices:
        total *= len(choice)
    found = []
    for number in range(0, total, max(1, total // count) | 1):
        attributes, rest = {}, number
        for name, choice in zip(row.attribute_names, choices, strict=True):
            rest, at = divmod(rest, len(choice))
            attributes[name] = choice[at]
        found.append(attributes)
    return found


@each_row
def test_a_judgement_is_the_rules_that_are_broken(row: Row):
    for attributes in some_attributes(row, 60):
        judgement = judge(row, attributes)
        broken = {r.id for r in row.rules if is_broken(r, attributes)}
        assert {r.id for r in judgement.broken} - {"operands"} == broken
        for name in ("sm_80", "sm_90a", "sm_100a", "sm_110f"):
            target = TARGETS[name]
            legal = not judgement.broken and not judgement.missing(target, NEWEST)
            assert legal is is_legal(row, attributes, target)


@pytest.mark.turns(3)
@each_row
def test_the_first_version_of_a_form(row: Row):
    """The lowest in which nothing is missing, if there is one."""
    for attributes in some_attributes(row, 12):
        judgement = judge(row, attributes)
        for target in TARGETS.values():
            good = [v for v in PTX_VERSIONS if not judgement.missing(target, v)]
            good = [v for v in good if v >= target.first_ptx]
            assert judgement.first_ptx(target) == next(iter(good), None)
        assert judgement.targets() == {
            t for t in TARGETS.values() if judgement.first_ptx(t) is not None
        }


@pytest.mark.turns(3)
@each_ruled_row
def test_the_nearest_legal_form(row: Row):
    """One modifier away if there is a legal form there, else two; else there is no hint.

    Never one of another data type or operation: that form computes something else.
    """
    target = TARGETS["sm_100f"]
    broken = [f for f in some_attributes(row, 400) if not is_legal(row, f, target)]
    for attributes in broken[:: max(1, len(broken) // 8)]:
        found = nearest_legal(row, attributes, target, NEWEST)
        assert found in (
            _legal_at(row, attributes, target, 1) or _legal_at(row, attributes, target, 2) or {""}
        )


DATA_TYPES = {
    *("kind", "type", "dtype", "atype", "btype", "ctype", "stype", "abtype"),
    *("size", "dst_fmt", "src_fmt"),
}
"""Qualifiers that say of what type the data is."""

OPERATIONS = {"op", "cmp", "combine", "action", "field", "dim"}
"""Qualifiers that say what is done with it, and `mode` for what is not copied."""


def _legal_at(
    row: Row, attributes: dict[str, Attribute], target: Target, distance: int
) -> set[str]:
    """Spellings of the legal forms that differ in so many modifiers."""
    found = set()
    kept = DATA_TYPES | OPERATIONS | ({"mode"} if not row.id.startswith("cp.") else set())
    for names in itertools.combinations(row.qualifier.keys() - kept, distance):
        choices = [[v for v in values_of(row, n) if v is not attributes[n]] for n in names]
        for values in itertools.product(*choices):
            changed = {**attributes, **dict(zip(names, values, strict=True))}
            if is_legal(row, changed, target):
                found.add(row.spell(changed))
    return found


# ---- LLVM's spellings ------------------------------------------------------------------------


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
