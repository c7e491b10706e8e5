"""What the fuzzer found once: every input is accepted or refused in words, and nothing dies of it.

A file of `kept` is the smallest input that showed a problem; its first line or its name says which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import doors, seeds
from tests.fuzz.inputs import read
from tests.fuzz.worker import outcome_of

KEPT = sorted((Path(__file__).parent / "kept").iterdir())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_no_problem_comes_back(path: Path):
    seeds.command_lines()  # for the files that they name
    found = outcome_of(read(path), doors.take)
    assert found.problem is None, f"{found.problem}: {found.where}\n{found.message}"
