"""Arrivals at the mbarriers of a ring by warpgroups that take turns, as in pingpong kernels.

PTX ISA, mbarrier, Phase of the mbarrier object: a phase ends with as many arrivals as
mbarrier.init said, whoever arrives; two warpgroups at two buffers are in two phases.
"""

from __future__ import annotations

from tests.each import each
from tests.isel.verifier.kernels import errors, kernel

RING = """\
    .shared .align 8 .b64 ring[2];
    mov.u32 %r1, ring;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [%r1], COUNT;
    mbarrier.init.shared.b64 [%r1+8], COUNT;
MADE:
    bar.sync 0;
    shr.u32 %r2, %t, 5;
    shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;
    setp.gt.u32 %p2, %r3, 3;
    selp.b32 %r4, 1, 0, %p2;
    mov.u32 %r5, 0;
TURN:
    shl.b32 %r6, %r4, 3;
    add.u32 %r7, %r1, %r6;
    mbarrier.arrive.shared.b64 %rd1, [%r7], 1;
    add.u32 %r8, %r4, 1;
    setp.eq.u32 %p3, %r8, 2;
    selp.b32 %r4, 0, %r8, %p3;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p4, %r5, %n;
    @%p4 bra TURN;
"""


@each("count, found", [(128, set()), (64, {"mbarrier/too-many-arrivals"})])
def test_warpgroups_that_take_turns(count: int, found: set[str]) -> None:
    text = kernel(RING.replace("COUNT", str(count)), ".param .u32 n", ".reqntid 256")
    assert errors(text) == found
