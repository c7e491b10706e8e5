"""Invariants of every row: rules can be broken and kept, have words, and decide its versions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator

import pytest

from intrinsics.legality import expected, judge, nearest_legal, text_of
from intrinsics.row import (
    Attribute,
    Guard,
    Never,
    Row,
    Rule,
)
from intrinsics.targets import PTX_VERSIONS, TARGETS, Capability, Target
from tests.intrinsics.rows import (
    NEWEST,
    ROWS,
    each_row,
    each_ruled_row,
    gates,
    is_broken,
    is_legal,
    values_of,
)


def terms(rule: Rule) -> Iterator[tuple[str, frozenset[Attribute]]]:
    yield from rule.guard.terms
    if isinstance(rule.demand, Guard):
        yield from rule.demand.terms


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
    for attributes in some_attributes(row, 6):
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
