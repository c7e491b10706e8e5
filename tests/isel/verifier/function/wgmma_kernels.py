"""Kernels with wgmma in PTX for tests of the function level: all of them are right.

What makes them right is the PTX ISA: wgmma.fence before the first multiply and after other accesses
of its registers, accumulators and A left alone until wgmma.wait_group says that their group is
complete, stages given back behind such a wait, fence.proxy.async behind generic stores.  Forms are
those of libraries: one group left in flight, producer and consumers with setmaxnreg, ping-pong,
attention with the second product's A in registers.

`$name` is a long mnemonic; `m0` and `m1` have accumulators of their own.
"""

from __future__ import annotations

from string import Template

_SUMS = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"

MNEMONICS = {
    "m0": f"{_SUMS} {{%f0, %f1, %f2, %f3}}",
    "m1": f"{_SUMS} {{%f4, %f5, %f6, %f7}}",
    "r0": f"{_SUMS} {{%f0, %f1, %f2, %f3}}, {{%r30, %r31, %r32, %r33}}",
    "m16": "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
    "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}",
    "t0": "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}",
    "rest": "1, 1, 1, 0, 0",
    "new": "0, 1, 1, 0, 0",
    "fence": "wgmma.fence.sync.aligned",
    "commit": "wgmma.commit_group.sync.aligned",
    "wait": "wgmma.wait_group.sync.aligned",
    "proxy": "fence.proxy.async.shared::cta",
    "init": "mbarrier.init.shared::cta.b64",
    "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _,",
    "arrive": "mbarrier.arrive.shared::cta.b64 _,",
    "try": "mbarrier.try_wait.parity.shared::cta.b64",
    "copy": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "more": "setmaxnreg.inc.sync.aligned.u32",
    "fewer": "setmaxnreg.dec.sync.aligned.u32",
}

HEAD = """\
.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 a_ring[32768];
.shared .align 1024 .b8 b_ring[8192];
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.visible .entry k(
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128],
    .param .u64 out, .param .u32 steps)
{shape}
{{
    .reg .pred %p<20>;
    .reg .b32 %r<60>;
    .reg .b64 %rd<40>;
    .reg .f32 %f<20>;
"""

DESCRIPTORS = """
    mov.u32 %r10, a_ring;
    and.b32 %r10, %r10, 262143;
    shr.u32 %r10, %r10, 4;
    cvt.u64.u32 %rd1, %r10;
    or.b64 %rd1, %rd1, 4611686293305294848;
    mov.u32 %r11, b_ring;
    and.b32 %r11, %r11, 262143;
    shr.u32 %r11, %r11, 4;
    cvt.u64.u32 %rd2, %r11;
    or.b64 %rd2, %rd2, 4611686293305294848;
"""
"""%rd1 and %rd2 describe the beginnings of both rings, with 128-byte swizzling."""

ZEROS = """
    mov.f32 %f0, 0f00000000;
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000;
    mov.f32 %f3, 0f00000000;
"""

OUT = """
    ld.param.u64 %rd30, [out];
    cvta.to.global.u64 %rd30, %rd30;
    st.global.v4.f32 [%rd30], {%f0, %f1, %f2, %f3};
    ret;
"""


def kernel(body: str, shape: str = ".reqntid 128") -> str:
    """A module of one kernel @k."""
    return Template(HEAD.format(shape=shape) + body.strip("\n") + "\n}\n").substitute(MNEMONICS)


# ---- one warpgroup ---------------------------------------------------------------------------

BEGIN = """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    $init [full], 1;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
"""

LOAD = """
    @%p1 bra LOADED;
    mov.b64 %rd10, map_a;
    cvta.param.u64 %rd11, %rd10;
    mov.b64 %rd12, map_b;
    cvta.param.u64 %rd13, %rd12;
    $expect [full], 9216;
    $copy [a_ring], [%rd11, {0, 0}], [full];
    $copy [b_ring], [%rd13, {0, 0}], [full];
LOADED:
    $try %p2, [full], 0;
    @!%p2 bra LOADED;
"""

FILL = """
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 6;
    mov.u32 %r3, a_ring;
    add.s32 %r3, %r3, %r2;
    st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+16], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+32], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+48], {%r1, %r1, %r1, %r1};
    mov.u32 %r4, b_ring;
    add.s32 %r4, %r4, %r2;
    st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+16], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+32], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+48], {%r1, %r1, %r1, %r1};
    $proxy;
    bar.sync 0;
"""
"""Threads write a matrix of 64 rows to the beginning of each ring."""

TILE = kernel(
    BEGIN
    + LOAD
    + DESCRIPTORS
    + """
    $fence;
    $m0, %rd1, %rd2, $new;
    add.s64 %rd3, %rd1, 2;
    add.s64 %rd4, %rd2, 2;
    $m0, %rd3, %rd4, $rest;
    $commit;
    $wait 0;
"""
    + OUT
)
"""Two multiplies of one shape on one accumulator, in one group."""

STORED = kernel(
    FILL
    + DESCRIPTORS
    + ZEROS
    + """
    mov.f32 %f8, 0f00000000;
    $fence;
    $m0, %rd1, %rd2, $rest;
    $commit;
    $wait 0;
    bar.sync 0;
    st.shared.f32 [%r3], %f8;
"""
    + OUT
)
"""Threads write the matrices, and overwrite one of them when the products are there."""

TURNS = kernel(
    FILL
    + DESCRIPTORS
    + ZEROS
    + """
    ld.param.u32 %r20, [steps];
    mov.u32 %r21, 0;
TURN:
    $fence;
    $m0, %rd1, %rd2, $rest;
    $m0, %rd2, %rd1, $rest;
    $commit;
    $wait 0;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p3, %r21, %r20;
    @%p3 bra TURN;
"""
    + OUT
)
"""Each turn waits for its own group."""

ONE_LEFT = TURNS.replace(
    "    wgmma.wait_group.sync.aligned 0;\n    add", "    wgmma.wait_group.sync.aligned 1;\n    add"
).replace("    @%p3 bra TURN;\n", "    @%p3 bra TURN;\n    wgmma.wait_group.sync.aligned 0;\n")
"""Each turn leaves its own group in flight; the last one is waited for behind the loop."""

SCALED = TURNS.replace("    add.u32 %r21", "    mul.f32 %f0, %f0, 0f40000000;\n    add.u32 %r21")
"""Each turn changes a sum behind the wait, and puts a fence before the next multiply."""

TWO_SUMS = kernel(
    FILL
    + DESCRIPTORS
    + """
    $fence;
    $m0, %rd1, %rd2, $new;
    $commit;
    $fence;
    $m1, %rd1, %rd2, $new;
    $commit;
    $wait 1;
    add.f32 %f8, %f0, %f1;
    $wait 0;
    add.f32 %f0, %f8, %f4;
"""
    + OUT
)
"""The first accumulator is read while the second product still runs."""

REGISTERS = kernel(
    FILL
    + DESCRIPTORS
    + """
    mov.b32 %r30, 1006648320;
    mov.b32 %r31, %r30;
    mov.b32 %r32, %r30;
    mov.b32 %r33, %r30;
    $fence;
    $r0, %rd2, 0, 1, 1, 0;
    $commit;
    $wait 0;
    mov.b32 %r30, 0;
    $fence;
    $r0, %rd2, 1, 1, 1, 0;
    $commit;
    $wait 0;
"""
    + OUT
)
"""A is in registers, which change behind the wait and before the fence."""

ATTENTION = kernel(
    FILL
    + DESCRIPTORS
    + """
    ld.param.u32 %r20, [steps];
    mov.u32 %r21, 0;
STEP:
    $fence;
    $m1, %rd1, %rd2, $new;
    $commit;
    $wait 0;
    cvt.rn.f16x2.f32 %r30, %f5, %f4;
    cvt.rn.f16x2.f32 %r31, %f7, %f6;
    mov.b32 %r32, %r30;
    mov.b32 %r33, %r31;
    setp.ne.u32 %p4, %r21, 0;
    $fence;
    $r0, %rd2, %p4, 1, 1, 0;
    $commit;
    $wait 0;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p3, %r21, %r20;
    @%p3 bra STEP;
"""
    + OUT
)
"""Scores become the A of the second product."""

OVERLAPPED = kernel(
    FILL
    + DESCRIPTORS
    + """
    ld.param.u32 %r20, [steps];
    mov.u32 %r21, 0;
    mov.f32 %f0, 0f00000000;
    mov.f32 %f1, %f0;
    mov.f32 %f2, %f0;
    mov.f32 %f3, %f0;
    $fence;
    $m1, %rd1, %rd2, $new;
    $commit;
    $wait 0;
    cvt.rn.f16x2.f32 %r30, %f5, %f4;
    cvt.rn.f16x2.f32 %r31, %f7, %f6;
    mov.b32 %r32, %r30;
    mov.b32 %r33, %r31;
STEP:
    $fence;
    $m1, %rd1, %rd2, $new;
    $commit;
    $r0, %rd2, 1, 1, 1, 0;
    $commit;
    $wait 1;
    max.f32 %f8, %f4, %f5;
    $wait 0;
    cvt.rn.f16x2.f32 %r30, %f5, %f4;
    cvt.rn.f16x2.f32 %r31, %f7, %f6;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p3, %r21, %r20;
    @%p3 bra STEP;
    $fence;
    $r0, %rd2, 1, 1, 1, 0;
    $commit;
    $wait 0;
"""
    + OUT
)
"""The scores of the next step are worked on while this step's second product runs."""

# ---- a producer and consumers ----------------------------------------------------------------

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

# ---- conditions ------------------------------------------------------------------------------

THREAD = "    mov.u32 %r1, %tid.x;\n"
DATA = """\
    ld.param.u64 %rd9, [out];
    cvta.to.global.u64 %rd9, %rd9;
    mul.wide.u32 %rd8, %r1, 4;
    add.s64 %rd8, %rd8, %rd9;
    ld.global.u32 %r40, [%rd8];
    setp.eq.u32 %p9, %r40, 0;
"""
"""%p9 is data of each thread."""


def waiting(condition: str, text: str = TURNS) -> str:
    """`TURNS` with one more wait, behind a condition %p10."""
    wait = "    wgmma.wait_group.sync.aligned 0;\n"
    more = f"{condition}    @!%p10 bra ON;\n{wait}ON:\n{wait}"
    return text.replace("TURN:\n", THREAD + "TURN:\n").replace(wait, more, 1)


ON_ALL = waiting(DATA + "    bar.red.or.pred %p10, 0, %p9;\n")
"""A wait under a condition that the whole CTA decides, on data of each thread."""

ON_WORD = waiting(DATA.replace("%rd8, %r1, 4", "%rd8, 1, 4") + "    mov.pred %p10, %p9;\n")
"""Under a word that all threads read."""

ON_GROUP = (
    waiting("    shr.u32 %r40, %r1, 7;\n    setp.eq.u32 %p10, %r40, 1;\n")
    .replace(".reqntid 128", ".reqntid 256")
    .replace("b_ring[8192]", "b_ring[16384]")  # 64 bytes for each thread
)
"""Under the number of the warpgroup."""

ON_TABLE = waiting(
    "    mov.u32 %r40, empty;\n    add.u32 %r40, %r40, %r42;\n    ld.shared.u8 %r41, [%r40+4];\n"
    "    setp.eq.u32 %p10, %r41, 1;\n"
).replace("TURN:\n", """\
    shr.u32 %r42, %r1, 5;
    mov.u32 %r44, empty;
    setp.ne.u32 %p11, %r1, 0;
    @%p11 bra WRITTEN;
    mov.u32 %r45, 0;
    mov.u32 %r46, 16843009;
    st.shared.v2.b32 [%r44], {%r45, %r46};
WRITTEN:
    fence.proxy.async.shared::cta;
    bar.sync 0;
TURN:
""", 1)  # fmt: skip
"""Under a table in shared memory of what each warp does, which says the same of all four."""

CLEAN = {
    "on all": ON_ALL,
    "on a word": ON_WORD,
    "on the warpgroup": ON_GROUP,
    "on a table": ON_TABLE,
    "tile": TILE,
    "stored": STORED,
    "turns": TURNS,
    "one left": ONE_LEFT,
    "scaled": SCALED,
    "two sums": TWO_SUMS,
    "registers": REGISTERS,
    "attention": ATTENTION,
    "overlapped": OVERLAPPED,
    "ring": RING,
    "ring, one left": RING_ONE_LEFT,
    "ring, peeled": RING_PEELED,
    "ping-pong": PING_PONG,
}
