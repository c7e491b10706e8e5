"""nvgen against ptxas on every combination of the fields of dense mma instructions.

Each statement of `tests.oracle.mma_sync_product` is judged by both, on targets and versions that
differ in what they have; what the manual has, on every target and version.  nvgen never accepts
what ptxas refuses.  Where it refuses what ptxas accepts, `DELIBERATE` has the statement, the rule
that refuses it, and the reason.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import mma_sync_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, agreed_today, rules_against_ptxas
from tests.oracle.evidence import LEGAL, Answers
from tests.oracle.mma_sync_differences import DELIBERATE
from tests.oracle.recorded_lists import MMA_SYNC, every_pair
from tests.oracle.verdict_file import Pair

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

TAKEN = 1168
"""Statements that ptxas 13.5 takes for sm_120a and PTX 9.5."""


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_product_is_whole(one: product.Product) -> None:
    """Each has as many statements as its axes say."""
    assert sum(1 for _ in one()) == SIZES[one.__name__]


def test_every_verdict_agrees() -> None:
    """What was compared is printed: see it with -rA."""
    agreed_today(product.statements(), MMA_SYNC, DELIBERATE, "mma_sync")


def test_what_the_manual_has_is_where_ptxas_has_it() -> None:
    """Each form, on each target, in each PTX version that has the target."""
    read = Reading.of(product.forms())
    answers = Answers(read.statements, "mma_sync_forms")
    pairs = every_pair()
    agreed(read, answers, pairs)
    for target in {pair.target for pair in pairs}:
        columns = [answers.verdicts(pair) for pair in pairs if pair.target == target]
        assert np.any(np.equal(columns, LEGAL)), target


def test_a_good_part_is_legal() -> None:
    verdicts = Answers(product.statements(), "mma_sync").verdicts(Pair("sm_120a", "9.5"))
    assert np.count_nonzero(verdicts == LEGAL) >= TAKEN


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", DELIBERATE, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    pairs = [Pair("sm_90a", "9.5")]
    assert entry.rule in rules_against_ptxas(product.statements(), entry, pairs, "mma_sync")
