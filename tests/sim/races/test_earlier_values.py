"""What strong loads may find of another thread's stores, and what they may not.

CTA 0 stores a datum and then raises a flag, both by strong stores; CTA 1 polls the flag and then
loads the datum.  Nothing races, but only fences on both sides order the datum's load behind its
store: without them the datum of before may be found.  Under the manual's axioms no thread finds an
older value after a newer one (Coherence), a thread finds its own stores, and what happens before is
found (Causality).  PTX ISA, Memory Consistency Model.
"""

from __future__ import annotations

import numpy as np

import nvgen
from tests.each import each

HEAD = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r0, %ctaid.x;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra READER;
"""
READER = "    ret;\nREADER:\n"
SEEDS = range(24)


def results(writer: str, reader: str, seeds: range = SEEDS) -> set[tuple[int, ...]]:
    """What y holds after each run: the first two words of x are a datum and a flag, both 0."""
    compiled = nvgen.compile(f"{HEAD}{writer}\n{READER}{reader}\n    ret;\n}}\n")
    found: set[tuple[int, ...]] = set()
    for seed in seeds:
        y = np.zeros(2, np.int32)
        compiled.run(np.zeros(2, np.int32), y, grid=2, block=1, schedule=f"random:{seed}")
        found.add(tuple(y.tolist()))
    return found


def sent(kind: str, fence: str = "", raising: str = "") -> str:
    """The datum, a fence, the flag."""
    return f"st.{kind}.global.u32 [%rd1], 7; {fence} st.{raising or kind}.global.u32 [%rd1+4], 1;"


def heard(kind: str, fence: str = "", asking: str = "") -> str:
    """Polls the flag, then fences, then loads the datum."""
    return (
        f"POLL: ld.{asking or kind}.global.u32 %r1, [%rd1+4]; setp.eq.u32 %p1, %r1, 0;\n"
        f"@%p1 bra POLL; {fence} ld.{kind}.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;"
    )


FENCE, OF_CTA = "fence.acq_rel.gpu;", "fence.acq_rel.cta;"
KINDS = ("volatile", "relaxed.gpu")
UNORDERED = {"none": ("", ""), "no reader's": (FENCE, ""), "no writer's": ("", FENCE),
             "too narrow": (OF_CTA, FENCE)}  # fmt: skip


@each("fences", UNORDERED)
@each("kind", KINDS)
def test_a_datum_that_nothing_orders_may_be_the_one_of_before(fences: str, kind: str) -> None:
    writer, reader = UNORDERED[fences]
    assert results(sent(kind, writer), heard(kind, reader)) == {(7, 0), (0, 0)}


@each("kind", KINDS)
def test_fences_on_both_sides_order_it(kind: str) -> None:
    assert results(sent(kind, FENCE), heard(kind, FENCE)) == {(7, 0)}


def test_release_and_acquire_order_it() -> None:
    writer = sent("relaxed.gpu", raising="release.gpu")
    assert results(writer, heard("relaxed.gpu", asking="acquire.gpu")) == {(7, 0)}


def test_nobody_finds_the_older_value_after_the_newer_one() -> None:
    writer = "st.relaxed.gpu.global.u32 [%rd1], 7;"
    load = "ld.relaxed.gpu.global.u32 %r{}, [%rd1]; st.global.u32 [%rd2{}], %r{};"
    both = load.format(1, "", 1) + load.format(2, "+4", 2)
    assert results(writer, both, range(60)) == {(0, 0), (0, 7), (7, 7)}


def test_a_thread_finds_its_own_stores() -> None:
    own = "st.relaxed.gpu.global.u32 [%rd1], 7; ld.relaxed.gpu.global.u32 %r1, [%rd1];"
    assert results("", f"{own} st.global.u32 [%rd2], %r1;") == {(7, 0)}


def test_atomic_operations_find_the_newest_value() -> None:
    """Both add: one of them finds what the other has added, and the sum of both is 3."""
    add = "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], {}; st.global.u32 [%rd2+{}], %r1;"
    assert results(add.format(1, 0), add.format(2, 4)) == {(0, 1), (2, 0)}


WARP = """\
.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 s[128];
.visible .entry k(.param .u64 y)
{{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %r0, 4, %r1;
    xor.b32 %r3, %r0, 1;
    mad.lo.u32 %r3, %r3, 4, %r1;
    st.volatile.shared.u32 [%r2], 5;
    bar.warp.sync -1;
    st.volatile.shared.u32 [%r2], 7;
    {order}
    ld.volatile.shared.u32 %r4, [%r3];
    mad.wide.u32 %rd2, %r0, 4, %rd1;
    st.global.u32 [%rd2], %r4;
    ret;
}}
"""


@each("order", ("bar.warp.sync -1;", ""))
def test_lanes_that_exchange_volatile_shared_memory(order: str) -> None:
    """Running together orders no two threads of a warp."""
    compiled = nvgen.compile(WARP.format(order=order))
    found = set[int]()
    for seed in range(8):
        y = np.zeros(32, np.int32)
        compiled.run(y, block=32, schedule=f"random:{seed}")
        found |= set(y.tolist())
    assert found == ({7} if order else {5, 7})


def test_other_schedules_let_stores_be_seen_at_once() -> None:
    compiled = nvgen.compile(
        f"{HEAD}{sent('volatile')}\n{READER}{heard('volatile')}\n    ret;\n}}\n"
    )
    for schedule in ("early", "late"):
        y = np.zeros(2, np.int32)
        compiled.run(np.zeros(2, np.int32), y, grid=2, block=1, schedule=schedule)
        assert y[0] == 7
