"""Lines that are discarded, zeros stored in bulk, launches that stay, memory of several GPUs.

What is expected is the manual's: discarded bytes hold nothing, st.bulk stores zeros, a request to
give up a launch may fail, and its answer completes 16 bytes on an mbarrier.  Of several GPUs there
is one, whose memory a multimem address names.  PTX ISA, discard; st.bulk;
clusterlaunchcontrol.try_cancel; multimem.
"""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.launching.parameters import Output
from tests.sim.ptx import SCHEDULES, findings, run

LINES = 4


def test_a_discarded_line_is_not_read_again() -> None:
    """Until it is written: the other lines keep what they had."""
    data = np.arange(LINES * 32, dtype=np.uint32)
    body = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra done;
    discard.global.L2 [%a0], 128;
    {again}
    ld.global.u32 %r1, [%a0{at}];
    st.global.u32 [%a1], %r1;
done:
    """
    out = np.zeros(1, np.uint32)
    (found,) = findings(body.format(again="", at=""), data, Output(out))
    assert found.rule == "sim/uninitialized"
    for again, at, expected in (("", "+128", 32), ("st.global.u32 [%a0], 7;", "", 7)):
        run(body.format(again=again, at=at), data.copy(), Output(out))
        assert out[0] == expected


@pytest.mark.parametrize(("at", "rule"), [("+4", "sim/misaligned"), ("+512", "sim/out-of-bounds")])
def test_a_line_begins_at_a_multiple_of_its_size(at: str, rule: str) -> None:
    data = np.zeros(LINES * 32, np.uint32)
    (found,) = findings(f"discard.global.L2 [%a0{at}], 128;", data, threads=1)
    assert found.rule == rule


def test_another_priority_changes_nothing() -> None:
    data = np.arange(LINES * 32, dtype=np.uint32)
    run("applypriority.global.L2::evict_normal [%a0], 128;", data)
    assert (data == np.arange(LINES * 32)).all()


def test_the_memory_of_all_gpus_is_that_of_the_one_there_is() -> None:
    data = np.zeros(128, np.float32)
    out = np.zeros(64, np.float32)
    body = """
    cvt.rn.f32.u32 %f1, %tx; add.f32 %f2, %f1, 0f3F800000;
    mul.wide.u32 %rd3, %tx, 8; add.u64 %rd4, %rd3, %a0;
    multimem.st.release.sys.global.v2.f32 [%rd4], {%f1, %f2};
    multimem.red.relaxed.gpu.add.f32 [%rd4], %f2;
    multimem.ld_reduce.acquire.sys.add.v2.f32 {%f3, %f4}, [%rd4];
    add.u64 %rd5, %rd3, %a1;
    st.global.v2.f32 [%rd5], {%f3, %f4};
    """
    run(body, data, Output(out))
    lane = np.arange(32, dtype=np.float32)
    assert (out == np.stack([2 * lane + 1, lane + 1], axis=1).ravel()).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bulk_copies_to_several_gpus_are_copies_to_the_only_one(schedule: str) -> None:
    """Half of the bytes of each 16 are copied; then words are added to what is there."""
    words = np.arange(1, 17, dtype=np.uint32)
    copied, added = np.full(16, 7, np.uint32), np.full(16, 7, np.uint32)
    body = """
    mov.u32 %r2, tile;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra done;
    BODY
    fence.proxy.async.shared::cta;
    mov.b16 %rs1, 0x00FF;
    multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%a0], [%r2], 64, %rs1;
    multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a1], [%r2], 64;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    """.replace("BODY", "".join(f"st.shared.u32 [%r2+{4 * i}], {n};" for i, n in enumerate(words)))
    tile = ".shared .align 128 .b8 tile[64];"
    run(body, copied, added, variables=tile, version="9.1", schedule=schedule)
    assert copied.tolist() == np.where(np.arange(16) % 4 < 2, words, 7).tolist()
    assert added.tolist() == (words + 7).tolist()


TILE = 256
SHOWN = """
    mov.u32 %r2, tile; mad.lo.u32 %r3, %tx, 8, %r2;
    st.shared.v2.u32 [%r3], {0x01010101, 0x01010101};
    bar.sync 0;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra shown;
    BODY
shown:
    bar.sync 0;
    ld.shared.v2.u32 {%r4, %r5}, [%r3];
    mul.wide.u32 %rd3, %tx, 8; add.u64 %rd3, %rd3, %a0;
    st.global.v2.u32 [%rd3], {%r4, %r5};
"""
SIZES = {
    "add.u32 %r6, %r2, 64; st.bulk.shared::cta [%r6], 96, 0;": 96,
    "add.u32 %r6, %r2, 64; mov.u64 %rd4, 8; st.bulk.weak.shared::cta [%r6], %rd4, 0;": 8,
    "add.u32 %r6, %r2, 64; mov.u32 %r7, 192; st.bulk.shared::cta [%r6], %r7, 0;": 192,
    "cvt.u64.u32 %rd5, %r2; cvta.shared.u64 %rd5, %rd5; st.bulk [%rd5+64], 16, 0;": 16,
    "add.u32 %r6, %r2, 64; st.bulk.shared::cta [%r6], 0, 0;": 0,
}


@pytest.mark.parametrize("body", SIZES)
def test_zeros_are_stored_in_bulk(body: str) -> None:
    out = np.zeros(TILE, np.uint8)
    variables = f".shared .align 128 .b8 tile[{TILE}];"
    run(SHOWN.replace("BODY", body), Output(out), variables=variables, threads=TILE // 8)
    expected = np.ones(TILE, np.uint8)
    expected[64 : 64 + SIZES[body]] = 0
    assert (out == expected).all()


def test_a_bulk_store_is_an_access_like_others() -> None:
    """It races with what is not ordered, and keeps within its CTA's shared memory."""
    variables = f".shared .align 128 .b8 tile[{TILE}];"
    held = "mov.u32 %r1, tile; st.bulk.shared::cta [%r1{at}], {size}, 0;"
    cases = (
        (held.format(at="", size=8) + "ld.shared.u32 %r2, [tile];", 64, "sim/race"),
        (held.format(at="", size=264), 1, "sim/out-of-bounds"),
        (held.format(at="+4", size=8), 1, "sim/misaligned"),
        ("mov.u32 %r1, tile; mov.u32 %r2, 4; st.bulk.shared::cta [%r1], %r2, 0;", 1,
         "sim/bulk-size"),
    )  # fmt: skip
    for body, threads, rule in cases:
        (found, *_) = findings(body, variables=variables, threads=threads)
        assert found.rule == rule, body
    (found,) = findings("st.bulk [%a0], 8, 0;", np.zeros(2, np.uint32), threads=1)
    assert found.rule == "sim/bulk-space"


REQUEST = """
    mov.u32 %r1, answer; mov.u32 %r2, bar;
    mov.u32 %r9, %cluster_ctarank;
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], BYTES;
    setp.ne.u32 %p1, %r9, 0;
    @%p1 bra spin;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytesALL.b128 \
[%r1], [%r2];
spin:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra spin;
    ld.shared.v2.u64 {%rd1, %rd2}, [answer];
    or.b64 %rd1, %rd1, %rd2;
    mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd3, %r3, 8; add.u64 %rd3, %rd3, %a0;
    st.global.u64 [%rd3], %rd1;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
VARIABLES = ".shared .align 16 .b8 answer[16];\n.shared .align 8 .b64 bar;"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("all_", ["", ".multicast::cluster::all"])
def test_a_request_to_give_up_a_launch_fails_in_time(all_: str, schedule: str) -> None:
    """All CTAs of a grid run, each for itself; the answer comes to one of them, or to all."""
    ctas = 2 if all_ else 1
    out = np.full(ctas, 9, np.uint64)
    body = REQUEST.replace("BYTES", "16").replace("ALL", all_)
    run(
        body, Output(out), variables=VARIABLES, threads=1, schedule=schedule,
        grid=(ctas, 1, 1), cluster=(ctas, 1, 1),
    )  # fmt: skip
    assert (out == 0).all()


def test_its_bytes_are_counted() -> None:
    body = REQUEST.replace("BYTES", "24").replace("ALL", "")
    (found,) = findings(body, Output(np.zeros(1, np.uint64)), variables=VARIABLES, threads=1)
    assert found.rule == "sim/deadlock"
    assert found.expected.startswith("8 bytes that were expected and did not come")


ASKED = """
    ld.shared.b128 %answer, [answer];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %answer;
    selp.u64 %rd1, 1, 0, %p3;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_answer_says_that_nothing_was_given_up(schedule: str) -> None:
    out = np.full(1, 9, np.uint64)
    body = ".reg .b128 %answer;" + REQUEST.replace("BYTES", "16").replace("ALL", "")
    body = body.replace(
        "ld.shared.v2.u64 {%rd1, %rd2}, [answer];\n    or.b64 %rd1, %rd1, %rd2;", ASKED
    )
    assert "is_canceled" in body
    run(body, Output(out), variables=VARIABLES, threads=1, schedule=schedule)
    assert (out == 0).all()


def test_what_is_no_answer_is_not_asked() -> None:
    body = ".reg .b128 %answer; st.shared.v2.u64 [answer], {1, 0};" + ASKED
    (found,) = findings(body, variables=VARIABLES, threads=1)
    assert found.rule == "sim/launch-answer"


def test_128_bits_are_moved_as_they_are() -> None:
    """In parts of 64 and of 32 bits, through a register, shared memory, and under a guard."""
    given = np.arange(1, 65, dtype=np.uint64) * np.uint64(0x0123456789ABCDEF)
    out = np.zeros(64, np.uint64)
    body = """
    .reg .b128 %q<3>;
    shl.b32 %r1, %tx, 4; cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %a0, %rd1; add.u64 %rd3, %a1, %rd1;
    mov.u32 %r2, slots; add.u32 %r2, %r2, %r1;
    ld.global.b128 %q0, [%rd2];
    mov.b128 {%rd1, %rd2}, %q0;
    mov.b128 %q1, {%rd2, %rd1};
    st.shared.b128 [%r2], %q1;
    ld.shared.b128 %q2, [%r2];
    setp.lt.u32 %p1, %tx, 16;
    @%p1 mov.b128 %q2, %q0;
    st.global.b128 [%rd3], %q2;
    """
    run(body, given, Output(out), variables=".shared .align 16 .b8 slots[512];")
    expected = given.reshape(32, 2).copy()
    expected[16:] = expected[16:, ::-1]
    assert np.array_equal(out.reshape(32, 2), expected)
