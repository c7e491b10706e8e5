"""Threads that leave before others have met: what a cluster's barrier still waits for.

The kernels are reductions of idioms of ThunderKittens' products for pairs of CTAs, written anew.
PTX ISA, barrier.cluster: a wait is over when all threads of the cluster that have not exited have
arrived; that a thread exits releases nothing (Memory Consistency Model).
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.isel.verifier.function import tensor_kernels

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
ENTRY = ".visible .entry k() .reqntid 64 .reqnctapercluster 2\n"


def said(text: str) -> dict[str, Severity]:
    """The rules that speak of a kernel, and how severely."""
    return {f.rule: f.severity for f in tensor_kernels.said(HEAD + text)}


# ---- all arrive, and a warp's elected thread waits for all; the others of the warp leave ---------

ONE_WAITS = (
    ENTRY
    + """\
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .shared .align 8 .b64 full;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 32;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
MADE:
    barrier.cluster.arrive.release.aligned;
    setp.gt.u32 %p2, %r1, 31;
    @%p2 bra LAST;
    elect.sync _|%p3, -1;
    @!%p3 bra END;
    barrier.cluster.wait.acquire;
    mbarrier.arrive.shared.b64 _, [full];
    bra.uni END;
LAST:
    barrier.cluster.wait.acquire.aligned;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p4, [full], 0;
    @!%p4 bra WAIT;
END:
    ret;
}
"""
)


def test_who_has_arrived_and_leaves_stands_for_nobody_else() -> None:
    assert said(ONE_WAITS) == {"barrier.cluster.arrive/no-wait": Severity.REVIEW}


def test_who_does_not_wait_does_not_know_the_mbarrier() -> None:
    hasty = ONE_WAITS.replace("    barrier.cluster.wait.acquire;\n", "")
    assert said(hasty)["mbarrier/published"] is Severity.ERROR


# ---- one warp meets those of the other CTA at the end, when the other warps have left ------------

ENDS = (
    ENTRY
    + """\
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .shared .align 4 .b8 slot[4];
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 31;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    @%p1 bra ALLOCATED;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
ALLOCATED:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %r2, [slot];
    shl.b32 %r3, %r1, 16;
    and.b32 %r3, %r3, 2097152;
    add.u32 %r4, %r2, %r3;
    mov.u32 %r5, 0;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r5};
    tcgen05.wait::st.sync.aligned;
    @%p1 bra END;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 32;
END:
    ret;
}
"""
)
ALL_MEET = ENDS.replace("    @%p1 bra END;\n", "").replace(
    "    tcgen05.dealloc", "    @%p1 bra END;\n    tcgen05.dealloc"
)


def test_whether_an_exit_orders_anything_the_manual_does_not_say() -> None:
    assert said(ENDS) == dict.fromkeys(
        ("tcgen05.dealloc/in-use", "tcgen05.dealloc/peer"), Severity.REVIEW
    )


def test_where_all_meet_nothing_is_open() -> None:
    assert said(ALL_MEET) == {}


def test_where_nobody_meets_that_is_wrong() -> None:
    barrier = (
        "    barrier.cluster.arrive.release.aligned;\n    barrier.cluster.wait.acquire.aligned;\n"
    )
    first, second, third = ENDS.split(barrier)
    assert Severity.ERROR in said(first + barrier + second + third).values()


def test_what_a_cta_that_leaves_has_not_freed_is_no_question_of_order() -> None:
    """The odd CTA ends where the other one waits for it: nothing frees its columns."""
    freed = "    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 32;\n"
    leaves = (
        "    mov.u32 %r6, %cluster_ctarank;\n    setp.eq.u32 %p2, %r6, 1;\n    @%p2 bra.uni END;\n"
    )
    barrier = (
        "    barrier.cluster.arrive.release.aligned;\n    barrier.cluster.wait.acquire.aligned;\n"
    )
    wrong = ALL_MEET.replace("    @%p1 bra END;\n" + freed, leaves + "    @%p1 bra REST;\n" + freed)
    wrong = wrong.replace("END:\n", "REST:\n" + barrier + "END:\n")
    assert said(wrong)["tcgen05.alloc/never-freed"] is Severity.ERROR
