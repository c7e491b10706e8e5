"""Small kernels of one protocol each, right as they stand."""

from __future__ import annotations

import numpy as np

from tests.isel.verifier.function.small_texts import (
    MINE,
    OTHER,
    SYNC,
    kernel,
    mbarriers,
    wait,
    words,
)

BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
TO_PEER = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
CANCEL = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
ACQUIRED = "try_wait.parity.acquire.cluster.shared::cta.b64"


# ---- barriers and flags --------------------------------------------------------------------------

HANDED = kernel(
    MINE.replace("%r4;", "%r8;").replace("    mov", "    shl.b32 %r8, %l, 2;\n    mov", 1)
    + """\
    mov.u32 %r7, 0;
    setp.eq.u32 %p2, %w, 0;
    @!%p2 bra CONSUMER;
    st.shared.u32 [%r5], %t;
    bar.arrive 1, 64;
    bar.sync 2, 64;
    st.shared.u32 [%r5], 7;
    bra OUT;
CONSUMER:
    bar.sync 1, 64;
    ld.shared.u32 %r7, [%r5];
    bar.arrive 2, 64;
OUT:
    st.global.u32 [%mine], %r7;
""",
    words(),
)
"""One warp hands words to the other by a named barrier, and gets them back by a second one."""

COUNTED = kernel(
    """\
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
"""
    + MINE
    + """\
    st.shared.u32 [%r5], %t;
    atom.acq_rel.cta.shared.add.u32 %r6, [flag], 1;
    setp.ne.u32 %p2, %r6, 63;
    @%p2 bra END;
    mov.u32 %r7, 0;
    mov.u32 %r8, 0;
SUM:
    shl.b32 %r9, %r8, 2;
    add.u32 %r10, %r3, %r9;
    ld.shared.u32 %r11, [%r10];
    add.u32 %r7, %r7, %r11;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p3, %r8, 64;
    @%p3 bra SUM;
    st.global.u32 [%out], %r7;
""",
    words() + ".shared .align 4 .b32 flag;\n",
)
"""The thread that comes last to a counter adds up what all have stored."""

# ---- mbarriers -----------------------------------------------------------------------------------

MADE_BAR = "    @%p1 mbarrier.init.shared.b64 [bar], 64;\n    bar.sync 0;\n"
TEST_WAIT = "test_wait.shared.b64"
TESTED = kernel(
    f"{MADE_BAR}{MINE}    st.shared.u32 [%r5], %t;\n    mbarrier.arrive.shared.b64 %s, [bar];\n"
    f"{wait('W', 'bar', '%s', TEST_WAIT)}{OTHER}",
    words() + mbarriers("bar"),
)
"""All threads arrive, and test the phase by its token until it is over."""

AGAIN = """\
    bar.sync 0;
    @%p1 mbarrier.inval.shared.b64 [bar];
    @%p1 mbarrier.init.shared.b64 [bar], 64;
    bar.sync 0;
"""
REMADE = kernel(
    f"{MADE_BAR}{MINE}    mbarrier.arrive.shared.b64 %s, [bar];\n"
    f"{wait('W', 'bar', '%s', TEST_WAIT)}{AGAIN}    st.shared.u32 [%r5], %t;\n"
    "    mbarrier.arrive.shared.b64 %s, [bar];\n"
    f"{wait('V', 'bar', '%s', TEST_WAIT)}{OTHER}",
    words() + mbarriers("bar"),
)
"""An mbarrier is invalidated behind its first phase, and initialised again."""

EARLY = kernel(
    f"""\
{MADE_BAR}{MINE}    st.shared.u32 [%r5], %t;
    setp.eq.u32 %p2, %t, 63;
    @!%p2 mbarrier.arrive.noComplete.shared.b64 _, [bar], 1;
    bar.sync 0;
    @%p2 mbarrier.arrive.shared.b64 _, [bar];
{wait("W", "bar", "0")}{OTHER}""",
    words() + mbarriers("bar"),
)
"""All but the last arrival do not complete the phase."""

RING = kernel(
    """\
    @!%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [full+8], 1;
    mbarrier.init.shared.b64 [full+16], 1;
    fence.mbarrier_init.release.cluster;
MADE:
    bar.sync 0;
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
    mov.u32 %r12, 0;
    mov.u32 %r20, 0;
    mov.u32 %r2, full;
NEXT:
    shl.b32 %r13, %r11, 3;
    add.u32 %r14, %r2, %r13;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r14], 256;
    @%p1 $bulk [words], [%x], 256, [%r14];
    add.u64 %x, %x, 256;
FULL:
    mbarrier.try_wait.parity.shared.b64 %p5, [%r14], %r12;
    @!%p5 bra FULL;
""".replace("$bulk", BULK)
    + MINE
    + """\
    ld.shared.u32 %r21, [%r5];
    add.u32 %r20, %r20, %r21;
    bar.sync 0;
    add.u32 %r10, %r10, 1;
    add.u32 %r11, %r11, 1;
    setp.eq.u32 %p6, %r11, 3;
    @%p6 xor.b32 %r12, %r12, 1;
    @%p6 mov.u32 %r11, 0;
    setp.lt.u32 %p7, %r10, %n;
    @%p7 bra NEXT;
    st.global.u32 [%mine], %r20;
""",
    words() + ".shared .align 8 .b64 full[3];\n",
)
"""Copies wait for one mbarrier of three after the other."""

# ---- copies --------------------------------------------------------------------------------------

STORED = kernel(
    f"""\
{MINE}    st.shared.u32 [%r5], %t;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p1 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [words], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
""",
    words() + words("more"),
)
"""One thread copies what all have stored to global memory, and waits until it has been read."""

COPIED = kernel(
    f"""\
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 {BULK} [words], [%x], 256, [bar];
{MINE}{wait("W", "bar", "0")}{OTHER}""",
    words(size=512) + mbarriers("bar"),
)

MATRIX = kernel(
    f"""\
{MINE}    st.shared.u32 [%r5], %t;
    bar.sync 0;
    and.b32 %r6, %l, 7;
    shl.b32 %r6, %r6, 4;
    add.u32 %r6, %r3, %r6;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r7}}, [%r6];
    st.global.u32 [%mine], %r7;
""",
    words(),
)
"""Eight rows of 16 bytes, of which each lane gets a word."""

LOOKED_UP = kernel(
    f"""\
{MINE}    setp.lt.u32 %p2, %t, 4;
    @%p2 st.shared.u32 [%r5], %t;
    bar.sync 0;
    @!%p2 bra END;
    cvt.u64.u32 %rd1, %r4;
    add.u64 %rd2, %x, %rd1;
    ld.global.u32 %r6, [%rd2];
    shl.b32 %r6, %r6, 2;
    add.u32 %r6, %r3, %r6;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%mine], %r7;
""",
    words(size=16),
)
"""An index from memory into an array of four words: how large it is, nobody says."""

ASYNC = kernel(
    f"""\
{MINE}    shl.b32 %r6, %t, 4;
    add.u32 %r6, %r3, %r6;
    cvt.u64.u32 %rd1, %r4;
    shl.b64 %rd1, %rd1, 2;
    add.u64 %rd2, %x, %rd1;
    setp.lt.u32 %p2, %t, 16;
    @%p2 cp.async.cg.shared.global [%r6], [%rd2], 16;
    cp.async.wait_all;
    bar.sync 0;
{OTHER}""",
    words() + words("more"),
)
"""Sixteen threads copy 16 bytes each."""

ZEROED = kernel(
    f"""\
{MINE}    @%p1 st.bulk.weak.shared::cta [%r3], %rd3, 0;
    bar.sync 0;
{OTHER}""".replace("    @%p1", "    mov.u64 %rd3, 256;\n    @%p1", 1),
    words(),
    target="sm_100a",
)
"""One thread stores zeros for all."""

CANCELLED = kernel(
    f"""\
    .reg .b128 %q;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    @%p1 {CANCEL} [words], [bar];
{wait("W", "bar", "0")}    ld.shared.b128 %q, [words];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %q;
    selp.u32 %r1, 1, 0, %p4;
    st.global.u32 [%mine], %r1;
""",
    words() + mbarriers("bar"),
    target="sm_100a",
)
"""There is no other cluster whose launch could be cancelled."""

# ---- clusters ------------------------------------------------------------------------------------

AT_PEER = """\
    mov.u32 %r20, %cluster_ctarank;
    xor.b32 %r21, %r20, 1;
    add.u32 %r24, %r1, 1000;
"""
READ_PEER = """\
    mapa.shared::cluster.u32 %r25, %r5, %r21;
    ld.shared::cluster.u32 %r7, [%r25];
    st.global.u32 [%mine], %r7;
"""
OF_PEER = np.concatenate([np.arange(64) + 64, np.arange(64)]) + 1000
PEER = kernel(
    f"{AT_PEER}{MINE}    @%p1 mbarrier.init.shared.b64 [bar], 1;\n    st.shared.u32 [%r5], %r24;\n"
    f"{SYNC}{READ_PEER}{SYNC}",
    words() + mbarriers("bar"),
    ctas=2,
)
"""Each CTA reads what the other has stored; the mbarrier is its own."""

FENCED = PEER.replace(
    f"%r24;\n{SYNC}",
    "%r24;\n    fence.acq_rel.cluster;\n    barrier.cluster.arrive.relaxed;\n"
    "    barrier.cluster.wait;\n    fence.acq_rel.cluster;\n",
)
"""As before, by fences around a relaxed barrier."""

RELAXED_INIT = kernel(
    f"""\
{AT_PEER}{MINE}    @%p1 mbarrier.init.shared.b64 [bar], 64;
    @%p1 fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    mov.u32 %r26, bar;
    mapa.shared::cluster.u32 %r27, %r26, %r21;
    mapa.shared::cluster.u32 %r25, %r5, %r21;
    st.shared::cluster.u32 [%r25], %r24;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r27];
{wait("W", "bar", "0", ACQUIRED)}    ld.shared.u32 %r7, [%r5];
    st.global.u32 [%mine], %r7;
{SYNC}""",
    words() + mbarriers("bar"),
    ctas=2,
)
"""The initialisation is known behind its own fence and a relaxed barrier, as CUTLASS has it."""

SENT = kernel(
    f"""\
{AT_PEER}{MINE}    @%p1 mbarrier.init.shared.b64 [bar], 1;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 fence.mbarrier_init.release.cluster;
    st.shared.u32 [%r5], %r24;
    fence.proxy.async.shared::cta;
{SYNC}    mov.u32 %r28, more;
    mapa.shared::cluster.u32 %r25, %r28, %r21;
    mov.u32 %r26, bar;
    mapa.shared::cluster.u32 %r27, %r26, %r21;
    @%p1 {TO_PEER} [%r25], [words], 256, [%r27];
{wait("W", "bar", "0", ACQUIRED)}    add.u32 %r29, %r28, %r4;
    ld.shared.u32 %r7, [%r29];
    st.global.u32 [%mine], %r7;
{SYNC}""",
    words() + words("more") + mbarriers("bar"),
    ctas=2,
)
"""Each CTA copies its words to the other one."""

# ---- all of them ---------------------------------------------------------------------------------

ZEROS = np.zeros(64, np.int32)
SUMS = np.arange(256).reshape(4, 64).sum(0)

REDUCE = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"
SUMMED = kernel(
    f"{AT_PEER}{MINE}    @%p1 mbarrier.init.shared.b64 [bar], 1;\n    st.shared.u32 [%r5], %r24;\n"
    "    mov.u32 %r8, sums;\n    add.u32 %r9, %r8, %r4;\n    st.shared.u32 [%r9], 0;\n"
    f"    fence.proxy.async;\n{SYNC}"
    "    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;\n"
    "    setp.ne.u32 %p3, %l, 0;\n    @%p3 bra LOOK;\n"
    "    mapa.shared::cluster.u32 %r10, %r8, %r21;\n    mov.u32 %r11, bar;\n"
    "    mapa.shared::cluster.u32 %r12, %r11, %r21;\n"
    f"    {REDUCE} [%r10], [%r3], 256, [%r12];\n"
    + wait("LOOK", "bar", "0", ACQUIRED)
    + f"    ld.shared.u32 %r7, [%r9];\n    st.global.u32 [%mine], %r7;\n{SYNC}",
    words() + words("sums") + mbarriers("bar"),
    ctas=2,
)
"""Two threads of each CTA add its words to sums in the other one, in any order."""

EVEN = kernel(
    f"{AT_PEER}{MINE}    @%p1 mbarrier.init.shared.b64 [bar], 128;\n"
    f"{SYNC}    st.shared.u32 [%r5], %r24;\n"
    "    mov.u32 %r11, bar;\n    and.b32 %r11, %r11, 0xFEFFFFFF;\n"
    "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\n"
    "    mov.u32 %r7, 0;\n    setp.ne.u32 %p3, %r20, 0;\n    @%p3 bra OUT;\n"
    + wait("LOOK", "bar", "0", ACQUIRED)
    + "    mapa.shared::cluster.u32 %r25, %r5, %r21;\n    ld.shared::cluster.u32 %r7, [%r25];\n"
    f"OUT:\n    st.global.u32 [%mine], %r7;\n{SYNC}",
    words() + mbarriers("bar"),
    target="sm_100a",
    ctas=2,
)
"""All threads of a pair arrive at the mbarrier of its even CTA: the bit of the peer is cleared."""
