"""Rows of shared memory that a tcgen05.cp reads: as many as its shape has.

PTX ISA, tcgen05.cp; Data Movement Shape.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.each import each

KERNEL = """\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 x) .reqntid 128
{{
    .reg .pred %p<9>;
    .reg .b32 %r<20>, %t;
    .reg .b64 %rd<9>;
    .shared .align 128 .b8 rows[2048];
    .shared .align 8 .b64 done;
    .shared .align 4 .b32 slot;
    mov.u32 %t, %tid.x;
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
OUT:
    ret;
}}
"""
"""Each thread stores a row of 16 bytes, and one copies rows to tensor memory."""
SHAPES = {"32x128b.warpx4": 32, "64x128b.warpx2::02_13": 64, "128x128b": 128}
ALL, OWN_WARP = "bar.sync 0;", "bar.warp.sync 0xffffffff;"


def errors(shape: str, barrier: str) -> set[str]:
    module = read_ptx(KERNEL.format(shape=shape, barrier=barrier), "k.ptx").module
    return {f.rule for f in verify_functions(module) if f.severity is Severity.ERROR}


@each("shape", SHAPES)
def test_rows_of_other_warps_need_their_barrier(shape: str) -> None:
    assert errors(shape, ALL) == set()
    of_others = SHAPES[shape] > 32
    assert errors(shape, OWN_WARP) == ({"shared/barrier"} if of_others else set())
