"""Kernels in PTX with wgmma and rings, which a producer fills: all of them right."""

from __future__ import annotations

from tests.isel.verifier.function.wgmma_text import OUT, ZEROS, kernel

INIT = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 7;
    ld.param.u32 %r20, [steps];
    mov.u32 %r21, 0;
    mov.u32 %r22, 0;
    mov.u32 %r23, 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    $init [full], 1;
    $init [full+8], 1;
    $init [full+16], 1;
    $init [full+24], 1;
    $init [empty], $consumers;
    $init [empty+8], $consumers;
    $init [empty+16], $consumers;
    $init [empty+24], $consumers;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra CONSUMER;
"""

PRODUCER = """
    $fewer 24;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra END;
    mov.b64 %rd10, map_a;
    cvta.param.u64 %rd11, %rd10;
    mov.b64 %rd12, map_b;
    cvta.param.u64 %rd13, %rd12;
PRODUCE:
    shl.b32 %r24, %r22, 3;
    mov.u32 %r25, full;
    add.s32 %r25, %r25, %r24;
    mov.u32 %r26, empty;
    add.s32 %r26, %r26, %r24;
    xor.b32 %r27, %r23, 1;
FREE:
    $try %p4, [%r26], %r27;
    @!%p4 bra FREE;
    $expect [%r25], 9216;
    shl.b32 %r28, %r22, 13;
    mov.u32 %r29, a_ring;
    add.s32 %r29, %r29, %r28;
    $copy [%r29], [%rd11, {0, 0}], [%r25];
    shl.b32 %r28, %r22, 10;
    mov.u32 %r29, b_ring;
    add.s32 %r29, %r29, %r28;
    $copy [%r29], [%rd13, {0, 0}], [%r25];
    add.u32 %r22, %r22, 1;
    setp.ne.u32 %p5, %r22, 4;
    @%p5 bra SAME;
    mov.u32 %r22, 0;
    xor.b32 %r23, %r23, 1;
SAME:
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p6, %r21, %r20;
    @%p6 bra PRODUCE;
    bra END;
CONSUMER:
    $more 240;
"""

STAGE = """
    shl.b32 %r24, %r22, 3;
    mov.u32 %r25, full;
    add.s32 %r25, %r25, %r24;
FULL:
    $try %p7, [%r25], %r23;
    @!%p7 bra FULL;
    mov.u32 %r40, a_ring;
    shl.b32 %r41, %r22, 13;
    add.s32 %r40, %r40, %r41;
    and.b32 %r40, %r40, 262143;
    shr.u32 %r40, %r40, 4;
    cvt.u64.u32 %rd1, %r40;
    or.b64 %rd1, %rd1, 4611686293305294848;
    mov.u32 %r42, b_ring;
    shl.b32 %r43, %r22, 10;
    add.s32 %r42, %r42, %r43;
    and.b32 %r42, %r42, 262143;
    shr.u32 %r42, %r42, 4;
    cvt.u64.u32 %rd2, %r42;
    or.b64 %rd2, %rd2, 4611686293305294848;
    setp.ne.u32 %p8, %r21, 0;
"""
"""A consumer waits for stage %r22, and describes its matrices."""

NEXT = """
    add.u32 %r22, %r22, 1;
    setp.ne.u32 %p10, %r22, 4;
    @%p10 bra KEPT;
    mov.u32 %r22, 0;
    xor.b32 %r23, %r23, 1;
KEPT:
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p11, %r21, %r20;
    @%p11 bra CONSUME;
"""

END = """
END:
    ret;
"""


def _with(consumers: int, text: str) -> str:
    return text.replace("$consumers", str(consumers))


RING = kernel(
    _with(256, INIT)
    + PRODUCER
    + ZEROS
    + "\nCONSUME:\n"
    + STAGE
    + """
    $fence;
    $m0, %rd1, %rd2, %p8, 1, 1, 0, 0;
    $commit;
    $wait 0;
    mov.u32 %r26, empty;
    add.s32 %r26, %r26, %r24;
    $arrive [%r26];
"""
    + NEXT
    + OUT
    + END,
    ".reqntid 384\n.minnctapersm 1",
)
"""One producer and two consumer warpgroups; each stage is given back behind the wait for it."""

RING_ONE_LEFT = kernel(
    _with(256, INIT)
    + PRODUCER
    + ZEROS
    + "\nCONSUME:\n"
    + STAGE
    + """
    $fence;
    $m0, %rd1, %rd2, %p8, 1, 1, 0, 0;
    $commit;
    $wait 1;
    @!%p8 bra FIRST;
    add.u32 %r26, %r22, 3;
    and.b32 %r26, %r26, 3;
    shl.b32 %r26, %r26, 3;
    mov.u32 %r44, empty;
    add.s32 %r26, %r26, %r44;
    $arrive [%r26];
FIRST:
"""
    + NEXT
    + """
    $wait 0;
"""
    + OUT
    + END,
    ".reqntid 384\n.minnctapersm 1",
)
"""One group stays in flight: each turn gives back the stage of the turn before."""

RING_PEELED = kernel(
    _with(256, INIT)
    + PRODUCER
    + STAGE.replace("FULL", "FULL0")
    + """
    $fence;
    $m0, %rd1, %rd2, $new;
    $commit;
    mov.u32 %r45, empty;
    add.u32 %r22, %r22, 1;
    add.u32 %r21, %r21, 1;
    setp.ge.u32 %p12, %r21, %r20;
    @%p12 bra LAST;
CONSUME:
"""
    + STAGE
    + """
    $fence;
    $m0, %rd1, %rd2, $rest;
    $commit;
    $wait 1;
    $arrive [%r45];
    mov.u32 %r45, empty;
    add.s32 %r45, %r45, %r24;
"""
    + NEXT
    + """
LAST:
    $wait 0;
    $arrive [%r45];
"""
    + OUT
    + END,
    ".reqntid 384\n.minnctapersm 1",
)
"""The first turn stands before the loop; the last stage is given back behind it."""

PING_PONG = kernel(
    _with(128, INIT)
    + PRODUCER.replace("PRODUCE:", "shl.b32 %r20, %r20, 1;\nPRODUCE:", 1)
    + """
    setp.ne.u32 %p13, %r2, 1;
    @%p13 bra THEIRS;
"""
    + ZEROS
    + "\nCONSUME:\n"
    + STAGE
    + """
    $fence;
    $m0, %rd1, %rd2, $rest;
    $commit;
    $wait 0;
    mov.u32 %r26, empty;
    add.s32 %r26, %r26, %r24;
    $arrive [%r26];
"""
    + NEXT
    + """
    bar.arrive 3, 256;
"""
    + OUT
    + """
THEIRS:
    and.b32 %r22, %r20, 3;
    shr.u32 %r23, %r20, 2;
    and.b32 %r23, %r23, 1;
    bar.sync 3, 256;
"""
    + ZEROS
    + "\nCONSUME2:\n"
    + STAGE.replace("FULL", "FULL2")
    + """
    $fence;
    $m0, %rd1, %rd2, $rest;
    $commit;
    $wait 0;
    mov.u32 %r26, empty;
    add.s32 %r26, %r26, %r24;
    $arrive [%r26];
"""
    + NEXT.replace("KEPT", "KEPT2").replace("CONSUME", "CONSUME2")
    + OUT
    + END,
    ".reqntid 384\n.minnctapersm 1",
)
"""Two consumers take turns at the tensor cores, a tile each: the second one multiplies while the
first one stores its sums."""
