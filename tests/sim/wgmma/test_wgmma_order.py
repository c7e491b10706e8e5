"""wgmma's protocol: a right kernel runs clean, and without each part of it the fault is found.

What must come when is the manual's: PTX ISA, wgmma.fence; wgmma.commit_group; wgmma.wait_group;
wgmma.mma_async; Async Proxy.  Every fault is found under every schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from intrinsics.findings import Finding, SimulationError
from nvgen.launching.tensor_map import tensor_map
from tests.each import each
from tests.sim import ptx
from tests.sim.ptx import SCHEDULES
from tests.sim.wgmma.wgmma_case import Case, Given, Lying, body, execute

SS = Case(16, "f32", "f16")
RS = replace(SS, held=True)
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned 0;"
KEEP_ONE = "wgmma.wait_group.sync.aligned 1;"


def given() -> Given:
    """Ones times twos, added to zeros."""
    a = np.full((64, 16), 0x3C00, np.uint16)
    b = np.full((16, 16), 0x4000, np.uint16)
    return Given(a, b, np.zeros((64, 16), np.uint32))


def first(case: Case, schedule: str, multiply: str, proxy: str = "", threads: int = 128) -> Finding:
    """The first finding of a run."""
    with pytest.raises(SimulationError) as caught:
        execute(case, given(), schedule, multiply=multiply, proxy=proxy, threads=threads)
    return caught.value.findings[0]


@dataclass(frozen=True)
class Wrong:
    """Statements in the place of the multiply, the rule that they break, words of the finding."""

    multiply: str
    rule: str
    words: tuple[str, ...] = ()
    case: Case = SS
    proxy: str = ""
    threads: int = 128


def lines(*statements: str) -> str:
    return "\n".join("    " + s for s in statements)


M, RM = SS.instruction, RS.instruction
APART = "warpgroup-divergence"
WIDE = replace(SS, n=8).instruction
"""The same on the first half of the accumulators."""

WRONG = {
    "no fence": Wrong(lines(M, COMMIT, WAIT), "wgmma-fence", ("no wgmma.fence",)),
    "no commit": Wrong(lines(FENCE, M, WAIT), "wgmma-registers", ("no group", "commit_group")),
    "no wait": Wrong(lines(FENCE, M, COMMIT), "wgmma-registers", ("wgmma.wait_group 0",)),
    "no commit, no wait": Wrong(lines(FENCE, M), "wgmma-registers", ("in no group",)),
    "a wait that leaves one": Wrong(
        lines(FENCE, M, COMMIT, KEEP_ONE), "wgmma-registers", ("wgmma.wait_group 0",)
    ),
    "a wait that leaves one of two": Wrong(
        lines(FENCE, M, COMMIT, M, COMMIT, KEEP_ONE), "wgmma-registers", ("wgmma.wait_group 0",)
    ),
    "a commit too early": Wrong(lines(FENCE, COMMIT, M, WAIT), "wgmma-registers", ("in no group",)),
    "no proxy fence": Wrong(
        lines(FENCE, M, COMMIT, WAIT), "proxy-fence", ("fence.proxy.async",), proxy="// none"
    ),
    "a proxy fence too late": Wrong(
        lines(FENCE, M, COMMIT, "fence.proxy.async;", WAIT), "proxy-fence", proxy="// none"
    ),
    "a proxy fence of generic memory": Wrong(
        lines(FENCE, M, COMMIT, WAIT), "proxy-fence", proxy="fence.acq_rel.cta;"
    ),
    "an accumulator is read too early": Wrong(
        lines(FENCE, M, COMMIT, "mov.f32 %f1, %acc3;", WAIT), "wgmma-registers", ("accumulator",)
    ),
    "an accumulator is written too early": Wrong(
        lines(FENCE, M, COMMIT, "mov.f32 %acc3, 0f00000000;", WAIT), "wgmma-registers"
    ),
    "an accumulator is written behind the fence": Wrong(
        lines(FENCE, "mov.f32 %acc3, 0f00000000;", M, COMMIT, WAIT), "wgmma-fence", ("accumulator",)
    ),
    "an accumulator is read behind the fence": Wrong(
        lines(FENCE, "mov.f32 %f1, %acc3;", M, COMMIT, WAIT), "wgmma-fence"
    ),
    "an accumulator is read between waits": Wrong(
        lines(FENCE, M, COMMIT, WAIT, "add.f32 %f1, %acc3, %acc3;", M, COMMIT, WAIT), "wgmma-fence"
    ),
    "A is written behind the fence": Wrong(
        lines(FENCE, "mov.b32 %av1, 0;", RM, COMMIT, WAIT), "wgmma-fence", ("registers of A",), RS
    ),
    "A is written too early": Wrong(
        lines(FENCE, RM, COMMIT, "mov.b32 %av1, 0;", WAIT), "wgmma-registers", ("of A",), RS
    ),
    "A is read too early": Wrong(
        lines(FENCE, RM, COMMIT, "mov.b32 %r9, %av1;", WAIT), "wgmma-registers", ("of A",), RS
    ),
    "another shape on the accumulators": Wrong(
        lines(FENCE, M, WIDE, COMMIT, WAIT), "wgmma-registers"
    ),
    "another shape behind a wait without a fence": Wrong(
        lines(FENCE, M, COMMIT, WAIT, WIDE, COMMIT, WAIT), "wgmma-fence", ("n 16",)
    ),
    "shared memory is written too early": Wrong(
        lines(FENCE, M, COMMIT, "st.shared.u32 [tile], 0;", WAIT), "race",
    ),
    "some lanes only": Wrong(
        lines("setp.lt.u32 %p1, %lane, 7;", FENCE, "@%p1 " + M, COMMIT, WAIT), "aligned-divergence"
    ),
    "some warps only": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, "@!%p1 ret;", M, COMMIT, WAIT, "ret;"),
        "warpgroup-exited",
    ),
    "a multiply in some warps only": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, "@%p1 " + M, COMMIT, WAIT, "ret;"),
        APART, ("wgmma.mma_async", "wgmma.commit_group"),
    ),
    "another instruction": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, "@%p1 bra one;", M, "bra.uni on;",
              "one:", M, "on:", COMMIT, WAIT), APART,
    ),
    "another wait": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, M, COMMIT, "@%p1 bra one;", WAIT, "bra.uni on;",
              "one:", WAIT, "on:"), APART, ("wgmma.wait_group",),
    ),
    "a fence in some warps only": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, "@%p1 " + FENCE, M, COMMIT, WAIT), APART,
        ("wgmma.fence", "wgmma.mma_async"),
    ),
    "a group in some warps only": Wrong(
        lines("setp.lt.u32 %p1, %tx, 96;", FENCE, M, COMMIT, "@%p1 " + COMMIT, WAIT), APART,
        ("wgmma.commit_group", "wgmma.wait_group"),
    ),
    "a wait that a vote decides": Wrong(
        lines(FENCE, M, COMMIT, WAIT, "setp.eq.u32 %p1, %tx, 64;",
              "vote.sync.any.pred %p1, %p1, 0xffffffff;", "@%p1 " + WAIT, "ret;"),
        APART, ("not by warps 0, 1, 3",),
    ),
    "another number of waits": Wrong(
        lines(FENCE, M, COMMIT, WAIT, "shr.u32 %r9, %tx, 5;", "turn:", WAIT,
              "setp.ne.u32 %p1, %r9, 0;", "sub.u32 %r9, %r9, 1;", "@%p1 bra turn;", "ret;"),
        APART, ("not by warp",),
    ),
    "another descriptor": Wrong(
        lines("setp.lt.u32 %p1, %tx, 32;", "@%p1 add.u64 %rd8, %rd8, 2;", FENCE, M, COMMIT, WAIT),
        "warpgroup-operands",
    ),
    "another scale-d": Wrong(
        lines("setp.lt.u32 %p8, %tx, 32;", FENCE, M, COMMIT, WAIT), "warpgroup-operands"
    ),
    "a descriptor that lanes disagree on": Wrong(
        lines("setp.lt.u32 %p1, %lane, 9;", "@%p1 add.u64 %rd8, %rd8, 2;", FENCE, M, COMMIT, WAIT),
        "not-uniform",
    ),
    "bits of the descriptor": Wrong(
        lines("or.b64 %rd9, %rd9, 0x10000000000000;", FENCE, M, COMMIT, WAIT), "smem-desc"
    ),
    "three warps": Wrong(lines(FENCE, M, COMMIT, WAIT), "warpgroup-size", threads=96),
    "a part of a warp": Wrong(lines(FENCE, M, COMMIT, WAIT), "warpgroup-size", threads=100),
}  # fmt: skip

RIGHT = {
    "as usual": (SS, lines(FENCE, M, COMMIT, WAIT)),
    "A in registers": (RS, lines(FENCE, RM, RM, COMMIT, WAIT)),
    "a fence too many": (SS, lines(FENCE, FENCE, M, FENCE, M, COMMIT, WAIT)),
    "empty groups": (SS, lines(FENCE, COMMIT, M, COMMIT, COMMIT, WAIT)),
    "a wait for more than there are": (SS, lines(KEEP_ONE, FENCE, M, COMMIT, KEEP_ONE, WAIT)),
    "groups behind each other": (
        SS, lines(FENCE, M, COMMIT, M, COMMIT, KEEP_ONE, M, COMMIT, KEEP_ONE, WAIT)
    ),
    "another shape behind a fence": (
        SS, lines(FENCE, M, COMMIT, WAIT, FENCE, WIDE, COMMIT, WAIT)
    ),
    "a look between two multiplies": (
        SS, lines(FENCE, M, COMMIT, WAIT, "add.f32 %f1, %acc3, %acc3;", FENCE, M, COMMIT, WAIT)
    ),
    "A written again": (
        RS, lines(FENCE, RM, COMMIT, WAIT, "mov.b32 %av1, %av1;", FENCE, RM, COMMIT, WAIT)
    ),
    "an access in a guard that does not hold": (
        SS, lines("setp.eq.u32 %p1, %tx, 999;", FENCE, M, COMMIT, "@%p1 mov.f32 %f1, %acc3;", WAIT)
    ),
    "waits that all warps decide alike": (
        SS, lines("setp.lt.u32 %p1, %tx, 999;", "vote.sync.any.pred %p1, %p1, 0xffffffff;", FENCE,
                  M, COMMIT, "@%p1 " + WAIT, "@!%p1 " + WAIT, "@%p1 bra on;", WAIT, "on:")
    ),
}  # fmt: skip


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", WRONG)
def test_each_mistake_is_found(name: str, schedule: str) -> None:
    wrong = WRONG[name]
    found = first(wrong.case, schedule, wrong.multiply, wrong.proxy, wrong.threads)
    assert found.rule == "sim/" + wrong.rule, found
    said = " ".join((found.message, found.got, found.expected, found.hint))
    for word in wrong.words:
        assert word in said
    assert found.place.line


@pytest.mark.turns(4)
@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_clean(name: str, schedule: str) -> None:
    """Also the result: each multiply adds 32, the narrow one to half of the columns."""
    case, multiply = RIGHT[name]
    found = execute(case, given(), schedule, multiply=multiply).view(np.float32)
    wide = multiply.count(case.instruction)
    narrow = multiply.count(WIDE)
    assert (found[:, 8:] == 32 * wide).all()
    assert (found[:, :8] == 32 * (wide + narrow)).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_that_does_not_come_is_named(schedule: str) -> None:
    """Warp 3 waits for the others at a barrier, the others wait for it."""
    apart = lines("setp.lt.u32 %p1, %tx, 96;", FENCE, "@!%p1 bar.sync 1, 128;", "@!%p1 bra on;", M,
                  COMMIT, WAIT, "bar.sync 1, 128;", "on:")  # fmt: skip
    with pytest.raises(SimulationError) as caught:
        execute(SS, given(), schedule, multiply=apart)
    assert {f.rule for f in caught.value.findings} == {"sim/deadlock"}
    assert any("wait for warps 3 of warpgroup 0" in f.message for f in caught.value.findings)


def test_the_threads_must_meet_between_their_stores_and_the_multiply() -> None:
    """A proxy fence of each thread orders its own stores; those of others come by a barrier."""
    case = SS
    given_ = given()
    text = body(case, case.a_lies.image(given_.a), case.b_lies.image(given_.b))
    assert text.count("bar.sync 0;") == 1
    with pytest.raises(SimulationError) as caught:
        run(text.replace("bar.sync 0;", ""))
    assert caught.value.findings[0].rule == "sim/race"


def run(text: str, schedule: str = "early", *, races: bool = True) -> np.ndarray:
    """D's registers after a kernel of `SS`."""
    image = np.concatenate([Lying().image(given().a), Lying().image(given().b)])
    image = np.concatenate([image, np.zeros(-image.size % 2048, np.uint8)])
    sums = np.zeros((128, SS.registers), np.uint32)
    others = np.zeros((128, 5), np.uint32)
    ptx.run(
        text, image, sums, others, 1, variables=f".shared .align 1024 .b8 tile[{image.size}];",
        threads=128, schedule=schedule, target="sm_90a", version="8.6", races=races,
    )  # fmt: skip
    return sums.view(np.float32)


def test_shared_memory_is_read_at_a_moment_that_the_schedule_picks() -> None:
    """A store behind the issue, which nothing orders: early it comes too late, late it does not."""
    spoil = lines(FENCE, M, COMMIT, "st.shared.u32 [%r2], 0;", "fence.proxy.async;", "bar.sync 0;",
                  WAIT)  # fmt: skip
    text = body(SS, SS.a_lies.image(given().a), SS.b_lies.image(given().b), multiply=spoil)
    early, late = (run(text, schedule, races=False) for schedule in ("early", "late"))
    assert (early == 32).all()
    assert (late[0] == np.array([28, 28, 32, 32, 28, 28, 32, 32])).all()


# ---- a pipeline ------------------------------------------------------------------------------

PIPELINE = """
    .reg .f32 %acc<8>;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [full+8], 1;
    mbarrier.init.shared.b64 [empty], 1;
    mbarrier.init.shared.b64 [empty+8], 1;
    fence.mbarrier_init.release.cluster;
made:
    bar.sync 0;
    mov.u32 %r20, tile;
    mov.u32 %r21, full;
    mov.u32 %r22, empty;
    mov.u32 %r1, 0;
    setp.lt.u32 %p2, %tx, 128;
    @%p2 bra consumer;
    setp.ne.u32 %p3, %tx, 128;
    @%p3 bra end;
producer:
    and.b32 %r2, %r1, 1;
    shr.u32 %r3, %r1, 1;
    and.b32 %r3, %r3, 1;
    xor.b32 %r3, %r3, 1;
    mad.lo.u32 %r4, %r2, 8, %r22;
pe:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r3;
    @!%p4 bra pe;
    mad.lo.u32 %r4, %r2, 8, %r21;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 9216;
    mad.lo.u32 %r5, %r2, 9216, %r20;
    mul.lo.u32 %r6, %r1, 64;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5],
        [%m1, {%r6, 0}], [%r4];
    add.u32 %r5, %r5, 8192;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5],
        [%m2, {%r6, 0}], [%r4];
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p4, %r1, 6;
    @%p4 bra producer;
    bra.uni end;
consumer:
    mov.b32 %r30, 0;
    mov.b32 %acc0, %r30; mov.b32 %acc1, %r30; mov.b32 %acc2, %r30; mov.b32 %acc3, %r30;
next:
    and.b32 %r2, %r1, 1;
    shr.u32 %r3, %r1, 1;
    and.b32 %r3, %r3, 1;
    mad.lo.u32 %r4, %r2, 8, %r21;
cf:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r3;
    @!%p4 bra cf;
    mad.lo.u32 %r5, %r2, 9216, %r20;
    shr.u32 %r5, %r5, 4;
    and.b32 %r5, %r5, 0x3FFF;
    cvt.u64.u32 %rd4, %r5;
    or.b64 %rd8, %rd4, 0x4000004000010000;
    add.u64 %rd9, %rd8, 512;
    wgmma.fence.sync.aligned;
MULTIPLIES
    wgmma.commit_group.sync.aligned;
    // all but this turn's group are complete: the other stage is free
    wgmma.wait_group.sync.aligned 1;
    setp.eq.u32 %p5, %r1, 0;
    setp.ne.or.u32 %p5, %tx, 0, %p5;
    xor.b32 %r6, %r2, 1;
    mad.lo.u32 %r6, %r6, 8, %r22;
    @!%p5 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r6];
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p4, %r1, 6;
    @%p4 bra next;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd2, %tx, 16;
    add.u64 %rd2, %rd2, %a0;
    st.global.v4.f32 [%rd2], {%acc0, %acc1, %acc2, %acc3};
end:
""".replace(
    "MULTIPLIES",
    "\n".join(
        f"    add.u64 %rd10, %rd8, {2 * i}; add.u64 %rd11, %rd9, {2 * i};\n"
        "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%acc0, %acc1, %acc2, %acc3}, "
        "%rd10, %rd11, 1, 1, 1, 0, 0;"
        for i in range(4)
    ),
)
"""64 x 8 of D, six steps of K = 64 in two stages; one thread releases a stage, relaxed."""


def pipeline(text: str, schedule: str) -> None:
    """Run it, and compare with numpy."""
    dice = np.random.default_rng(5)
    a = dice.integers(-4, 5, (64, 384)).astype(np.float16)
    b = dice.integers(-4, 5, (8, 384)).astype(np.float16)
    sums = np.zeros((128, 4), np.float32)
    ptx.run(
        text, sums, tensor_map(a, (64, 64), 128), tensor_map(b, (8, 64), 128),
        variables=".shared .align 1024 .b8 tile[18432];\n.shared .align 8 .b64 full[2];\n"
        ".shared .align 8 .b64 empty[2];",
        threads=160, schedule=schedule, target="sm_90a", version="8.6",
    )  # fmt: skip
    product = a.astype(np.float32) @ b.astype(np.float32).T
    thread, i = np.arange(128)[:, None], np.arange(4)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + i // 2 * 8
    assert np.array_equal(sums, product[row, thread % 4 * 2 + i % 2])


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_thread_of_the_warpgroup_releases_a_stage(schedule: str) -> None:
    """The reads of multiplies that were waited for need no release; the arrival is enough."""
    pipeline(PIPELINE, schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stage_is_released_before_its_multiplies_are_complete(schedule: str) -> None:
    """The wait leaves a group too many, or the arrival stands before it."""
    for wrong in (
        PIPELINE.replace("wait_group.sync.aligned 1;", "wait_group.sync.aligned 2;"),
        PIPELINE.replace("xor.b32 %r6, %r2, 1;", "mov.b32 %r6, %r2;").replace(
            "setp.eq.u32 %p5, %r1, 0;", "setp.eq.u32 %p5, %r1, 99;"
        ),
    ):
        assert wrong != PIPELINE
        with pytest.raises(SimulationError) as caught:
            pipeline(wrong, schedule)
        (finding,) = caught.value.findings[:1]
        assert finding.rule == "sim/race", finding
        if schedule == "early":  # the reads come first, and are told
            assert "wgmma" in finding.message + finding.got
