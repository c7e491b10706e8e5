"""Deadlocks of many threads: whom the others wait for comes first, and a report has an end."""

from __future__ import annotations

import pytest

from intrinsics.findings import Finding
from nvgen import KernelBuilder
from nvgen.render import finding_lines
from nvgen.sim.faults import DeadlockError
from tests.sim.ptx import findings


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


@pytest.mark.wrong_kernel
def test_threads_that_wait_for_an_mbarrier_come_first() -> None:
    first, second = report(1, 64).findings
    assert "warp 1, lanes 0-31 wait for come, parity 0" in first.message
    lacks = "64 bytes that were expected and did not come"
    assert first.expected == f"{lacks}; no thread that is left can signal it"
    assert first.hint.startswith("expect the bytes of the copies")
    assert "warp 0, lanes 0-31 wait for barrier 0" in second.message


def rings(*, expected: int) -> DeadlockError:
    """Warp 0 waits for `full`, warp 1 for `empty`, at which warp 0 would arrive after its wait."""
    b = KernelBuilder("k", block=64)
    b.begin()
    spare, empty, full = (b.mbarrier(name) for name in ("spare", "empty", "full"))
    b.make_mbarriers((spare, 1), (empty, 1), (full, 1))
    with b.if_warp(0):
        with b.elect():
            b.mbarrier_arrive_expect_tx(full, expected)
        b.wait(full, 0)
        with b.elect():
            b.mbarrier_arrive(empty)
    with b.if_warp(1):
        b.wait(empty, 0)
    with pytest.raises(DeadlockError) as caught:
        b.finish().compile(target="sm_90a").run(grid=1)
    return caught.value


@pytest.mark.wrong_kernel
def test_one_table_has_all_barriers_and_the_one_to_blame_first() -> None:
    """Bytes that do not come keep `full` back, and so the arrival at `empty`; `spare` is idle."""
    first, second = rings(expected=64).findings
    assert "warp 0, lanes 0-31 wait for full" in first.message
    assert first.got.split("\n") == [
        "full  phase 0 (parity 0): 1 of 1 arrivals, 0 of 64 expected bytes",
        "empty phase 0 (parity 0): 0 of 1 arrivals, 0 of 0 expected bytes",
        "spare phase 0 (parity 0): 0 of 1 arrivals, 0 of 0 expected bytes",
    ]
    assert "warp 1, lanes 0-31 wait for empty" in second.message
    assert second.got == "empty phase 0 (parity 0): 0 of 1 arrivals, 0 of 0 expected bytes"


NAMES = ("last", "late", "there", "back")


def circle() -> list[Finding]:
    """Warps 1 and 2 wait for each other, warp 0 for what warp 1 would do after that, and warp 3
    for what warp 0 would do.
    """
    variables = "\n".join(f".shared .align 8 .b64 {name};" for name in NAMES)
    made = "\n".join(f"mbarrier.init.shared::cta.b64 [{name}], 1;" for name in NAMES)
    body = f"""
    shr.u32 %r1, %tx, 5;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    {made}
made:
    bar.sync 0;
"""
    for warp, (wanted, *then) in enumerate(
        [("late", "last"), ("there", "back", "late"), ("back", "there"), ("last",)]
    ):
        arrivals = "\n".join(f"mbarrier.arrive.shared::cta.b64 _, [{name}];" for name in then)
        body += f"""
    setp.ne.u32 %p2, %r1, {warp};
    @%p2 bra over{warp};
spin{warp}:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [{wanted}], 0;
    @!%p3 bra spin{warp};
    setp.ne.u32 %p4, %lane, 0;
    @%p4 bra over{warp};
    {arrivals}
over{warp}:
"""
    return findings(body, variables=variables, threads=128)


def test_those_in_a_circle_come_before_those_that_hang_on_it() -> None:
    found = circle()
    names = [finding.got.split("\n")[0].split()[0] for finding in found]
    assert set(names[:2]) == {"there", "back"}
    assert names[2:] == ["late", "last"]
    first, second = names[:2]
    warp = {"there": 2, "back": 1}[first]
    assert found[0].expected == (
        f"1 more arrival; who could signal it waits: CTA 0, warp {warp}, lanes 0-31 for {second}, "
        "parity 0"
    )


FILLS = """mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 64;"""
EMPTIES = "mbarrier.arrive.shared::cta.b64 _, [empty];"


def unstarted(producer: int) -> str:
    """Two warps with a ring of one stage, whose producer begins with parity 0."""
    roles = [("full", EMPTIES)]
    roles.insert(producer, ("empty", FILLS))
    ways = "\n".join(
        f"""
    setp.ne.u32 %p2, %r1, {warp};
    @%p2 bra over{warp};
spin{warp}:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [{wanted}], 0;
    @!%p3 bra spin{warp};
    setp.ne.u32 %p4, %lane, 0;
    @%p4 bra over{warp};
    {then}
over{warp}:"""
        for warp, (wanted, then) in enumerate(roles)
    )
    return f"""
    shr.u32 %r1, %tx, 5;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [empty], 1;
made:
    bar.sync 0;
    {ways}
"""


@pytest.mark.parametrize("producer", [0, 1])
def test_who_fills_a_stage_is_told_first_where_a_ring_never_starts(producer: int) -> None:
    """Both wait for their phase 0; the mbarrier of an empty stage is waited for with parity 1."""
    variables = ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;"
    first, second = findings(unstarted(producer), variables=variables, threads=64)
    assert f"warp {producer}, lanes 0-31 wait for empty, parity 0" in first.message
    assert first.hint.startswith("who waits for a stage to be empty begins with parity 1")
    assert f"warp {1 - producer}, lanes 0-31 wait for full, parity 0" in second.message


def test_a_thread_that_has_arrived_arrives_no_more() -> None:
    """Two arrivals are expected; one thread arrives and exits, and another one waits."""
    body = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared::cta.b64 [done], 2;
made:
    bar.sync 0;
    setp.lt.u32 %p2, %tx, 32;
    @%p2 bra spin;
    setp.ne.u32 %p3, %tx, 32;
    @%p3 bra over;
    mbarrier.arrive.shared::cta.b64 _, [done];
    bra over;
spin:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0;
    @!%p4 bra spin;
over:"""
    (first,) = findings(body, variables=".shared .align 8 .b64 done;", threads=64)
    assert first.expected == "1 more arrival; no thread that is left can signal it"


@pytest.mark.wrong_kernel
def test_the_table_is_shown_line_by_line() -> None:
    first = rings(expected=64).findings[0]
    shown = ["".join(piece for piece, _ in line) for line in finding_lines(first)]
    start = next(number for number, line in enumerate(shown) if "= got: full" in line)
    assert shown[start].index("full") == shown[start + 1].index("empty")
    assert shown[start].index("phase") == shown[start + 2].index("phase")
    assert "\n          empty phase 0" in str(first)


@pytest.mark.wrong_kernel
def test_missing_arrivals_are_about_the_count() -> None:
    (first, _) = report(1, 0, arrivals=3).findings
    assert first.expected == "2 more arrivals; no thread that is left can signal it"
    assert first.hint.startswith("mbarrier.init counts")


@pytest.mark.wrong_kernel
def test_a_report_has_an_end() -> None:
    *shown, last = report(40, 64).findings
    assert len(shown) == 24
    assert all("wait for come" in finding.message for finding in shown)
    assert last.message == "deadlock: 56 more groups of threads wait"
