"""Kernels that are made for one size, which an argument is tested to equal, and what they do else.

A host that launches such a kernel passes that size; what goes wrong with another one is doubtful,
if it goes right with this one.  Written from PTX of FlashInfer, as small as it goes.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.isel.verifier.kernels import kernel, severities

BODY = """\
    .shared .align 16 .b8 tile[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 done;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra MADE;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [done], 1; fence.mbarrier_init.release.cluster;
MADE:
    bar.sync 0;
    setp.gt.u32 %p2, %t, 31;
    @%p2 bra SECOND;
    @%p1 bra END;
    setp.ne.u32 %p3, %topk, 128;
    @%p3 bra SKIP;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [full], 0;
    @!%p4 bra FULL;
    ld.shared.u32 %r4, [tile];
SKIP:
    mbarrier.arrive.shared::cta.b64 %rd2, [done];
    bra END;
SECOND:
    setp.ne.u32 %p5, %t, 32;
    @%p5 bra END;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [full], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%from], 128, [full];
DONE:
    mbarrier.try_wait.parity.shared::cta.b64 %p6, [done], 0;
    @!%p6 bra DONE;
    ld.shared.u32 %r5, [tile];
END:"""
"""The second warp reads what it has copied when the first one is done, which waits for the copy
where its argument is 128."""


def said(body: str) -> set[tuple[str, Severity]]:
    return severities(kernel(body, ".param .u64 from, .param .u32 topk", ".reqntid 64"))


def test_a_wait_that_only_other_sizes_skip_is_in_doubt() -> None:
    assert said(BODY) == {("ld/before-copy", Severity.REVIEW)}


def test_without_the_wait_no_size_is_right() -> None:
    wait = BODY[BODY.index("FULL:\n") : BODY.index("SKIP:\n")]
    unread = BODY.replace(wait, "    add.u32 %topk, %topk, 1;\n")
    assert said(unread) == {("ld/before-copy", Severity.ERROR)}


def test_a_flag_has_both_values() -> None:
    for flag in ("0", "1"):
        other = BODY.replace("%topk, 128", f"%topk, {flag}")
        assert said(other) == {("ld/before-copy", Severity.ERROR)}


def test_of_two_sizes_that_are_tested_the_first_one_counts() -> None:
    second = BODY.replace(
        "SECOND:\n", "SECOND:\n    setp.eq.u32 %p7, %topk, 64;\n    @%p7 bra END;\n"
    )
    assert ("ld/before-copy", Severity.REVIEW) in said(second)
