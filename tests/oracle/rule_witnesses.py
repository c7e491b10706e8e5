"""Statements that show what the table of rules says of ptxas, each rule by itself.

A statement shows it when nvgen finds one rule broken and nothing else, for some target and PTX
version.  It is looked for among those that `test_legality` and the tests of mma and wgmma compare,
which takes time: where each was found is written down (``make evidence``), and looked at first.
The file is a hint and no verdict: nvgen judges each statement anew, and ptxas's verdict is that of
`tests.oracle.evidence`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from intrinsics.catalog import rows
from intrinsics.reference.row_page import ptxas_says
from intrinsics.row import Guard, Never, Row, Rule
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

NAME = "rules_alone"
"""What `write_evidence` calls the file."""

FILE = evidence.FOLDER / f"{NAME}.shown"

CASES = (
    *pairs_of(
        ("sm_107a", "9.5"), ("sm_100a", "9.0"), ("sm_110a", "9.0"), ("sm_100f", "8.8"),
        ("sm_120a", "9.5"), ("sm_90a", "8.6"), ("sm_100a", "8.6"), ("sm_103a", "8.8"),
        ("sm_100", "8.6"),
    ),
    *OLDER,
)  # fmt: skip
"""Targets and versions on which the rules are looked for."""


class Claim(NamedTuple):
    """What ptxas does with a statement that breaks with one rule."""

    rule: str
    does: str


class Witness(NamedTuple):
    """A statement, in which list it is recorded, and for which target and version it shows it."""

    pair: Pair
    recorded: str
    statement: str


class Question(NamedTuple):
    """Statements among which rules are looked for, and for which targets and versions."""

    statements: Sequence[str]
    recorded: str
    pairs: Sequence[Pair]


def _questions() -> Iterator[Question]:
    for family, listed in FAMILIES.items():
        yield Question(listed(), legality_list(family), CASES)
    copied = "bulk copies to several"  # of PTX 9.1, and what came later
    yield Question(FAMILIES[copied](), legality_list(copied), pairs_of(("sm_90a", "9.1")))
    wanted = re.compile(r"k(16|32|64)\.(f(16|32)(\.b?f16){2}|s32(\.[su]8){2}) ")
    multiplies = [text for text in wgmma_product.types() if wanted.search(text)]
    yield Question(multiplies, "wgmma", pairs_of(("sm_90a", "8.2"), ("sm_90a", "8.6")))
    yield Question(_once(mma_of_rules()), "rules_of_mma", RULES_OF_MMA)
    yield Question(_once(kinds_of_rules()), "rules_of_kinds", RULES_OF_KINDS)


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def shown(wanted: Collection[Claim]) -> dict[Claim, Witness]:
    """For what is claimed of rules a statement that breaks with the rule alone, where there is one.

    What has been shown is not looked for again, and only among statements of the instruction.
    """
    found: dict[Claim, Witness] = {}
    for question in _questions():
        texts = _of(question.statements, set(wanted) - found.keys())
        reading, answers = Reading.of(texts), Answers(texts, question.recorded)
        for pair in question.pairs:
            heads = _heads(set(wanted) - found.keys())
            places = [n for n in reading.records if _opcode(texts[n]).startswith(heads)]
            theirs = answers.verdicts(pair)
            for place, rules in reading.refusals(pair, places).items():
                for claim in _claims(rules, int(theirs[place])):
                    found.setdefault(claim, Witness(pair, question.recorded, texts[place]))
    return {claim: found[claim] for claim in found.keys() & set(wanted)}


def _claims(rules: frozenset[str], verdict: int) -> Iterator[Claim]:
    """What a statement shows that breaks with these rules."""
    if len(rules) == 1 and verdict in (LEGAL, REFUSED):
        yield Claim(next(iter(rules)), "accepts" if verdict == LEGAL else "refuses")


def _of(texts: Sequence[str], wanted: Collection[Claim]) -> list[str]:
    heads = _heads(wanted)
    return [text for text in texts if _opcode(text).startswith(heads)]


def _heads(wanted: Collection[Claim]) -> tuple[str, ...]:
    return tuple({rule.partition("/")[0] for rule, _ in wanted})


@functools.lru_cache(maxsize=1 << 14)
def _opcode(statement: str) -> str:
    return re.sub(r"^@!?%\w+ ", "", statement).partition(" ")[0]


# --- what was found ------------------------------------------------------------------------------


def write(folder: Path = evidence.FOLDER) -> None:
    """Look for all that is claimed, and write down where it was found."""
    found = sorted(shown(claims()).items())
    text = "".join(
        "\t".join((*claim, str(one.pair), one.recorded, one.statement)) + "\n"
        for claim, one in found
    )
    new = folder / f"{FILE.name}.new"
    new.write_text(text)
    os.replace(new, folder / FILE.name)


def read(path: Path = FILE) -> list[Witness]:
    """The statements that were found; none where there is no file."""
    if not path.exists():
        return []
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [Witness(Pair(*pair.split(" ")), name, text) for _, _, pair, name, text in lines]


def confirmed(witnesses: Sequence[Witness]) -> set[Claim]:
    """What these statements show today."""
    reading = Reading.of(one.statement for one in witnesses)
    answers = Answers(reading.statements, *dict.fromkeys(one.recorded for one in witnesses))
    found: set[Claim] = set()
    for pair in dict.fromkeys(one.pair for one in witnesses):
        places = [n for n, one in enumerate(witnesses) if one.pair == pair]
        theirs = answers.recorded(pair)
        for place, rules in reading.refusals(pair, places).items():
            found.update(_claims(rules, int(theirs[place])))
    return found


# --- what is claimed -----------------------------------------------------------------------------


def claims() -> dict[Claim, Guard | Capability | Never]:
    """What the rows say that ptxas does, and the demand of the rule."""
    return {
        Claim(f"{row.head}/{rule.id}", ptxas_says(rule)): rule.demand
        for row in rows()
        for rule in row.rules
        if row.section and not _is_implied(row, rule)
    }


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
