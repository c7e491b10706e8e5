"""nvgen's verdicts against ptxas's on targets before Blackwell and PTX versions before 8.6.

The statements are those of `test_legality`, but for tcgen05, which no such target has.  Statements
with registers of 128 bits are left out of versions that have none.
"""

from __future__ import annotations

import re

import pytest

from tests.oracle import ptxas
from tests.oracle.test_legality import FAMILIES, Deliberate, is_deliberate, reading, refused

CASES = [
    ("sm_75", "7.0"), ("sm_75", "8.3"), ("sm_80", "7.0"), ("sm_80", "7.8"), ("sm_86", "8.6"),
    ("sm_89", "8.1"), ("sm_89", "9.5"), ("sm_90", "7.8"), ("sm_90", "8.3"), ("sm_90a", "8.0"),
]  # fmt: skip

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


def _matches(entries: tuple[Deliberate, ...], statement: str) -> bool:
    return any(re.search(entry.statements, statement) for entry in entries)


def differences(family: str, target: str, version: str) -> list[tuple[str, bool, list[str]]]:
    """Statements on which the two do not agree: whether nvgen refuses, and what ptxas says."""
    read = reading(family)
    ours = refused(family, target, version)
    theirs = ptxas.judge(read.statements, target, version)
    found = []
    for index, (statement, messages) in enumerate(zip(read.statements, theirs, strict=True)):
        line = ptxas.line_of(index)
        if line in read.unknown or ("%q" in statement and version < "8.3"):
            continue
        we_refuse = ours is None or line in ours
        if we_refuse != bool(messages):
            found.append((statement, we_refuse, messages))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_nvgen_and_ptxas_agree(case: tuple[str, str]) -> None:
    unexpected = [
        (statement, "nvgen refuses" if we_refuse else messages)
        for family in FAMILIES
        if not family.startswith("tcgen05")
        for statement, we_refuse, messages in differences(family, *case)
        if not (
            is_deliberate(statement) or _matches(REFUSED_HERE, statement)
            if we_refuse
            else _matches(ACCEPTED_HERE, statement)
        )
    ]
    assert not unexpected, "\n".join(map(str, unexpected[:40]))


@pytest.mark.parametrize("entry", [*REFUSED_HERE, *ACCEPTED_HERE], ids=lambda entry: entry.reason)
def test_every_difference_is_one(entry: Deliberate) -> None:
    for case in (("sm_80", "7.0"), ("sm_90", "7.8")):
        for family in ("barrier", "mbarrier", "float conversions", "warp"):
            for statement, we_refuse, _ in differences(family, *case):
                if we_refuse == (entry in REFUSED_HERE) and re.search(entry.statements, statement):
                    return
    pytest.fail("no statement shows the difference")
