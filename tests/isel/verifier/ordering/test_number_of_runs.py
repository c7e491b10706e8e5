"""How often a kernel is executed: not again where another run could not differ."""

from __future__ import annotations

import pytest

from isel.verifier.ordering import runs
from isel.verifier.ordering.execute import Run
from isel.verifier.ordering.run.log import Log
from tests.each import each
from tests.isel.verifier.kernels import kernel, severities

BODY = """\
    .shared .align 128 .b8 words[1024];
    .shared .align 8 .b64 bar;
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    mad.wide.u32 %rd2, %n, 4, %x;
    {copy}
    cp.async.wait_all;
    {wait}
    ld.shared.b32 %r5, [words];
    st.global.b32 [%x], %r5;"""

FROM = "cp.async.ca.shared.global [%r3], [%rd2], 4;"
TO = "and.b32 %r6, %n, 7; mad.lo.u32 %r3, %r6, 4, %r3; " + FROM
BARRIER = "bar.sync 0;"
MBARRIER = """\
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 128;
    bar.sync 0;
    mbarrier.arrive.shared.b64 %rd3, [bar];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;"""

CASES = {
    "an argument says where a copy comes from": (FROM, BARRIER, 1),
    "an argument says where it goes": (TO, BARRIER, 5),
    "warps meet at an mbarrier, in any order": (FROM, MBARRIER, 2),
}


@each("name", CASES)
def test_a_run_that_cannot_differ_is_not_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, wait, expected = CASES[name]
    made: list[Log] = []

    class Counted(Run):
        def run(self) -> Log:
            made.append(super().run())
            return made[-1]

    monkeypatch.setattr(runs, "Run", Counted)
    text = kernel(BODY.format(copy=copy, wait=wait), ".param .u64 x, .param .u32 n")
    assert severities(text) == set()
    assert len(made) == expected
