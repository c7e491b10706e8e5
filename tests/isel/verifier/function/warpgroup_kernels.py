"""Kernels in PTX with one warpgroup of wgmma: all of them right."""

from __future__ import annotations

from tests.isel.verifier.function.wgmma_text import (
    BEGIN,
    DESCRIPTORS,
    FILL,
    LOAD,
    OUT,
    ZEROS,
    kernel,
)

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
