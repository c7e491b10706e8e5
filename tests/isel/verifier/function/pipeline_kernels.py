"""Kernels in PTX with rings of buffers: all of them right."""

from __future__ import annotations

from string import Template

from tests.isel.verifier.function.kernel_text import RING, kernel

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
