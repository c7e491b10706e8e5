"""Deadlocks of many threads: whom the others wait for comes first, and a report has an end."""

from __future__ import annotations

import pytest

from nvgen import KernelBuilder
from nvgen.sim.faults import DeadlockError


def report(grid: int, expected: int, *, arrivals: int = 1) -> DeadlockError:
    """Warp 1 of each CTA waits for bytes that no copy brings, warp 0 for warp 1 at the barrier."""
    b = KernelBuilder("k", block=64)
    b.begin()
    come = b.mbarrier("come")
    b.make_mbarriers((come, arrivals))
    with b.if_warp(1):
        with b.elect():
            b.mbarrier_arrive_expect_tx(come, expected)
        b.wait(come, 0)
    b.barrier_cta_sync()
    with pytest.raises(DeadlockError) as caught:
        b.finish().compile(target="sm_90a").run(grid=grid)
    return caught.value


def test_who_waits_for_an_mbarrier_comes_first() -> None:
    first, second = report(1, 64).findings
    assert "warp 1, lanes 0-31 wait for come, parity 0" in first.message
    assert first.expected == "64 bytes that were expected and did not come"
    assert first.hint.startswith("expect the bytes of the copies")
    assert "warp 0, lanes 0-31 wait for barrier 0" in second.message


def test_missing_arrivals_are_about_the_count() -> None:
    (first, _) = report(1, 0, arrivals=3).findings
    assert first.expected == "2 more arrivals"
    assert first.hint.startswith("mbarrier.init counts")


def test_a_report_has_an_end() -> None:
    *shown, last = report(40, 64).findings
    assert len(shown) == 24
    assert all("wait for come" in finding.message for finding in shown)
    assert last.message == "deadlock: 56 more groups of threads wait"
