"""Mistakes planted in samples 12 and 13 are found by what the table of docs/evidence.md says.

A mistake is a mutant of `tests.samples.synchronisation`.  Those of sample 14 are in
`tests.samples.attention.test_attention_sm90`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.samples.sample_mutants import verdicts
from tests.samples.sample_subjects import subject
from tests.samples.synchronisation import mutants

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
ROW = re.compile(r"^\| ([^|]+) \| (\d\d) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SAMPLES = {"12": "softmax", "13": "layer norm"}

TABLE = [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
"""What is wrong, the sample, the edit, and the rules of the verifier and of the simulator."""


def rules(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_every_row_of_the_table_names_a_finder() -> None:
    assert {sample for _, sample, *_ in TABLE} == set(SAMPLES)
    assert all(rules(verifier) | rules(simulator) for *_, verifier, simulator in TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[1]} {row[2]}")
def test_a_mistake_is_found_by_what_the_table_says(row: tuple[str, ...]) -> None:
    _, sample, edit, verifier, simulator = row
    of = subject(SAMPLES[sample])
    planted = [mutant for mutant in mutants(of.compiled.ptx) if mutant.name == edit]
    (verdict,) = verdicts(of, planted, ("early",), both=True)
    assert set(verdict.verifier) == rules(verifier)
    assert {verdict.simulator} - {""} == rules(simulator)
