"""An mbarrier that is made and never used, beside others: what generators of kernels leave.

PTX ISA, mbarrier.init: the expected count is of arrivals in a phase; a phase that nobody waits for
need not end.
"""

from __future__ import annotations

from tests.isel.verifier.function import tensor_kernels

POOL = """\
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 turns) .reqntid 32
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<2>;
    .shared .align 8 .b8 bars[32];
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [turns];
    ld.global.u32 %r2, [%rd1];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [bars], 1;
    mbarrier.init.shared.b64 [bars+8], 480;
    mbarrier.init.shared.b64 [bars+16], 1;
    mbarrier.init.shared.b64 [bars+24], 1;
MADE:
    bar.sync 0;
    @%p1 bra WAIT;
    mbarrier.arrive.shared.b64 _, [bars];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bars], 0;
    @!%p2 bra WAIT;
    mov.u32 %r3, 0;
TURN:
    and.b32 %r4, %r3, 1;
    shl.b32 %r5, %r4, 3;
    mov.u32 %r6, bars;
    add.u32 %r6, %r6, %r5;
    shr.u32 %r7, %r3, 1;
    and.b32 %r7, %r7, 1;
    bar.warp.sync -1;
    @!%p1 mbarrier.arrive.shared.b64 _, [%r6+16];
FULL:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r6+16], %r7;
    @!%p3 bra FULL;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p4, %r3, %r2;
    @%p4 bra TURN;
    ret;
}
"""


def said(text: str) -> set[str]:
    return {f.rule for f in tensor_kernels.said(text)}


def test_a_ring_at_unknown_places_is_not_what_nobody_uses() -> None:
    assert said(POOL) == set()


def test_one_that_is_waited_for_lacks_its_arrivals() -> None:
    assert "mbarrier/arrivals" in said(POOL.replace("[bars], 1;", "[bars], 3;"))


def test_in_a_ring_of_its_own_each_lacks_them() -> None:
    ring = POOL.replace("    mbarrier.init.shared.b64 [bars], 1;\n", "").replace(
        "    mbarrier.init.shared.b64 [bars+8], 480;\n", ""
    )
    ring = ring.replace("    @%p1 bra WAIT;\n    mbarrier.arrive.shared.b64 _, [bars];\n", "")
    first, _, rest = ring.partition("WAIT:\n")
    ring = first + rest.partition("@!%p2 bra WAIT;\n")[2]
    assert said(ring) == set()
    assert "mbarrier/arrivals" in said(ring.replace("[bars+16], 1;", "[bars+16], 2;"))
