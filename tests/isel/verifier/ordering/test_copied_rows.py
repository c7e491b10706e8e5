"""Rows of shared memory that a tcgen05.cp reads: as many as its shape has.

PTX ISA, tcgen05.cp; Data Movement Shape.
"""

from __future__ import annotations

from tests.each import each
from tests.isel.verifier.kernels import errors, kernel

BODY = """\
    .shared .align 128 .b8 rows[2048];
    .shared .align 8 .b64 done;
    .shared .align 4 .b32 slot;
    setp.eq.u32 %p1, %t, 0;
    setp.lt.u32 %p2, %t, 32;
    @%p1 mbarrier.init.shared.b64 [done], 1;
    @!%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
    bar.sync 0;
    ld.shared.b32 %r4, [slot];
    shl.b32 %r1, %t, 4;
    mov.u32 %r2, rows;
    add.u32 %r3, %r2, %r1;
    st.shared.v4.b32 [%r3], {{%t, %t, %t, %t}};
    fence.proxy.async.shared::cta;
    {barrier}
    bfe.u32 %r5, %r2, 4, 14;
    cvt.u64.u32 %rd1, %r5;
    or.b64 %rd1, %rd1, 0x400800080000;
    @%p1 tcgen05.cp.cta_group::1.{shape} [%r4], %rd1;
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [done], 0;
    @!%p3 bra WAIT;
    bar.sync 0;
    @!%p2 bra OUT;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;
OUT:"""
"""Each thread stores a row of 16 bytes, and one copies rows to tensor memory."""
SHAPES = {"32x128b.warpx4": 32, "64x128b.warpx2::02_13": 64, "128x128b": 128}


@each("shape", SHAPES)
def test_rows_of_other_warps_need_their_barrier(shape: str) -> None:
    everywhere, own = (
        errors(kernel(BODY.format(shape=shape, barrier=barrier), target="sm_100a"))
        for barrier in ("bar.sync 0;", "bar.warp.sync 0xffffffff;")
    )
    assert everywhere == set()
    assert own == ({"shared/barrier"} if SHAPES[shape] > 32 else set())
