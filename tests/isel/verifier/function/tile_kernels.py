"""Kernels in PTX with one tile, and the waits that the manual describes: all of them right."""

from __future__ import annotations

from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel

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
