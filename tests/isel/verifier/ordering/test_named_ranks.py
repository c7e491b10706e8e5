"""Kernels that name CTAs of a cluster whose size neither they nor the user give.

PTX ISA, mapa; barrier.cluster: .relaxed says nothing of memory, and everything of who has come.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.each import each

KERNEL = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x) .reqntid 32 {cluster}
{{
    .reg .pred %p<9>;
    .reg .b32 %r<20>, %t;
    .reg .b64 %x;
    .shared .align 16 .b8 words[128];
    .shared .align 8 .b64 come;
    ld.param.u64 %x, [x];
    mov.u32 %t, %tid.x;
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
    {behind}
    ret;
}}
"""
"""CTA 0 waits until both have come, and reads the words of CTA 1."""
REUSE = "st.shared.b32 [%r3], 0;"
CLEAN = {
    "as many arrivals as CTAs": (2, "", ""),
    "whose loads are over when they arrive": (2, ".relaxed", ""),
    "who write their words behind the barrier": (2, "", REUSE),
}
MISTAKES = {"an arrival too many is waited for": 3, "an arrival of each lane": 64}
PAIR = ".reqnctapercluster 2"


def said(arrivals: int, order: str, behind: str, cluster: str = "") -> dict[str, Severity]:
    text = KERNEL.format(arrivals=arrivals, order=order, behind=behind, cluster=cluster)
    found = verify_functions(read_ptx(text, "k.ptx").module)
    return {f.rule: f.severity for f in found if f.severity is not Severity.NOTE}


@each("case", CLEAN)
def test_it_has_the_ctas_that_it_names(case: str) -> None:
    assert said(*CLEAN[case]) == {}


@each("case", MISTAKES)
def test_a_mistake_is_an_error_where_the_cluster_is_no_guess(case: str) -> None:
    assert said(MISTAKES[case], "", "", PAIR) == {"mbarrier/deadlock": Severity.ERROR}
    assert Severity.ERROR not in said(MISTAKES[case], "", "").values()
