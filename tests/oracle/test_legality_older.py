"""nvgen's verdicts against ptxas's on targets before Blackwell and PTX versions before 8.6.

The statements are those of `test_legality`, but for tcgen05, which no such target has.  Statements
with registers of 128 bits are left out of versions that have none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.oracle.agreement import Difference, Reading, Tally, asked, compare, summary
from tests.oracle.evidence import Answers
from tests.oracle.legality_families import FAMILIES
from tests.oracle.recorded_lists import OLDER, legality_list
from tests.oracle.test_legality import DELIBERATE, Deliberate, by_any_rule
from tests.oracle.verdict_file import Pair

REFUSED_HERE: tuple[Deliberate, ...] = (
    Deliberate(r"e[45]m[32]x2", "fp8 before PTX 8.1: sm_90 has it from 7.8, sm_89 from 8.1"),
    Deliberate(r"mbarrier\.arrive_drop\.noComplete\S* _", "a sink before PTX 7.1"),
)
"""Statements that ptxas accepts in an old version and nvgen from a later one on."""

ACCEPTED_HERE: tuple[Deliberate, ...] = (
    Deliberate(r"\b(bar|barrier)\.cta\.", "an alias is read as the name that it stands for"),
    Deliberate(r"smem\+4", "ptxas fails in code of its own that it expands the statement to"),
)
"""Statements that ptxas refuses and nvgen accepts."""

WIDE = "%q"
"""What registers of 128 bits begin with; PTX 8.3 brought them."""


def _matches(entries: tuple[Deliberate, ...], statement: str) -> bool:
    return any(re.search(entry.statements, statement) for entry in entries)


def tally_of(
    texts: Sequence[str],
    family: str,
    pairs: tuple[Pair, ...],
    allowed: tuple[Deliberate, ...] = (),
) -> Tally:
    """What came of a family's statements, those without wide registers on all pairs."""
    tally = Tally()
    for wide in (False, True):
        answers = Answers([text for text in texts if (WIDE in text) == wide], legality_list(family))
        here = [pair for pair in pairs if not wide or pair.ptx >= "8.3"]
        read = Reading.of(answers.statements, asked(answers, here))
        tally += compare(read, answers, here, by_any_rule(allowed))
    return tally


@pytest.mark.turns(4)
@pytest.mark.parametrize("family", [name for name in FAMILIES if not name.startswith("tcgen05")])
def test_nvgen_and_ptxas_agree(family: str) -> None:
    tally = tally_of(FAMILIES[family](), family, OLDER, DELIBERATE + REFUSED_HERE)
    unexpected = [
        d for d in tally.differences if d.ours or not _matches(ACCEPTED_HERE, d.statement)
    ]
    assert not unexpected, summary(unexpected)
    if tally.unanswered:
        pytest.skip(f"{tally.unanswered} verdicts are not recorded, and there is no ptxas to ask")


@pytest.mark.turns(3)
@pytest.mark.parametrize("entry", [*REFUSED_HERE, *ACCEPTED_HERE], ids=lambda entry: entry.reason)
def test_every_difference_is_one(entry: Deliberate) -> None:
    def shows(difference: Difference) -> bool:
        ours = bool(difference.ours) == (entry in REFUSED_HERE)
        return ours and bool(re.search(entry.statements, difference.statement))

    for pair in (Pair("sm_80", "7.0"), Pair("sm_90", "7.8")):
        for family in ("barrier", "mbarrier", "float conversions", "warp"):
            texts = [text for text in FAMILIES[family]() if re.search(entry.statements, text)]
            if any(map(shows, tally_of(texts, family, (pair,)).differences)):
                return
    pytest.fail("no statement shows the difference")
