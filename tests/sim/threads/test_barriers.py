"""mbarriers against a model written from the PTX ISA, and the barriers of a CTA.

The model is that of the manual's section on mbarrier: a phase completes when its pending arrivals
and its transaction count are both zero; then the next phase expects as many arrivals as the object
was made for, less those that were dropped.  Three thousand random sequences of these operations
gave the model's phases on an H200 (driver 580.159) as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intrinsics.findings import SimulationError
from intrinsics.limits import MOST_TX
from nvgen.sim.faults import DeadlockError, Fault
from nvgen.sim.threads.barriers import CtaBarrier, MBarrier
from tests.sim.ptx import SCHEDULES, findings, rule, run

# ---- the model -------------------------------------------------------------------------------


@dataclass
class Model:
    """An mbarrier object as the manual describes it."""

    count: int
    pending: int
    tx: int = 0
    completed: int = 0

    def apply(self, verb: str, n: int) -> None:
        match verb:
            case "arrive":
                self.pending -= n
            case "drop":
                self.pending -= n
                self.count -= n
            case "expect":
                self.tx += n
            case "complete":
                self.tx -= n
            case "arrive_expect":
                self.tx += n
                self.pending -= 1
        if self.pending == 0 and self.tx == 0:
            self.completed += 1
            self.pending = self.count

    def allows(self, verb: str, n: int) -> bool:
        """Whether the manual defines the operation now; a count of 0 would never wait again."""
        if verb == "arrive":
            return 0 < n <= self.pending
        if verb == "drop":
            return 0 < n <= self.pending and n < self.count
        return verb != "arrive_expect" or self.pending > 0


VERBS = ("arrive", "drop", "expect", "complete", "arrive_expect")
COUNTS = st.integers(1, 4)
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.sampled_from([0, 1, 2, 4, 8])), max_size=24)


def legal_run(count: int, steps: list[tuple[str, int]]) -> list[tuple[str, int, Model]]:
    """The steps that are defined, each with the model after it.

    Every other transaction is given the size that the count needs to be zero, or phases would
    hardly ever complete.
    """
    model = Model(count, count)
    taken: list[tuple[str, int, Model]] = []
    for i, (verb, n) in enumerate(steps):
        if verb in ("complete", "expect") and i % 2 and model.tx:
            verb, n = ("complete", model.tx) if model.tx > 0 else ("expect", -model.tx)
        if not model.allows(verb, n):
            continue
        model.apply(verb, n)
        taken.append((verb, n, Model(model.count, model.pending, model.tx, model.completed)))
    return taken


def perform(barrier: MBarrier, verb: str, n: int) -> None:
    match verb:
        case "arrive":
            barrier.arrive(n)
        case "drop":
            barrier.drop(n)
        case "expect":
            barrier.expect(n)
        case "complete":
            barrier.complete(n)
        case "arrive_expect":
            barrier.expect(n)
            barrier.arrive(1)


@pytest.mark.gpu
@given(COUNTS, STEPS)
def test_an_mbarrier_does_what_the_model_does(count: int, steps: list[tuple[str, int]]):
    barrier = MBarrier.new("b", count)
    for verb, n, after in legal_run(count, steps):
        perform(barrier, verb, n)
        assert (barrier.phase, barrier.pending, barrier.tx) == (
            after.completed,
            after.pending,
            after.tx,
        )
        for parity in (0, 1):
            assert barrier.passed(parity) == ((after.completed - 1) % 2 == parity)


INSTRUCTIONS = {
    "arrive": "mbarrier.arrive.shared::cta.b64 _, [b], {};",
    "drop": "mbarrier.arrive_drop.shared::cta.b64 _, [b], {};",
    "expect": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], {};",
    "complete": "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [b], {};",
    "arrive_expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], {};",
}
BARRIER = ".shared .align 8 .b64 b;"
LOOK = """
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [b], 0;
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [b], 1;
    selp.u32 %r1, 1, 0, %p1;
    selp.u32 %r2, 1, 0, %p2;
    st.global.v2.u32 [%a0+{offset}], {{%r1, %r2}};"""


@pytest.mark.gpu
@settings(max_examples=30)
@given(COUNTS, STEPS)
def test_the_instructions_do_what_the_model_does(count: int, steps: list[tuple[str, int]]):
    """One thread executes the sequence and looks at both parities after each step."""
    taken = legal_run(count, steps)
    body = f"    mbarrier.init.shared::cta.b64 [b], {count};"
    for i, (verb, n, _) in enumerate(taken):
        body += f"\n    {INSTRUCTIONS[verb].format(n)}{LOOK.format(offset=8 * i)}"
    seen = np.zeros((len(taken) + 1, 2), np.uint32)
    run(body, seen, variables=BARRIER, threads=1)
    for i, (_, _, after) in enumerate(taken):
        assert seen[i].tolist() == [after.completed % 2, 1 - after.completed % 2]


@pytest.mark.gpu
def test_bytes_that_come_before_they_are_expected():
    """complete, arrive, expect: the last one completes the phase, as it does on an H200."""
    barrier = MBarrier.new("b", 1)
    barrier.complete(16)
    barrier.arrive(1)
    assert barrier.phase == 0
    barrier.expect(16)
    assert barrier.phase == 1


# ---- what the manual leaves undefined is a fault ---------------------------------------------


@pytest.mark.parametrize("verb", ["arrive", "drop"])
def test_more_arrivals_than_are_pending(verb: str):
    """On an H200 the kernel ends with a launch failure."""
    barrier = MBarrier.new("b", 2)
    barrier.arrive(1)
    with pytest.raises(Fault) as caught:
        perform(barrier, verb, 2)
    assert "b" in caught.value.findings[0].message
    assert caught.value.findings[0].expected == "at most 1"


def test_the_transaction_count_has_limits():
    """mbarrier: tx-count ranges from -(2^20 - 1) to 2^20 - 1."""
    assert MOST_TX == 2**20 - 1
    for verb in ("expect", "complete"):
        barrier = MBarrier.new("b", 1)
        perform(barrier, verb, 2**20 - 1)
        with pytest.raises(Fault):
            perform(barrier, verb, 1)


@pytest.mark.parametrize(
    ("count", "good"), [(0, False), (1, True), (2**20 - 1, True), (2**20, False)]
)
def test_the_count_of_an_mbarrier_has_limits(count: int, good: bool):
    """mbarrier.init: the count is in the range 1 to 2^20 - 1."""
    body = "    mbarrier.init.shared::cta.b64 [b], %a0;"
    assert (rule(body, count, variables=BARRIER, threads=1) == "") == good


@pytest.mark.parametrize(
    ("body", "expected"),
    {
        "    mbarrier.arrive.shared::cta.b64 _, [b];": "mbarrier-uninitialized",
        "    mbarrier.init.shared::cta.b64 [b], 1;\n    mbarrier.inval.shared::cta.b64 [b];\n"
        "    mbarrier.arrive.shared::cta.b64 _, [b];": "mbarrier-uninitialized",
        "    mbarrier.inval.shared::cta.b64 [b];": "mbarrier-uninitialized",
        "    mbarrier.init.shared::cta.b64 [b+4], 1;": "misaligned",
        "    mbarrier.init.shared::cta.b64 [b+8], 1;": "out-of-bounds",
        "    mbarrier.init.b64 [%rd1], 1;": "mbarrier-space",
        "    mbarrier.init.shared::cta.b64 [b], 1;\n"
        "    mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [b], 1;": "mbarrier-no-complete",
        "    mbarrier.init.shared::cta.b64 [b], 2;\n"
        "    mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [b], 1;": "",
    }.items(),
)
def test_what_is_done_to_an_mbarrier(body: str, expected: str):
    assert rule(body, variables=BARRIER, threads=1) == expected


def test_a_token_names_its_phase():
    """mbarrier.test_wait with a token: the phase of the arrival, or an earlier one, is over."""
    show = [
        f"    selp.u32 %r{i}, 1, 0, %p{i};\n    st.global.u32 [%a0+{4 * i}], %r{i};"
        for i in range(1, 6)
    ]
    body = """
    mbarrier.init.shared::cta.b64 [b], 2;
    mbarrier.arrive.shared::cta.b64 %rd1, [b];
    mbarrier.test_wait.shared::cta.b64 %p1, [b], %rd1;
    mbarrier.arrive.shared::cta.b64 %rd2, [b];
    mbarrier.test_wait.shared::cta.b64 %p2, [b], %rd1;
    mbarrier.test_wait.shared::cta.b64 %p3, [b], %rd2;
    mbarrier.arrive.shared::cta.b64 %rd3, [b];
    mbarrier.test_wait.shared::cta.b64 %p4, [b], %rd3;
    mbarrier.test_wait.shared::cta.b64 %p5, [b], %rd2;
"""
    seen = np.zeros(6, np.uint32)
    run(body + "\n".join(show), seen, variables=BARRIER, threads=1)
    assert seen[1:].tolist() == [0, 1, 1, 0, 1]


# ---- the barriers of a CTA -------------------------------------------------------------------


@pytest.mark.gpu
def test_a_barrier_opens_when_the_last_one_has_come():
    barrier = CtaBarrier(3)
    for warp in range(3):
        barrier.join(warp, 0xFFFFFFFF)
        barrier.arrive(32, None, 96)
        assert barrier.holds(warp, 0xFFFFFFFF) == (warp < 2)
    assert not barrier.holds(0, 0xFFFFFFFF)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("leaver", [0, 1, 2])
def test_threads_that_exit_are_not_waited_for(leaver: int, schedule: str):
    """Whether they exit before the others come to the barrier, or while these wait there.

    CUDA programming guide: a barrier holds until all threads that have not exited reach it.
    """
    body = f"""
    setp.lt.u32 %p1, %tx, {32 * leaver};
    setp.ge.u32 %p2, %tx, {32 * leaver + 32};
    or.pred %p3, %p1, %p2;
    @%p3 bra meet;
    mov.u32 %r1, 0;
turn:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p4, %r1, 5;
    @%p4 bra turn;
    ret;
meet:
    barrier.sync 0;
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], 7;"""
    seen = np.zeros(96, np.uint32)
    run(body, seen, threads=96, schedule=schedule)
    expected = np.full(96, 7)
    expected[32 * leaver : 32 * leaver + 32] = 0
    assert seen.tolist() == expected.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_with_a_count_holds_only_those_who_use_it(schedule: str):
    """Warps 0 and 1 hand a value on through barrier 1; warps 2 and 3 never come there."""
    body = """
    mov.u32 %r9, word;
    setp.ge.u32 %p1, %tx, 64;
    @%p1 ret;
    setp.ge.u32 %p2, %tx, 32;
    @%p2 bra read;
    st.shared.u32 [word], 42;
    bar.arrive 1, 64;
    ret;
read:
    bar.sync 1, 64;
    ld.shared.u32 %r1, [word];
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], %r1;"""
    seen = np.zeros(128, np.uint32)
    run(body, seen, variables=".shared .align 4 .b32 word;", threads=128, schedule=schedule)
    assert (seen[32:64] == 42).all()
    assert seen.sum() == 42 * 32


@pytest.mark.parametrize(
    ("body", "expected"),
    {
        "    bar.sync 0, 33;": "barrier-count",
        "    mov.u32 %r1, 16;\n    barrier.sync %r1;": "barrier",
        "    setp.lt.u32 %p1, %tx, 32;\n    selp.u32 %r1, 64, 32, %p1;\n"
        "    bar.sync 0, %r1;": "barrier-count",
        "    bar.sync 0, 96;": "deadlock",
        "    shr.u32 %r1, %tx, 5;\n    bar.sync %r1, 32;": "",
        "    bar.sync 0, 64;\n    bar.sync 0;": "",
    }.items(),
)
def test_how_a_barrier_is_used(body: str, expected: str):
    """By 64 threads: the count is a multiple of 32 on which all agree, the number below 16."""
    assert rule(body, threads=64) == expected


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_that_reduces(schedule: str):
    """bar.red over 64 threads: how many, all, any; twice, so that nothing is left over."""
    body = """
    setp.lt.u32 %p1, %tx, %a1;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    bar.red.popc.u32 %r2, 0, !%p1;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 1, 0, %p3;
    mad.wide.u32 %rd1, %tx, 16, %a0;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};"""
    for below in (0, 5, 40, 64):
        seen = np.zeros((64, 4), np.uint32)
        run(body, seen, below, threads=64, schedule=schedule)
        expected = [below, 64 - below, int(below == 64), int(below < 64)]
        assert (seen == expected).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_half_a_warp_may_wait_at_a_barrier_that_is_not_aligned(schedule: str):
    """`barrier` counts threads; `.aligned` wants the whole warp at the same instruction."""
    halves = """
    setp.lt.u32 %p1, %lane, 16;
    @%p1 bra low;
    {0};
    bra end;
low:
    {0};
end:"""
    run(halves.format("barrier.sync 0"), threads=64, schedule=schedule)
    (first, *_) = findings(halves.format("barrier.sync.aligned 0"), threads=64, schedule=schedule)
    assert ".aligned" in first.message


# ---- deadlock reports ------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_report_says_what_has_come_and_what_has_not(schedule: str):
    """Of 3 arrivals and 96 bytes, two arrivals and 32 bytes came, in the second phase."""
    body = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra wait;
    mbarrier.init.shared::cta.b64 [b], 3;
    mbarrier.arrive.shared::cta.b64 _, [b], 3;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 96;
    mbarrier.arrive.shared::cta.b64 _, [b];
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [b], 32;
wait:
    bar.warp.sync 0xffffffff;
spin:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [b], 1;
    @!%p2 bra spin;"""
    with pytest.raises(DeadlockError) as caught:
        run(body, variables=BARRIER, schedule=schedule)
    (finding,) = caught.value.findings
    assert finding.rule == "sim/deadlock"
    for text in ("CTA 0", "warp 0", "lanes 0-31", "b, parity 1"):
        assert text in finding.message
    assert finding.got == "b phase 1 (parity 1): 2 of 3 arrivals, 32 of 96 expected bytes"
    lacks = "1 more arrival and 64 bytes that were expected and did not come"
    assert finding.expected == f"{lacks}; no thread that is left can signal it"
    assert finding.op.startswith("MBARRIER_TRY_WAIT_PARITY")


def test_a_report_has_a_finding_for_each_group_of_threads():
    """Lane 0 waits for b, lane 1 for c, the others for the rest of their warp."""
    body = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra others;
    mbarrier.init.shared::cta.b64 [b], 1;
    mbarrier.init.shared::cta.b64 [c], 2;
others:
    bar.warp.sync 0xffffffff;
    setp.eq.u32 %p1, %tx, 0;
    @%p1 bra first;
    setp.eq.u32 %p2, %tx, 1;
    @%p2 bra second;
    bar.warp.sync 0xffffffff;
    ret;
first:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [b], 0;
    @!%p3 bra first;
    ret;
second:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [c], 0;
    @!%p4 bra second;"""
    found = findings(body, variables=BARRIER + "\n.shared .align 8 .b64 c;", schedule="late")
    by_lanes = {f.message.split(" wait for ")[0].split(", ", 2)[2]: f for f in found}
    assert set(by_lanes) == {"lane 0", "lane 1", "lanes 2-31"}
    assert "b, parity 0" in by_lanes["lane 0"].message
    assert by_lanes["lane 0"].expected.startswith("1 more arrival")
    assert "c, parity 0" in by_lanes["lane 1"].message
    assert by_lanes["lane 1"].expected.startswith("2 more arrivals")
    assert "0x00000003" in by_lanes["lanes 2-31"].message, "who is elsewhere"


def test_a_report_names_the_barrier_of_the_cta():
    body = "    setp.lt.u32 %p1, %tx, 32;\n    @%p1 bar.sync 5, 64;"
    (finding,) = findings(body, threads=64)
    assert "warp 0" in finding.message
    assert "barrier 5: 32 of 64 threads have come" in finding.message


@pytest.mark.parametrize(
    ("members", "expected"),
    [("0xffffffff", ""), ("0x0000ffff", "member-mask"), ("0", "member-mask")],
)
@pytest.mark.parametrize("statement", ["bar.warp.sync {};", "elect.sync %r1|%p1, {};"])
def test_a_thread_that_its_mask_does_not_name(statement: str, members: str, expected: str):
    """bar.warp.sync, elect.sync: undefined if the executing thread is not in membermask."""
    assert rule("    " + statement.format(members)) == expected


def test_faults_are_simulation_errors():
    with pytest.raises(SimulationError):
        run("    trap;")
