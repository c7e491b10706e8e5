"""Waits for mbarriers and barriers: phases, deadlocks, and what their reports say."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.faults import DeadlockError
from nvgen.sim.launch import simulate
from nvgen.sim.threads.limits import Limits
from tests.sim.async_ops.scheduled import (
    ARRIVE_AT,
    SCHEDULES,
    TRY_WAIT,
    changed,
    deadlock_of,
    run_text,
    sample,
)
from tests.sim.kernels import (
    TARGET,
)


@pytest.mark.parametrize("schedule", SCHEDULES[:4])
def test_the_phase_before_the_first_has_completed(schedule: str):
    """mbarrier.try_wait.parity: parity 1 on a new barrier is that of the phase before."""
    body = f"""
  br label %spin
spin:
  %done = {TRY_WAIT} @first, i32 1)
  br i1 %done, label %on, label %spin
on:
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 7, ptr addrspace(1) %p
  ret void
"""
    out = np.zeros(64, np.uint32)
    run_text(body, out, schedule)
    assert (out == 7).all()


def test_a_try_wait_may_fail_although_the_phase_is_over():
    """A program that looks once and goes on is wrong: late, the first look fails."""
    body = f"""
  br i1 %zero, label %come, label %look
come:
  %token = {ARRIVE_AT} @first, i32 1)
  br label %look
look:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %done = {TRY_WAIT} @first, i32 0)
  %word = zext i1 %done to i32
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %word, ptr addrspace(1) %p
  ret void
"""
    for schedule, seen in (("early", 1), ("late", 0)):
        out = np.full(64, 9, np.uint32)
        run_text(body, out, schedule)
        assert (out == seen).all()


@pytest.mark.parametrize("schedule", ["early", "late", "random:0"])
def test_a_loop_that_counts_its_turns_still_ends(schedule: str):
    """Each turn changes a register, and yet the copy that it waits for must come one day."""
    text = """
@loaded = internal addrspace(3) global [8 x i8] undef, align 8
@tile = internal addrspace(3) global [512 x i8] undef, align 128
define ptx_kernel void @k(ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map,
    ptr addrspace(1) %out) "nvvm.reqntid"="1" {
entry:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @loaded, i32 1)
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  %t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @loaded,
    i32 256)
  %to = addrspacecast ptr addrspace(3) @tile to ptr addrspace(7)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7) %to,
    ptr addrspace(3) @loaded, ptr %map, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)
  br label %spin
spin:
  %n = phi i32 [ 0, %entry ], [ %m, %spin ]
  %m = add i32 %n, 1
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @loaded,
    i32 0)
  br i1 %done, label %on, label %spin
on:
  %v = load i8, ptr addrspace(3) @tile
  %w = zext i8 %v to i32
  %turns = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %w, ptr addrspace(1) %out
  store i32 %m, ptr addrspace(1) %turns
  ret void
}
"""
    compiled = nvgen.compile(text, target=TARGET)
    source, out = np.full(512, 0x2A, np.uint8), np.zeros(2, np.uint32)
    simulate(
        compiled.module,
        "k",
        [tensor_map(source, (256,)), out],
        grid=(1, 1, 1),
        block=(1, 1, 1),
        schedule=parse_schedule(schedule),
        limits=Limits(20_000),
    )
    assert out[0] == 0x2A
    assert out[1] >= 1


@pytest.mark.parametrize("schedule", ["early", "late", "random:5"])
def test_two_warps_that_wait_for_each_other(schedule: str):
    """Each warp waits for the barrier at which the other would arrive after its own wait."""
    body = f"""
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  %d1 = {TRY_WAIT} @first, i32 0)
  br i1 %d1, label %one_on, label %one
one_on:
  %t1 = {ARRIVE_AT} @second, i32 1)
  ret void
two:
  %d2 = {TRY_WAIT} @second, i32 0)
  br i1 %d2, label %two_on, label %two
two_on:
  %t2 = {ARRIVE_AT} @first, i32 1)
  ret void
"""
    found = deadlock_of(body, schedule)
    assert {f.rule for f in found} == {"sim/deadlock"}
    by_warp = {("warp 0" in f.message, "warp 1" in f.message): f for f in found}
    assert len(found) == 2
    for flags, barrier, line in (((True, False), "first", 20), ((False, True), "second", 26)):
        finding = by_warp[flags]
        assert barrier in finding.message
        assert "parity 0" in finding.message
        assert finding.place.line == line
        assert "0 of 1 arrivals" in finding.got


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_phase_that_is_never_completed_again(schedule: str):
    """The second wait needs a second arrival: parity 1, phase 1."""
    body = f"""
  br i1 %zero, label %come, label %wait
come:
  %t = {ARRIVE_AT} @first, i32 1)
  br label %wait
wait:
  %d1 = {TRY_WAIT} @first, i32 0)
  br i1 %d1, label %again, label %wait
again:
  %d2 = {TRY_WAIT} @first, i32 1)
  br i1 %d2, label %on, label %again
on:
  ret void
"""
    for finding in deadlock_of(body, schedule):
        assert "first" in finding.message
        assert "parity 1" in finding.message
        assert "phase 1" in finding.got


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_barrier_of_the_cta_that_one_warp_does_not_reach(schedule: str):
    body = f"""
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
two:
  %d2 = {TRY_WAIT} @second, i32 0)
  br i1 %d2, label %two_on, label %two
two_on:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
"""
    messages = [f.message for f in deadlock_of(body, schedule)]
    assert any("barrier 0" in m and "warp 0" in m and "32 of 64" in m for m in messages)
    assert any("second" in m and "warp 1" in m for m in messages)


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_bytes_that_never_come(schedule: str):
    text = changed("i32 32768", "i32 40960", count=1)
    a, b, _ = sample.operands()
    compiled = nvgen.compile(text, target=TARGET)
    compiled.kernel = sample.build()
    with pytest.raises(DeadlockError) as caught:
        compiled.run(a, b, np.zeros((sample.M, sample.N), np.float32), schedule=schedule)
    waiting = [f for f in caught.value.findings if "loaded" in f.message]
    assert waiting
    assert all("32768 of 40960 expected bytes" in f.got for f in waiting)
