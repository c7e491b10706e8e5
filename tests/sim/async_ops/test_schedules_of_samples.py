"""Sample 1, and a loop over K, under every schedule; and with one synchronisation taken away.

A right program gives one answer under every schedule.  Take one synchronisation away, and the
schedule "late" must give another outcome: wrong numbers, a fault, or a deadlock report.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import nvgen
from intrinsics.findings import InputError, SimulationError
from nvgen.compilation.compiled import Compiled
from tests.oracle.gemm import Gemm
from tests.sim.async_ops.scheduled import (
    NVVM,
    SCHEDULES,
    TEXT,
    canonical,
    changed,
    line_with,
    sample,
)
from tests.sim.kernels import (
    TARGET,
)


@functools.cache
def compiled_sample(text: str) -> Compiled:
    """The sample's text or a changed one, with what the sample's kernel takes."""
    found = nvgen.compile(text, target=TARGET)
    found.kernel = sample.build()
    return found


def outcome(text: str, schedule: str) -> str:
    """What becomes of the sample's kernel: "right", "wrong", or the rule of the first finding."""
    a, b, expected = sample.operands()
    d = np.full((sample.M, sample.N), np.nan, np.float32)
    try:
        compiled_sample(text).run(a, b, d, schedule=schedule)
    except SimulationError as error:
        return error.findings[0].rule
    return "right" if np.array_equal(d, expected) else "wrong"


# ---- the sample ------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_sample_is_right_under_every_schedule(schedule: str):
    assert outcome(TEXT, schedule) == "right"


def wait_of(barrier: str) -> str:
    return rf"call i1 {NVVM}mbarrier\.try\.wait\S*\(ptr addrspace\(3\) @{barrier}, i32 0\)"


ARRIVE = "call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @loaded, i32 1)"
EXPECT = rf"call i64 {NVVM}mbarrier\.arrive\.expect\.tx\S*\(ptr addrspace\(3\) @loaded, i32 32768\)"
DECLARE_ARRIVE = (
    "declare i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3), i32)\n"
)
REMOVED = {
    "the wait for the MMAs": (wait_of("multiplied"), "icmp eq i32 0, 0"),
    "the wait for the copies": (wait_of("loaded"), "icmp eq i32 0, 0"),
    "the expected bytes": (EXPECT, ARRIVE),
    "the expected bytes and the arrival": (rf"^.*{EXPECT}.*\n", ""),
    "the commit": (line_with(r"tcgen05\.commit"), ""),
    "half of the expected bytes": ("i32 32768", "i32 16384"),
    "one of the copies": (line_with(r"cp\.async\S*\([^\n]*ptr %b,"), ""),
    "the barrier after the allocation": (
        rf"({NVVM}tcgen05\.alloc(?:.*\n)*?){line_with('barrier.cta.sync')}",
        r"\1",
    ),
}
"""What is taken away: a pattern that the sample's text has once, and what stands there then."""


def without(what: str) -> str:
    return changed(*REMOVED[what], count=1) + DECLARE_ARRIVE


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("what", REMOVED)
def test_the_sample_without_one_synchronisation_goes_wrong(what: str):
    assert outcome(without(what), "late") != "right"


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("what", ["the wait for the copies", "half of the expected bytes"])
def test_some_random_schedule_shows_it_as_well(what: str):
    """An operation may be under way for long under a random schedule too, not only for moments."""
    found = {outcome(without(what), f"random:{seed}") for seed in range(16)}
    assert found - {"right"}


UNSEEN = {
    "the fence before the barrier": r"tcgen05\.fence\.before",
    "the fence after making barriers": r"fence\.mbarrier_init",
}
"""What a right program has, and the simulator does not miss.

No tcgen05 operation comes before that barrier, so the fence there has nothing to order.  Move the
other case up to `REMOVED` when it is modelled.
"""


@pytest.mark.parametrize("what", UNSEEN)
def test_a_missing_fence_is_not_seen_yet(what: str):
    assert outcome(changed(line_with(UNSEEN[what]), ""), "late") == "right"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_the_fence_after_the_wait_the_load_may_come_first(schedule: str):
    assert outcome(changed(line_with(r"tcgen05\.fence\.after"), ""), schedule) == "sim/race"


def test_a_register_that_is_used_needs_no_wait():
    """Register dependencies, same thread: the stores use what the loads brought."""
    waits = list(re.finditer(line_with(r"tcgen05\.wait\.ld"), TEXT, re.MULTILINE))
    assert len(waits) == 4
    last = waits[-1].start()  # behind it the columns are freed
    text = changed(line_with(r"tcgen05\.wait\.ld"), "", TEXT[:last], count=3) + TEXT[last:]
    for schedule in SCHEDULES:
        assert outcome(text, schedule) == "right", schedule


def test_columns_are_freed_behind_a_wait_for_their_loads():
    text = changed(line_with(r"tcgen05\.wait\.ld"), "", count=4)
    for schedule in SCHEDULES:
        assert outcome(text, schedule) == "sim/race", schedule


def test_expecting_more_bytes_than_come_is_a_deadlock_that_says_so():
    text = changed("i32 32768", "i32 40960", count=1)
    for schedule in ("early", "late"):
        assert outcome(text, schedule) == "sim/deadlock"


@pytest.mark.wrong_kernel
def test_the_same_seed_gives_the_same_run():
    """Every number of a racing kernel's result, and its steps, for the same seed twice."""

    def run(seed: int) -> tuple[bytes, str]:
        a, b, _ = sample.operands()
        d = np.zeros((sample.M, sample.N), np.float32)
        statistics = compiled_sample(TEXT).run(a, b, d, schedule=f"random:{seed}")
        return d.tobytes(), str(statistics)

    def race(seed: int) -> str:
        return outcome(without("the wait for the copies"), f"random:{seed}")

    assert run(3) == run(3)
    assert [race(seed) for seed in range(6)] == [race(seed) for seed in range(6)]


def test_an_unknown_schedule_is_refused():
    with pytest.raises(InputError):
        outcome(TEXT, "sometimes")


# ---- loops over K ----------------------------------------------------------------------------

LOOPS = [
    Gemm(128, 32, 256, k_tile=64, loop=True),
    Gemm(64, 16, 80, k_tile=16, swizzle=32),
    Gemm(128, 24, 64, "e4m3", "e5m2", k_tile=32, swizzle=32, loop=True),
]


def product_is_right(problem: Gemm, compiled: Compiled, schedule: str) -> bool:
    a, b, c = problem.integers(1)
    d = np.full((problem.m, problem.n), np.nan, np.float32)
    try:
        compiled.run(a, b, c, d, schedule=schedule)
    except SimulationError:
        return False
    return np.array_equal(d, problem.expected(a, b, c))


@pytest.mark.parametrize("problem", LOOPS, ids=str)
def test_a_loop_over_k_is_right_under_every_schedule(problem: Gemm):
    compiled = problem.build().compile(target=TARGET)
    for schedule in ("early", "late", "random:1", "random:2"):
        assert product_is_right(problem, compiled, schedule), schedule


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("barrier", ["loaded", "multiplied"])
def test_a_loop_that_forgets_to_turn_the_parity_goes_wrong(barrier: str):
    """Waiting for parity 0 in the second round returns at once: that phase is over."""
    problem = LOOPS[0]
    kernel = problem.build()
    text = changed(
        rf"(try\.wait\S*\(ptr addrspace\(3\) @{barrier}, )i32 %[\w.]+\)",
        r"\1i32 0)",
        canonical(kernel.llvm),
        count=1,
    )
    compiled = nvgen.compile(text, target=TARGET)
    compiled.kernel = kernel
    assert not product_is_right(problem, compiled, "late")
