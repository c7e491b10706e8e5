"""Scopes of mbarriers: what the threads of one CTA write and those of another one read.

CTA 1 stores a word, arrives at the mbarrier of CTA 0, and CTA 0 waits there and reads the word.
The arrival, the wait and each fence count where their scope has both threads: .cluster has, .cta,
which is the default, has not.
PTX ISA, Memory Consistency Model: Scope; Morally strong operations; mbarrier.arrive;
mbarrier.try_wait.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Finding
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings

VARIABLES = """.shared .align 8 .b64 bar;
.shared .align 4 .b32 there;
.global .align 4 .b32 word;
.global .align 4 .b32 sink;"""

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
MESSAGE = f"""
    mov.u32 %r4, %cluster_ctarank;
    setp.ne.u32 %p1, %tx, 0;
    setp.ne.u32 %p2, %r4, 0;
    @%p1 bra made;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
made:
    bar.warp.sync -1;
    {MEET}
    mapa.shared::cluster.u32 %r5, bar, 0;
    mapa.shared::cluster.u32 %r6, there, 0;
    @%p1 bra end;
    @!%p2 bra look;
    {{writes}}
    {{arrival}}
    bra end;
look:
    mbarrier.{{wait}}.shared.b64 %p3, [bar], 0;
    @!%p3 bra look;
    {{behind}}
    {{reads}}
    st.global.u32 [sink], %r7;
end:
    bar.warp.sync -1;
    {MEET}"""
PLACES = {
    "global": ("st.global.u32 [word], 5;", "ld.global.u32 %r7, [word];"),
    "shared": ("st.shared::cluster.u32 [%r6], 5;", "ld.shared.u32 %r7, [there];"),
}
WIDE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];"
RELAXED = "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r5];"
NARROW = "mbarrier.arrive.relaxed.cta.shared::cluster.b64 _, [%r5];"
ARRIVALS = {
    "release": (WIDE, True),
    "release.cta": ("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r5];", False),
    "no scope": ("mbarrier.arrive.shared::cluster.b64 _, [%r5];", False),
    "relaxed": (RELAXED, False),
    "behind a fence": (f"fence.acq_rel.cluster; {RELAXED}", True),
    "behind a wider fence": (f"fence.acq_rel.gpu; {RELAXED}", True),
    "behind a fence of the CTA": (f"fence.acq_rel.cta; {RELAXED}", False),
    "narrow behind a fence": (f"fence.acq_rel.cluster; {NARROW}", False),
}
WAITS = {
    "acquire": ("try_wait.parity.acquire.cluster", "", True),
    "test_wait": ("test_wait.parity.acquire.cluster", "", True),
    "acquire.cta": ("try_wait.parity.acquire.cta", "", False),
    "no scope": ("try_wait.parity", "", False),
    "relaxed": ("try_wait.parity.relaxed.cluster", "", False),
    "before a fence": ("try_wait.parity.relaxed.cluster", "fence.acq_rel.cluster;", True),
    "before a fence of the CTA": ("try_wait.parity.relaxed.cluster", "fence.acq_rel.cta;", False),
    "narrow before a fence": ("try_wait.parity.relaxed.cta", "fence.acq_rel.cluster;", False),
}


def _told(place: str, arrival: str, wait: str, behind: str, schedule: str) -> list[Finding]:
    """What is found where CTA 1 hands a word to CTA 0."""
    writes, reads = PLACES[place]
    body = MESSAGE.format(writes=writes, arrival=arrival, wait=wait, behind=behind, reads=reads)
    return _found(body, schedule)


def _found(body: str, schedule: str) -> list[Finding]:
    return findings(
        body, np.zeros(1, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("place", PLACES)
@each("name", ARRIVALS)
def test_an_arrival(name: str, place: str, schedule: str) -> None:
    """It hands on what its scope, and that of the fence before it, let the other CTA see."""
    arrival, is_right = ARRIVALS[name]
    wait, behind, _ = WAITS["acquire"]
    found = _told(place, arrival, wait, behind, schedule)
    assert [f.rule for f in found] == ([] if is_right else ["sim/race"])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("place", PLACES)
@each("name", WAITS)
def test_a_wait(name: str, place: str, schedule: str) -> None:
    """It takes over what its scope, and that of the fence behind it, let it see."""
    wait, behind, is_right = WAITS[name]
    found = _told(place, WIDE, wait, behind, schedule)
    assert [f.rule for f in found] == ([] if is_right else ["sim/race"])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("side", ["arrival", "wait"])
def test_words(side: str, schedule: str) -> None:
    """The finding blames the read, names both accesses, and says that a scope is too narrow."""
    arrival = ARRIVALS["no scope" if side == "arrival" else "release"][0]
    wait, behind, _ = WAITS["no scope" if side == "wait" else "acquire"]
    (found,) = _told("global", arrival, wait, behind, schedule)
    assert found.message.startswith("ld of warp 0 reads what st of warp 0 wrote")
    assert "a scope that does not include both threads" in found.message
    assert "mbarrier" in found.expected


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_buffer_is_given_back_without_a_scope(schedule: str) -> None:
    """CTA 1 reads, arrives without a scope, and CTA 0 overwrites: so libraries release buffers."""
    stored = "@!%p1 st.shared.u32 [there], 3; bar.warp.sync -1;"
    body = MESSAGE.format(
        writes="ld.shared::cluster.u32 %r8, [%r6]; st.global.u32 [word], %r8;",
        arrival=ARRIVALS["no scope"][0],
        wait=WAITS["no scope"][0],
        behind="",
        reads="st.shared.u32 [there], 7; mov.u32 %r7, 7;",
    ).replace("bar.warp.sync -1;", stored, 1)
    assert _found(body, schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_inside_a_cta(schedule: str) -> None:
    """Threads of one CTA need no more than .cta, after they have met another CTA too."""
    body = f"""
    setp.ne.u32 %p1, %tx, 0;
    setp.ge.u32 %p2, %tx, 32;
    @!%p1 mbarrier.init.shared.b64 [bar], 1;
    @!%p1 st.shared.u32 [there], 5;
    {MEET}
    @%p2 bra other;
    mov.u32 %r4, %cluster_ctarank;
    xor.b32 %r4, %r4, 1;
    mapa.shared::cluster.u32 %r6, there, %r4;
    @!%p1 ld.shared::cluster.u32 %r7, [%r6];
    @!%p1 mbarrier.arrive.shared.b64 _, [bar];
    bra end;
other:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra other;
    ld.shared.u32 %r7, [there];
end:
    bar.sync 0;
    {MEET}"""
    one = np.zeros(1, np.uint32)
    all_ = findings(
        body, one, variables=VARIABLES, threads=64, schedule=schedule,
        grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    assert all_ == []


# ---- fence.mbarrier_init ---------------------------------------------------------------------


BEHIND_INIT = f"""
    mov.u32 %r4, %cluster_ctarank;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared.b64 [bar], 1;
    st.shared.u32 [there], 5;
    {{fence}}
made:
    bar.warp.sync -1;
    barrier.cluster.arrive.relaxed.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra end;
    xor.b32 %r4, %r4, 1;
    mapa.shared::cluster.u32 %r5, bar, %r4;
    mapa.shared::cluster.u32 %r6, there, %r4;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
    {{reads}}
end:
    bar.warp.sync -1;
    {MEET}"""
INIT = "fence.mbarrier_init.release.cluster;"
READS = "ld.shared::cluster.u32 %r7, [%r6]; st.global.u32 [sink], %r7;"


@pytest.mark.parametrize("schedule", SCHEDULES)
@each(
    "fence, reads, is_right",
    [(INIT, "", True), (INIT, READS, False), ("fence.acq_rel.cluster;", READS, True)],
)
def test_a_fence_of_initialisations(fence: str, reads: str, is_right: bool, schedule: str) -> None:
    """It lets other CTAs use the mbarriers, and not read what its thread has stored before."""
    behind = "fence.acq_rel.cluster;" + reads if reads else ""
    found = _found(BEHIND_INIT.format(fence=fence, reads=behind), schedule)
    assert [f.rule for f in found] == ([] if is_right else ["sim/race"])
