"""nvgen against ptxas on every combination of the fields of mma instructions with a kind.

As `test_mma_sync_product`: nvgen never accepts what ptxas refuses, and where it refuses what ptxas
accepts, `KINDS` has the statement, the rule that refuses it, and the reason.
"""

from __future__ import annotations

import pytest

from tests.oracle import mma_kind_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, agreed_today, rules_against_ptxas
from tests.oracle.evidence import Answers
from tests.oracle.mma_sync_differences import KINDS
from tests.oracle.mma_sync_product import Product
from tests.oracle.recorded_lists import MMA_KIND, every_pair
from tests.oracle.verdict_file import Pair

SIZES: dict[str, int] = {
    "types": 3 * 4 * 5 * 7 * 7 * 2,  # head, kind, shape, A, B, D and C
    "scales": 3 * 3 * 6 * 4 * 2,  # head, kind, number of factors, type, .block_scale
    "places": 2 * 3 * (2 * 9 * 9 * 2 + 15 * 2),  # head, kind; number, byte, thread; others
    "factors": 2 * 4 * (11 + 9) + 2 * 3 * 11 * 2,  # head, kind; metadata, selector; factors
    "matrices": 2 * 4 * 4 * (10 + 5),  # head, kind, operand; kind and number of registers
    "modifiers": 2 * 4 * 8,  # head, kind; one change each
}
"""The number of statements in each product, from the lengths of its axes."""


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_product_is_whole(one: Product) -> None:
    """Each has as many statements as its axes say."""
    assert sum(1 for _ in one()) == SIZES[one.__name__]


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_verdict_agrees(one: Product) -> None:
    """What was compared is printed: see it with -rA."""
    assert agreed_today(dict.fromkeys(one()), MMA_KIND, KINDS, "mma_kind").accepted > 0


def test_what_the_manual_has_is_where_ptxas_has_it() -> None:
    """Each form, on each target from sm_90 on, in each PTX version that has the target."""
    read = Reading.of(product.forms())
    agreed(read, Answers(read.statements, "mma_kind_forms"), every_pair("8.4"))


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    pairs = [Pair("sm_120a", "9.5")]
    assert entry.rule in rules_against_ptxas(product.statements(), entry, pairs, "mma_kind")
