"""CTA pairs: tensor memory that two CTAs allocate together, commits that tell several CTAs.

Expected values are the manual's: PTX ISA, tcgen05, CTA Pair, Issue Granularity; tcgen05.alloc;
tcgen05.commit.  Nothing here has run on a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.findings import Finding
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings, run

VARIABLES = ".shared .align 8 .b64 bar[4];\n.shared .align 4 .b32 slot[4];\n"
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
ALLOC = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32"
DEALLOC = "tcgen05.dealloc.cta_group::2.sync.aligned.b32"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"
COMMIT = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
HEAD = """
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, slot; mov.u32 %r3, bar;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %tx, 0; setp.lt.u32 %p3, %tx, 32;
    shr.u32 %r40, %tx, 5; mov.u32 %r50, %ctaid.x;
"""
PAIR = (2, 1, 1)


def ran(body: str, size: int = 2, threads: int = 32, schedule: str = "early") -> NDArray[np.uint32]:
    """Four words that each CTA of a cluster gave at %rd1."""
    found = np.zeros((size, 4), np.uint32)
    head = HEAD + "mad.wide.u32 %rd1, %r50, 16, %a0;\n"
    run(
        head + body, found, variables=VARIABLES, threads=threads, schedule=schedule,
        grid=(size, 1, 1), cluster=(size, 1, 1),
    )  # fmt: skip
    return found


def wrong(body: str, *, schedule: str = "early", size: int = 2, threads: int = 64) -> list[Finding]:
    shape = (size, 1, 1)
    return findings(
        HEAD + body, variables=VARIABLES, threads=threads, schedule=schedule,
        grid=shape, cluster=shape,
    )  # fmt: skip


# ---- allocation ------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [2, 4])
def test_both_ctas_get_the_same_columns(size: int, schedule: str):
    found = ran(
        f"""{SYNC}
    {ALLOC} [slot], 256;
    {ALLOC} [slot+4], 64;
    ld.shared.u32 %r5, [slot]; ld.shared.u32 %r6, [slot+4];
    @%p2 st.global.u32 [%rd1], %r5; @%p2 st.global.u32 [%rd1+4], %r6;
    {DEALLOC} %r5, 256; {DEALLOC} %r6, 64;
    {RELINQUISH} {SYNC}""",
        size,
        schedule=schedule,
    )
    for even, odd in zip(found[::2], found[1::2], strict=True):
        assert even.tolist() == odd.tolist()
        large, small = int(even[0]), int(even[1])
        assert large % 256 == 0
        assert small % 64 == 0
        assert large + 256 <= 512
        assert not large <= small < large + 256


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_allocation_waits_for_room(schedule: str):
    """Two warps of each CTA want all columns: one pair of warps has them after the other."""
    found = ran(
        f"""{SYNC}
    mov.u32 %r7, 0;
    mad.lo.u32 %r8, %r40, 4, %r2;
    {ALLOC} [%r8], 512;
    ld.shared.u32 %r5, [%r8];
    {DEALLOC} %r5, 512;
    cvt.u64.u32 %rd2, %r40; mad.lo.u64 %rd2, %rd2, 4, %rd1;
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd2], %r5;
    {SYNC}""",
        threads=64,
        schedule=schedule,
    )
    assert found[:, :2].tolist() == [[1, 1]] * 2


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_that_comes_alone_waits_for_the_peer(schedule: str):
    found = wrong(f"{SYNC} @!%p1 bra OUT;\n{ALLOC} [slot], 32;\nOUT: {SYNC}", schedule=schedule)
    assert {f.rule for f in found} == {"sim/deadlock"}
    said = [f.message for f in found if "tcgen05.alloc" in f.message]
    assert said
    for text in said:
        assert "CTA 0 (rank 0 of cluster 0)" in text
        assert text.endswith("a warp of the peer, CTA 1, at tcgen05.alloc.cta_group::2")


BOTH = f"{SYNC} @!%p3 bra OUT;"
ALLOCATED = f"{BOTH} {ALLOC} [slot], 64; ld.shared.u32 %r5, [slot];\n"
END = f"OUT: {SYNC}"
MISTAKES = {
    "different numbers of columns": (
        f"{BOTH} selp.u32 %r7, 32, 64, %p1; {ALLOC} [slot], %r7; {END}", "pair-operands"),
    "different columns to give back": (
        f"{ALLOCATED} @%p1 add.u32 %r5, %r5, 64; {DEALLOC} %r5, 64; {END}", "pair-operands"),
    "columns that are not given back": (f"{ALLOCATED} {END}", "tensor-memory-leak"),
    "an allocation when the permit is gone": (
        f"{BOTH} {RELINQUISH} {ALLOC} [slot], 64; {END}", "alloc-after-relinquish"),
    "more columns than before": (f"{ALLOCATED} {ALLOC} [slot+4], 128; {END}", "alloc-increasing"),
    "both values of .cta_group": (
        f"{ALLOCATED} tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 64; {END}",
        "cta-group-mixed"),
    "both values of .cta_group in a commit": (
        f"{ALLOCATED} tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];"
        f"{END}", "cta-group-mixed"),
    "an address for another CTA": (
        f"{BOTH} xor.b32 %r7, %r2, 0x1000000;\n{ALLOC} [%r7], 64; {END}", "shared-cta"),
    "a generic address for another CTA": (
        f"{BOTH} xor.b32 %r7, %r2, 0x1000000; cvt.u64.u32 %rd2, %r7;"
        f"cvta.shared::cluster.u64 %rd2, %rd2;"
        f"tcgen05.alloc.cta_group::2.sync.aligned.b32 [%rd2], 64; {END}", "alloc-destination"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("body, rule", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, rule: str, schedule: str):
    found = wrong(body, schedule=schedule)
    assert {f.rule for f in found} == {"sim/" + rule}
    assert found[0].place.line


def test_columns_that_are_not_given_back_are_named_in_both_ctas():
    found = wrong(f"{ALLOCATED} {END}")
    assert [f.got for f in found] == [f"64 columns at 0 of CTA {n}" for n in range(2)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "body", [f"{ALLOC} [slot], 32;", f"{RELINQUISH}", f"@%p2 {COMMIT}.b64 [bar];"]
)
def test_a_peer_that_has_exited(body: str, schedule: str):
    text = f"{SYNC} @!%p1 exit;\nbarrier.cluster.arrive; barrier.cluster.wait;\n{body}"
    assert [f.rule for f in wrong(text, schedule=schedule)] == ["sim/exited-peer"]


@pytest.mark.parametrize("size", [1, 3])
def test_a_cta_without_a_peer(size: int):
    body = f"setp.ne.u32 %p4, %r1, {size - 1}; @%p4 bra OUT; {ALLOC} [slot], 32;\n{END}"
    assert [f.rule for f in wrong(body, size=size)] == ["sim/cta-pair"]


# ---- commits ---------------------------------------------------------------------------------

INIT = f"""
    @%p2 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster; {SYNC}
"""
WAIT = """{label}:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [bar], 0;
    @!%p9 bra {label};"""


@pytest.mark.parametrize(("mask", "multicast"), [
    *((mask, "multicast::cluster") for mask in range(1, 16)),
    *((mask, "multicast::cluster::16b") for mask in (5, 8)),
])  # fmt: skip
def test_a_commit_tells_the_ctas_of_its_mask(mask: int, multicast: str):
    """Once each: their mbarriers expect one arrival, and another would be a fault."""
    body = f"""{INIT}
    setp.eq.u32 %p5, %r1, 1; and.pred %p5, %p5, %p2;
    @%p5 {COMMIT}.{multicast}.b64 [bar], {mask};
    shr.u32 %r7, {mask}, %r1; and.b32 %r7, %r7, 1; setp.eq.u32 %p6, %r7, 0;
    @%p6 bra OUT;
    {WAIT.format(label="W")}
    @%p2 st.global.u32 [%rd1], 1;
OUT: {SYNC}
    mbarrier.test_wait.parity.shared::cta.b64 %p7, [bar], 0;
    selp.u32 %r9, 1, 0, %p7;
    @%p2 st.global.u32 [%rd1+4], %r9;"""
    version = {"version": "9.4"} if "16b" in multicast else {}
    for schedule in ("early", "late", "random:4"):
        found = np.zeros((4, 4), np.uint32)
        head = HEAD + "mad.wide.u32 %rd1, %r50, 16, %a0;\n"
        run(
            head + body, found, variables=VARIABLES, schedule=schedule,
            grid=(4, 1, 1), cluster=(4, 1, 1), **version,
        )  # fmt: skip
        told = [mask >> rank & 1 for rank in range(4)]
        assert found[:, 0].tolist() == told
        assert all(seen <= bit for seen, bit in zip(found[:, 1].tolist(), told, strict=True))


@pytest.mark.parametrize("schedule", ["early", "late", *(f"random:{n}" for n in range(40))])
def test_a_commit_on_the_peers_mbarrier(schedule: str):
    """Of both CTAs on the even one's: bit 24 of the address is cleared."""
    body = f"""
    @%p2 mbarrier.init.shared.b64 [bar], 2;
    fence.mbarrier_init.release.cluster; {SYNC}
    and.b32 %r7, %r3, 0xFEFFFFFF;
    @%p2 {COMMIT}.b64 [%r7];
    @!%p1 bra OUT;
    {WAIT.format(label="W")}
    @%p2 st.global.u32 [%rd1], 1;
OUT: {SYNC}"""
    assert ran(body, schedule=schedule)[:, 0].tolist() == [1, 0]
