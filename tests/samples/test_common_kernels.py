"""Kernels that are not multiplies, as users write them: a scan in one pass over memory, routing to
experts, a stencil; clean at level `all`, and equal to numpy.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from nvgen import Kernel, KernelBuilder, f32, i32, u32
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Float, Int
from tests.samples.modules import named

THREADS = 64
TARGET = "sm_90a"


@pytest.mark.turns(8)
@kernel_test(schedules="all", targets=("sm_80", TARGET), opt=(0, 3))
def test_a_scan_in_one_pass(launch: Launch) -> None:
    """Sample 18; what is told by tiles that have only begun is looked back over, too."""
    sample = named("18_scan")
    for count in (4, 2 * sample.TILE, 1504):
        x, expected, told, started = sample.operands(count)
        y, tiles = np.zeros_like(x), told.size
        compiled = sample.build().compile(
            target=launch.target, opt=launch.opt, level="all", grid=tiles
        )
        assert not compiled.findings
        launch(compiled, x, y, told, started, count, grid=tiles)
        assert_exact(y, expected)


EXPERTS, CHOSEN = 256, 8


def routing() -> Kernel:
    """A warp for each token: its greatest logits, their experts, and the softmax of these."""
    b = KernelBuilder("routing", block=THREADS, target=TARGET)
    b.pointer("logits", f32)
    b.pointer("weights", f32, output=True)
    b.pointer("experts", u32, output=True)
    logits, weights, experts = b.begin().values()
    token = b.ctaid_x * (THREADS // 32) + b.warp

    def larger(one: tuple[Float, Int], other: tuple[Float, Int]) -> tuple[Float, Int]:
        (x, i), (y, j) = one, other
        is_one = (x > y) | ((x == y) & (i < j))
        return b.select(is_one, x, y), b.select(is_one, i, j)

    places = [b.lane + start for start in range(0, EXPERTS, 32)]
    mine = [(logits[token * EXPERTS + place], place) for place in places]
    found = []
    for _ in range(CHOSEN):
        found.append(b.warp_reduce(functools.reduce(larger, mine), larger))
        mine = [(b.select(place == found[-1][1], -math.inf, x), place) for x, place in mine]
    powers = [(x - found[0][0]).exp() for x, _ in found]
    total = b.vector(powers).sum()
    for number, (power, (_, expert)) in enumerate(zip(powers, found, strict=True)):
        with b.if_(b.lane == number):
            weights[token * CHOSEN + number] = power / total
            experts[token * CHOSEN + number] = expert
    return b.finish()


@kernel_test(schedules=["early"], targets=TARGET)
def test_routing_to_experts(launch: Launch) -> None:
    logits = np.random.default_rng(1).integers(-40, 40, (4, EXPERTS)).astype(np.float32) / 8
    weights, experts = np.zeros((4, CHOSEN), np.float32), np.zeros((4, CHOSEN), np.uint32)
    launch(routing().compile(level="all", grid=2), logits, weights, experts, grid=2)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :CHOSEN]
    powers = np.exp(np.take_along_axis(logits.astype(np.float64), order, 1))
    assert_exact(experts, order.astype(np.uint32))
    assert np.allclose(weights, powers / powers.sum(1, keepdims=True), rtol=1e-5)


ROWS, COLUMNS, HALO = 8, 32, 4
"""Of a tile.  The innermost coordinate of a copy is a multiple of 16 bytes: a halo is 4 wide."""


def stencil() -> Kernel:
    """Five points of each place, of a tile that comes by TMA with its halo; zeros lie around."""
    b = KernelBuilder("stencil", block=(COLUMNS, ROWS), target=TARGET)
    box = ROWS + 2, COLUMNS + 2 * HALO
    b.tensor_map("x", dtype=f32, box=box)
    b.pointer("y", f32, output=True)
    b.u32("rows"), b.u32("columns")
    x, y, rows, columns = b.begin().values()
    b.shared_array("other", f32, 5)[0] = 0.0  # what moves the tile from the beginning
    tile = b.shared_array("tile", f32, box[0] * box[1], align=128)
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    row, column = b.ctaid_y * ROWS, b.ctaid_x * COLUMNS
    with b.if_thread(0):
        b.arrive_expecting(full, x)
        b.cp_async_bulk_tensor_g2s_tile(tile, full, x, (column.to(i32) - HALO, row.to(i32) - 1))
    b.wait(full, 0)

    def near(down: int, right: int) -> Float:
        return tile[(b.tid_y + 1 + down) * box[1] + b.tid_x + HALO + right]  # type: ignore[return-value]  # of f32

    around = near(-1, 0) + near(1, 0) + near(0, -1) + near(0, 1)
    with b.if_((row + b.tid_y < rows) & (column + b.tid_x < columns)):
        y[(row + b.tid_y) * columns + column + b.tid_x] = around - near(0, 0) * 4.0
    return b.finish()


@pytest.mark.turns(3)
@kernel_test(schedules="all", targets=TARGET)
def test_a_stencil_by_tensor_copies(launch: Launch) -> None:
    x = np.random.default_rng(2).integers(-9, 9, (20, 40)).astype(np.float32)
    y = np.zeros_like(x)
    compiled = stencil().compile(level="all", grid=(2, 3), contract=True)
    assert "fma.rn.f32" in compiled.ptx  # the product and the difference, as is asked for
    launch(compiled, x, y, 20, 40, grid=(2, 3))
    p = np.pad(x, 1)
    assert_exact(y, p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x)


@kernel_test(schedules=["early"], targets=TARGET)
def test_an_array_that_is_too_large_for_static_shared_memory(launch: Launch) -> None:
    """64 KiB, turned round, beside an array of 16 KiB, which is static."""
    count = 1 << 14
    b = KernelBuilder("turned", block=256, dynamic_shared=True, target=TARGET)
    b.pointer("x", u32)
    b.pointer("y", u32, output=True)
    x, y = b.begin().values()
    small = b.shared_array("small", u32, count // 4)
    large = b.shared_array("large", u32, count)
    with b.range(count, start=b.thread, step=256) as i:
        large[i] = x[i]
        small[i % (count // 4)] = 1
    b.barrier_cta_sync_aligned()
    with b.range(count, start=b.thread, step=256) as i:
        y[i] = large[count - 1 - i] + small[i // 4]
    kernel = b.finish()
    assert kernel.dynamic_shared == 4 * count
    given = np.random.default_rng(3).integers(0, 99, count).astype(np.uint32)
    found = np.zeros_like(given)
    launch(kernel, given, found)
    assert_exact(found, given[::-1] + np.uint32(1))
