"""Kernels in PTX whose warps have roles: all of them right."""

from __future__ import annotations

from tests.isel.verifier.function.kernel_text import kernel

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
