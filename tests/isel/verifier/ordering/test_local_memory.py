"""Addresses of mbarriers in local memory, where compilers keep an array that a stage indexes.

PTX ISA, Local State Space: each thread has its own.
"""

from __future__ import annotations

from tests.each import each
from tests.isel.verifier.kernels import kernel, said

BODY = """\
    .local .align 16 .b8 kept[32];
    .reg .b32 %i, %stage, %phase;
    .shared .align 16 .b8 words[512];
    .shared .align 8 .b64 full[2];
    .shared .align 8 .b64 empty[2];
    setp.eq.u32 %p1, %t, 0;
    mov.u64 %rd1, kept;
    mov.u32 %r1, full;
    mov.u32 %r2, empty;
    mov.u32 %r10, words;
    cvt.u64.u32 %rd2, %r1;
    cvta.shared.u64 %rd3, %rd2;
    cvt.u64.u32 %rd4, %r2;
    cvta.shared.u64 %rd5, %rd4;
    add.u64 %rd6, %rd3, 8;
    add.u64 %rd7, %rd5, 8;
    {keep}
    @%p1 mbarrier.init.shared.b64 [full], 32;
    @%p1 mbarrier.init.shared.b64 [full+8], 32;
    @%p1 mbarrier.init.shared.b64 [empty], 32;
    @%p1 mbarrier.init.shared.b64 [empty+8], 32;
    {sync}
    mov.u32 %i, 0;
    setp.lt.u32 %p2, %t, 32;
TURN:
    setp.ge.u32 %p3, %i, %n;
    @%p3 bra DONE;
    and.b32 %stage, %i, 1;
    shr.u32 %phase, %i, 1;
    mul.wide.u32 %rd8, %stage, 8;
    add.u64 %rd9, %rd1, %rd8;
    ld.local.b64 %rd10, [%rd9];
    ld.local.b64 %rd11, [%rd9+16];
    cvta.to.shared.u64 %rd12, %rd10;
    cvta.to.shared.u64 %rd13, %rd11;
    cvt.u32.u64 %r3, %rd12;
    cvt.u32.u64 %r4, %rd13;
    and.b32 %r5, %phase, 1;
    xor.b32 %r6, %r5, 1;
    mad.lo.u32 %r7, %stage, 256, %r10;
    and.b32 %r8, %t, 31;
    mad.lo.u32 %r7, %r8, 4, %r7;
    add.u32 %i, %i, 1;
    @!%p2 bra READ;
WRITE:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r6;
    @!%p4 bra WRITE;
    st.shared.b32 [%r7], %i;
    mbarrier.arrive.shared.b64 _, [%r3];
    bra TURN;
READ:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], %r5;
    @!%p4 bra READ;
    ld.shared.b32 %r9, [%r7];
    {release}
    st.global.b32 [%x], %r9;
    bra TURN;
DONE:"""
"""One warp writes two stages in turn, another reads them; arrays hold the mbarriers' addresses."""
ONE, PAIR = "", ".reqnctapercluster 2"
SYNC, ALL = "bar.sync 0;", "barrier.cluster.arrive; barrier.cluster.wait;"
RELEASE = "mbarrier.arrive.shared.b64 _, [%r4];"
VECTORS = "st.local.v2.b64 [%rd1], {%rd3, %rd6}; st.local.v2.b64 [%rd1+16], {%rd5, %rd7};"
SINGLE = " ".join(f"st.local.b64 [%rd1+{8 * i}], %rd{reg};" for i, reg in enumerate((3, 6, 5, 7)))
HALVES = (
    "cvt.u32.u64 %r11, %rd3; shr.u64 %rd14, %rd3, 32; cvt.u32.u64 %r12, %rd14;"
    "st.local.v2.b32 [%rd1], {%r11, %r12};" + SINGLE.partition(";")[2]
)
"""The first address in two words."""
OVER = "st.local.b64 [%rd1+4], %x;" + SINGLE + "st.local.b32 [%rd1], %r1;"
"""And each over what was there: a word over the lower half of an address that has it already."""
RIGHT = {
    "as vectors": (ONE, SYNC, VECTORS, RELEASE),
    "each by itself": (ONE, SYNC, SINGLE, RELEASE),
    "in halves": (ONE, SYNC, HALVES, RELEASE),
    "over other numbers": (ONE, SYNC, OVER, RELEASE),
    "the threads of two CTAs": (PAIR, ALL, VECTORS, RELEASE),
}
ASTRAY = "cvt.u64.u32 %rd15, %r10; cvta.shared.u64 %rd6, %rd15;" + VECTORS
"""The second address is that of the words."""
WRONG = {
    "an address that is no mbarrier's": (ONE, SYNC, ASTRAY, RELEASE),
    "two CTAs, and an address that is no mbarrier's": (PAIR, ALL, ASTRAY, RELEASE),
    "in halves, and half of it wrong": (
        ONE, SYNC, HALVES.replace("{%r11", "{%r10"), RELEASE),
    "no stage is given back": (ONE, SYNC, VECTORS, ""),
}  # fmt: skip


def rules(cluster: str, sync: str, keep: str, release: str) -> set[str]:
    body = BODY.format(sync=sync, keep=keep, release=release)
    text = kernel(body, ".param .u64 x, .param .u32 n", f".reqntid 64 {cluster}")
    return {finding.rule for finding in said(text)}


@each("case", RIGHT)
def test_what_each_thread_keeps_is_known(case: str) -> None:
    assert rules(*RIGHT[case]) == set()


@each("case", WRONG)
def test_a_wrong_address_is_seen_through_the_array(case: str) -> None:
    rule = "mbarrier/deadlock" if WRONG[case][3] == "" else "mbarrier/uninitialized"
    assert rule in rules(*WRONG[case])
