"""A CTA is told that it may exit by one lane of a warp whose other lanes still read its memory.

PTX ISA, mapa; mbarrier.arrive; bar.warp.sync: an arrival of one thread releases what that thread
did, and what threads did that have synchronised with it.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import kernel, severities

BODY = """\
    .shared .align 128 .b8 words[128];
    .shared .align 8 .b64 read;
    setp.eq.u32 %p1, %t, 0;
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    @%p1 mbarrier.init.shared.b64 [read], {arrivals};
    @%p1 fence.mbarrier_init.release.cluster;
    st.shared.b32 [%r3], %t;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r4, %cluster_ctarank;
    xor.b32 %r4, %r4, 1;
    mapa.shared::cluster.u32 %r5, %r3, %r4;
    mov.u32 %r6, read;
    mapa.shared::cluster.u32 %r7, %r6, %r4;
    ld.shared::cluster.b32 %r8, [%r5];
    {before}
    {who} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [read], 0;
    @!%p2 bra WAIT;
    mul.wide.u32 %rd1, %t, 4;
    add.u64 %rd2, %x, %rd1;
    st.global.b32 [%rd2], %r8;"""
"""Each CTA reads the other's words, tells it so, and waits to be told."""
SYNC = "bar.warp.sync 0xffffffff;"

RIGHT = {
    "lane 0 tells it behind bar.warp.sync": (SYNC, "@%p1", 1),
    "each lane tells it": ("", "", 32),
}
WRONG = {
    "lane 0 tells it for all": ("", "@%p1", 1),
    "bar.warp.sync of lane 0": ("@%p1 bar.warp.sync 1;", "@%p1", 1),
}


def said(before: str, who: str, arrivals: int) -> set[tuple[str, Severity]]:
    body = BODY.format(before=before, who=who, arrivals=arrivals)
    return severities(kernel(body, ".param .u64 x", ".reqntid 32 .reqnctapercluster 2"))


@each("name", RIGHT)
def test_nobody_reads_when_it_exits(name: str) -> None:
    assert said(*RIGHT[name]) == set()


@each("name", WRONG)
def test_other_lanes_may_still_read(name: str) -> None:
    assert said(*WRONG[name]) == {("mbarrier.arrive/other-threads", Severity.REVIEW)}
