"""Copies of unknown size: those that a warp issues to a ring's buffers have the same sizes, in the
same order.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from isel.verifier.ordering.judgement.sizes import ends_of_copies
from isel.verifier.ordering.run.log import Log
from tests.each import each
from tests.isel.verifier.kernels import kernel, said

A, B = (0, 1024), (2048, 2560)  # two buffers each of two operands: 1024 and 512 bytes
FIRST, SECOND = (64, 0), (72, 0)  # phases of their mbarriers


def log_of(copies: dict[tuple[int, int], list[int]], warps: dict[int, int] | None = None) -> Log:
    """A log of copies, by phase; `warps` has those that not warp 0 issues."""
    log = Log()
    for phase, found in copies.items():
        log.copies[phase] = [((warps or {}).get(first, 0), first) for first in found]
        log.expected[phase] = 1536
    return log


def test_the_last_buffer_ends_as_the_others_do() -> None:
    """Behind it nothing begins that would say so."""
    log = log_of({FIRST: [A[0], B[0]], SECOND: [A[1], B[1]]})
    assert ends_of_copies(log) == {0: 1024, 1024: 2048, 2048: 2560, 2560: 3072}


def test_what_no_other_phase_tells_is_not_known() -> None:
    assert ends_of_copies(log_of({SECOND: [A[1], B[1]]})) == {}


def test_copies_in_another_order_tell_nothing() -> None:
    """Of two phases that disagree neither is believed for a third."""
    third = (80, 0)
    log = log_of({FIRST: [0, 1024], SECOND: [4096, 4608], third: [9000, 16384]})
    log.copies[(88, 0)] = [(0, 1536), (0, 5632)]  # where the two before end
    log.expected[(88, 0)] = 0
    assert {first: end - first for first, end in ends_of_copies(log).items()} == {
        0: 1024, 1024: 512, 4096: 512, 4608: 1024,
    }  # fmt: skip


def test_copies_of_two_warps_may_alternate() -> None:
    """One warp brings A, another one B: which of them is first differs from turn to turn."""
    log = log_of({FIRST: [A[0], B[0]], SECOND: [B[1], A[1]]}, {B[0]: 1, B[1]: 1})
    assert ends_of_copies(log) == {0: 1024, 1024: 2048, 2048: 2560, 2560: 3072}


def test_copies_of_one_warp_do_not_alternate() -> None:
    """The same addresses from one warp: the first copy is that of 1024 bytes, into B."""
    log = log_of({FIRST: [A[0], B[0]], SECOND: [B[1], A[1]]})
    assert ends_of_copies(log)[B[1]] == B[1] + 1024


HEAD = """\
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 full;
    mov.u32 %r2, tile;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra FILLED;
    mbarrier.init.shared.b64 [full], 1;
    fence.proxy.async.shared::cta;
"""
COPY = """
    mbarrier.arrive.expect_tx.shared.b64 %rd1, [full], %r1;
    cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes
        [%r2], [%x, {%n}], [full];
FILLED:
    bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
    @!%p2 bra WAIT;
    ld.shared.b32 %r3, [tile];
"""
BYTES = {
    "an argument says how many": ("shl.b32 %r1, %n, 8;", Severity.REVIEW),
    "never any": ("mov.u32 %r1, 0;", Severity.ERROR),
}
"""The bytes that the phase expects, and how severe the early load is."""


@each("name", BYTES)
def test_a_phase_that_expects_no_bytes(name: str) -> None:
    """It is over before the copy; where arguments decide that, no launch need have such ones."""
    text, severity = BYTES[name]
    found = said(kernel(HEAD + text + COPY, ".param .u64 x, .param .u32 n", ".reqntid 64"))
    assert {(f.rule, f.severity) for f in found if f.rule == "ld/before-copy"} == {
        ("ld/before-copy", severity)
    }
