"""Failing schedules are made small: the operation whose delay makes the run fail."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Finding, Place, Severity
from nvgen.commands.bisect import Attempt, bisect
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.async_ops.bisect import fewest_delayed
from nvgen.sim.async_ops.schedule import Schedule, parse_schedule
from tests.sim.ptx import findings
from tests.sim.races.test_races import CASES, INIT, VARIABLES


@pytest.mark.parametrize("wanted", [{1}, {7}, {16}, {3, 11}, {1, 8, 16}])
def test_what_must_be_delayed_is_found(wanted: set[int]) -> None:
    """A run that fails when all of `wanted` are late."""

    def fails(schedule: Schedule) -> bool:
        return wanted <= schedule.delayed

    assert set(fewest_delayed(fails, 16)) == wanted


def test_an_operation_whose_user_must_not_be_late_with_it_is_found() -> None:
    """All late together keep their order, and the run does not fail."""

    def fails(schedule: Schedule) -> bool:
        return 3 in schedule.delayed and 5 not in schedule.delayed

    assert fewest_delayed(fails, 8) == (3,)


def test_what_fails_anyway_or_never_has_no_answer() -> None:
    assert fewest_delayed(lambda schedule: True, 4) == ()
    assert fewest_delayed(lambda schedule: False, 4) == ()


def test_the_copy_that_is_not_waited_for_is_the_one() -> None:
    """The kernel reads the tile without a wait: late, its one copy comes to nobody."""
    case = CASES["a copy's mbarrier"]
    body = INIT.format(count=1) + case.body.replace(case.order, "", 1)
    body += "\n    @%p1 bra end;\n    setp.eq.u32 %p4, %r4, 0;\n    @%p4 trap;\nend:"

    def fails(schedule: Schedule) -> bool:
        source = np.arange(1, 257).astype(np.uint8).reshape(4, 64) | 1
        map_ = tensor_map(source, (4, 64))
        return bool(
            findings(
                body, map_, source, variables=VARIABLES, threads=64,
                schedule=str(schedule), races=False,
            )
        )  # fmt: skip

    assert fewest_delayed(fails, 1) == (1,)


def test_the_note_says_which_operation_and_why() -> None:
    late = Finding("sim/race", Severity.ERROR, "a reads what b wrote", Place("k.ptx", 7))

    def attempt(schedule: str, races: bool) -> Attempt:
        delayed = parse_schedule(schedule).delayed
        if schedule != "late" and 3 not in delayed:
            return Attempt((b"right",), 5)
        return Attempt(findings=(late,)) if races else Attempt((b"wrong",), 5)

    note = bisect(attempt, "late")
    assert "#3 alone" in note.message
    assert "--schedule delay:3" in note.message
    assert note.place == late.place
    assert "a reads what b wrote" in note.got


def test_the_schedule_has_a_name() -> None:
    schedule = parse_schedule("delay:7,3")
    assert schedule.delayed == {3, 7}
    assert str(schedule) == "delay:3,7"
