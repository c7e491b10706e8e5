"""Kernels in PTX for tests of the function level: all of them are right.

Each kernel is what a compiler or a person writes, in its own way of telling roles apart, waiting,
laying out shared memory and handing the accumulator on.  What makes them right is the PTX ISA:
issue granularity (9.7.16.5), the canonical synchronisation patterns (9.7.16.6.4), allocation
(9.7.16.7) and the access restrictions of tcgen05.ld (9.7.16.8.1).

Long mnemonics stand as `$name`; `kernel` fills them in and puts head and tail around the body.
A mistake is made by changing one line: the repaired twin is the kernel itself.
"""

from __future__ import annotations

from string import Template

MNEMONICS = {
    "alloc": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
    "dealloc": "tcgen05.dealloc.cta_group::1.sync.aligned.b32",
    "relinquish": "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
    "before": "tcgen05.fence::before_thread_sync",
    "after": "tcgen05.fence::after_thread_sync",
    "mma": "tcgen05.mma.cta_group::1.kind::f16",
    "commit": "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
    "load": "tcgen05.ld.sync.aligned.32x32b.x2.b32",
    "store": "tcgen05.st.sync.aligned.32x32b.x2.b32",
    "loaded": "tcgen05.wait::ld.sync.aligned",
    "stored": "tcgen05.wait::st.sync.aligned",
    "init": "mbarrier.init.shared::cta.b64",
    "initialised": "fence.mbarrier_init.release.cluster",
    "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _,",
    "arrive": "mbarrier.arrive.shared::cta.b64 _,",
    "try": "mbarrier.try_wait.parity.shared::cta.b64",
    "test": "mbarrier.test_wait.parity.shared::cta.b64",
    "copy": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "idesc": "134742032",
}

VARIABLES = """\
.shared .align 1024 .b8 a_tile[16384];
.shared .align 1024 .b8 b_tile[16384];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 8 .b64 back;
.shared .align 4 .b32 slot;
.shared .align 4 .b32 slot2;
"""

RING = """\
.shared .align 1024 .b8 a_ring[65536];
.shared .align 1024 .b8 b_ring[65536];
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.shared .align 8 .b64 done;
.shared .align 4 .b32 slot;
"""

HEAD = """\
.version 9.0
.target sm_100a
.address_size 64
{variables}
.visible .entry k(
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128],
    .param .u64 out, .param .u32 steps, .param .u64 desc_a, .param .u64 desc_b)
{shape}
{{
    .reg .pred %p<40>;
    .reg .b16 %rs<8>;
    .reg .b32 %r<160>;
    .reg .b64 %rd<80>;
"""


def kernel(body: str, shape: str = ".reqntid 128", variables: str = VARIABLES) -> str:
    """A module of one kernel @k."""
    head = HEAD.format(variables=variables, shape=shape)
    return Template(head + body.strip("\n") + "\n}\n").substitute(MNEMONICS)


# ---- one tile, four warps --------------------------------------------------------------------

TILE = kernel("""
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra ALLOCATED;
    $alloc [slot], 128;
    $relinquish;
ALLOCATED:
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra READY;
    $init [full], 1;
    $init [done], 1;
    $initialised;
READY:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    @%p2 bra WAIT;
    mov.b64 %rd1, map_a;
    cvta.param.u64 %rd2, %rd1;
    mov.b64 %rd3, map_b;
    cvta.param.u64 %rd4, %rd3;
    $expect [full], 32768;
    $copy [a_tile], [%rd2, {0, 0}], [full];
    $copy [b_tile], [%rd4, {0, 0}], [full];
FULL:
    $try %p3, [full], 0;
    @!%p3 bra FULL;
    $after;
    mov.u32 %r10, a_tile;
    and.b32 %r11, %r10, 262143;
    shr.u32 %r12, %r11, 4;
    cvt.u64.u32 %rd5, %r12;
    or.b64 %rd6, %rd5, 4611756662049538048;
    mov.u32 %r13, b_tile;
    and.b32 %r14, %r13, 262143;
    shr.u32 %r15, %r14, 4;
    cvt.u64.u32 %rd7, %r15;
    or.b64 %rd8, %rd7, 4611756662049538048;
    $mma [%r3], %rd6, %rd8, 136314896, 0;
    add.s64 %rd9, %rd6, 2;
    add.s64 %rd10, %rd8, 2;
    $mma [%r3], %rd9, %rd10, 136314896, 1;
    $commit [done];
WAIT:
    $try %p4, [done], 0;
    @!%p4 bra WAIT;
    $after;
    shl.b32 %r20, %r2, 21;
    add.s32 %r21, %r3, %r20;
    $load {%r22, %r23}, [%r21];
    $loaded;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 8;
    add.s64 %rd13, %rd11, %rd12;
    st.global.v2.b32 [%rd13], {%r22, %r23};
    $before;
    bar.sync 0;
    @%p1 bra END;
    $dealloc %r3, 128;
END:
    ret;
""")
"""The plainest one: labels, thread 0 does all, everyone waits."""

PREDICATED = kernel("""
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    setp.eq.s32 %p2, %r1, 0;
    @%p2 $init [full], 1;
    @%p2 $init [done], 1;
    $initialised;
    @%p1 $alloc [slot], 128;
    $before;
    bar.sync 0;
    $after;
    ld.shared.u32 %r3, [slot];
    bar.sync 0;
    @%p1 $relinquish;
    mov.b64 %rd1, map_a;
    cvta.param.u64 %rd2, %rd1;
    @%p2 $expect [full], 16384;
    @%p2 $copy [a_tile], [%rd2, {0, 0}], [full];
    mov.u32 %r10, a_tile;
    bfe.u32 %r12, %r10, 4, 14;
    cvt.u64.u32 %rd5, %r12;
    or.b64 %rd6, %rd5, 4611756662049538048;
FULL:
    $try %p3, [full], 0, 10000000;
    not.pred %p4, %p3;
    @%p4 bra FULL;
    @%p2 $mma [%r3], %rd6, %rd6, $idesc, 0;
    @%p2 $commit [done];
DONE:
    $try %p5, [done], 0, 10000000;
    selp.b32 %r13, 1, 0, %p5;
    setp.eq.s32 %p6, %r13, 0;
    @%p6 bra DONE;
    $after;
    shr.u32 %r14, %r1, 5;
    and.b32 %r15, %r14, 3;
    shl.b32 %r16, %r15, 21;
    or.b32 %r17, %r3, %r16;
    $load {%r22, %r23}, [%r17];
    $loaded;
    $before;
    bar.sync 0;
    @%p1 $dealloc %r3, 128;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 8;
    add.s64 %rd13, %rd11, %rd12;
    st.global.v2.b32 [%rd13], {%r22, %r23};
    ret;
""")
"""Hardly a branch: predicates, waits as a compiler of boolean values spells them."""

SCOPED = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $$L__BB0_2;
    mov.u32 %r4, done;
    mov.u32 %r5, 1;
    mbarrier.init.shared::cta.b64 [%r4], %r5;
    fence.mbarrier_init.release.cluster;
$$L__BB0_2:
    setp.gt.u32 %p2, %r1, 31;
    @%p2 bra $$L__BB0_4;
    mov.u32 %r6, slot;
    mov.u32 %r7, 64;
    $alloc [%r6], %r7;
    $relinquish;
$$L__BB0_4:
    $before;
    barrier.sync 0;
    $after;
    ld.shared.u32 %r3, [slot];
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    @%p2 bra.uni $$L__BB0_7;
    elect.sync %r8|%p3, 0xFFFFFFFF;
    @!%p3 bra $$L__BB0_7;
    {
    .reg .pred p;
    setp.ne.b32 p, 0, 0;
    $mma [%r3], %rd1, %rd2, $idesc, p;
    }
    $commit [%r4];
$$L__BB0_7:
    mov.u32 %r9, done;
    mov.u32 %r10, 0;
    {
    .reg .pred P1;
LAB_WAIT:
    $try P1, [%r9], %r10;
    @P1 bra DONE;
    bra LAB_WAIT;
DONE:
    }
    $after;
    and.b32 %r11, %r1, 96;
    shl.b32 %r12, %r11, 16;
    add.s32 %r13, %r3, %r12;
    $load {%r22, %r23}, [%r13];
    $loaded;
    $before;
    barrier.sync 0;
    @%p2 bra $$L__BB0_9;
    $dealloc %r3, %r7;
$$L__BB0_9:
    ret;
""".replace("$commit [%r4]", "mov.u32 %r4, done;\n    $commit [%r4]")
)
"""Inline assembly in braces, with labels of its own, and counts in registers."""

# ---- one warp --------------------------------------------------------------------------------

SINGLE = kernel(
    """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [steps];
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    $init [done], 1;
READY:
    $alloc [slot], 32;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra FREE;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
    mov.u64 %rd3, %rd1;
LOOP:
    elect.sync %r6|%p3, -1;
    @!%p3 bra ISSUED;
    setp.ne.u32 %p4, %r4, 0;
    $mma [%r3], %rd3, %rd2, $idesc, %p4;
    $commit [done];
ISSUED:
    bar.warp.sync -1;
WAIT:
    $test %p5, [done], %r5;
    @!%p5 bra WAIT;
    xor.b32 %r5, %r5, 1;
    add.s64 %rd3, %rd3, 2;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p6, %r4, %r2;
    @%p6 bra LOOP;
    $after;
    $load {%r22, %r23}, [%r3];
    $loaded;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 8;
    add.s64 %rd13, %rd11, %rd12;
    st.global.v2.b32 [%rd13], {%r22, %r23};
FREE:
    bar.warp.sync -1;
    $dealloc %r3, 32;
    $relinquish;
    ret;
""",
    ".reqntid 32",
)
"""A loop of MMAs, each waited for, with a check for no step at all."""

THREAD0 = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    $alloc [slot], 64;
    $relinquish;
    @%p1 $init [full], 1;
    @%p1 $init [done], 1;
    $initialised;
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    @!%p1 bra WAIT;
    mov.b64 %rd1, map_a;
    cvta.param.u64 %rd2, %rd1;
    $expect [full], 16384;
    $copy [a_tile], [%rd2, {0, 0}], [full];
    mov.u32 %r10, a_tile;
    shr.u32 %r11, %r10, 4;
    cvt.u64.u32 %rd5, %r11;
    and.b64 %rd6, %rd5, 16383;
    or.b64 %rd7, %rd6, 4611756662049538048;
FULL:
    $try %p2, [full], 0;
    @%p2 bra GO;
    bra.uni FULL;
GO:
    $mma [%r3], %rd7, %rd7, $idesc, 0;
    $commit [done];
WAIT:
    $try %p3, [done], 0;
    @!%p3 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r3];
    $loaded;
    $before;
    bar.sync 0;
    $dealloc %r3, 64;
    ret;
""",
    ".reqntid 32",
)
"""Everything by `tid.x == 0`."""

# ---- the canonical patterns ------------------------------------------------------------------

STORE_LOAD = kernel(
    """
    mov.u32 %r1, %tid.x;
    $alloc [slot], 32;
    $relinquish;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    mov.u32 %r4, 7;
    $store [%r3], {%r1, %r4};
    $stored;
    $load {%r5, %r6}, [%r3];
    $loaded;
    $dealloc %r3, 32;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    st.global.v2.b32 [%rd3], {%r5, %r6};
    ret;
""",
    ".reqntid 32",
)
"""Pattern 2, example 1: st, wait::st, ld in one thread."""

PROLOGUE = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [full], 1;
    $init [done], 1;
    $init [back], 128;
    $initialised;
INITIALISED:
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
"""

EPILOGUE = """
    $before;
    bar.sync 0;
    @%p1 bra END;
    $dealloc %r3, 64;
END:
    ret;
"""

TWO_ISSUERS = kernel(
    PROLOGUE
    + """
    @%p2 bra SECOND;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
    $before;
    $arrive [full];
    bra JOIN;
SECOND:
    setp.ne.u32 %p3, %r1, 32;
    @%p3 bra JOIN;
TURN:
    $try %p4, [full], 0;
    @!%p4 bra TURN;
    $after;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [back];
JOIN:
    $try %p5, [done], 0;
    @!%p5 bra JOIN;
WAIT:
    $try %p6, [back], 0;
    @!%p6 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
""".replace("[back], 128", "[back], 1")
    + EPILOGUE
).replace("[back], 128", "[back], 1")
"""Pattern 3: two MMAs on one accumulator, issued by two threads, in order through an mbarrier."""

LOAD_THEN_MMA = kernel(
    PROLOGUE
    + """
    mov.u32 %r6, 0;
    $store [%r5], {%r6, %r6};
    $stored;
    $load {%r22, %r23}, [%r5];
    $loaded;
    $before;
    $arrive [back];
    @%p2 bra WAIT;
BACK:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [back], 0;
    @!%p4 bra BACK;
    $after;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r24, %r25}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 4, examples 1 and 2: ld, wait::ld, arrive, then an MMA by another thread; then its ld."""

COMPOSED = kernel(
    PROLOGUE
    + """
    @%p2 bra REST;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $before;
    $arrive [full];
REST:
    $try %p6, [full], 0;
    @!%p6 bra REST;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 4, composed: the issuer waits and tells the others through a second mbarrier."""

A_IN_TENSOR_MEMORY = kernel(
    PROLOGUE
    + """
    add.s32 %r6, %r5, 32;
    $store [%r6], {%r1, %r2};
    $stored;
    $before;
    bar.sync 0;
    $after;
    @%p2 bra WAIT;
    add.s32 %r7, %r3, 32;
    $mma [%r3], [%r7], %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    add.s32 %r24, %r22, %r23;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 4;
    add.s64 %rd13, %rd11, %rd12;
    st.global.b32 [%rd13], %r24;
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 5 too: the loaded registers are used before wait::ld, which comes before dealloc."""

# ---- roles -----------------------------------------------------------------------------------

RING_PIPELINE = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u32 %r9, [steps];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra INITIALISED;
    $init [full], 1;
    $init [full+8], 1;
    $init [full+16], 1;
    $init [full+24], 1;
    $init [empty], 1;
    $init [empty+8], 1;
    $init [empty+16], 1;
    $init [empty+24], 1;
    $init [done], 1;
    $initialised;
INITIALISED:
    setp.ne.u32 %p2, %r2, 1;
    @%p2 bra ALLOCATED;
    $alloc [slot], 128;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra PRODUCER;
    setp.eq.u32 %p4, %r2, 1;
    @%p4 bra ISSUER;
    bra EPILOGUE;
PRODUCER:
    elect.sync %r5|%p5, -1;
    @!%p5 bra END;
    setp.eq.u32 %p6, %r9, 0;
    @%p6 bra END;
    mov.b64 %rd1, map_a;
    cvta.param.u64 %rd2, %rd1;
    mov.b64 %rd3, map_b;
    cvta.param.u64 %rd4, %rd3;
    mov.u32 %r10, 0;
    mov.u32 %r11, 1;
    mov.u32 %r12, 0;
FILL:
    shl.b32 %r13, %r10, 3;
    mov.u32 %r14, empty;
    add.s32 %r15, %r14, %r13;
EMPTY:
    $try %p7, [%r15], %r11;
    @!%p7 bra EMPTY;
    mov.u32 %r16, full;
    add.s32 %r17, %r16, %r13;
    $expect [%r17], 32768;
    shl.b32 %r18, %r10, 14;
    mov.u32 %r19, a_ring;
    add.s32 %r20, %r19, %r18;
    mov.u32 %r21, b_ring;
    add.s32 %r22, %r21, %r18;
    shl.b32 %r23, %r12, 6;
    $copy [%r20], [%rd2, {%r23, 0}], [%r17];
    $copy [%r22], [%rd4, {%r23, 0}], [%r17];
    add.s32 %r10, %r10, 1;
    setp.eq.s32 %p8, %r10, 4;
    selp.b32 %r10, 0, %r10, %p8;
    selp.b32 %r24, 1, 0, %p8;
    xor.b32 %r11, %r11, %r24;
    add.s32 %r12, %r12, 1;
    setp.lt.u32 %p9, %r12, %r9;
    @%p9 bra FILL;
    bra END;
ISSUER:
    elect.sync %r5|%p5, -1;
    @!%p5 bra END;
    setp.eq.u32 %p6, %r9, 0;
    @%p6 bra ISSUED;
    mov.u32 %r30, 0;
    mov.u32 %r31, 0;
    mov.u32 %r32, 0;
MULTIPLY:
    shl.b32 %r33, %r30, 3;
    mov.u32 %r34, full;
    add.s32 %r35, %r34, %r33;
FULL:
    $try %p10, [%r35], %r31;
    @!%p10 bra FULL;
    $after;
    shl.b32 %r36, %r30, 14;
    mov.u32 %r37, a_ring;
    add.s32 %r38, %r37, %r36;
    shr.u32 %r39, %r38, 4;
    cvt.u64.u32 %rd10, %r39;
    or.b64 %rd11, %rd10, 4611756662049538048;
    mov.u32 %r40, b_ring;
    add.s32 %r41, %r40, %r36;
    shr.u32 %r42, %r41, 4;
    cvt.u64.u32 %rd12, %r42;
    or.b64 %rd13, %rd12, 4611756662049538048;
    setp.ne.u32 %p11, %r32, 0;
    $mma [%r3], %rd11, %rd13, $idesc, %p11;
    add.s64 %rd14, %rd11, 2;
    add.s64 %rd15, %rd13, 2;
    $mma [%r3], %rd14, %rd15, $idesc, 1;
    mov.u32 %r43, empty;
    add.s32 %r44, %r43, %r33;
    $commit [%r44];
    add.s32 %r30, %r30, 1;
    setp.eq.s32 %p12, %r30, 4;
    selp.b32 %r30, 0, %r30, %p12;
    selp.b32 %r45, 1, 0, %p12;
    xor.b32 %r31, %r31, %r45;
    add.s32 %r32, %r32, 1;
    setp.lt.u32 %p13, %r32, %r9;
    @%p13 bra MULTIPLY;
ISSUED:
    $commit [done];
    bra END;
EPILOGUE:
    $try %p14, [done], 0;
    @!%p14 bra EPILOGUE;
    $after;
    and.b32 %r50, %r2, 3;
    shl.b32 %r51, %r50, 21;
    add.s32 %r52, %r3, %r51;
    $load {%r53, %r54}, [%r52];
    $loaded;
    ld.param.u64 %rd20, [out];
    shl.b32 %r55, %r50, 5;
    and.b32 %r56, %r1, 31;
    add.s32 %r57, %r55, %r56;
    mul.wide.u32 %rd21, %r57, 8;
    add.s64 %rd22, %rd20, %rd21;
    st.global.v2.b32 [%rd22], {%r53, %r54};
    $before;
END:
    bar.sync 0;
    @%p2 bra EXIT;
    $dealloc %r3, 128;
EXIT:
    ret;
""",
    ".reqntid 192",
    RING,
)
"""Warp 0 copies, warp 1 multiplies, warps 2 to 5 store; four stages at run-time indices."""

_OFFSETS = {
    "[full+": "[dynamic+",
    "[full]": "[dynamic]",
    "[empty+8]": "[dynamic+40]",
    "[empty+16]": "[dynamic+48]",
    "[empty+24]": "[dynamic+56]",
    "[empty]": "[dynamic+32]",
    "[done]": "[dynamic+64]",
    "[slot]": "[dynamic+72]",
    "mov.u32 %r14, empty;": "mov.u32 %r14, dynamic; add.s32 %r14, %r14, 32;",
    "mov.u32 %r16, full;": "mov.u32 %r16, dynamic;",
    "mov.u32 %r34, full;": "mov.u32 %r34, dynamic;",
    "mov.u32 %r43, empty;": "mov.u32 %r43, dynamic+32;",
    "mov.u32 %r19, a_ring;": "mov.u32 %r19, dynamic; add.s32 %r19, %r19, 1024;",
    "mov.u32 %r21, b_ring;": "mov.u32 %r21, dynamic+66560;",
    "mov.u32 %r37, a_ring;": "mov.u32 %r37, dynamic+1024;",
    "mov.u32 %r40, b_ring;": "mov.u32 %r40, dynamic+66560;",
}


def _dynamic(text: str) -> str:
    text = text.replace(Template(RING).substitute(), ".extern .shared .align 1024 .b8 dynamic[];\n")
    for old, new in _OFFSETS.items():
        text = text.replace(old, new)
    return text


DYNAMIC_PIPELINE = _dynamic(RING_PIPELINE)
"""The same, with everything at fixed places of one dynamic buffer."""

PERSISTENT = kernel(
    """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r9, [steps];
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    shr.u32 %r2, %r1, 5;
    setp.eq.s32 %p1, %r1, 32;
    @!%p1 bra INITIALISED;
    mov.u32 %r70, ready;
    $init [%r70], 1;
    $init [%r70+8], 1;
    mov.u32 %r71, taken;
    $init [%r71], 4;
    $init [%r71+8], 4;
    $initialised;
INITIALISED:
    setp.ne.u32 %p2, %r2, 5;
    @%p2 bra ALLOCATED;
    $alloc [slot], 256;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.gt.u32 %p3, %r1, 127;
    @%p3 bra OTHERS;
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
    mov.u32 %r12, %ctaid.x;
    mov.u32 %r13, %nctaid.x;
    setp.ge.u32 %p4, %r12, %r9;
    @%p4 bra STORED;
TAKE:
    mov.u32 %r14, ready;
    shl.b32 %r15, %r10, 3;
    add.s32 %r16, %r14, %r15;
READY:
    $try %p5, [%r16], %r11;
    @!%p5 bra READY;
    $after;
    shl.b32 %r17, %r10, 7;
    add.s32 %r18, %r3, %r17;
    shl.b32 %r19, %r2, 21;
    add.s32 %r20, %r18, %r19;
    $load {%r21, %r22}, [%r20];
    $loaded;
    $before;
    and.b32 %r23, %r1, 31;
    setp.ne.u32 %p6, %r23, 0;
    mov.u32 %r24, taken;
    add.s32 %r25, %r24, %r15;
    bar.warp.sync -1;
    @%p6 bra TOLD;
    $arrive [%r25];
TOLD:
    bar.sync 1, 128;
    ld.param.u64 %rd5, [out];
    mul.wide.u32 %rd6, %r1, 8;
    add.s64 %rd7, %rd5, %rd6;
    st.global.v2.b32 [%rd7], {%r21, %r22};
    xor.b32 %r10, %r10, 1;
    setp.eq.u32 %p7, %r10, 0;
    selp.u32 %r26, 1, 0, %p7;
    xor.b32 %r11, %r11, %r26;
    add.s32 %r12, %r12, %r13;
    setp.lt.u32 %p8, %r12, %r9;
    @%p8 bra TAKE;
STORED:
    $before;
    bra DONE;
OTHERS:
    setp.lt.u32 %p9, %r1, 160;
    @%p9 bra DONE;
    setp.ge.u32 %p10, %r1, 192;
    @%p10 bra DONE;
    elect.sync %r30|%p11, -1;
    @!%p11 bra DONE;
    mov.u32 %r31, 0;
    mov.u32 %r32, 1;
    mov.u32 %r33, %ctaid.x;
    mov.u32 %r34, %nctaid.x;
    setp.ge.u32 %p12, %r33, %r9;
    @%p12 bra DONE;
GIVE:
    shl.b32 %r35, %r31, 3;
    mov.u32 %r36, taken;
    add.s32 %r37, %r36, %r35;
TAKEN:
    $try %p13, [%r37], %r32;
    @!%p13 bra TAKEN;
    $after;
    shl.b32 %r38, %r31, 7;
    add.s32 %r39, %r3, %r38;
    $mma [%r39], %rd1, %rd2, $idesc, 0;
    $mma [%r39], %rd1, %rd2, $idesc, 1;
    mov.u32 %r40, ready;
    add.s32 %r41, %r40, %r35;
    $commit [%r41];
    xor.b32 %r31, %r31, 1;
    setp.eq.u32 %p14, %r31, 0;
    selp.b32 %r42, 1, 0, %p14;
    xor.b32 %r32, %r32, %r42;
    add.s32 %r33, %r33, %r34;
    setp.lt.u32 %p15, %r33, %r9;
    @%p15 bra GIVE;
DONE:
    bar.sync 0;
    @%p2 bra EXIT;
    $dealloc %r3, 256;
EXIT:
    ret;
""",
    ".reqntid 256, 1, 1",
    """\
.shared .align 8 .b64 ready[2];
.shared .align 8 .b64 taken[2];
.shared .align 4 .b32 slot;
""",
)
"""Tile after tile, two accumulators; a lane of each warp gives them back; warps 4, 6, 7 idle."""

EARLY_EXIT = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ge.u32 %p1, %r2, 6;
    @%p1 bra NOTHING;
    setp.eq.u32 %p2, %r1, 128;
    @!%p2 bra INITIALISED;
    $init [done], 1;
    $init [back], 128;
INITIALISED:
    setp.eq.u32 %p3, %r2, 4;
    @!%p3 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 3, 192;
    $after;
    ld.shared.b32 %r3, [slot];
    @%p3 bra ISSUER;
    setp.eq.u32 %p4, %r2, 5;
    @%p4 bra NOTHING;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
    $load {%r6, %r7}, [%r5];
    $loaded;
    $before;
    $arrive [back];
    bar.sync 1, 128;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 8;
    add.s64 %rd13, %rd11, %rd12;
    st.global.v2.b32 [%rd13], {%r6, %r7};
    ret;
ISSUER:
    elect.sync %r8|%p6, -1;
    @!%p6 bra ISSUED;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
ISSUED:
    $try %p7, [back], 0;
    @!%p7 bra ISSUED;
    $after;
    $dealloc %r3, 64;
    ret;
NOTHING:
    ret;
""",
    ".reqntid 256",
)
"""Warps 6 and 7 leave at once, warp 5 soon; the issuer frees when the epilogue says so."""

NAMED_BARRIERS = kernel(
    """
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ge.u32 %p1, %r1, 128;
    @%p1 bra ISSUER;
    bar.sync 1, 160;
    $after;
    ld.shared.b32 %r3, [slot];
    bar.sync 2, 160;
    $after;
    shr.u32 %r4, %r1, 5;
    shl.b32 %r5, %r4, 21;
    add.s32 %r6, %r3, %r5;
    $load {%r7, %r8}, [%r6];
    $loaded;
    $before;
    bar.arrive 3, 160;
    ld.param.u64 %rd11, [out];
    mul.wide.u32 %rd12, %r1, 8;
    add.s64 %rd13, %rd11, %rd12;
    st.global.v2.b32 [%rd13], {%r7, %r8};
    ret;
ISSUER:
    setp.ne.u32 %p2, %r1, 128;
    @%p2 bra ALLOCATE;
    $init [done], 1;
ALLOCATE:
    bar.warp.sync -1;
    $alloc [slot], 64;
    $before;
    bar.sync 1, 160;
    $after;
    ld.shared.b32 %r13, [slot];
    @%p2 bra WAIT;
    $mma [%r13], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p3, [done], 0;
    @!%p3 bra WAIT;
    $after;
    $before;
    bar.arrive 2, 160;
    bar.sync 3, 160;
    $after;
    $dealloc %r13, 64;
    $relinquish;
    ret;
""",
    ".reqntid 160",
)
"""Named barriers only, arrived at by one side and waited at by the other."""

BY_ROW = kernel(
    """
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r30, %ntid.x;
    mad.lo.s32 %r31, %r2, %r30, %r1;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r31, 0;
    @%p2 bra INITIALISED;
    $init [done], 1;
INITIALISED:
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    mov.u64 %rd3, slot;
    cvta.shared.u64 %rd4, %rd3;
    ld.u32 %r3, [%rd4];
    or.b32 %r32, %r1, %r2;
    setp.ne.s32 %p3, %r32, 0;
    @%p3 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p4, [done], 0;
    @!%p4 bra WAIT;
    $after;
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
    $load {%r6, %r7}, [%r5];
    $loaded;
    $before;
    bar.sync 0;
    setp.ne.u32 %p5, %r2, 3;
    @%p5 bra END;
    $dealloc %r3, 64;
    $relinquish;
END:
    ret;
""",
    ".reqntid 32, 4, 1",
)
"""A block of 32x4 threads: the row is the warp.  Another warp frees than the one that allocates."""

WARPGROUPS = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    shr.u32 %r4, %r1, 7;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [done], 1;
INITIALISED:
    @%p1 bra ALLOCATED;
    $alloc [slot], 128;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, 136314896, 0;
    $commit [done];
WAIT:
    $try %p4, [done], 0;
    @!%p4 bra WAIT;
    $after;
    and.b32 %r5, %r2, 3;
    shl.b32 %r6, %r5, 21;
    add.s32 %r7, %r3, %r6;
    shl.b32 %r8, %r4, 6;
    add.s32 %r9, %r7, %r8;
    $load {%r10, %r11}, [%r9];
    $loaded;
    $before;
    bar.sync 0;
    @%p1 bra END;
    $dealloc %r3, 128;
END:
    ret;
""",
    ".reqntid 256",
)
"""Two warpgroups: each warp has its quarter of the lanes, each group half the columns."""

GENERIC_STORES = kernel("""
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [done], 1;
INITIALISED:
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    shl.b32 %r4, %r1, 4;
    mov.u32 %r5, a_tile;
    add.s32 %r6, %r5, %r4;
    st.shared.v4.b32 [%r6+4096], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+6144], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+8192], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+10240], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+12288], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+14336], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r6+2048], {%r1, %r1, %r1, %r1};
    fence.proxy.async.shared::cta;
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    @%p2 bra WAIT;
    shr.u32 %r11, %r5, 4;
    cvt.u64.u32 %rd5, %r11;
    or.b64 %rd6, %rd5, 4611756662049538048;
    $mma [%r3], %rd6, %rd6, $idesc, 0;
    $commit [done];
WAIT:
    $try %p4, [done], 0;
    @!%p4 bra WAIT;
    $after;
    shl.b32 %r20, %r2, 21;
    add.s32 %r21, %r3, %r20;
    $load {%r22, %r23}, [%r21];
    $loaded;
    $before;
    bar.sync 0;
    @%p1 bra END;
    $dealloc %r3, 64;
END:
    ret;
""")
"""The operands come from registers, through generic stores and a proxy fence."""

# ---- allocation ------------------------------------------------------------------------------

TWICE = kernel(
    """
    mov.u32 %r1, %tid.x;
    $alloc [slot], 64;
    $alloc [slot2], 32;
    $relinquish;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    ld.shared.b32 %r4, [slot2];
    $store [%r3], {%r1, %r1};
    $store [%r4], {%r1, %r1};
    $stored;
    $load {%r5, %r6}, [%r3];
    $load {%r7, %r8}, [%r4];
    $loaded;
    $dealloc %r3, 64;
    $dealloc %r4, 32;
    ret;
""",
    ".reqntid 32",
)
"""Two allocations, the second no larger than the first."""

ALLOC_IN_LOOP = kernel(
    """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [steps];
    mov.u32 %r4, 0;
LOOP:
    setp.ge.u32 %p1, %r4, %r2;
    @%p1 bra END;
    $alloc [slot], 32;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    $store [%r3], {%r1, %r4};
    $stored;
    $load {%r5, %r6}, [%r3];
    $loaded;
    $dealloc %r3, 32;
    add.s32 %r4, %r4, 1;
    bra LOOP;
END:
    $relinquish;
    ret;
""",
    ".reqntid 32",
)
"""Tensor memory for each step of a loop."""

PAIR = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    mov.u32 %r30, %cluster_ctarank;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [done], 1;
    $initialised;
INITIALISED:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.ne.u32 %p3, %r30, 0;
    or.pred %p4, %p2, %p3;
    @%p4 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    mov.u16 %rs1, 3;
    $commit [done], %rs1;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
    $load {%r22, %r23}, [%r5];
    $loaded;
    $before;
    bar.sync 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra END;
    $dealloc %r3, 64;
END:
    ret;
""".replace(
        "$commit [done], %rs1",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one"
        ".shared::cluster.multicast::cluster.b64 [done], %rs1",
    ),
    ".reqntid 128\n.reqnctapercluster 2",
).replace("cta_group::1", "cta_group::2")
"""Two CTAs: the even one issues, both wait, both allocate and free."""

# ---- conditions ------------------------------------------------------------------------------

ZEROED = kernel(
    PROLOGUE
    + """
    mov.u32 %r6, 0;
    $store [%r5], {%r6, %r6};
    $stored;
    $before;
    bar.sync 0;
    $after;
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r24, %r25}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""The accumulator starts as zeros that all warps store."""

CONDITIONAL = kernel(
    PROLOGUE
    + """
    ld.param.u32 %r6, [steps];
    setp.ne.u32 %p3, %r6, 0;
    not.pred %p4, %p2;
    and.pred %p7, %p4, %p3;
    @%p7 $mma [%r3], %rd1, %rd2, $idesc, 0;
    @%p7 $commit [done];
    setp.eq.u32 %p8, %r6, 0;
    @%p8 bra FREE;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
FREE:
"""
    + EPILOGUE
)
"""Nothing is multiplied without steps: one condition, in two registers."""

LEADERS = kernel(
    PROLOGUE
    + """
    mov.u32 %r6, %ctaid.x;
    setp.eq.u32 %p3, %r6, 0;
    elect.sync %r7|%p4, -1;
    setp.eq.u32 %p7, %r2, 0;
    and.pred %p8, %p4, %p7;
    selp.b32 %r8, 1, 0, %p3;
    selp.b32 %r9, 1, 2, %p3;
    setp.ne.u32 %p9, %r8, 0;
    @%p8 bra ISSUE;
    bra.uni WAIT;
ISSUE:
    @%p9 bra FIRST;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    bra COMMIT;
FIRST:
    $mma [%r3], %rd2, %rd1, $idesc, 0;
COMMIT:
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @%p5 bra GO;
AGAIN:
    $try %p5, [done], 0, %r9;
    @!%p5 bra AGAIN;
GO:
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""One of two MMAs; the first attempt of a wait stands by itself."""

COMPUTED_AGAIN = kernel(
    PROLOGUE
    + """
    ld.param.u32 %r6, [steps];
    setp.gt.s32 %p3, %r6, 0;
    @!%p3 bra NO_MMA;
    @%p2 bra NO_MMA;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
NO_MMA:
    ld.param.u32 %r7, [steps];
    setp.lt.s32 %p4, %r7, 1;
    @%p4 bra NO_WAIT;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
NO_WAIT:
    $after;
    not.pred %p6, %p4;
    not.pred %p7, %p6;
    @%p7 bra NO_LOAD;
    $load {%r22, %r23}, [%r5];
    $loaded;
NO_LOAD:
"""
    + EPILOGUE
)
"""Without optimisation: one condition, loaded and compared anew at each branch."""

ALLOCATED_IF = kernel(
    """
    ld.param.u32 %r6, [steps];
    setp.ne.s32 %p3, %r6, 0;
    @!%p3 bra ALLOCATED;
    $alloc [slot], 32;
ALLOCATED:
    setp.eq.s32 %p4, %r6, 0;
    @%p4 bra END;
    ld.shared.b32 %r3, [slot];
    $store [%r3], {%r6, %r6};
    $stored;
    setp.ne.s32 %p5, %r6, 0;
    @!%p5 bra END;
    $dealloc %r3, 32;
END:
    ret;
""",
    ".reqntid 32",
)
"""Tensor memory only where there is something to do."""

TWO_PHASES = kernel(
    PROLOGUE
    + """
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
    $before;
    bar.sync 0;
    $after;
    @%p2 bra WAIT2;
    $mma [%r3], %rd2, %rd1, $idesc, 1;
    $commit [done];
WAIT2:
    $try %p6, [done], 1;
    @!%p6 bra WAIT2;
    $after;
    $load {%r24, %r25}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""A loop of two turns, unrolled: parity 0, then 1."""

TOKENS = kernel(
    PROLOGUE
    + """
    mbarrier.arrive.shared::cta.b64 %rd30, [back];
WAIT_STATE:
    mbarrier.try_wait.shared::cta.b64 %p3, [back], %rd30;
    @!%p3 bra WAIT_STATE;
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p5, [done], 0;
    @%p5 bra GO;
    bra.uni WAIT;
GO:
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""A wait for the state that an arrival gave."""

FLAG = kernel(
    PROLOGUE.replace("$init [full], 1;", "st.shared.b32 [slot2], 0;")
    + """
    @%p2 bra SECOND;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
    $before;
    st.relaxed.cta.shared.b32 [slot2], 1;
    bra JOIN;
SECOND:
    setp.ne.u32 %p3, %r1, 32;
    @%p3 bra JOIN;
TURN:
    ld.relaxed.cta.shared.b32 %r8, [slot2];
    setp.eq.u32 %p4, %r8, 1;
    @!%p4 bra TURN;
    $after;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [back];
JOIN:
    $try %p5, [done], 0;
    @!%p5 bra JOIN;
WAIT:
    $try %p6, [back], 0;
    @!%p6 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
).replace("[back], 128", "[back], 1")
"""The manual's example of fences: a flag in shared memory instead of an mbarrier."""

# ---- pipelines -------------------------------------------------------------------------------

INIT_LOOP = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u32 %r9, [steps];
    ld.param.u64 %rd1, [desc_a];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra INITIALISED;
    mov.u32 %r4, full;
    mov.u32 %r5, empty;
    mov.u32 %r6, 0;
INITIALISE:
    $init [%r4], 1;
    $init [%r5], 1;
    add.s32 %r4, %r4, 8;
    add.s32 %r5, %r5, 8;
    add.s32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 4;
    @%p2 bra INITIALISE;
    $init [done], 1;
    $initialised;
INITIALISED:
    and.b32 %r7, %r1, -32;
    setp.ne.u32 %p3, %r7, 96;
    @%p3 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.eq.u32 %p4, %r1, 0;
    @%p4 bra PRODUCER;
    setp.eq.u32 %p5, %r1, 96;
    @%p5 bra ISSUER;
    bra WAIT;
PRODUCER:
    mov.b64 %rd2, map_a;
    cvta.param.u64 %rd3, %rd2;
    mov.u32 %r10, 0;
    setp.eq.u32 %p6, %r9, 0;
    @%p6 bra WAIT;
FILL:
    and.b32 %r11, %r10, 3;
    shr.u32 %r12, %r10, 2;
    not.b32 %r13, %r12;
    and.b32 %r14, %r13, 1;
    shl.b32 %r15, %r11, 3;
    mov.u32 %r16, empty;
    add.s32 %r17, %r16, %r15;
    mov.u32 %r18, full;
    add.s32 %r19, %r18, %r15;
EMPTY:
    $try %p7, [%r17], %r14;
    @!%p7 bra EMPTY;
    $expect [%r19], 16384;
    mul.lo.s32 %r20, %r11, 16384;
    mov.u32 %r21, a_ring;
    add.s32 %r22, %r21, %r20;
    $copy [%r22], [%rd3, {%r10, 0}], [%r19];
    add.s32 %r10, %r10, 1;
    setp.ne.u32 %p8, %r10, %r9;
    @%p8 bra FILL;
    bra WAIT;
ISSUER:
    mov.u32 %r30, 0;
    mov.u32 %r31, full;
    $try %p9, [%r31], 0;
    selp.b32 %r32, 1, 0, %p9;
MULTIPLY:
    setp.ge.u32 %p10, %r30, %r9;
    @%p10 bra ISSUED;
    and.b32 %r33, %r30, 3;
    shl.b32 %r34, %r33, 3;
    mov.u32 %r35, full;
    add.s32 %r36, %r35, %r34;
    shr.u32 %r37, %r30, 2;
    and.b32 %r38, %r37, 1;
    setp.ne.u32 %p11, %r32, 0;
    @%p11 bra FILLED;
FULL:
    $try %p12, [%r36], %r38;
    @!%p12 bra FULL;
FILLED:
    add.s32 %r30, %r30, 1;
    and.b32 %r39, %r30, 3;
    shl.b32 %r40, %r39, 3;
    add.s32 %r41, %r35, %r40;
    shr.u32 %r42, %r30, 2;
    and.b32 %r43, %r42, 1;
    $try %p13, [%r41], %r43;
    selp.b32 %r32, 1, 0, %p13;
    mul.lo.s32 %r44, %r33, 16384;
    mov.u32 %r45, a_ring;
    add.s32 %r46, %r45, %r44;
    shr.u32 %r47, %r46, 4;
    cvt.u64.u32 %rd4, %r47;
    or.b64 %rd5, %rd4, 4611756662049538048;
    setp.gt.u32 %p14, %r30, 1;
    $mma [%r3], %rd5, %rd5, $idesc, %p14;
    mov.u32 %r48, empty;
    add.s32 %r49, %r48, %r34;
    $commit [%r49];
    bra MULTIPLY;
ISSUED:
    $commit [done];
WAIT:
    $try %p15, [done], 0;
    @!%p15 bra WAIT;
    $after;
    shl.b32 %r50, %r2, 21;
    add.s32 %r51, %r3, %r50;
    $load {%r52, %r53}, [%r51];
    $loaded;
    $before;
    bar.sync 0;
    @%p3 bra END;
    $dealloc %r3, 64;
END:
    ret;
""",
    ".reqntid 128",
    RING,
)
"""mbarriers made in a loop; the issuer asks for the next stage ahead and waits only if it must."""

ATTENTION = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u32 %r9, [steps];
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra INITIALISED;
    $init [full], 1;
    $init [back], 128;
    $init [done], 1;
    $initialised;
INITIALISED:
    setp.ne.u32 %p2, %r2, 4;
    @%p2 bra ALLOCATED;
    $alloc [slot], 128;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    add.s32 %r4, %r3, 64;
    setp.eq.u32 %p3, %r9, 0;
    @%p3 bra END;
    @!%p2 bra ISSUER;
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
    shl.b32 %r12, %r2, 21;
    add.s32 %r13, %r3, %r12;
    add.s32 %r14, %r4, %r12;
SOFTMAX:
    $try %p4, [full], %r11;
    @!%p4 bra SOFTMAX;
    $after;
    $load {%r15, %r16}, [%r13];
    $loaded;
    add.s32 %r6, %r13, 32;
    $store [%r6], {%r16, %r15};
    $stored;
    $before;
    $arrive [back];
    xor.b32 %r11, %r11, 1;
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p5, %r10, %r9;
    @%p5 bra SOFTMAX;
OUTPUT:
    $try %p6, [done], 0;
    @!%p6 bra OUTPUT;
    $after;
    $load {%r17, %r18}, [%r14];
    $loaded;
    $before;
    bra END;
ISSUER:
    elect.sync %r5|%p7, -1;
    @!%p7 bra END;
    mov.u32 %r20, 0;
    mov.u32 %r21, 0;
SCORES:
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [full];
PROBABILITIES:
    $try %p8, [back], %r21;
    @!%p8 bra PROBABILITIES;
    $after;
    setp.ne.u32 %p9, %r20, 0;
    add.s32 %r7, %r3, 32;
    $mma [%r4], [%r7], %rd2, $idesc, %p9;
    xor.b32 %r21, %r21, 1;
    add.s32 %r20, %r20, 1;
    setp.lt.u32 %p10, %r20, %r9;
    @%p10 bra SCORES;
    $commit [done];
END:
    bar.sync 0;
    @%p2 bra EXIT;
    $dealloc %r3, 128;
EXIT:
    ret;
""",
    ".reqntid 160",
)
"""Two products: what the first gives is an operand of the second, in columns of its own."""


CLEAN = {
    name.lower(): text
    for name, text in globals().items()
    if isinstance(text, str) and ".visible .entry k(" in text and name != "HEAD"
}
