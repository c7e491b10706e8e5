"""Is this form legal?  The rows' rules, evaluated.

Layer: intrinsics.  Input: a row with the attributes of one record (qualifier values, which operands
are there).  Output: which rules are broken, what the target must have, and what would be legal
instead. What does not depend on the target is computed once per distinct set of attributes and
kept, so judging the same form for another target costs a table look-up.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import (
    AtomicOp,
    BoolOp,
    Compare,
    CopyFormat,
    Dim,
    FunnelMode,
    GridControl,
    MapField,
    Match,
    MmaKind,
    Modifier,
    PermuteMode,
    ReduceOp,
    ScalarType,
    Shuffle,
    TestOp,
    Vote,
    WaitOp,
    WarpReduce,
)
from intrinsics.modifiers.wgmma import MatrixType
from intrinsics.row import Attribute, Attributes, Guard, Row, Rule
from intrinsics.targets import (
    EVERY_TARGET,
    EVERYWHERE,
    PTX_VERSIONS,
    Capability,
    Ptx,
    Target,
    TargetSet,
    spell,
)


@dataclass(frozen=True, slots=True)
class Demand:
    """A capability that the target must have, and the rule that says so (None: the row itself)."""

    capability: Capability
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rules' judgement of one set of attributes, independent of the target."""

    row: Row
    broken: tuple[Rule, ...]
    demands: tuple[Demand, ...]

    def first_ptx(self, target: Target) -> Ptx | None:
        """The lowest PTX version in which `target` takes the form; None if it never does."""
        versions = [d.capability.first_ptx(target) for d in self.demands]
        known = [v for v in versions if v is not None]
        if len(known) < len(versions):
            return None
        return max(known, default=max(target.first_ptx, PTX_VERSIONS[0]))

    def newest_need(self, target: Target) -> Ptx | None:
        """The highest of the versions in which `target` gets what it can have of the demands."""
        versions = [d.capability.first_ptx(target) for d in self.demands]
        return max((v for v in versions if v is not None), default=None)

    def missing(self, target: Target, ptx: Ptx) -> tuple[Demand, ...]:
        """The demands that `target` at `ptx` does not meet."""
        return _missing(self.demands, target, ptx)

    def targets(self) -> TargetSet:
        """The targets that can have the form in some PTX version."""
        result = EVERY_TARGET
        for demand in self.demands:
            result &= demand.capability.targets
        return result


@functools.cache
def _missing(demands: tuple[Demand, ...], target: Target, ptx: Ptx) -> tuple[Demand, ...]:
    return tuple(d for d in demands if not d.capability.holds(target, ptx))


def judge(row: Row, attributes: Attributes) -> Judgement:
    """Evaluate every rule of `row` on `attributes`."""
    return _judge(row, tuple(attributes.get(name) for name in row.attribute_names))


@functools.cache
def _judge(row: Row, values: tuple[Attribute, ...]) -> Judgement:
    attributes = dict(zip(row.attribute_names, values, strict=True))
    broken: list[Rule] = []
    demands = [Demand(row.needs, None)] if row.needs is not EVERYWHERE else []
    for rule in (*row.rules, *_implied_rules(row)):
        if not rule.guard.holds(attributes):
            continue
        if isinstance(rule.demand, Capability):
            demands.append(Demand(rule.demand, rule))
        elif not (isinstance(rule.demand, Guard) and rule.demand.holds(attributes)):
            broken.append(rule)
    return Judgement(row, tuple(broken), tuple(demands))


@functools.cache
def _implied_rules(row: Row) -> tuple[Rule, ...]:
    """The rules that the row's syntax states: tied modifiers and operands, operands in groups."""
    rules = []
    given = frozenset[Attribute]([True])
    for first, *others in row.groups:
        for name in others:
            for one, two in ((first, name), (name, first)):
                text = f"the operands {first} and {name} come together"
                rules.append(Rule("operands", Guard(((one, given),)), Guard(((two, given),)), text))
    for qualifier, operand in row.tied.items():
        present = frozenset(row.qualifier[qualifier].values)
        word = row.qualifier[qualifier].values[0].ptx
        rules.append(
            Rule(
                "operands",
                Guard(((qualifier, present),)),
                Guard(((operand, given),)),
                f"{word} takes the operand {operand}",
            )
        )
        rules.append(
            Rule(
                "operands",
                Guard(((operand, given),)),
                Guard(((qualifier, present),)),
                f"the operand {operand} needs {word}",
            )
        )
    return tuple(rules)


# ---- in words --------------------------------------------------------------------------------


def describe(attribute: Attribute) -> str:
    """An attribute as the user wrote it."""
    if isinstance(attribute, Modifier):
        return attribute.ptx
    return {True: "given", False: "absent", None: "absent"}[attribute]


def in_order(attributes: Iterable[Attribute]) -> list[Attribute]:
    """Attributes in the order of their enums, what is absent first."""

    def place(attribute: Attribute) -> tuple[int, str]:
        return (
            _positions(type(attribute))[attribute] if isinstance(attribute, Modifier) else -1,
            str(attribute),
        )

    return sorted(attributes, key=place)


@functools.cache
def _positions(kind: type[Modifier]) -> dict[Modifier, int]:
    return {modifier: at for at, modifier in enumerate(kind)}


def expected(rule: Rule) -> str:
    """The values that a broken rule would accept, computed from its condition."""
    if isinstance(rule.demand, Capability):
        return f"{spell(rule.demand.targets)}, PTX {rule.demand.since} or later"
    if isinstance(rule.demand, Guard):
        return "; ".join(
            f"{name}: " + " or ".join(map(describe, in_order(allowed)))
            for name, allowed in rule.demand.terms
        )
    return "not " + " with ".join(
        " or ".join(describe(f) if isinstance(f, Modifier) else name for f in in_order(allowed))
        for name, allowed in rule.guard.terms
    )


def got(rule: Rule, attributes: Attributes) -> str:
    """The value that broke `rule`."""
    names = [name for name, _ in rule.guard.terms]
    if isinstance(rule.demand, Guard):
        names += [name for name, _ in rule.demand.terms if name not in names]
    shown = []
    for name in names:
        attribute = attributes.get(name)
        shown.append(
            attribute.ptx if isinstance(attribute, Modifier) else f"{name} {describe(attribute)}"
        )
    return ", ".join(shown)


def subject_of(rule: Rule) -> str:
    """The operand or modifier that a rule blames: what it demands, else what it is about."""
    demand = rule.demand.terms if isinstance(rule.demand, Guard) else ()
    return next((name for name, _ in demand or rule.guard.terms[-1:]), "")


def text_of(rule: Rule) -> str:
    """The rule's message: its own text, or one made from its demand."""
    return rule.text or f"expected {expected(rule)}"


def section_of(row: Row, rule: Rule | None) -> str:
    """The manual's section: the rule's own, or the row's."""
    return (rule.section if rule else "") or row.section


# ---- what would be legal ---------------------------------------------------------------------


_DATA = (ScalarType, MatrixType, MmaKind, CopyFormat)
"""Modifiers that say of what type the data is."""

_WORK = (
    AtomicOp, BoolOp, Compare, FunnelMode, GridControl, MapField, Match, PermuteMode, ReduceOp,
    Shuffle, TestOp, Vote, WaitOp, WarpReduce, Dim,
)  # fmt: skip
"""Modifiers that say what is done with it, or how many dimensions it has."""


@functools.cache
def _neighbours(
    row: Row, values: tuple[Attribute, ...]
) -> tuple[tuple[tuple[Demand, ...], tuple[Attribute, ...]], ...]:
    """Forms without a broken rule that differ in one or two qualifiers, nearest first.

    Data and operation stay what they are: another one computes something else.  Of those that
    demand the same of the target, only the first.
    """
    attributes = dict(zip(row.attribute_names, values, strict=True))
    found: dict[tuple[Demand, ...], tuple[Attribute, ...]] = {}
    free = [
        name
        for name, qualifier in row.qualifier.items()
        if not isinstance(qualifier.values[0], _DATA + _WORK)
    ]
    for count in (1, 2):
        for names in itertools.combinations(free, count):
            for change in itertools.product(*(_others(row, n, attributes) for n in names)):
                candidate = {**attributes, **dict(zip(names, change, strict=True))}
                verdict = judge(row, candidate)
                if not verdict.broken:
                    found.setdefault(
                        verdict.demands, tuple(candidate[n] for n in row.attribute_names)
                    )
    return tuple(found.items())


def _others(row: Row, qualifier: str, attributes: Attributes) -> Iterator[Attribute]:
    return (
        attribute
        for attribute in row.qualifier[qualifier].attributes
        if attribute is not attributes.get(qualifier)
    )


def nearest_legal(row: Row, attributes: Attributes, target: Target, ptx: Ptx) -> str:
    """The spelling of the legal form nearest to `attributes`, or "" if none is near."""
    if not row.needs.holds(target, ptx):
        return ""
    for demands, values in _neighbours(
        row, tuple(attributes.get(name) for name in row.attribute_names)
    ):
        if not _missing(demands, target, ptx):
            return row.spell(dict(zip(row.attribute_names, values, strict=True)))
    return ""
