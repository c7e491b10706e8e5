"""nvgen against ptxas on every combination of the fields of sparse mma instructions.

As `test_mma_sync_product`: nvgen never accepts what ptxas refuses, and where it refuses what ptxas
accepts, `SPARSE` has the statement, the rule that refuses it, and the reason.
"""

from __future__ import annotations

import pytest

from tests.oracle import mma_sp_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, agreed_today, rules_against_ptxas
from tests.oracle.evidence import Answers
from tests.oracle.mma_sync_differences import SPARSE
from tests.oracle.mma_sync_product import Product
from tests.oracle.recorded_lists import MMA_SP, every_pair, pairs_of

SIZES: dict[str, int] = {
    "types_of_factors": 4 * 13 * 13 * 6 * 2,  # D and C, A, B, shape, head
    "types_of_sums": 4 * 4 * 13 * 14 * 2,  # D, C, A and B, shape, head
    "selectors": 18 * 2 * 10,  # form, head, number
    "metadata": 5 * 2 * (12 + 2),  # some forms, head, metadata; operands left out
    "sizes": 18 * 2 * 4 * 5,  # form, head, operand, registers
    "kinds_of_registers": 18 * 2 * 4 * 10,  # form, head, operand, kind
    "modifiers": 18 * 2 * (2 * 2 * 3 + 4 + 3),  # form, head; sync, aligned, saturation; others
}
"""The number of statements in each product, from the lengths of its axes."""


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_product_is_whole(one: Product) -> None:
    """Each has as many statements as its axes say."""
    assert sum(1 for _ in one()) == SIZES[one.__name__]


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_verdict_agrees(one: Product) -> None:
    """What was compared is printed: see it with -rA."""
    assert agreed_today(dict.fromkeys(one()), MMA_SP, SPARSE, "mma_sp").accepted > 0


def test_what_the_manual_has_is_where_ptxas_has_it() -> None:
    """Each form, on each target, in each PTX version that has the target."""
    read = Reading.of(product.forms())
    agreed(read, Answers(read.statements, "mma_sp_forms"), every_pair())


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", SPARSE, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    pairs = pairs_of(("sm_90a", "9.5"), ("sm_120a", "9.5"))
    assert entry.rule in rules_against_ptxas(product.statements(), entry, pairs, "mma_sp")
