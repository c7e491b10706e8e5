"""Threads that leave before others have met: what a cluster's barrier still waits for.

The kernels are reductions of idioms of ThunderKittens' products for pairs of CTAs, written anew.
PTX ISA, barrier.cluster: a wait is over when all threads of the cluster that have not exited have
arrived; that a thread exits releases nothing (Memory Consistency Model).
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier import kernels
from tests.isel.verifier.kernels import kernel


def said(text: str) -> dict[str, Severity]:
    """The rules that speak of a kernel, and how severely."""
    return {f.rule: f.severity for f in kernels.said(text)}


def of_pair(body: str) -> str:
    return kernel(body, "", ".reqntid 64 .reqnctapercluster 2", target="sm_100a")


# ---- all arrive, and a warp's elected thread waits for all; the others of the warp leave ---------

ONE_WAITS = of_pair("""\
    .shared .align 8 .b64 full;
    setp.ne.u32 %p1, %t, 32;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
MADE:
    barrier.cluster.arrive.release.aligned;
    setp.gt.u32 %p2, %t, 31;
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
END:""")


def test_who_has_arrived_and_leaves_stands_for_nobody_else() -> None:
    assert said(ONE_WAITS) == {"barrier.cluster.arrive/no-wait": Severity.REVIEW}


def test_who_does_not_wait_does_not_know_the_mbarrier() -> None:
    hasty = ONE_WAITS.replace("    barrier.cluster.wait.acquire;\n", "")
    assert said(hasty)["mbarrier/published"] is Severity.ERROR


# ---- one warp meets those of the other CTA at the end, when the other warps have left ------------

ENDS = of_pair("""\
    .shared .align 4 .b8 slot[4];
    setp.gt.u32 %p1, %t, 31;
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
    shl.b32 %r3, %t, 16;
    and.b32 %r3, %r3, 2097152;
    add.u32 %r4, %r2, %r3;
    mov.u32 %r5, 0;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r5};
    tcgen05.wait::st.sync.aligned;
    @%p1 bra END;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 32;
END:""")
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


# ---- threads of one warp leave, and the block's barrier waits for the rest of it -----------------

SHIFTED = kernel(
    """\
    .shared .align 4 .b8 row[512];
    mov.u32 %r1, %turns;
    mov.u32 %r2, %t;
    setp.gt.u32 %p1, %r2, 124;
    @%p1 bra END;
    mov.u32 %r3, row;
    mad.lo.u32 %r4, %r2, 4, %r3;
    add.u32 %r5, %r2, 32;
    rem.u32 %r5, %r5, 125;
    mad.lo.u32 %r5, %r5, 4, %r3;
AGAIN:
    st.shared.b32 [%r4], %r1;
    BARRIER
    ld.shared.b32 %r6, [%r5];
    st.global.b32 [%to], %r6;
    BARRIER
    sub.u32 %r1, %r1, 1;
    setp.gt.s32 %p2, %r1, 0;
    @%p2 bra AGAIN;
END:""",
    ".param .u64 to, .param .u32 turns",
    target="sm_100a",
)


@each("barrier", ("bar.sync 0;", "barrier.sync 0;"))
def test_a_barrier_waits_for_the_rest_of_a_warp(barrier: str) -> None:
    """Three of warp 3's threads have left: its arrival is still missing when three warps came.

    Whether all threads of a warp at an .aligned barrier are all that are left is not said.
    """
    aligned = {"bar.sync/aligned": Severity.REVIEW} if barrier.startswith("bar.") else {}
    assert said(SHIFTED.replace("BARRIER", barrier)) == aligned


@each("barrier", ("bar.sync 0;", "barrier.sync 0;"))
def test_without_the_barrier_they_race(barrier: str) -> None:
    first, second, third = SHIFTED.split("    BARRIER\n")
    one = f"    {barrier}\n"
    assert said(first + second + one + third)["shared/race"] is Severity.ERROR
    assert said(first + one + second + third)["shared/race"] is Severity.ERROR


def test_threads_that_part_and_leave_are_not_waited_for() -> None:
    """The other threads of the warp arrive in two groups; exited threads are not waited for."""
    parts = (
        "    setp.gt.u32 %p3, %r2, 110;\n    @%p3 bra OTHERS;\n    barrier.sync 0;\n"
        "    bra.uni MET;\nOTHERS:\n    barrier.sync 0;\nMET:\n"
    )
    text = SHIFTED.replace("    BARRIER\n", parts, 1).replace("BARRIER", "barrier.sync 0;")
    assert said(text) == {}


# ---- part of a warp executes an aligned barrier: the other lanes have exited, or diverged --------

GUARDED = kernel(
    """\
    mov.u64 %rd1, %to;
    mov.u32 %r1, %t;
    setp.ge.u32 %p1, %r1, 100;
    setp.ge.u32 %p2, %r1, 96;
    FIRST
    bar.sync 0;
    st.global.b32 [%rd1], %r1;
    SECOND
    ret;
LEAVE:
    LEAVING""",
    ".param .u64 to",
    target="sm_100a",
)


def at_barrier(first: str, second: str = "", leaving: str = "") -> Severity | None:
    """How severely the barrier of a kernel is judged, part of a warp of which goes elsewhere."""
    return said(_guarded(first, second, leaving)).get("bar.sync/aligned")


def _guarded(first: str, second: str = "", leaving: str = "") -> str:
    return GUARDED.replace("FIRST", first).replace("SECOND", second).replace("LEAVING", leaving)


LEFT = {
    "a return": ("@%p1 ret;",),
    "an exit": ("@%p1 exit;",),
    "a branch to the end": ("@%p1 bra LEAVE;",),
    "a last store": ("@%p1 bra LEAVE;", "", "st.global.b32 [%rd1+4], %r1;"),
    "behind another branch": ("@!%p2 bra BEHIND; st.global.b32 [%rd1+8], %r1;\nBEHIND: @%p1 ret;",),
    "all but the elected one": ("elect.sync _|%p3, -1; @!%p3 ret;",),
}
ELSEWHERE = {
    "around it": ("@%p1 bra AROUND;", "\nAROUND: st.global.b32 [%rd1+4], %r1;"),
    "around it, by a guard": ("@%p1 bra AROUND;", "\nAROUND: @%p2 st.global.b32 [%rd1+4], %r1;"),
    "at another barrier": ("@%p1 bra LEAVE;", "", "bar.sync 0;"),
    "in a loop": (
        "@%p1 bra LEAVE;",
        "",
        "ld.volatile.global.b32 %r3, [%rd1];\n    setp.ne.u32 %p4, %r3, 0;\n    @%p4 bra LEAVE;",
    ),
    "in lanes' exchange": ("@%p1 bra LEAVE;", "", "bar.warp.sync -16;"),
    "behind the elected one": (
        "elect.sync _|%p3, -1; @!%p3 bra AROUND;",
        "\nAROUND: st.global.b32 [%rd1+4], %r1;",
    ),
}
MET = {
    "whole warps return": ("@%p2 ret;",),
    "nobody returns": ("",),
    "behind the barrier": ("", "@%p1 ret;"),
}


@each("text", LEFT.values())
def test_whether_an_aligned_barrier_counts_who_has_exited_is_not_said(
    text: tuple[str, ...],
) -> None:
    assert at_barrier(*text) is Severity.REVIEW


@each("text", ELSEWHERE.values())
def test_who_is_elsewhere_is_missing_at_an_aligned_barrier(text: tuple[str, ...]) -> None:
    assert at_barrier(*text) is Severity.ERROR


@each("text", MET.values())
def test_whole_warps_come_to_an_aligned_barrier_or_leave(text: tuple[str, ...]) -> None:
    assert at_barrier(*text) is None


def test_one_warp_that_is_elsewhere_makes_it_an_error() -> None:
    """Of warp 0 some have left; of warp 3 some go around the barrier."""
    first = "setp.lt.u32 %p5, %r1, 4; @%p5 ret; @%p1 bra AROUND;"
    assert at_barrier(first, ELSEWHERE["around it"][1]) is Severity.ERROR


def test_the_review_says_what_the_manual_leaves_open() -> None:
    found = kernels.said(_guarded("@%p1 ret;"))
    [finding] = [f for f in found if f.rule == "bar.sync/aligned"]
    assert finding.got == "warp 3: 4 threads; the others have exited"
    assert "does not say whether that includes those which have exited" in finding.hint
    assert "keep all threads until behind the barrier" in finding.hint
