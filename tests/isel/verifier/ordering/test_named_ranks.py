"""Kernels that name CTAs of a cluster whose size neither they nor the user give.

PTX ISA, mapa; barrier.cluster: an arrival with .relaxed orders no memory accesses, but counts as an
arrival.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import errors, kernel, said

BODY = """\
    .shared .align 16 .b8 words[128];
    .shared .align 8 .b64 come;
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %t, 0;
    mov.u32 %r2, words;
    mad.lo.u32 %r3, %t, 4, %r2;
    st.shared.b32 [%r3], %t;
    @%p1 mbarrier.init.shared.b64 [come], {arrivals};
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r4, come;
    mapa.shared::cluster.u32 %r5, %r4, 0;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra JOIN;
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [come], 0;
    @!%p3 bra WAIT;
    mapa.shared::cluster.u32 %r6, %r3, 1;
    ld.shared::cluster.b32 %r7, [%r6];
    st.global.b32 [%x], %r7;
JOIN:
    barrier.cluster.arrive{order};
    barrier.cluster.wait;
    {behind}"""
"""CTA 0 waits until both have come, and reads the words of CTA 1."""
REUSE = "st.shared.b32 [%r3], 0;"
CLEAN = {
    "as many arrivals as CTAs": (2, "", ""),
    "whose loads are over when they arrive": (2, ".relaxed", ""),
    "who write their words behind the barrier": (2, "", REUSE),
}
MISTAKES = {"an arrival too many is waited for": 3, "an arrival of each lane": 64}
PAIR = ".reqnctapercluster 2"


def judged(arrivals: int, order: str, behind: str, cluster: str = "") -> dict[str, Severity]:
    body = BODY.format(arrivals=arrivals, order=order, behind=behind)
    found = said(kernel(body, ".param .u64 x", f".reqntid 32 {cluster}"))
    return {f.rule: f.severity for f in found}


@each("case", CLEAN)
def test_it_has_the_ctas_that_it_names(case: str) -> None:
    assert judged(*CLEAN[case]) == {}


@each("case", MISTAKES)
def test_a_mistake_is_an_error_where_the_cluster_is_no_guess(case: str) -> None:
    assert judged(MISTAKES[case], "", "", PAIR) == {"mbarrier/deadlock": Severity.ERROR}
    assert Severity.ERROR not in judged(MISTAKES[case], "", "").values()


TWO_EXPECT = """\
    .reg .b64 %m;
    .shared .align 128 .b8 tile[2048];
    .shared .align 8 .b64 full;
    mov.b64 %m, map;
    cvta.param.u64 %m, %m;
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared::cta.b64 [full], {arrivals};
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r2, full;
    mapa.shared::cluster.u32 %r3, %r2, 0;
    mov.u32 %r4, tile;
    shl.b32 %r5, %r1, 10;
    add.u32 %r4, %r4, %r5;
    mapa.shared::cluster.u32 %r6, %r4, 0;
    @%p1 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r3], 1024;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%r6], [%m, {{%r1, %r1}}], [%r3];
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra JOIN;
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [full], 0;
    @!%p3 bra WAIT;
    ld.shared.b32 %r7, [tile+1024];
    st.global.b32 [%x], %r7;
JOIN:
    barrier.cluster.arrive;
    barrier.cluster.wait;"""
"""The threads of two CTAs expect bytes of one mbarrier, and bring them."""


def of_pair(arrivals: int) -> str:
    parameters = ".param .align 64 .b8 map[128], .param .u64 x"
    return kernel(TWO_EXPECT.format(arrivals=arrivals), parameters, f".reqntid 32 {PAIR}")


def test_each_cta_that_expects_bytes_arrives() -> None:
    assert errors(of_pair(2)) == set()


def test_a_phase_that_counts_one_of_them_has_an_arrival_too_many() -> None:
    assert "mbarrier/too-many-arrivals" in errors(of_pair(1))
