"""cp.async copies by the lanes of a warp, and the arrivals that signal their completion.

PTX ISA, cp.async.mbarrier.arrive: each thread's arrival follows its own copies; an arrival of one
thread behind its own cp.async.wait_all says nothing of what the other lanes have copied.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import kernel, severities

BODY = """\
    .shared .align 128 .b8 words[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 told;
    setp.eq.u32 %p1, %t, 0;
    and.b32 %r1, %t, 31;
    shl.b32 %r1, %r1, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %x, %rd1;
    @%p1 mbarrier.init.shared.b64 [full], 32;
    @%p1 mbarrier.init.shared.b64 [told], 1;
    bar.sync 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra OTHERS;
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    {behind}
    elect.sync _|%p3, 0xffffffff;
    @%p3 mbarrier.arrive.shared.b64 _, [told];
    bra END;
OTHERS:
TOLD:
    mbarrier.try_wait.parity.shared.b64 %p4, [told], 0;
    @!%p4 bra TOLD;
    {wait}
    ld.shared.b32 %r5, [%r3];
    st.global.b32 [%rd2+128], %r5;
END:"""
"""Warp 0 copies, one of its threads arrives; warp 1 reads."""
EACH = "cp.async.mbarrier.arrive.noinc.shared.b64 [full];"
WAIT = """
FULL:
    mbarrier.try_wait.parity.shared.b64 %p5, [full], 0;
    @!%p5 bra FULL;
"""
WAITED = "cp.async.wait_all;"
ALONE = {("mbarrier.arrive/other-threads", Severity.REVIEW)}

CASES: dict[str, tuple[str, str, set[tuple[str, Severity]]]] = {
    "each lane arrives behind its copies": (EACH, WAIT, set()),
    "the warp synchronises": (f"{WAITED} bar.warp.sync 0xffffffff;", "", set()),
    "one lane arrives for all": (WAITED, "", ALONE),
}


@each("name", CASES)
def test_lanes_arrive_for_what_they_copy(name: str) -> None:
    behind, wait, expected = CASES[name]
    body = BODY.format(behind=behind, wait=wait)
    assert severities(kernel(body, ".param .u64 x", ".reqntid 64")) == expected
