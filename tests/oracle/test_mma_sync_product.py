"""nvgen against ptxas on every combination of the fields of dense mma instructions.

Each statement of `tests.oracle.mma_sync_product` is judged by both, on targets and versions that
differ in what they have; what the manual has, on every target and version.  nvgen never accepts
what ptxas refuses.  Where it refuses what ptxas accepts, `DELIBERATE` has the statement, the rule
that refuses it, and the reason.
"""

from __future__ import annotations

import functools
import re

import pytest

from intrinsics.targets import TARGETS
from tests.oracle import mma_sync_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, compare, versions_of
from tests.oracle.mma_sync_differences import DELIBERATE

CASES = [
    ("sm_75", "7.0"), ("sm_80", "7.0"), ("sm_80", "7.1"), ("sm_90", "7.8"), ("sm_90a", "8.3"),
    ("sm_89", "8.4"), ("sm_89", "8.7"), ("sm_100a", "8.6"), ("sm_100f", "9.0"),
    ("sm_110a", "9.0"), ("sm_107a", "9.5"), ("sm_120a", "9.5"),
]  # fmt: skip
"""Targets and PTX versions before and after each that brought something."""

SIZES: dict[str, int] = {
    "types_of_factors": 4 * 13 * 13 * 14,  # D and C, A, B, shape
    "types_of_sums": 4 * 4 * 13 * 14,  # D, C, A and B, shape
    "layouts": 34 * 3 * 3,  # form, layouts of A and B
    "sizes": 11 * 4 * 7,  # family, operand, registers and one without braces
    "kinds_of_registers": 11 * 4 * 10,  # family, operand, kind
    "mixtures": 11 * 4 * 12 * 3,  # family, operand, the other, where
    "repeated": 11 * 4,  # family, operand
    "modifiers": 34 * 2 * 2 * 4 + 11 * 7,  # form, sync, aligned, saturation; family, order
    "operations": 15 * 9 * 2,  # form of integers, operation, where
}
"""The number of statements in each product, from the lengths of its axes."""

LEGAL = 1168
"""Statements that ptxas 13.5 takes for sm_120a and PTX 9.5."""


@functools.cache
def reading() -> Reading:
    return Reading.of(product.statements())


@functools.cache
def forms() -> Reading:
    return Reading.of(product.forms())


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_product_is_whole(one: product.Product) -> None:
    """Each has as many statements as its axes say."""
    assert sum(1 for _ in one()) == SIZES[one.__name__]


@pytest.mark.parametrize(("target", "version"), CASES)
def test_every_verdict_agrees(target: str, version: str) -> None:
    """What was compared is printed: see it with -rA."""
    agreed(reading(), target, (version,), DELIBERATE)


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_what_the_manual_has_is_where_ptxas_has_it(target: object) -> None:
    """Each form, on each target, in each PTX version that has the target."""
    assert target in TARGETS.values()
    name = str(target)
    assert agreed(forms(), name, versions_of(name)).accepted > 0


def test_a_good_part_is_legal() -> None:
    assert compare(reading(), "sm_120a", ("9.5",), DELIBERATE).accepted >= LEGAL


@pytest.mark.parametrize("entry", DELIBERATE, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    read = Reading.of(t for t in product.statements() if re.search(entry.statements, t))
    differences = compare(read, "sm_90a", ("9.5",)).differences
    assert entry.rule in {rule for difference in differences for rule in difference.ours}
