"""Idioms of other people's libraries: right ones, of which no rule says anything, and a wrong sibling.

Each comes from PTX that a compiler makes of CUB, libcu++, CUTLASS or the CuTe DSL, written anew and
as small as it goes; what is expected is what the manual says of it.
"""

from __future__ import annotations

from asmprinter.ptx_reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.function.check import verify_functions

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"


def said(text: str) -> set[str]:
    """The rules that speak of a kernel, but for notes."""
    reading = read_ptx(HEAD + text)
    assert reading.findings == []
    return {f.rule for f in verify_functions(reading.module) if f.severity is not Severity.NOTE}


# ---- libcu++: a pipeline counts its producers by an atomic of each warp's first thread -------------

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


# ---- CUB: a scan's tile waits for what the CTA before it tells in global memory --------------------

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
