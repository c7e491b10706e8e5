"""What the table of rules says of ptxas, shown: each rule of a row alone decides about a statement.

For every rule there is a statement, among those that `test_legality` compares (of wgmma, those that
`test_wgmma_product` compares), on which nvgen finds that rule and nothing else, for some target and
PTX version, and ptxas then does what the table says.  The statements know nothing of the rules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from intrinsics.catalog import rows
from intrinsics.reference_row import ptxas_says
from intrinsics.row import Row, Rule
from intrinsics.targets import Capability
from tests.oracle import evidence, wgmma_product
from tests.oracle.agreement import Reading
from tests.oracle.evidence import LEGAL, REFUSED, Answers
from tests.oracle.legality_families import FAMILIES
from tests.oracle.recorded_lists import (
    OLDER,
    RULES_OF_KINDS,
    RULES_OF_MMA,
    kinds_of_rules,
    legality_list,
    mma_of_rules,
    pairs_of,
)
from tests.oracle.verdict_file import Pair

CASES = (
    *pairs_of(
        ("sm_107a", "9.5"), ("sm_100a", "9.0"), ("sm_110a", "9.0"), ("sm_100f", "8.8"),
        ("sm_120a", "9.5"), ("sm_90a", "8.6"), ("sm_100a", "8.6"), ("sm_103a", "8.8"),
    ),
    *OLDER,
)  # fmt: skip
"""Targets and versions on which the rules are looked for."""


class Question(NamedTuple):
    """Statements among which rules are looked for, and for which targets and versions."""

    statements: Sequence[str]
    recorded: str
    pairs: Sequence[Pair]


def _questions() -> Iterator[Question]:
    for family, listed in FAMILIES.items():
        yield Question(listed(), legality_list(family), CASES)
    wanted = re.compile(r"k(16|32|64)\.(f(16|32)(\.b?f16){2}|s32(\.[su]8){2}) ")
    multiplies = [text for text in wgmma_product.types() if wanted.search(text)]
    yield Question(multiplies, "wgmma", pairs_of(("sm_90a", "8.2"), ("sm_90a", "8.6")))
    yield Question(_once(mma_of_rules()), "rules_of_mma", RULES_OF_MMA)
    yield Question(_once(kinds_of_rules()), "rules_of_kinds", RULES_OF_KINDS)


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def shown(wanted: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """What of rules and what ptxas does is shown by a statement that breaks with the rule alone.

    What has been shown is not looked for again, and only among statements of the instruction.
    """
    found: set[tuple[str, str]] = set()
    for question in _questions():
        texts = _of(question.statements, set(wanted) - found)
        reading, answers = Reading.of(texts), Answers(texts, question.recorded)
        for pair in question.pairs:
            left = set(wanted) - found
            heads = _heads(left)
            places = [n for n in reading.records if _opcode(texts[n]).startswith(heads)]
            theirs = answers.verdicts(pair)
            for place, rules in reading.refusals(pair, places).items():
                if len(rules) == 1 and theirs[place] in (LEGAL, REFUSED):
                    does = "accepts" if theirs[place] == LEGAL else "refuses"
                    found.add((next(iter(rules)), does))
    return found


def _of(texts: Sequence[str], wanted: Collection[tuple[str, str]]) -> list[str]:
    heads = _heads(wanted)
    return [text for text in texts if _opcode(text).startswith(heads)]


def _heads(wanted: Collection[tuple[str, str]]) -> tuple[str, ...]:
    return tuple({rule.partition("/")[0] for rule, _ in wanted})


@functools.lru_cache(maxsize=1 << 14)
def _opcode(statement: str) -> str:
    return re.sub(r"^@!?%\w+ ", "", statement).partition(" ")[0]


NOT_ALONE = {
    "bar.red/reduce-type", "barrier.red/reduce-type", "cvt/pair",  # the operands do not fit either
    "atom/b128-sys-version", "atom.cas/b128-sys-version", "cp.async.bulk.tensor/multicast-target",
    "ld/eviction-target", "st/eviction-target", "st/param-version",
    "mbarrier.arrive_drop/sink-version", "mbarrier.test_wait.parity/shared-cta-version",
    "mbarrier.try_wait/cluster-target", "mbarrier.try_wait.parity/cluster-target",
}  # fmt: skip
"""Rules that no statement of the lists shows alone: others break with them."""


def _is_implied(row: Row, rule: Rule) -> bool:
    """Whether a target and version that have the row's instruction meet the rule's demand."""
    if not isinstance(rule.demand, Capability):
        return False
    return all(
        (first := rule.demand.first_ptx(target)) is not None
        and (own := row.needs.first_ptx(target)) is not None
        and first <= own
        for target in row.needs.targets
    )


def test_each_rule_alone_decides() -> None:
    """And, where everything is asked, those of `NOT_ALONE` do not."""
    every = {
        (f"{row.head}/{rule.id}", ptxas_says(rule)): rule.demand
        for row in rows()
        for rule in row.rules
        if row.section and not _is_implied(row, rule)
    }
    expected = {one for one in every if one[0] not in NOT_ALONE}
    verdicts = shown(every if evidence.options().live else expected)
    wrong = [
        f"{name}: {does} is {'not ' if (name, does) in expected else ''}shown; {every[name, does]}"
        for name, does in sorted(expected ^ (verdicts & set(every)))
    ]
    assert not wrong, "\n".join(wrong)
