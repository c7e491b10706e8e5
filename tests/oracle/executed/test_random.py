"""Random programs of every form: equal to exact references in every cell of tensor memory.

NVGEN_EXECUTED_ROUNDS=N runs N programs of each form (of pairs N / 2) instead of one.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from intrinsics.modifiers import MmaKind
from tests.oracle.executed.check import differences, execute, failures
from tests.oracle.executed.forms import FAMILIES, FORMS, Family, Form, forms_of
from tests.oracle.executed.programs import program_of
from tests.turns import todays

ROUNDS = int(os.environ.get("NVGEN_EXECUTED_ROUNDS", "1"))


@pytest.mark.turns(8)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_programs(family: Family, seed: int, request: pytest.FixtureRequest) -> None:
    """A sixth of a family's forms has its turn."""
    forms = forms_of(family)[seed % 2 :: 2] if family.pair else forms_of(family)
    assert len(forms) > 5
    chosen = todays(request, forms, 6, f"{family} {seed}")
    wrong = failures([program_of(form, seed) for form in chosen])
    assert not wrong, "\n".join(wrong)


@pytest.mark.turns(16)
@pytest.mark.parametrize("schedule", ["late", "random:7"])
@pytest.mark.parametrize("family", [Family(MmaKind.F16), Family(MmaKind.MXF4, pair=True)], ids=str)
def test_other_schedules(family: Family, schedule: str) -> None:
    """When the multiply is executed changes nothing."""
    programs = [program_of(form, 100) for form in forms_of(family)[::4]]
    wrong = failures(programs, schedule=schedule)
    assert not wrong, "\n".join(wrong)


def test_every_form_has_a_name_of_its_own() -> None:
    assert len({str(form) for form in FORMS}) == len(FORMS)


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", ["f16-shared", "i8-shared", "mxf4-shared"])
def test_the_comparison_sees_what_is_wrong(name: str) -> None:
    """A wrong element, a changed cell elsewhere and a cell left alone are all found."""
    form = next(form for form in FORMS if str(form) == name)
    program = program_of(form, 5)
    after = execute(program)
    assert differences(program, after) == []
    element = 0, int(program.d.lane[3, 5]), int(program.d.column[3, 5])
    outside = np.ones(after.shape, dtype=bool)
    outside[program.d.rank, program.d.lane, program.d.column] = False
    for place in (element, tuple(int(i) for i in np.argwhere(outside)[17])):
        other = after.copy()
        other[place] ^= 1 << 12
        assert len(differences(program, other)) == 1
    other = after.copy()
    other[element] = program.cells[element]
    assert len(differences(program, other)) == 1


def test_a_mistake_in_a_place_is_seen() -> None:
    """A program whose descriptor is 16 bytes off does not come out right."""
    program = program_of(Form(MmaKind.F16), 8)
    program.words[0] = replace(program.words[0], b=program.words[0].b + 1)
    assert failures([program])
