"""Epilogues in parts: columns of a matrix in registers, through tiles by turns, to memory by TMA.

numpy is the oracle; the sums are of small integers, and exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import AtomicOp, ElementType, KernelBuilder, Major, bf16, f16, f32
from nvgen.testing import Launch, assert_exact, kernel_test

ROWS, N, K = 64, 256, 64


def filled(b: KernelBuilder, args: dict, groups: int) -> tuple:
    """Tiles of both matrices, once they are there."""
    a = b.shared_tile("a_tile", bf16, (ROWS * groups, K))
    w, full = b.shared_tile("w_tile", bf16, (N, K)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, a, w)
        b.load_tile(a, args["a"], (0, 0), full)
        b.load_tile(w, args["w"], (0, 0), full)
    b.wait(full, 0)
    return a, w


def operands(groups: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(groups)
    a, w = (rng.integers(-3, 4, (rows, K)) for rows in (ROWS * groups, N))
    return a.astype(bf16.numpy), w.astype(bf16.numpy), a @ w.T


@pytest.mark.turns(18)
@kernel_test(schedules=["early", "late", "random:1"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("tiles", [1, 2])
@pytest.mark.parametrize("dtype", [f16, f32], ids=lambda t: t.value)
@pytest.mark.parametrize("adds", [False, True], ids=["stored", "added"])
def test_parts_go_through_tiles_by_turns(
    launch: Launch, groups: int, tiles: int, dtype: ElementType, adds: bool
) -> None:
    width = 1024 // dtype.bits  # columns of a swizzle span
    b = KernelBuilder("k", block=128 * groups, target=launch.target, dynamic_shared=True)
    b.tile_map("a", bf16, (ROWS * groups, K))
    b.tile_map("w", bf16, (N, K))
    b.tile_map("d", dtype, (ROWS, width), output=not adds)
    args = b.begin()
    staged = [b.shared_tiles(f"d_{i}", dtype, (ROWS, width), groups) for i in range(tiles)]
    a, w = filled(b, args, groups)
    with b.if_warpgroup(0, groups):
        sums, row = b.warpgroup_tile(ROWS, N), b.warpgroup * ROWS
        b.gemm(sums, a.part(row, ROWS), w)
        for turn, first in enumerate(range(0, N, width)):
            sums.part_of_columns(first, width).store_through(
                staged[turn % tiles][b.warpgroup], args["d"], (first, row),
                barrier=1 + b.warpgroup, in_flight=tiles - 1, op=AtomicOp.ADD if adds else None,
            )  # fmt: skip
        b.cp_async_bulk_wait_group(0)
    left, right, expected = operands(groups)
    d = np.full(expected.shape, 7 if adds else 0, dtype.numpy)
    launch(b.finish().compile(opt=launch.opt), left, right, d)
    assert_exact(d, (expected + (7 if adds else 0)).astype(dtype.numpy))


@kernel_test(schedules=["early", "late"], targets="sm_90a")
def test_the_whole_cta_stores_transposed(launch: Launch) -> None:
    """One warpgroup is the CTA: barrier 0, and a tile that is MN-major, as D of B·Aᵀ is."""
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    b.tile_map("a", bf16, (ROWS, K))
    b.tile_map("w", bf16, (N, K))
    b.tile_map("d", bf16, (ROWS, N), major=Major.MN, output=True)
    args = b.begin()
    tile = b.shared_tile("d_tile", bf16, (ROWS, N), major=Major.MN)
    a, w = filled(b, args, 1)
    sums = b.warpgroup_tile(ROWS, N)
    b.gemm(sums, a, w)
    sums.store_through(tile, args["d"], (0, 0))
    b.cp_async_bulk_wait_group(0)
    left, right, expected = operands(1)
    d = np.zeros((N, ROWS), bf16.numpy)
    launch(b.finish(), left, right, d)
    assert_exact(d, expected.T.astype(bf16.numpy))


@kernel_test(schedules="early", targets=["sm_80", "sm_90a"])
def test_columns_of_a_warps_matrix(launch: Launch) -> None:
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("d", f32, output=True)
    d = b.begin()["d"]
    whole = b.warp_tile(32, 48).map_at(lambda x, row, column: (row * 48 + column).to(f32))
    part = whole.part_of_columns(8, 24)
    part.map_at(lambda x, row, column: x * 32 + column.to(f32)).store(d, 24)
    got = np.zeros((32, 24), np.float32)
    launch(b.finish(), got)
    numbers = np.arange(32 * 48).reshape(32, 48)[:, 8:32]
    assert_exact(got, (numbers * 32 + np.arange(24)).astype(np.float32))


@pytest.mark.parametrize(("first", "columns"), [(4, 8), (0, 12), (240, 32), (-8, 8), (0, 0)])
def test_parts_that_threads_do_not_hold_alike_are_refused(first: int, columns: int) -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="no such part of the columns"):
        b.warpgroup_tile(ROWS, N).part_of_columns(first, columns)
