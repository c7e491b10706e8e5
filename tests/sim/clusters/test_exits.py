"""Nobody is still at the shared memory of a CTA when that exits, under any schedule.

Right kernels are clean under every schedule; one in which the exit is not behind the access is told
under every one too, with both places, though the access mostly comes first.  PTX ISA, Shared State
Space: shared memory of a CTA is accessible until all of its threads have exited; barrier.cluster;
mbarrier.arrive.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Finding
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings

VARIABLES = """.shared .align 16 .b8 tile[128];
.shared .align 8 .b64 come;
.shared .align 8 .b64 done;"""

BODY = """
    mov.u32 %r4, %cluster_ctarank;
    setp.ne.u32 %p1, %r4, 0;
    setp.eq.u32 %p2, %tx, 0;
    @%p2 mbarrier.init.shared.b64 [come], 1;
    @%p2 mbarrier.init.shared.b64 [done], {threads};
    fence.mbarrier_init.release.cluster;
    shl.b32 %r3, %tx, 2;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %tx;
    mapa.shared::cluster.u32 %r5, %r2, 1;
    mapa.shared::cluster.u32 %r6, come, 1;
    mapa.shared::cluster.u32 %r7, done, 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra one;
    {access}
    bra end;
one:
    {waits}
end:
    {behind}
"""
"""Rank 0 accesses the memory of rank 1, which waits, or not; then both go on."""

MEET = "bar.warp.sync -1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
RELAXED = "bar.warp.sync -1; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"
WAIT = """
spin:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [{name}], 0;
    @!%p3 bra spin;"""
EXPECT = "@%p2 mbarrier.arrive.expect_tx.shared.b64 _, [come], {size};"
DONE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];"
CLUSTER = ".shared::cluster.mbarrier::complete_tx::bytes"

ACCESSES = {
    "a load": "ld.shared::cluster.u32 %r8, [%r5];",
    "a store": "st.shared::cluster.u32 [%r5], 7;",
    "an atomic": "red.relaxed.cluster.shared::cluster.add.u32 [%r5], 1;",
    "an arrival": "@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];",
    "a relaxed arrival": "@%p2 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r6];",
}
ASYNCHRONOUS = {
    "st.async": (f"st.async.weak{CLUSTER}.u32 [%r5], %tx, [%r6];", 128),
    "a copy": (
        "@%p2 mapa.shared::cluster.u32 %r9, tile, 1; @%p2 fence.proxy.async; "
        f"@%p2 cp.async.bulk{CLUSTER[:16]}.global.mbarrier::complete_tx::bytes "
        "[%r9], [%a0], 64, [%r6];", 64),
    "a multicast": (
        "mov.b16 %rs1, 2; @%p2 fence.proxy.async; "
        "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [tile], [%a0], 64, [come], %rs1;", 64),
}  # fmt: skip


def found(access: str, waits: str, behind: str, schedule: str) -> list[Finding]:
    """What is found in a cluster of two CTAs of a warp."""
    body = BODY.format(access=access, waits=waits, behind=behind, threads=32)
    return findings(
        body, np.zeros(16, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip


def expecting(size: int, *, waits: bool = True) -> str:
    """Rank 1 expects bytes of what fills its tile, and waits for them, or not."""
    return EXPECT.format(size=size) + (WAIT.format(name="come") if waits else "")


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", ACCESSES)
def test_a_cta_exits_behind_what_others_do(name: str, schedule: str) -> None:
    assert found(ACCESSES[name], "", MEET, schedule) == []
    assert found(ACCESSES[name] + DONE, WAIT.format(name="done"), "", schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", ACCESSES)
@pytest.mark.parametrize("behind", ["", RELAXED], ids=["nothing", "relaxed"])
def test_an_exit_that_waits_for_nobody(name: str, behind: str, schedule: str) -> None:
    assert [f.rule for f in found(ACCESSES[name], "", behind, schedule)] == ["sim/exited-cta"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", ["an arrival", "a relaxed arrival"])
def test_an_arrival_that_is_waited_for(name: str, schedule: str) -> None:
    assert found(ACCESSES[name], WAIT.format(name="come"), "", schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", ASYNCHRONOUS)
def test_operations_are_waited_for_before_the_exit(name: str, schedule: str) -> None:
    """A barrier of the cluster alone says that they were issued, not that they are complete.

    One that has not taken effect at the end of the run is told as such.
    """
    access, size = ASYNCHRONOUS[name]
    assert found(access, expecting(size), "", schedule) == []
    (one,) = found(access, expecting(size, waits=False), MEET, schedule)
    assert one.rule in ("sim/exited-cta", "sim/exit-pending")
    assert schedule != "early" or one.rule == "sim/exited-cta"


def test_both_places_are_told() -> None:
    """Here the load comes before the exit, and nothing but the schedule says so."""
    (one,) = found(ACCESSES["a load"], "", "", "early")
    assert one.op == "RET"
    load = "ld of warp 0 of CTA 0 at "
    assert f"shared memory of CTA 1; the access: {load}" in one.got
    assert one.place.line > int(one.got.split(load)[1].split(":")[-2])


SYNC = "bar.warp.sync -1;"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_lane_tells_what_all_lanes_have_read(schedule: str) -> None:
    """bar.warp.sync is what makes the reads of the others happen before lane 0's arrival."""
    one = "@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];"
    wait = WAIT.format(name="come")
    load = ACCESSES["a load"]
    assert found(load + SYNC + one, wait, "", schedule) == []
    assert [f.rule for f in found(load + one, wait, "", schedule)] == ["sim/exited-cta"]
