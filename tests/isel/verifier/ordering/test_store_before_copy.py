"""A bulk store whose source a copy fills: too early, unless threads have filled it themselves.

PTX ISA, cp.async.bulk: what a copy writes is visible once a wait on its mbarrier has succeeded.
Where arguments decide that nobody needs the copy, threads store there without a wait; whether a
launch has such arguments, no text says.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.each import each

HEAD = """\
.version 8.6
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[1024];
.shared .align 8 .b64 full;
.visible .entry k(.param .u64 x, .param .u32 n)
.reqntid 32
{
    .reg .pred %p<4>;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra END;
    mbarrier.init.shared.b64 [full], 1;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 %d2, [full], 1024;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%d1], 1024, [full];
"""
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra WAIT;"
PERHAPS = f"setp.eq.u32 %p3, %r1, 0; @%p3 bra NONE; {WAIT} NONE:"
STORE = "st.shared.b32 [tile], 0; fence.proxy.async.shared::cta;"
OUT = """
    cp.async.bulk.global.shared::cta.bulk_group [%d1], [tile], 1024;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:
    ret;
}
"""


def _errors(body: str) -> list[str]:
    reading = read_ptx(f"{HEAD}{body}{OUT}", "k.ptx")
    assert reading.findings == []
    found = verify_functions(reading.module)
    return [f.rule for f in found if f.severity is Severity.ERROR]


@each("body", [WAIT, f"{WAIT} {STORE}", f"{PERHAPS} {STORE}"])
def test_what_has_come_or_was_stored_goes_out(body: str):
    assert _errors(body) == []


def test_a_copy_that_nobody_waits_for():
    assert _errors("") == ["cp.async.bulk/before-copy"]
