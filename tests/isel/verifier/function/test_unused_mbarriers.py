"""An mbarrier that is made and never used, beside others: what generators of kernels leave.

PTX ISA, mbarrier.init: the expected count is of arrivals in a phase; a phase that nobody waits for
need not end.
"""

from __future__ import annotations

from tests.isel.verifier.kernels import kernel, said

POOL = """\
    .shared .align 8 .b8 bars[32];
    ld.global.u32 %r2, [%turns];
    setp.ne.u32 %p1, %t, 0;
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
    @%p4 bra TURN;"""


def rules(body: str) -> set[str]:
    return {f.rule for f in said(kernel(body, ".param .u64 turns", ".reqntid 32"))}


def test_a_ring_at_unknown_places_is_not_what_nobody_uses() -> None:
    assert rules(POOL) == set()


def test_one_that_is_waited_for_lacks_its_arrivals() -> None:
    assert "mbarrier/arrivals" in rules(POOL.replace("[bars], 1;", "[bars], 3;"))


def test_in_a_ring_of_its_own_each_lacks_them() -> None:
    ring = POOL.replace("    mbarrier.init.shared.b64 [bars], 1;\n", "").replace(
        "    mbarrier.init.shared.b64 [bars+8], 480;\n", ""
    )
    ring = ring.replace("    @%p1 bra WAIT;\n    mbarrier.arrive.shared.b64 _, [bars];\n", "")
    first, _, rest = ring.partition("WAIT:\n")
    ring = first + rest.partition("@!%p2 bra WAIT;\n")[2]
    assert rules(ring) == set()
    assert "mbarrier/arrivals" in rules(ring.replace("[bars+16], 1;", "[bars+16], 2;"))
