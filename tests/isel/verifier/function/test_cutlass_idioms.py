"""Idioms of CUTLASS and quack: right kernels without a finding, a wrong sibling of each.

Each comes from PTX that a compiler makes of CUTLASS and the CuTe DSL, written anew and as
small as it goes; what is expected is what the manual says of it.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.isel.verifier.function.idioms import HEAD, said

# ---- CUTLASS: two warps ask whether beta is zero, one to bring a tile, the other to read it ------

OPTIONAL_TILE = """\
.visible .entry k(.param .align 64 .b8 params[256]) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 full;
    mov.b64 %rd1, params;
    ld.param.b32 %r1, [%rd1+128];
    ld.param.b64 %rd2, [%rd1+136];
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
MADE:
    bar.sync 0;
    setp.gt.u32 %p2, %r2, 31;
    @%p2 bra READ;
    @%p1 bra END;
    setp.eq.f32 %p3, %r1, 0f00000000;
    @%p3 bra END;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 1024, [full];
    ret;
READ:
    setp.neu.f32 %p4, %r1, 0f80000000;
    @!%p4 bra END;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [full], 0;
    @!%p5 bra WAIT;
    ld.shared.u32 %r3, [tile];
END:
    ret;
}
"""


def test_whether_a_parameter_is_zero_is_the_same_for_all_warps() -> None:
    assert said(OPTIONAL_TILE) == set()


def test_a_wait_for_a_tile_that_nobody_brings_never_ends() -> None:
    assert said(OPTIONAL_TILE.replace("@!%p4", "@%p4")) == {"mbarrier/deadlock"}


def test_what_a_table_of_parameters_holds_is_not_known() -> None:
    entry = "shl.b32 %r4, %r2, 2;\n    and.b32 %r4, %r4, 124;\n    cvt.u64.u32 %rd3, %r4;\n"
    indexed = OPTIONAL_TILE.replace(
        "    setp.neu.f32 %p4",
        f"    {entry}    add.s64 %rd3, %rd1, %rd3;\n    ld.param.b32 %r1, [%rd3];\n"
        "    setp.neu.f32 %p4",
    )
    assert said(indexed) == {"mbarrier/deadlock"}


# ---- CUTLASS: the size of the cluster is given at the launch, and stands nowhere in the PTX ------

OF_CLUSTER = """\
.visible .entry k(.param .u64 source) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    ld.param.b64 %rd2, [source];
    mov.u32 %r2, %tid.x;
    mov.u32 %r6, %cluster_ctaid.x;
    mov.u32 %r7, 0;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [empty], 2;
    fence.mbarrier_init.release.cluster;
MADE:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    setp.gt.u32 %p2, %r2, 31;
    @%p2 bra READ;
    @%p1 bra DONE;
FILL:
    and.b32 %r8, %r7, 1;
    xor.b32 %r9, %r8, 1;
EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [empty], %r9;
    @!%p5 bra EMPTY;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;
    setp.ne.u32 %p6, %r6, 0;
    @%p6 bra NEXT;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [tile], [%rd2], 1024, [full], 3;
NEXT:
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p7, %r7, 4;
    @%p7 bra FILL;
    bra.uni DONE;
READ:
    and.b32 %r8, %r7, 1;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [full], %r8;
    @!%p5 bra FULL;
    ld.shared.u32 %r3, [tile];
    bar.warp.sync -1;
    setp.gt.u32 %p3, %r2, 33;
    sub.u32 %r10, %r2, 32;
    mov.u32 %r11, empty;
    mapa.shared::cluster.u32 %r12, %r11, %r10;
    @!%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p7, %r7, 4;
    @%p7 bra READ;
DONE:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ret;
}
"""


def test_a_kernel_for_a_cluster_is_judged_in_one() -> None:
    assert said(OF_CLUSTER) == set()


def test_along_y_too() -> None:
    assert said(OF_CLUSTER.replace("cluster_ctaid.x", "cluster_ctaid.y")) == set()


def severities(text: str) -> set[Severity]:
    """How severe the findings about a kernel are, but for notes."""
    found = verify_functions(read_ptx(HEAD + text).module)
    return {f.severity for f in found} - {Severity.NOTE}


def test_what_is_found_in_a_cluster_that_nobody_gave_is_a_review() -> None:
    wrong = OF_CLUSTER.replace("@!%p5 bra EMPTY;", "")
    assert severities(wrong) == {Severity.REVIEW}
    given = wrong.replace(".reqntid 64", ".reqntid 64 .reqnctapercluster 2")
    assert severities(given) == {Severity.ERROR}


# ---- CUTLASS: a group of a grouped product is found by a vote, and its size told by one ----

SEARCH = """\
.visible .entry k(.param .u64 sizes) .reqntid 32
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<9>;
    .shared .align 8 .b64 full;
    ld.param.b64 %rd1, [sizes];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %laneid;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    setp.gt.u32 %p1, %r2, 7;
    vote.sync.ballot.b32 %r3, %p1, -1;
    brev.b32 %r4, %r3;
    bfind.shiftamt.u32 %r5, %r4;
    shfl.sync.idx.b32 %r6|%p2, %r2, %r5, 31, -1;
    setp.eq.u32 %p3, %r6, 9;
    @%p3 bra DONE;
    bar.warp.sync -1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
DONE:
    ret;
}
"""


def test_what_one_thread_tells_all_is_the_same_for_all() -> None:
    assert said(SEARCH) == set()


def test_what_one_thread_of_each_half_tells_it_is_not() -> None:
    halves = SEARCH.replace("%r2, %r5, 31, -1", "%r2, %r5, 4127, -1")
    assert "barrier.cluster.arrive/aligned" in said(halves)


# ---- quack: each thread of a warp tells one CTA of the cluster what comes next -------------------

TOLD = """\
.visible .entry k() .reqntid 64 .reqnctapercluster 2
{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .shared .align 16 .b8 next[16];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    mov.u32 %r2, %tid.x;
    mov.u32 %r6, %cluster_ctarank;
    mov.u32 %r7, 0;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [empty], 2;
    fence.mbarrier_init.release.cluster;
MADE:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r10, empty;
    mapa.shared::cluster.u32 %r11, %r10, 0;
    setp.gt.u32 %p2, %r2, 31;
    @%p2 bra READ;
    setp.ne.u32 %p3, %r6, 0;
    @%p3 bra DONE;
    setp.gt.u32 %p4, %r2, 1;
    mov.u32 %r12, next;
    mapa.shared::cluster.u32 %r13, %r12, %r2;
    mov.u32 %r14, full;
    mapa.shared::cluster.u32 %r15, %r14, %r2;
TELL:
    and.b32 %r8, %r7, 1;
    xor.b32 %r9, %r8, 1;
EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [empty], %r9;
    @!%p5 bra EMPTY;
    @%p4 bra TOLD;
    mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r15], 16;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32
        [%r13], {%r7, %r7, %r7, %r7}, [%r15];
TOLD:
    bar.warp.sync -1;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p7, %r7, 4;
    @%p7 bra TELL;
    bra.uni DONE;
READ:
    and.b32 %r8, %r7, 1;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [full], %r8;
    @!%p5 bra FULL;
    ld.shared.v4.u32 {%r16, %r17, %r18, %r19}, [next];
    bar.warp.sync -1;
    setp.ne.u32 %p3, %r2, 32;
    @!%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p7, %r7, 4;
    @%p7 bra READ;
DONE:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ret;
}
"""


def test_each_thread_may_store_to_another_cta() -> None:
    assert said(TOLD) == set()


def test_each_cta_is_told_as_many_bytes_as_it_expects() -> None:
    assert "mbarrier/deadlock" in said(TOLD.replace("[%r15], 16;", "[%r15], 32;"))


def test_a_cta_that_has_not_read_is_told_nothing_new() -> None:
    one = TOLD.replace("mbarrier.init.shared.b64 [empty], 2", "mbarrier.init.shared.b64 [empty], 1")
    assert said(one) == {"st.async/operand-modified", "shared/race"}
