"""Threads of one warp that exchange numbers through shared memory.

Each right kernel orders them by bar.warp.sync, and a kernel without one of these is a review; the
simulator finds a race, or a read of what is not written.  PTX ISA, bar.warp.sync: memory ordering
among the participating threads.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.findings import Severity, SimulationError
from tests.each import each
from tests.isel.verifier.kernels import kernel

HEAD = """\
    .shared .align 128 .b8 s[256];
    mov.u64 %rd1, %x; mov.u32 %r1, %t; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;
    cvt.u64.u32 %rd2, %r2; add.u64 %rd3, %rd1, %rd2;
"""
SYNC = "bar.warp.sync -1;"
STORE = "st.shared.u32 [%r4], %r1;"
BODIES = {
    "a neighbour's word": f"""
    {STORE} SYNC xor.b32 %r5, %r2, 4; add.u32 %r5, %r3, %r5;
    ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], %r6;
""",
    "of one lane for all": """
    setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], %r1; SYNC
    ld.shared.u32 %r6, [s]; st.global.u32 [%rd3], %r6;
""",
    "read, then written by another lane": f"""
    {STORE} bar.sync 0; xor.b32 %r5, %r2, 4; add.u32 %r5, %r3, %r5;
    ld.shared.u32 %r6, [%r5]; SYNC st.shared.u32 [%r4], %r6; st.global.u32 [%rd3], %r6;
""",
    "in branches": f"""
    {STORE} setp.lt.u32 %p1, %r1, 16; SYNC @!%p1 bra out;
    ld.shared.u32 %r6, [%r4+64]; st.global.u32 [%rd3], %r6;
out:
""",
    "copied by each lane": """
    cp.async.ca.shared.global [%r4], [%rd3], 4; cp.async.wait_all; SYNC
    xor.b32 %r5, %r2, 4; add.u32 %r5, %r3, %r5; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], %r6;
""",
    "stored together by one lane": f"""
    {STORE} fence.proxy.async.shared::cta; SYNC setp.ne.u32 %p1, %r1, 0; @%p1 bra out;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
out:
""",
}
RULE = "shared/lanes"


def of_warp(body: str) -> str:
    return kernel(HEAD + body, ".param .u64 x", ".reqntid 32")


def found(body: str) -> list[tuple[str, Severity]]:
    """The rules that a kernel breaks."""
    compiled = nvgen.compile(of_warp(body), target="sm_90a", level="all")
    return [(f.rule, f.severity) for f in compiled.findings if f.severity is not Severity.NOTE]


def run(body: str) -> None:
    """Run a kernel in the simulator, with a permutation."""
    nvgen.compile(of_warp(body), target="sm_90a").run(np.arange(64, dtype=np.uint32), device="sim")


@each("name", BODIES)
def test_threads_that_meet_are_ordered(name: str) -> None:
    body = BODIES[name].replace("SYNC", SYNC)
    assert found(body) == []
    run(body)


@each("name", BODIES)
def test_threads_that_do_not_are_a_review(name: str) -> None:
    body = BODIES[name].replace("SYNC", "")
    assert found(body) == [(RULE, Severity.REVIEW)]
    if name != "copied by each lane":  # the simulator completes the copies of a warp together
        with pytest.raises(SimulationError):
            run(body)


@each("between", ["shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;", "vote.sync.any.pred %p2, %p3, -1;"])
def test_what_makes_threads_meet_need_not_order_their_accesses(between: str) -> None:
    assert found(BODIES["a neighbour's word"].replace("SYNC", between)) == [(RULE, Severity.REVIEW)]


@each("between", ["bar.sync 0;", "barrier.sync 1, 32;"])
def test_barriers_of_more_threads_order_them_too(between: str) -> None:
    assert found(BODIES["a neighbour's word"].replace("SYNC", between)) == []


@each("address", ["%r4", "s"])
def test_a_lane_sees_what_it_has_stored_itself(address: str) -> None:
    """All lanes may store one word, if it is the same one."""
    store = f"st.shared.u32 [{address}], 7; ld.shared.u32 %r6, [{address}];"
    assert found(f"{store} st.global.u32 [%rd3], %r6;") == []


def listed(address: str) -> str:
    """Half of the lanes store a word, and then the other half, each at an index from memory."""
    return f"""
    ld.global.u32 %r6, [{address}]; shl.b32 %r6, %r6, 2; add.u32 %r6, %r3, %r6;
    setp.lt.u32 %p1, %r1, 16; @%p1 st.shared.u32 [%r6], %r1; @!%p1 st.shared.u32 [%r6], %r2;
"""


def test_indices_of_lanes_may_be_a_permutation() -> None:
    assert found(listed("%rd3")) == []
    run(listed("%rd3"))


def test_an_index_that_all_lanes_load_is_the_same_one() -> None:
    assert found(listed("%rd1")) == [(RULE, Severity.REVIEW)]
    with pytest.raises(SimulationError, match="race"):
        run(listed("%rd1"))
