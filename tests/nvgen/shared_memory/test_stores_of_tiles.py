"""Stores by TMA of what several warps have written: boxes are known, and so is what is read.

Two buffers take turns; one thread stores them.  Right as it stands, and with one barrier missing:
the rules about whole functions and the simulator find the race.  PTX ISA, cp.async.bulk.tensor;
cp.async.bulk.wait_group; Memory Consistency Model.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Severity, SimulationError, VerificationError
from nvgen import AtomicOp, ElementType, Kernel, KernelBuilder, Space, f32

ROUNDS, ROWS = 4, 32
SCHEDULES = ("early", "late", "random:1")


def build(missing: str = "") -> Kernel:
    """The kernel, without the barrier before each store or behind each wait."""
    b = KernelBuilder("stores", block=128, target="sm_90a")
    b.tensor_map("y", dtype=ElementType.F32, box=(ROWS, 32), output=True)
    args = b.begin()
    buffers = [b.shared_array(f"buffer{i}", f32, ROWS * 32, align=128) for i in range(2)]
    for turn in range(ROUNDS):
        buffer = buffers[turn % 2]
        with b.if_warp(0), b.elect():
            b.cp_async_bulk_wait_group_read(1)
        if missing != "behind the wait":
            b.barrier_cta_sync_aligned()
        for part in range(8):
            i = b.tid_x + 128 * part
            buffer[i] = (i + 1000 * turn).to(f32)
        b.fence_proxy_async(Space.SHARED_CTA)
        if missing != "before the store":
            b.barrier_cta_sync_aligned()
        with b.if_warp(0), b.elect():
            b.cp_async_bulk_tensor_s2g_tile(args["y"], (0, ROWS * turn), buffer)
            b.cp_async_bulk_commit_group()
    with b.if_warp(0), b.elect():
        b.cp_async_bulk_wait_group_read(0)
    return b.finish()


def test_right() -> None:
    compiled = build().compile(level="function")
    assert [f for f in compiled.findings if f.severity is not Severity.NOTE] == []
    numbers = np.arange(ROWS * 32).reshape(ROWS, 32)
    expected = np.concatenate([numbers + 1000 * turn for turn in range(ROUNDS)])
    for schedule in SCHEDULES:
        y = np.zeros((ROUNDS * ROWS, 32), np.float32)
        compiled.run(y, device="sim", schedule=schedule)
        assert (y == expected).all()


@pytest.mark.wrong_kernel
@pytest.mark.parametrize(
    ("missing", "rule"),
    [("before the store", "shared/race"), ("behind the wait", "st/source-modified")],
)
def test_a_barrier_is_missing(missing: str, rule: str) -> None:
    kernel = build(missing)
    with pytest.raises(VerificationError) as found:
        kernel.compile(level="function")
    assert {f.rule for f in found.value.findings if f.severity is Severity.ERROR} == {rule}
    compiled = kernel.compile()
    for schedule in SCHEDULES:
        with pytest.raises(SimulationError) as ended:
            compiled.run(np.zeros((ROUNDS * ROWS, 32), np.float32), schedule=schedule)
        assert ended.value.findings[0].rule == "sim/race"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tiles_are_added_to_what_is_there(schedule: str) -> None:
    """Three CTAs add a tile of two spans to the same part of an array."""
    b = KernelBuilder("adds", block=32, target="sm_90a")
    b.tile_map("y", ElementType.F32, (ROWS, 64))
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.F32, (ROWS, 64))
    with b.range(16) as number:
        four = b.vector([(number * 4 + i + b.ctaid_x).to(f32) for i in range(4)])
        b.store(four, tile.chunk(b.tid_x, number), align=16)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.bar_warp_sync()
    with b.elect():
        b.store_tile(tile, args["y"], (0, ROWS), op=AtomicOp.ADD)
        b.cp_async_bulk_wait_group(0)
    y = np.ones((2 * ROWS, 64), np.float32)
    b.finish().compile(level="function").run(y, grid=3, device="sim", schedule=schedule)
    assert (y[:ROWS] == 1).all()
    assert (y[ROWS:] == 1 + sum(np.arange(64) + cta for cta in range(3))).all()
