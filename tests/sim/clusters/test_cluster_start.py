"""Nobody reaches the shared memory of another CTA before that is known to run.

The CTAs of a cluster do not begin together: an access needs an order behind something that a thread
of the other CTA has done.  Right kernels are clean under every schedule; without the meeting the
access is found under every one.  PTX ISA, Cluster of Cooperative Thread Arrays; CUDA C++
Programming Guide, Distributed Shared Memory.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ptx import SCHEDULES, findings

VARIABLES = """.shared .align 16 .b8 tile[1024];
.shared .align 8 .b64 bar;
.global .align 4 .b32 flag;"""

RULE = "sim/unstarted-cta"
END = "bar.warp.sync -1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"

MEETINGS = {
    "barrier.cluster": "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "barrier.cluster.relaxed": "barrier.cluster.arrive.relaxed.aligned; "
    "barrier.cluster.wait.aligned;",
    "a flag": """
    setp.eq.u32 %p2, %r4, 0;
    @!%p2 st.release.gpu.global.u32 [flag], 1;
look:
    ld.acquire.gpu.global.u32 %r6, [flag];
    setp.eq.u32 %p3, %r6, 0;
    @%p3 bra look;""",
}
ACCESSES = {
    "a store": "st.shared::cluster.u32 [%r5], %tx;",
    "a generic store": "cvt.u64.u32 %rd1, %r5; cvta.shared::cluster.u64 %rd2, %rd1; "
    "st.u32 [%rd2], %tx;",
    "a store of one thread": "setp.eq.u32 %p4, %tx, 5; @%p4 st.shared::cluster.u32 [%r5], %tx;",
    "a store of two values": "setp.eq.u32 %p4, %tx, 6; "
    "@%p4 st.shared::cluster.v2.u32 [%r5], {%tx, %tx};",
}


def found(meeting: str, access: str, schedule: str) -> list[str]:
    """What is found where rank 0 of two CTAs accesses words of rank 1, a word each thread."""
    body = f"""
    mov.u32 %r4, %cluster_ctarank;
    setp.ne.u32 %p1, %r4, 0;
    mad.lo.u32 %r3, %tx, 4, 16;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r3;
    mapa.shared::cluster.u32 %r5, %r2, 1;
    {meeting}
    @%p1 bra end;
    {access}
end:
    {END}"""
    all_ = findings(
        body, np.zeros(1, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    return [f.rule for f in all_]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("meeting", ["barrier.cluster", "barrier.cluster.relaxed"])
def test_behind_the_meeting_all_is_well(meeting: str, access: str, schedule: str) -> None:
    assert found(MEETINGS[meeting], ACCESSES[access], schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("access", ACCESSES)
def test_before_it_the_access_is_found(access: str, schedule: str) -> None:
    """Though nobody else touches the memory, so that there is no race."""
    assert found("", ACCESSES[access], schedule) == [RULE]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_release_by_the_other_cta_is_enough(schedule: str) -> None:
    """Rank 1 sets a flag, behind which rank 0 knows that it runs; a relaxed flag tells nothing."""
    flag = MEETINGS["a flag"]
    assert found(flag, ACCESSES["a store"], schedule) == []
    relaxed = flag.replace("st.release.gpu", "st.relaxed.gpu")
    assert found(relaxed, ACCESSES["a store"], schedule) == [RULE]


SIGNALLED = """
    mov.u32 %r4, %cluster_ctarank;
    setp.ne.u32 %p1, %tx, 0;
    setp.ne.u32 %p2, %r4, 0;
    @!%p1 mbarrier.init.shared.b64 [bar], {count};
    fence.mbarrier_init.release.cluster;
    {meeting}
    @%p1 bra end;
    @%p2 bra waits;
    mapa.shared::cluster.u32 %r5, bar, 1;
    mapa.shared::cluster.u32 %r6, tile, 1;
    {signal}
    bra end;
waits:
    {expect}
spin:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra spin;
end:
"""
"""Rank 0 signals the mbarrier of rank 1, which waits for it."""

SIGNALS = {
    "an arrival": ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];", ""),
    "a copy": (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%a0], 64, "
        "[%r5];",
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;",
    ),
}


def signalled(name: str, meeting: str, schedule: str) -> list[str]:
    """What is found where rank 0 signals an mbarrier of rank 1."""
    signal, expect = SIGNALS[name]
    body = SIGNALLED.format(count=1, meeting=meeting, signal=signal, expect=expect) + END
    all_ = findings(
        body, np.zeros(16, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    return [f.rule for f in all_]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", SIGNALS)
def test_signals_come_behind_the_meeting(name: str, schedule: str) -> None:
    for meeting in ("barrier.cluster", "barrier.cluster.relaxed"):
        assert signalled(name, MEETINGS[meeting], schedule) == []
    assert signalled(name, "", schedule) == [RULE]
