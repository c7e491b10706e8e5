"""The rows, and what is asked of each."""

from __future__ import annotations

import itertools
import math

from intrinsics import catalog
from intrinsics.row import (
    Attribute,
    Guard,
    Residency,
    Row,
    Rule,
)
from intrinsics.targets import PTX_VERSIONS, Capability, Ptx, Target
from tests.each import each

ROWS = catalog.rows()
each_row = each("row", ROWS, ids=lambda row: row.id)
each_ruled_row = each("row", [row for row in ROWS if row.rules], ids=lambda row: row.id)


def values_of(row: Row, name: str) -> tuple[Attribute, ...]:
    """What an attribute of the row may be."""
    if name in row.qualifier:
        return row.qualifier[name].attributes
    return (False, True) if name in row.optional else tuple(Residency)


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


def is_broken(rule: Rule, attributes: dict[str, Attribute]) -> bool:
    """Whether a rule about attributes alone is broken."""
    if isinstance(rule.demand, Capability) or not rule.guard.holds(attributes):
        return False
    return not (isinstance(rule.demand, Guard) and rule.demand.holds(attributes))


def gates(row: Row, attributes: dict[str, Attribute]) -> list[Capability]:
    found = [r.demand for r in row.rules if r.guard.holds(attributes)]
    return [row.needs, *(d for d in found if isinstance(d, Capability))]


NEWEST = PTX_VERSIONS[-1]


def is_legal(row: Row, attributes: dict[str, Attribute], target: Target, ptx: Ptx = NEWEST) -> bool:
    """By the rules themselves, the ties of the syntax, and operands in the same braces."""
    tied = all((attributes[a] is not None) is attributes[o] for a, o in row.tied.items())
    tied = tied and all(len({attributes[name] for name in group}) == 1 for group in row.groups)
    met = all(gate.holds(target, ptx) for gate in gates(row, attributes))
    return tied and met and not any(is_broken(rule, attributes) for rule in row.rules)
