"""Idioms of CUB, libcu++, NPP and nvcc: right kernels without a finding, a wrong sibling of each.

Each comes from PTX that a compiler makes of CUB, libcu++ and NPP, written anew and as
small as it goes; what is expected is what the manual says of it.
"""

from __future__ import annotations

from tests.isel.verifier.function.idioms import said

# ---- libcu++: a pipeline counts its producers by an atomic of each warp's first thread -----------

PIPELINE = """\
.visible .entry k(.param .u32 turns) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 16 .b8 state[32];
    .shared .align 16 .b8 tile[128];
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r20, [turns];
    mov.u32 %r2, state;
    cvt.u64.u32 %rd1, %r2;
    cvta.shared.u64 %rd2, %rd1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra COUNT;
    mov.u32 %r3, 0;
    st.relaxed.cta.b32 [%rd2+16], %r3;
COUNT:
    setp.gt.u32 %p2, %r1, 31;
    barrier.sync 0;
    @%p2 bra MAKE;
    activemask.b32 %r4;
    match.any.sync.b64 %r5, %rd2, %r4;
    brev.b32 %r6, %r5;
    bfind.shiftamt.u32 %r7, %r6;
    mov.u32 %r8, %laneid;
    setp.ne.s32 %p3, %r8, %r7;
    @%p3 bra MAKE;
    popc.b32 %r9, %r5;
    atom.add.relaxed.cta.u32 %r10, [%rd2+16], %r9;
MAKE:
    barrier.sync 0;
    @%p1 bra MADE;
    ld.relaxed.cta.b32 %r11, [%rd2+16];
    mbarrier.init.shared.b64 [state], %r11;
    sub.s32 %r12, 64, %r11;
    mbarrier.init.shared.b64 [state+8], %r12;
MADE:
    barrier.sync 0;
    mov.u32 %r13, 0;
    shl.b32 %r14, %r1, 2;
    and.b32 %r14, %r14, 127;
    mov.u32 %r15, tile;
    add.u32 %r15, %r15, %r14;
    @%p2 bra USE;
FILL:
    and.b32 %r16, %r13, 1;
    xor.b32 %r16, %r16, 1;
EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [state+8], %r16;
    @!%p4 bra EMPTY;
    st.shared.u32 [%r15], %r13;
    mbarrier.arrive.shared::cta.b64 %rd3, [state], 1;
    add.u32 %r13, %r13, 1;
    setp.lt.u32 %p5, %r13, %r20;
    @%p5 bra FILL;
    ret;
USE:
    and.b32 %r16, %r13, 1;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [state], %r16;
    @!%p4 bra FULL;
    ld.shared.u32 %r17, [%r15];
    mbarrier.arrive.shared::cta.b64 %rd3, [state+8], 1;
    add.u32 %r13, %r13, 1;
    setp.lt.u32 %p5, %r13, %r20;
    @%p5 bra USE;
    ret;
}
"""


def test_producers_that_atomics_count_are_as_many_as_arrive() -> None:
    assert said(PIPELINE) == set()


def test_a_count_of_too_many_producers_is_a_wait_without_end() -> None:
    assert "mbarrier/deadlock" in said(PIPELINE.replace("popc.b32 %r9, %r5", "mov.u32 %r9, 33"))


# ---- CUB: a scan's tile waits for what the CTA before it tells in global memory ------------------

LOOK_BACK = """\
.visible .entry k(.param .u64 tiles) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b32 prefix;
    ld.param.u64 %rd1, [tiles];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd2, %r2, 8;
    add.s64 %rd1, %rd1, %rd2;
    setp.gt.u32 %p1, %r1, 31;
    @%p1 bra MEET;
    sub.u32 %r3, 31, %r1;
    mul.wide.u32 %rd3, %r3, 8;
    sub.s64 %rd4, %rd1, %rd3;
AGAIN:
    ld.relaxed.gpu.global.v2.u32 {%r4, %r5}, [%rd4+-8];
    setp.eq.u32 %p2, %r4, 0;
    vote.sync.any.pred %p3, %p2, -1;
    @%p3 bra AGAIN;
    setp.ne.u32 %p4, %r1, 0;
    @%p4 bra MEET;
    st.shared.u32 [prefix], %r5;
    mov.u32 %r6, 2;
    st.relaxed.gpu.global.v2.u32 [%rd1], {%r6, %r5};
MEET:
    bar.sync 0;
    ld.shared.u32 %r7, [prefix];
    ret;
}
"""


def test_another_cta_may_set_a_flag_in_global_memory() -> None:
    assert said(LOOK_BACK) == set()


def test_behind_a_flag_of_another_cta_threads_still_race() -> None:
    load = "    ld.shared.u32 %r7, [prefix];\n"
    swapped = LOOK_BACK.replace(f"    bar.sync 0;\n{load}", f"{load}    bar.sync 0;\n")
    assert said(swapped) == {"shared/race"}


# ---- NPP: each turn sums what volatile loads find, of a tile that the block need not fill --------

VOLATILE = """\
.visible .entry k(.param .u64 sums, .param .u32 turns) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [sums];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u32 %r6, [turns];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r3, %r3, %r2;
    mov.u32 %r5, 0;
    mov.u32 %r7, %r1;
TURN:
    st.volatile.shared.u32 [%r3], %r7;
    bar.warp.sync -1;
    ld.volatile.shared.u32 %r4, [%r3+128];
    bar.warp.sync -1;
    add.u32 %r7, %r7, %r4;
    setp.lt.u32 %p1, %r5, %r6;
    add.u32 %r5, %r5, 1;
    @%p1 bra TURN;
    st.global.u32 [%rd1], %r7;
    ret;
}
"""


def test_a_volatile_load_of_data_waits_for_nobody() -> None:
    assert said(VOLATILE) == set()


def test_a_volatile_load_that_decides_waits_for_ever_where_nobody_stores() -> None:
    spin = VOLATILE.replace("setp.lt.u32 %p1, %r5, %r6", "setp.eq.u32 %p1, %r4, 0")
    assert said(spin) == {"sync/deadlock"}


# ---- nvcc: how often a loop over tid.x, tid.x + 128, … runs, before it is unrolled ---------------

COUNTED_TURNS = """\
.visible .entry k(.param .u64 .ptr .global x) .reqntid 128
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 16 .b8 tile[512];
    mov.u32 %r1, %tid.x;
    max.s32 %r2, %r1, 384;
    add.s32 %r3, %r2, 127;
    sub.s32 %r4, %r3, %r1;
    shr.u32 %r5, %r4, 7;
    add.s32 %r6, %r5, 1;
    and.b32 %r7, %r6, 3;
    setp.eq.s32 %p1, %r7, 0;
    @%p1 bra UNROLLED;
    bar.sync 0;
UNROLLED:
    mov.u32 %r9, 0;
TURN:
    ld.param.u64 %rd1, [x];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r10, [%rd3];
    shl.b32 %r11, %r1, 2;
    mov.u32 %r12, tile;
    add.s32 %r13, %r12, %r11;
    st.shared.u32 [%r13], %r10;
    bar.sync 0;
    ld.shared.u32 %r14, [tile];
    bar.sync 0;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p2, %r9, 4;
    @%p2 bra TURN;
    ret;
}
"""


def test_as_many_turns_for_each_thread_are_no_divergence() -> None:
    """Each of 128 threads has 4 turns: none is left over for the loop before."""
    assert said(COUNTED_TURNS) == set()


def test_fewer_turns_for_some_threads_are() -> None:
    assert "bar.sync/aligned" in said(COUNTED_TURNS.replace("127;", "111;"))
