"""nvgen against ptxas on every combination of the fields of every tcgen05 instruction.

Each statement of `tests.oracle.tcgen05_product` is judged by both for 14 targets and 9 PTX
versions.  nvgen never accepts what ptxas refuses.  Where it refuses what ptxas accepts,
`DELIBERATE` has the statement, the rule that refuses it, and the reason.  The same holds for
statements that chance makes from the legal ones (`tests.oracle.tcgen05_mutations`).
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import ptxas, tcgen05_mma_product
from tests.oracle import tcgen05_product as product
from tests.oracle.agreement import Deliberate, Reading, agreed, asked, rules_against_ptxas
from tests.oracle.evidence import LEGAL, Answers
from tests.oracle.recorded_lists import MUTANTS, mutants, pairs_of, product_list
from tests.oracle.tcgen05_differences import DELIBERATE, IN_MUTANTS, WITNESSES
from tests.oracle.tcgen05_mutations import Parts
from tests.oracle.verdict_file import Pair

STATIONARY = [
    9 * 2 * 6 * 2 * 2,  # kind, block_scale, vector, scales, metadata
    9 * 2 * 2 * 25,  # kind, A, ashift, buffer
    2 * 9 * 2 * 3 * 6 + 9 * 3 * 6,  # group, kind, A, lanes, tail; with ashift
    2 * 25 * 3 * 3,  # group and kind, buffer, lanes, tail
    9 * 6 * 2 * 2,  # kind, vector, A, metadata
    4 * 9 * 5,  # group, kind, enable
]
"""The products of the two weight stationary instructions."""

SIZES: dict[str, list[int]] = {
    "alloc": [
        2 * 4 * 5 * 2 * 4,  # exclusive, group, space, type, address
        2 * 4 * 24,  # exclusive, group, columns
        2 * 4 * 2 * 24,  # exclusive, group, address, columns
        2 * 4 * 2 * 2 * 2,  # exclusive, group, sync, aligned, type
    ],
    "ld/st": [
        5 * 8 * 3 * 2 * 3,  # shape, num, packing, offset, size
        5 * 8 * 3 * 2 * 3,
        2 * 2 * 2 * 3 * 3 * 5,  # ld or st, sync, aligned, shape, num, type
        4 * 10 * 10,  # instruction, kinds of two elements
    ],
    "ld.red": [
        5 * 8 * 2 * 2 * 2 * 3,  # shape, num, operation, abs, NaN, type
        5 * 8 * 3 * 2 * 2 + 5 * 8,  # shape, num, size, offset, value; packed
        2 * 2 * 3 * 2 * 2 * 5,  # sync, aligned, operation, abs, NaN, type
        2 * 4 * 3 * 2,  # operation, orders of four modifiers
        2 * 8 * 3 * 2 * 2 * 3,  # red, num, operation, abs, NaN, sparsity
        2 * 5 * 8 * 3 * 2,  # red, shape, num, words, elements
    ],
    "sync": [
        4 * 4 * 2 * 2 * 2,  # what, group, sync, aligned, type
        4 * 2 * 4 * 2,  # side, group, modifiers, operand
        4 * 3 * 5 * 4 * 4 + 2 * 3 * 3 * 3 * 3,  # group, restriction, space, multicast, mask; ...
        2 * 2 * 3 * 10,  # group, restriction, width, mask
    ],
    "cp/shift": [
        4 * 7 * 4 * 7 + 7 * 6 * 3,  # group, shape, multicast, formats; the other order
        2 * 5 * 3 * 4,  # group, shape, address, descriptor
        4 * 3 * 5 + 3 * 2 * 5,  # group, direction, address; the other order
    ],
    "tcgen05.mma": [
        9 * 2 * 2 * 6 * 2 * 2,  # kind, A, block_scale, vector, scales, metadata
        9 * 2 * 2 * (25 + 16),  # kind, A, ashift, buffers: one or none, A's and B's
        2 * 9 * 2 * 3 * 6 + 9 * 3 * 6,  # group, kind, A, lanes, tail; with ashift
        2 * 25 * 3 * 3,  # group and kind, buffer, lanes, tail
        9 * 6 * 2 * 2,  # kind, vector, A, metadata
        4 * 9 * 5,  # group, kind, enable
        3 * 6 * 2 * 25,  # kind, vector, ashift, buffer
        9 * 3 * 6 + 9 * 2 * 10,  # kind, lanes, tail; kind, ashift, buffer
    ],
    "tcgen05.mma.sp": [
        9 * 2 * 2 * 6 * 2 * 2 - 9 * 2 * 6,  # less those that crash ptxas
        9 * 2 * 2 * (25 + 16),
        2 * 9 * 2 * 3 * 6 + 9 * 3 * 6,
        2 * 25 * 3 * 3,
        9 * 6 * 2 * 2,
        4 * 9 * 5,
        3 * 6 * 2 * 25,
        9 * 3 * 6 + 9 * 2 * 10,
    ],
    "tcgen05.mma.ws": STATIONARY,
    "tcgen05.mma.ws.sp": STATIONARY,
}
"""The number of statements in each product of each family, from the lengths of its axes."""

DISTINCT = 23_000
"""At least so many statements are left when those that two products share are counted once."""

SHOWN_ON = pairs_of(("sm_107a", "9.5"), ("sm_110a", "9.5"), ("sm_100a", "9.5"))


@pytest.mark.parametrize("family", product.PRODUCTS)
def test_every_product_is_whole(family: str) -> None:
    """Each product has as many statements as its axes say, and none twice."""
    assert product.sizes(family) == SIZES[family]
    for one in product.PRODUCTS[family]:
        listed = list(one())
        assert len(set(listed)) == len(listed)


def test_few_statements_are_in_two_products() -> None:
    assert sum(len(product.statements(family)) for family in product.PRODUCTS) >= DISTINCT


ON_TARGETS = [[Pair(target, version) for version in ptxas.PTX] for target in ptxas.TARGETS]
"""Each target with all PTX versions."""


@pytest.mark.parametrize("family", product.PRODUCTS)
def test_every_verdict_agrees(family: str) -> None:
    """For each target on all PTX versions.  What was compared is printed: see it with -rA."""
    answers = Answers(product.statements(family), product_list(family))
    read = Reading.of(answers.statements, asked(answers, *ON_TARGETS))
    for pairs in ON_TARGETS:
        agreed(read, answers, pairs, DELIBERATE)


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", DELIBERATE, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_deliberate_difference_occurs(entry: Deliberate) -> None:
    """ptxas accepts, and nvgen refuses by this rule, a statement that the entry describes."""
    texts = (text for family in product.PRODUCTS for text in product.statements(family))
    names = map(product_list, product.PRODUCTS)
    assert entry.rule in rules_against_ptxas(texts, entry, SHOWN_ON, *names)


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", IN_MUTANTS, ids=lambda entry: f"{entry.rule}: {entry.reason}")
def test_every_difference_in_mutants_is_one(entry: Deliberate) -> None:
    assert entry.rule in rules_against_ptxas(WITNESSES, entry, SHOWN_ON)


def test_what_crashes_ptxas_is_refused() -> None:
    """A sparse product with .block_scale and too few operands ends ptxas with signal 11."""
    crashing = list(tcgen05_mma_product.mma_crashes())
    assert len(crashing) == 2 * 9 * 2
    read = Reading.of(crashing)
    for pair in pairs_of(("sm_100a", "9.5"), ("sm_107a", "9.5")):
        assert set(read.refusals(pair)) == set(range(len(crashing)))
    for statement in crashing[::9]:
        assert ptxas.judge([statement], "sm_100a", "9.5") != [[]]


def test_verdicts_on_mutants_agree() -> None:
    answers = Answers(mutants(), "tcgen05_mutants")
    read = Reading.of(answers.statements, asked(answers, *ON_TARGETS))
    for pairs in ON_TARGETS:
        agreed(read, answers, pairs, (*DELIBERATE, *IN_MUTANTS))


def test_mutants_are_near_what_is_legal() -> None:
    """Some of them are legal, most are not, and a statement is put together as it was."""
    verdicts = Answers(mutants(), "tcgen05_mutants").verdicts(Pair("sm_107a", "9.5"))
    assert MUTANTS // 20 < np.count_nonzero(verdicts == LEGAL) < MUTANTS // 2
    for statement in product.statements("sync"):
        assert str(Parts.of(statement)) == statement
