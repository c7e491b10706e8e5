"""A bulk store whose source a copy fills: too early, unless threads have filled it themselves.

PTX ISA, cp.async.bulk: what a copy writes is visible once a wait on its mbarrier has succeeded.
Where arguments decide that nobody needs the copy, threads store there without a wait; whether a
launch has such arguments, no text says.
"""

from __future__ import annotations

from tests.each import each
from tests.isel.verifier.kernels import errors, kernel

HEAD = """\
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 full;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra END;
    mbarrier.init.shared.b64 [full], 1;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 %rd1, [full], 1024;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%x], 1024, [full];
"""
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra WAIT;"
PERHAPS = f"setp.eq.u32 %p3, %n, 0; @%p3 bra NONE; {WAIT} NONE:"
STORE = "st.shared.b32 [tile], 0; fence.proxy.async.shared::cta;"
OUT = """
    cp.async.bulk.global.shared::cta.bulk_group [%x], [tile], 1024;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:"""


def _errors(body: str) -> set[str]:
    return errors(kernel(HEAD + body + OUT, ".param .u64 x, .param .u32 n", ".reqntid 32"))


@each("body", [WAIT, f"{WAIT} {STORE}", f"{PERHAPS} {STORE}"])
def test_what_has_come_or_was_stored_goes_out(body: str):
    assert _errors(body) == set()


def test_a_copy_that_nobody_waits_for():
    assert _errors("") == {"cp.async.bulk/before-copy"}
