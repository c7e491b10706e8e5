"""Kernels that are made for one size, which an argument is tested to equal, and what they do else.

A host that launches such a kernel passes that size; what goes wrong with another one is doubtful,
if it goes right with this one.  Written from PTX of FlashInfer, as small as it goes.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions

KERNEL = """\
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 from, .param .u32 topk) .reqntid 64
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .align 16 .b8 tile[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 done;
    ld.param.u64 %rd1, [from];
    ld.param.u32 %r1, [topk];
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra MADE;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [done], 1;
MADE:
    bar.sync 0;
    setp.gt.u32 %p2, %r2, 31;
    @%p2 bra SECOND;
    @%p1 bra END;
    setp.ne.u32 %p3, %r1, 128;
    @%p3 bra SKIP;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [full], 0;
    @!%p4 bra FULL;
    ld.shared.u32 %r4, [tile];
SKIP:
    mbarrier.arrive.shared::cta.b64 %rd2, [done];
    bra END;
SECOND:
    setp.ne.u32 %p5, %r2, 32;
    @%p5 bra END;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [full], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
DONE:
    mbarrier.try_wait.parity.shared::cta.b64 %p6, [done], 0;
    @!%p6 bra DONE;
    ld.shared.u32 %r5, [tile];
END:
    ret;
}
"""
"""The second warp reads what it has copied when the first one is done, which waits for the copy
where its argument is 128."""


def said(text: str) -> dict[str, Severity]:
    """The rules that speak of a kernel, but for notes, and how severely."""
    reading = read_ptx(text)
    assert reading.findings == []
    found = verify_functions(reading.module)
    return {f.rule: f.severity for f in found if f.severity is not Severity.NOTE}


def test_a_wait_that_only_other_sizes_skip_is_in_doubt() -> None:
    assert said(KERNEL) == {"ld/before-copy": Severity.REVIEW}


def test_without_the_wait_no_size_is_right() -> None:
    wait = KERNEL[KERNEL.index("FULL:\n") : KERNEL.index("SKIP:\n")]
    assert said(KERNEL.replace(wait, "    add.u32 %r1, %r1, 1;\n")) == {
        "ld/before-copy": Severity.ERROR
    }


def test_a_flag_has_both_values() -> None:
    for flag in ("0", "1"):
        assert said(KERNEL.replace("%r1, 128", f"%r1, {flag}")) == {
            "ld/before-copy": Severity.ERROR
        }


def test_of_two_sizes_that_are_tested_the_first_one_counts() -> None:
    second = KERNEL.replace(
        "SECOND:\n", "SECOND:\n    setp.eq.u32 %p7, %r1, 64;\n    @%p7 bra END;\n"
    )
    assert said(second)["ld/before-copy"] is Severity.REVIEW
