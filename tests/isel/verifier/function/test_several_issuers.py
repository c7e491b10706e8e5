"""Two warps that each multiply for a half of the rows, and give back the same stage of a ring.

PTX ISA, tcgen05: Issue Granularity (one thread issues a multiply, and a commit tracks those of the
thread that executes it); mbarrier.init (as many arrivals as it is told end a phase).
"""

from __future__ import annotations

from tests.isel.verifier import kernels
from tests.isel.verifier.kernels import kernel

FILL = "".join(
    f"    st.shared.v4.b32 [%r2+{at}], {{%r1, %r1, %r1, %r1}};\n" for at in range(0, 256, 16)
)
"""All that the multiplies read, 256 bytes by each thread."""

TWO_ISSUERS = """\
    .shared .align 1024 .b8 tile[32768];
    .shared .align 8 .b64 ended;
    .shared .align 4 .b8 slot[4];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [ended], 2;
MADE:
    setp.gt.u32 %p2, %r1, 31;
    @%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
    shl.b32 %r2, %r1, 8;
    mov.u32 %r3, tile;
    add.u32 %r2, %r3, %r2;
    fill;
    fence.proxy.async.shared::cta;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %r4, [slot];
    and.b32 %r5, %r1, 31;
    setp.ne.u32 %p3, %r5, 0;
    @%p3 bra WAIT;
    setp.gt.u32 %p4, %r1, 63;
    @%p4 bra WAIT;
    shl.b32 %r6, %r1, 2;
    add.u32 %r6, %r4, %r6;
    shr.u32 %r7, %r3, 4;
    cvt.u64.u32 %rd1, %r7;
    or.b64 %rd1, %rd1, 4611756662049538048;
    tcgen05.mma.cta_group::1.kind::f16 [%r6], %rd1, %rd1, 136314896, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [ended];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p5, [ended], 0;
    @!%p5 bra WAIT;
    tcgen05.fence::after_thread_sync;
    bar.sync 0;
    @%p2 bra END;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 256;
END:""".replace("    fill;\n", FILL)


def errors(body: str) -> set[str]:
    return kernels.errors(kernel(body, target="sm_100a"))


def test_each_of_two_warps_may_commit_to_an_mbarrier_of_two() -> None:
    assert errors(TWO_ISSUERS) == set()


def test_to_an_mbarrier_of_one_it_is_once_too_often() -> None:
    once = TWO_ISSUERS.replace("[ended], 2;", "[ended], 1;")
    assert "tcgen05.commit/threads" in errors(once)


def test_two_warps_do_not_multiply_the_same() -> None:
    same = TWO_ISSUERS.replace("add.u32 %r6, %r4, %r6;", "mov.u32 %r6, %r4;")
    assert "tcgen05.mma/threads" in errors(same)
