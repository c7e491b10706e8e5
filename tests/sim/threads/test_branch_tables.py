"""Branches through a table of labels, as compilers make them of switches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ptx import SCHEDULES, findings, run

SWITCH = """
    ts: .branchtargets ZERO, ONE, TWO;
    and.b32 %r1, %tx, 7;
    setp.gt.u32 %p1, %r1, 2;
    mov.u32 %r2, 99;
    @!%p1 brx.idx %r1, ts;
    bra END;
ZERO:
    mov.u32 %r2, 10;
    bra END;
ONE:
    mov.u32 %r2, 20;
TWO:
    add.u32 %r2, %r2, 1;
END:
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], %r2;
"""
"""Case 1 falls through into case 2; where no case is meant, nothing happens."""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_each_thread_goes_where_its_index_says(schedule: str) -> None:
    found = np.zeros(64, np.uint32)
    run(SWITCH, found, threads=64, schedule=schedule)
    cases = [10, 21, 100, 99, 99, 99, 99, 99]
    assert found.tolist() == [cases[thread % 8] for thread in range(64)]


LOOP = """
    ts: .branchtargets AGAIN, DONE;
    mov.u32 %r1, 0;
AGAIN:
    add.u32 %r1, %r1, 1;
    setp.gt.u32 %p1, %r1, %tx;
    selp.u32 %r2, 1, 0, %p1;
    brx.idx %r2, ts;
DONE:
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], %r1;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_table_may_lead_back(schedule: str) -> None:
    """Thread n goes round n + 1 times."""
    found = np.zeros(32, np.uint32)
    run(LOOP, found, schedule=schedule)
    assert found.tolist() == list(range(1, 33))


def test_an_index_beyond_the_table_is_reported() -> None:
    (found,) = findings(SWITCH.replace("%p1, %r1, 2", "%p1, %r1, 3"), np.zeros(32, np.uint32))
    assert found.rule == "sim/branch-index"
    assert (found.got, found.expected) == ("3", "0 to 2")


def test_a_loop_that_changes_nothing_is_a_deadlock() -> None:
    body = "ts: .branchtargets AGAIN;\nAGAIN:\n    brx.idx.uni 0, ts;"
    (found,) = findings(body)
    assert found.rule == "sim/deadlock"
