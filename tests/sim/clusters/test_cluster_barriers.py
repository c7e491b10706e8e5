"""The barrier of a cluster, mbarriers of other CTAs, errors, and reports of deadlocks.

Expected values are the manual's: PTX ISA, barrier.cluster, mbarrier.arrive, mbarrier.expect_tx.
Tests marked `gpu` run on a GPU as well.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from intrinsics.findings import Finding, SimulationError
from nvgen import KernelBuilder
from nvgen.sim.faults import Fault
from tests.each import each
from tests.sim.clusters.test_cluster import JOIN, NUMBER, SHARED, SYNC, first_thread
from tests.sim.ptx import SCHEDULES, findings, run

# ---- arrivals --------------------------------------------------------------------------------

BARRIER = ".shared .align 8 .b64 bar;\n"


def wait(parity: str, label: str, address: str = "%r1") -> str:
    return f"""{label}:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [{address}], {parity};
    @!%p9 bra {label};"""


def in_pairs(body: str, *, before: str = "", behind: str = JOIN, exits: str = "") -> str:
    """`body` by one thread of each CTA, with an mbarrier at %r1 and the other CTA's at %r2."""
    return f"""{NUMBER}
    mov.u32 %r1, bar; mov.u32 %r4, %cluster_ctarank; xor.b32 %r3, %r4, 1;
    mapa.shared::cluster.u32 %r2, %r1, %r3;
    setp.eq.u32 %p1, %tx, 0; setp.eq.u32 %p2, %r4, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 1;
    {before}
    fence.mbarrier_init.release.cluster;
    {SYNC}
    {exits}
    setp.ne.u32 %p15, %tx, 0;
    @%p15 bra REST;
    {body}
REST:
    {behind}"""


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [2, 5, 8])
def test_a_token_goes_round_a_ring(size: int, schedule: str):
    """Each CTA waits for its own mbarrier, then stores and arrives in the next one, twice round."""
    found = np.zeros(size, np.uint32)
    body = f"""{NUMBER}
    mov.u32 %r1, bar; mov.u32 %r2, s;
    add.u32 %r4, %r50, 1; rem.u32 %r4, %r4, {size};
    mapa.shared::cluster.u32 %r5, %r1, %r4; mapa.shared::cluster.u32 %r6, %r2, %r4;
    setp.eq.u32 %p1, %tx, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 1;
    @%p1 st.shared.u32 [%r2], 0;
    fence.mbarrier_init.release.cluster;
    {SYNC}
    setp.ne.u32 %p15, %tx, 0;
    @%p15 bra REST;
    setp.eq.u32 %p2, %r50, 0;
    mov.u32 %r10, 0;
    TURN:
    @!%p2 bra GO;
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra SEND;
    GO:
    mov.u32 %r11, %r10;
    @%p2 sub.u32 %r11, %r11, 1;
    and.b32 %r11, %r11, 1;
    {wait("%r11", "W")}
    SEND:
    ld.shared.u32 %r12, [%r2];
    mad.lo.u32 %r12, %r12, 3, %r50;
    st.shared::cluster.u32 [%r6], %r12;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p4, %r10, 2;
    @%p4 bra TURN;
    @!%p2 bra REST;
    {wait("1", "LAST")}
    REST:
    {JOIN}
    ld.shared.u32 %r13, [%r2];
    mad.wide.u32 %rd1, %r50, 4, %a0;
    @%p1 st.global.u32 [%rd1], %r13;"""
    run(
        body, found, variables=BARRIER + SHARED, schedule=schedule,
        grid=(size, 1, 1), cluster=(size, 1, 1),
    )  # fmt: skip
    expected, token = np.zeros(size, np.uint32), 0
    for _, rank in itertools.product(range(2), range(size)):
        token = (token * 3 + rank) & 0xFFFFFFFF
        expected[(rank + 1) % size] = token
    assert found.tolist() == expected.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bytes_are_expected_and_counted_from_afar(schedule: str):
    """The even CTA expects 32 bytes of the odd one's mbarrier, then counts them as come."""
    found = np.zeros(2, np.uint32)
    body = f"""
    @!%p2 bra WAITS;
    mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r2], 24;
    mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r2], 8;
    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r2], 32;
    mbarrier.arrive.release.cluster.shared::cta.b64 %rd9, [%r1];
    WAITS:
    {wait("0", "W")}
    mad.wide.u32 %rd1, %r50, 4, %a0;
    st.global.u32 [%rd1], 1;"""
    run(
        in_pairs(body), found, variables=BARRIER, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    assert found.tolist() == [1, 1]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", [1, 2, 5, 10, 15])
def test_an_arrival_is_sent_to_the_ctas_of_a_mask(mask: int, schedule: str):
    """From CTA 0, as PTX 9.4 has it for sm_107: expect 16 bytes, count them, arrive, in each."""
    found = np.zeros(4, np.uint32)
    many = "relaxed.cluster.shared::cluster.multicast::cluster::32b.b64"
    body = f"""{NUMBER}
    mov.u32 %r1, bar; setp.eq.u32 %p1, %tx, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 1;
    fence.mbarrier_init.release.cluster; {SYNC}
    setp.eq.u32 %p2, %r50, 0; and.pred %p2, %p2, %p1;
    @%p2 mbarrier.expect_tx.{many} [%r1], 16, {mask};
    @%p2 mbarrier.arrive.{many} _, [%r1], {mask};
    @%p2 mbarrier.complete_tx.{many} [%r1], 16, {mask};
    shr.u32 %r7, {mask}, %r50; and.b32 %r7, %r7, 1; setp.eq.u32 %p6, %r7, 0;
    @%p6 bra OUT;
    {wait("0", "W")}
    OUT: {JOIN}
    mbarrier.test_wait.parity.shared::cta.b64 %p7, [%r1], 0;
    mbarrier.test_wait.parity.shared::cta.b64 %p7, [%r1], 0;
    selp.u32 %r9, 1, 0, %p7;
    mad.wide.u32 %rd1, %r50, 4, %a0;
    @%p1 st.global.u32 [%rd1], %r9;"""
    run(
        body, found, variables=BARRIER, schedule=schedule, target="sm_107a", version="9.4",
        grid=(4, 1, 1), cluster=(4, 1, 1),
    )  # fmt: skip
    assert found.tolist() == [mask >> rank & 1 for rank in range(4)]


@pytest.mark.gpu
def test_pending_counts():
    """The count that a state holds is the one before its arrival."""
    found = np.zeros(4, np.uint32)
    body = """
    mov.u32 %r1, bar;
    mbarrier.init.shared.b64 [%r1], 9;
    mbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 2;
    mbarrier.arrive.shared.b64 %rd8, [%r1];
    mbarrier.arrive.noComplete.shared.b64 %rd3, [%r1], 1;
    mbarrier.arrive_drop.noComplete.shared.b64 %rd4, [%r1], 3;
    mbarrier.pending_count.b64 %r2, %rd2; st.global.u32 [%a0], %r2;
    mbarrier.pending_count.b64 %r2, %rd3; st.global.u32 [%a0+4], %r2;
    mbarrier.pending_count.b64 %r2, %rd4; st.global.u32 [%a0+8], %r2;"""
    run(first_thread(body), found, variables=BARRIER)
    assert found.tolist() == [9, 6, 5, 0]


# ---- what goes wrong -------------------------------------------------------------------------


def wrong(body: str, *, schedule: str = "early", variables: str = BARRIER) -> list[Finding]:
    """What ends a run of two CTAs of 64 threads."""
    return findings(
        body, variables=variables, threads=64, schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1)
    )


ODD = "mov.u32 %r4, %cluster_ctarank; setp.eq.u32 %p3, %r4, 1;\n"
MISTAKES = {
    "a CTA exits while its memory is read": (
        in_pairs("@%p2 bra REST; ld.shared::cluster.u64 %rd1, [%r2];", behind=""), "exited-cta"),
    "a CTA exits before an arrival comes": (
        in_pairs("@%p2 bra REST; nanosleep.u32 100; bra LATER; LATER:\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];", behind=""),
        "exited-cta"),
    "another CTA's address in .shared::cta": (
        in_pairs("ld.shared::cta.u64 %rd1, [%r2];"), "shared-cta"),
    "another CTA's address in .shared": (in_pairs("st.shared.u32 [%r2], 0;"), "shared-cta"),
    "a rank that the cluster does not have": (
        in_pairs("mapa.shared::cluster.u32 %r9, %r1, 2;"), "cluster-rank"),
    "an address of no CTA": (
        in_pairs("add.u32 %r9, %r1, 0x2000000; ld.shared::cluster.u64 %rd1, [%r9];"),
        "cluster-rank"),
    "mapa of no shared address": (in_pairs("mov.u64 %rd1, 16; mapa.u64 %rd2, %rd1, 1;"),
                                  "shared-window"),
    "a wait for another CTA's mbarrier": (
        in_pairs("cvt.u64.u32 %rd1, %r2; cvta.shared::cluster.u64 %rd1, %rd1;\n"
                 "mbarrier.test_wait.parity.b64 %p5, [%rd1], 0;"), "mbarrier-remote"),
    "an mbarrier of another CTA is initialised": (
        in_pairs("cvt.u64.u32 %rd1, %r2; cvta.shared::cluster.u64 %rd1, %rd1;\n"
                 "mbarrier.init.b64 [%rd1], 1;"), "mbarrier-remote"),
    "a state of another CTA's mbarrier": (
        in_pairs("cvt.u64.u32 %rd1, %r2; cvta.shared::cluster.u64 %rd1, %rd1;\n"
                 "mbarrier.arrive.b64 %rd2, [%rd1];"), "mbarrier-remote-state"),
    "an arrival where no mbarrier is": (
        in_pairs("add.u32 %r9, %r2, 8;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];"),
        "mbarrier-uninitialized"),
    "a state without its count": (
        in_pairs("mbarrier.arrive.shared.b64 %rd1, [%r1]; mbarrier.pending_count.b64 %r9, %rd1;"),
        "mbarrier-state"),
    "two arrivals without a wait": (
        "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;" + SYNC,
        "cluster-barrier-again"),
    "a wait without an arrival": ("barrier.cluster.wait.aligned;", "cluster-barrier-no-arrive"),
    "a wait after the one that was owed": (
        SYNC + "barrier.cluster.wait.aligned;", "cluster-barrier-no-arrive"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("body, rule", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, rule: str, schedule: str):
    found = wrong(body, schedule=schedule, variables=BARRIER + ".shared .b64 other;\n")
    assert [f.rule for f in found] == ["sim/" + rule]
    assert found[0].place.line


# ---- reports of deadlocks --------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_cta_that_does_not_come_to_the_barrier_is_named(schedule: str):
    """Warp 1 of CTA 1 asks for ever: the others learn that it is the one that is missing."""
    body = f"""{ODD} mov.u32 %r1, bar; setp.eq.u32 %p1, %tx, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 1;
    bar.sync 0;
    setp.ge.u32 %p4, %tx, 32;
    and.pred %p5, %p3, %p4;
    @!%p5 bra COMES;
    {wait("0", "W")}
    COMES: {SYNC}"""
    found = wrong(body, schedule=schedule)
    assert {f.rule for f in found} == {"sim/deadlock"}
    said = {f.message for f in found}
    missing = "wait for the barrier of cluster 0: missing are threads of CTA 1 warp 1 (32)"
    for who in ("CTA 0 (rank 0 of cluster 0), warp 0", "CTA 0 (rank 0 of cluster 0), warp 1",
                "CTA 1 (rank 1 of cluster 0), warp 0"):  # fmt: skip
        assert f"deadlock: {who}, lanes 0-31 {missing}" in said
    assert any("CTA 1 (rank 1 of cluster 0), warp 1" in m and "bar, parity 0" in m for m in said)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_arrival_that_is_missing_is_named(schedule: str):
    """The even CTA waits for two arrivals, and the odd one makes only its own."""
    body = f"@!%p2 bra SENDS;\n{wait('0', 'W')}\nbra REST;\nSENDS:"
    found = wrong(in_pairs(body), schedule=schedule)
    assert {f.rule for f in found} == {"sim/deadlock"}
    waits = [f for f in found if "bar, parity 0" in f.message]
    assert waits
    assert all(f.expected.startswith("1 more arrival") for f in waits)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_that_have_exited_are_not_waited_for(schedule: str):
    """One warp of each CTA leaves at once; the rest meet twice."""
    found = np.zeros(4, np.uint32)
    body = f"""{NUMBER} setp.ge.u32 %p4, %tx, 32;
    @%p4 exit;
    {SYNC} {SYNC}
    mad.wide.u32 %rd1, %r50, 4, %a0;
    st.global.u32 [%rd1], 1;"""
    run(body, found, threads=64, schedule=schedule, grid=(4, 1, 1), cluster=(2, 1, 1))
    assert found.tolist() == [1] * 4


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_of_a_warp_may_come_one_by_one(schedule: str):
    """Without .aligned, halves of a warp arrive and wait at places of their own."""
    found = np.zeros((2, 32), np.uint32)
    body = f"""{NUMBER} setp.ge.u32 %p4, %tx, 16;
    @%p4 bra UPPER;
    barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
    bra BOTH;
    UPPER:
    barrier.cluster.arrive; barrier.cluster.wait;
    BOTH:
    mad.lo.u32 %r1, %r50, 32, %tx; mad.wide.u32 %rd1, %r1, 4, %a0;
    st.global.u32 [%rd1], 1;"""
    run(body, found, schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert (found == 1).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_halves_of_a_warp_may_not_arrive_with_different_semantics(schedule: str):
    """An H200 (driver 580.159) never ends then: not for the simulator to let it pass."""
    found = np.zeros(1, np.uint32)
    body = f"""{NUMBER} setp.ge.u32 %p4, %tx, 16;
    @%p4 barrier.cluster.arrive.relaxed;
    @!%p4 barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;"""
    with pytest.raises(Fault) as caught:
        run(body, found, schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert caught.value.findings[0].rule == "sim/cluster-barrier-mixed"


@pytest.mark.parametrize("relaxed", [True, False])
def test_an_arrival_is_in_flight_after_a_relaxed_barrier_of_the_cluster(relaxed: bool) -> None:
    """The CTA that it goes to exits meanwhile: such a launch fails on an H100, some times."""
    b = KernelBuilder("k", block=32, cluster=2, target="sm_90a")
    b.begin()
    there = b.mbarrier("there")
    b.make_mbarriers((there, 1))
    with b.if_thread(0):
        b.mbarrier_arrive_space_cluster(b.of_cta(there, b.cluster_ctarank ^ 1), relaxed=True)
    b.bar_warp_sync()
    b.barrier_cluster_arrive(relaxed=relaxed)
    b.barrier_cluster_wait()
    kernel = b.finish().compile()
    if not relaxed:
        kernel.run(grid=2, cluster=2, schedule="late")
        return
    with pytest.raises(SimulationError) as caught:
        kernel.run(grid=2, cluster=2, schedule="late")
    assert [f.rule for f in caught.value.findings] == ["sim/exited-cta"]
