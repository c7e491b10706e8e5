"""Mistakes planted in samples 12 to 14 are found by what the table of docs/evidence.md says.

A mistake is a mutant of `tests.nvgen.synchronisation`, or a stage that is given back before the
wait for the multiplies that read it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.nvgen.sample_mutants import verdicts
from tests.nvgen.sample_subjects import subject
from tests.nvgen.synchronisation import Mutant, mutants

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
ROW = re.compile(r"^\| ([^|]+) \| (\d\d) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SAMPLES = {"12": "softmax", "13": "layer norm", "14": "attention"}
EARLY = "wgmma.wait_group behind mbarrier.arrive"

TABLE = [tuple(match.groups()) for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
"""What is wrong, the sample, the edit, and the rules of the verifier and of the simulator."""


def planted(ptx: str, edit: str) -> Mutant:
    """The mutant that an edit makes."""
    if edit == EARLY:
        return given_back_early(ptx)
    (found,) = (mutant for mutant in mutants(ptx) if mutant.name == edit)
    return found


def given_back_early(ptx: str) -> Mutant:
    """The first wait for multiplies, behind the arrival that gives the stage back."""
    lines = ptx.splitlines()
    wait = next(i for i, line in enumerate(lines) if "wgmma.wait_group" in line)
    arrive = next(i for i in range(wait, len(lines)) if "mbarrier.arrive.shared" in lines[i])
    label = next(i for i in range(arrive, len(lines)) if lines[i].endswith(":"))
    moved = [*lines[:wait], *lines[wait + 1 : label + 1], lines[wait], *lines[label + 1 :]]
    return Mutant("early", "wgmma.wait_group", 1, wait + 1, "\n".join(moved) + "\n")


def rules(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_the_table_has_all_kinds_of_mistakes() -> None:
    kinds = {edit.split()[0] for _, _, edit, _, _ in TABLE}
    assert {sample for _, sample, _, _, _ in TABLE} == set(SAMPLES)
    assert {"drop", "parity", "bytes", "count", "wgmma.wait_group"} <= kinds
    assert all(rules(verifier) | rules(simulator) for *_, verifier, simulator in TABLE)


@pytest.mark.turns(3)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[1]} {row[2]}")
def test_a_mistake_is_found_by_what_the_table_says(row: tuple[str, ...]) -> None:
    _, sample, edit, verifier, simulator = row
    of = subject(SAMPLES[sample])
    (verdict,) = verdicts(of, [planted(of.compiled.ptx, edit)], ("late",), both=True)
    assert set(verdict.verifier) == rules(verifier)
    assert {verdict.simulator} - {""} == rules(simulator)
