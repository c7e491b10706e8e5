"""Loads of shared memory that nothing writes.

Each kernel is run as well: the simulator, which knows each byte, ends at the loads that the rule
blames, and at none that it passes.  Where arguments or memory decide, nothing is said.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.findings import Severity, SimulationError
from tests.each import each
from tests.isel.verifier import kernels
from tests.isel.verifier.kernels import severities

HEAD = """\
    .shared .align 128 .b8 words[1024];
    .shared .align 8 .b64 full;
    cvta.to.global.u64 %x, %x;
    setp.eq.u32 %p1, %t, 0;
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %x, %rd1;
"""
STORE = "    st.shared.b32 [%r3], %t;\n"
MEET = "    bar.sync 0;\n"
LOAD = "    ld.shared.b32 %r9, [%r3];\n    st.global.b32 [%rd2], %r9;\n"
ADD = "    red.shared.add.u32 [%r3], 1;\n"
NEXT = LOAD.replace("[%r3]", "[%r3+4]")
HALF = "    setp.lt.u32 %p2, %t, 64;\n"
BELOW = "    setp.lt.u32 %p2, %t, 124;\n"
COPY = """\
    @%p1 mbarrier.init.shared.b64 [full], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], {bytes};
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [words], [%x], {bytes}, [full];
CAME:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra CAME;
"""
ROWS = """\
    shl.b32 %r4, %t, 4;
    and.b32 %r4, %r4, 496;
    add.u32 %r5, %r2, %r4;
    ldmatrix.sync.aligned.m8n8.x{n}.shared.b16 {{{to}}}, [%r5];
"""
FOUR = ROWS.format(n=4, to="%r10, %r11, %r12, %r13")
ONE = ROWS.format(n=1, to="%r10")

RIGHT = {
    "each word is stored": STORE + MEET + LOAD,
    "only the words that are stored are loaded": (
        HALF + STORE.replace("st", "@%p2 st", 1) + MEET + LOAD.replace("ld", "@%p2 ld", 1)),
    "the last thread loads no next word": (
        STORE + MEET + BELOW + NEXT.replace("ld", "@%p2 ld", 1)),
    "a copy brings them": COPY.format(bytes=512) + LOAD,
    "sums that begin at zero": STORE + MEET + ADD + MEET + LOAD,
    "rows of a matrix": STORE + MEET + FOUR,
    "threads whose rows a matrix lacks give any address": (
        HALF + STORE.replace("st", "@%p2 st", 1) + MEET + ONE),
}  # fmt: skip

WRONG = {
    "the word behind the last": STORE + MEET + NEXT,
    "half of the threads store": HALF + STORE.replace("st", "@%p2 st", 1) + MEET + LOAD,
    "a copy of half the bytes": COPY.format(bytes=256) + LOAD,
    "nobody stores": LOAD,
    "a word behind those that begin the sums": (
        STORE + MEET + ADD.replace("[%r3]", "[%r3+4]")),
    "rows behind those that are stored": (
        HALF + STORE.replace("st", "@%p2 st", 1) + MEET + FOUR),
}  # fmt: skip

OPEN = {
    "an argument says where": (
        "    ld.param.u32 %r6, [n];\n    shl.b32 %r6, %r6, 2;\n    add.u32 %r7, %r2, %r6;\n"
        "    st.shared.b32 [%r7], %t;\n" + MEET + "    ld.shared.b32 %r9, [words+20];\n"),
    "memory says where": (
        "    ld.global.b32 %r6, [%rd2];\n    shl.b32 %r6, %r6, 2;\n    add.u32 %r7, %r2, %r6;\n"
        "    st.shared.b32 [%r7], %t;\n" + MEET + LOAD),
    "memory says whether": (
        "    ld.global.b32 %r6, [%x];\n    setp.eq.u32 %p2, %r6, 7;\n"
        + STORE.replace("st", "@%p2 st", 1) + MEET + LOAD),
}  # fmt: skip


def kernel(body: str) -> str:
    """A module with the kernel."""
    return kernels.kernel(HEAD + body, ".param .u64 .ptr .global x, .param .u32 n")


def run(body: str) -> None:
    """Run a kernel."""
    nvgen.compile(kernel(body)).run(np.zeros(512, np.uint32), 5, grid=1, block=128)


@each("name", RIGHT)
def test_what_is_written_may_be_loaded(name: str) -> None:
    assert severities(kernel(RIGHT[name])) == set()
    run(RIGHT[name])


@each("name", WRONG)
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
def test_what_nothing_writes_is_told(name: str) -> None:
    ((rule, severity),) = severities(kernel(WRONG[name]))
    assert rule.endswith("/unwritten-bytes")
    assert severity is Severity.WARNING
    with pytest.raises(SimulationError) as error:
        run(WRONG[name])
    assert error.value.findings[0].rule == "sim/uninitialized"


@each("name", OPEN)
def test_what_a_run_makes_up_decides_nothing(name: str) -> None:
    rules = {rule for rule, _ in severities(kernel(OPEN[name]))}
    assert {rule for rule in rules if rule.endswith("/unwritten-bytes")} == set()
