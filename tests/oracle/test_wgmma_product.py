"""nvgen against ptxas on every combination of the fields of every wgmma instruction.

Each statement of `tests.oracle.wgmma_product` is judged by both, on sm_90a for every PTX version
that has it; on the other targets, where all of it is refused, a part of them.  nvgen never accepts
what ptxas refuses.  Where it refuses what ptxas accepts, `DELIBERATE` has the statement, the rule
that refuses it, and the reason.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import ptxas
from tests.oracle import wgmma_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, agreed_today, rules_against_ptxas
from tests.oracle.evidence import LEGAL, Answers
from tests.oracle.recorded_lists import NOT_WGMMA, WGMMA, WGMMA_PART
from tests.oracle.verdict_file import Pair
from tests.oracle.wgmma_differences import DELIBERATE

SIZES: dict[str, int] = {
    "types": 4 * 9 * 9 * 6 * 2 * 2,  # D, A, B, K, sparsity, place of A
    "tails": 4 * 9 * 9 * 2 * 2 * 4,  # D, A, B, sparsity, place of A, tail
    "shapes": 9 * 36 * 6 * 2 + 9 * 3,  # family, N, K, sparsity; family, M
    "sizes_of_d": 9 * 2 * 3 * 6,  # family, sparsity, N, registers
    "kinds_of_registers": 9 * 2 * 10 * 2 + 9 * 2 * 4,  # kind, D or A; registers of A
    "mixtures": 9 * 2 * 9 * 2,  # family, sparsity, the other, D or A
    "numbers": 3 * 4 * 2 * 12 + 3 * 7 * 2 * 12,  # signs, or all; place of A, sparsity, number
    "selectors": 9 * 2 * (12 + 14),  # family, place of A, selector or metadata
    "scales": 9 * 2 * 2 * 11,  # family, sparsity, place of A, scale-d
    "descriptors": 9 * 2 * 17 * 2,  # family, sparsity, descriptor, A or B
    "operations": 3 * 2 * 2 * 8 * 2,  # types, sparsity, place of A, operation, order
    "modifiers": 9 * 2 * 2 * 2 * 3 + 9 * 4 + 3 * 9 * 2 * 2,  # ...; orders; saturation, guard
    "groups": 4 * 2 * 2 * 12 + 3,  # instruction, sync, aligned, number; guards
}
"""The number of statements in each product, from the lengths of its axes."""

TAKEN = 1341
"""Statements that ptxas 13.5 takes for sm_90a and PTX 9.5."""

NEWEST = Pair("sm_90a", "9.5")


@pytest.mark.parametrize("one", product.PRODUCTS, ids=lambda one: one.__name__)
def test_every_product_is_whole(one: product.Product) -> None:
    """Each has as many statements as its axes say."""
    assert sum(1 for _ in one()) == SIZES[one.__name__]


def test_every_verdict_agrees() -> None:
    """What was compared is printed: see it with -rA."""
    agreed_today(product.statements(), WGMMA, DELIBERATE, "wgmma")


def test_every_type_of_a_with_every_type_of_b_is_judged_each_day() -> None:
    """Of each rule about them a few statements break it, which might all wait for another day."""
    texts = tuple(t for t in product.types() if ".sp." not in t and "%rd1" in t)
    verdicts, reading = Answers(texts, "wgmma").verdicts(NEWEST), Reading.of(texts)
    refused = {*reading.refusals(NEWEST, range(len(texts))), *reading.unknown}
    assert [t for n, t in enumerate(texts) if (n in refused) != (verdicts[n] != LEGAL)] == []


def test_a_good_part_is_legal() -> None:
    verdicts = Answers(product.statements(), "wgmma").verdicts(NEWEST)
    assert np.count_nonzero(verdicts == LEGAL) >= TAKEN


def test_no_other_target_has_any() -> None:
    read = Reading.of(product.statements()[::WGMMA_PART])
    answers = Answers(read.statements, "wgmma_elsewhere")
    agreed(read, answers, NOT_WGMMA)
    for pair in NOT_WGMMA:
        assert not np.any(answers.verdicts(pair) == LEGAL), pair


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", DELIBERATE, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    assert entry.rule in rules_against_ptxas(product.statements(), entry, [NEWEST], "wgmma")


def test_ptxas_makes_code_of_a_register_that_stands_twice_in_d() -> None:
    """Two sums in one register: of tcgen05.ld ptxas refuses the like."""
    text = product.plain("f32.f16.f16", sparse=False, d="{%r0, %r0, %r2, %r3}")
    assert ptxas.assemble(text, "sm_90a", "9.5") == []
