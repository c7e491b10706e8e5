"""Whole tiles by TMA, and rings of them: what arrives is what numpy cuts out of the array."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType, Major
from intrinsics.modifiers import Scope
from nvgen import InputError, KernelBuilder, bf16, f16, f32
from nvgen.testing import Launch, assert_exact, kernel_test

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")
K, MN = Major.K, Major.MN

FORMS = {
    "two spans of K": (f16, (64, 128), 128, K),
    "lines in three boxes": (f32, (264, 8), 32, K),
    "MN-major": (f16, (128, 24), 64, MN),
    "without swizzling": (f32, (16, 12), 0, K),
}


@kernel_test(schedules=["early", "late"], targets="sm_90a")
@pytest.mark.parametrize("name", FORMS)
def test_there_and_back(launch: Launch, name: str) -> None:
    """A tile is cut out at an odd place of one array, and stored at another; edges are zeros."""
    dtype, (rows, k), swizzle, major = FORMS[name]
    b = KernelBuilder("k", block=32, target=launch.target, dynamic_shared=True)
    for tmap in "xy":
        b.tile_map(tmap, dtype, (rows, k), swizzle=swizzle, major=major, rank=3, output=tmap == "y")
    args = b.begin()
    tile = b.shared_tile("tile", dtype, (rows, k), swizzle=swizzle, major=major)
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_warp(0), b.elect():
        b.arrive_expecting(full, tile)
        b.load_tile(tile, args["x"], (8, 3, 1), full)
        b.wait(full, 0)
        b.store_tile(tile, args["y"], (0, 1, 0))
        b.cp_async_bulk_wait_group(0)
    lines, along = (rows, k) if major is K else (k, rows)
    x = np.random.default_rng(3).integers(-9, 9, (2, lines + 1, along + 16))
    x = x.astype(dtype.numpy)
    y = np.zeros((1, lines, along), x.dtype)
    launch(b.finish(), x, y)
    expected = np.zeros((lines, along), x.dtype)
    expected[1 : lines - 1] = x[1, 3:, 8 : along + 8][: lines - 2]
    assert_exact(y[0], expected)


@kernel_test(schedules=["early", "late"], targets="sm_90a")
def test_elements_of_four_bits_are_copied_two_in_a_byte(launch: Launch) -> None:
    """Coordinates count elements: columns from 64 on are bytes from 32 on."""
    b = KernelBuilder("k", block=32, target=launch.target, dynamic_shared=True)
    for tmap in "xy":
        b.tile_map(tmap, ElementType.E2M1, (16, 256), swizzle=64, output=tmap == "y")
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.E2M1, (16, 256), swizzle=64)
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_warp(0), b.elect():
        b.arrive_expecting(full, tile)
        b.load_tile(tile, args["x"], (b.ctaid_x + 64, 2), full)
        b.wait(full, 0)
        b.store_tile(tile, args["y"], (0, 0))
        b.cp_async_bulk_wait_group(0)
    x = np.random.default_rng(3).integers(0, 256, (17, 160), np.uint8)
    y = np.zeros((16, 128), np.uint8)
    launch(b.finish(), x, y)
    expected = np.zeros_like(y)
    expected[:15] = x[2:, 32:]
    assert_exact(y, expected)


@kernel_test(schedules=["early", "late"], targets="sm_90a")
@pytest.mark.parametrize("major", [K, MN])
def test_parts_of_k_come_from_anywhere(launch: Launch, major: Major) -> None:
    """Lines of MN-major tiles, spans of K-major ones; D = A·Bᵀ has all of K in the new order."""
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    shape = (64, 64) if major is K else (64, 16)
    b.tile_map("x", f16, shape, major=major)
    b.tile_map("y", f16, (64, 128))
    b.pointer("d", f32, output=True)
    args = b.begin()
    parts = range(0, 128, shape[1])
    x = b.shared_tile("x_tile", f16, (64, 128), major=major)
    y, full = b.shared_tile("y_tile", f16, (64, 128)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_warp(0), b.elect():
        b.arrive_expecting(full, x, y)
        for first in parts:  # the last part comes first
            at = (parts[-1] - first, 0) if major is K else (0, parts[-1] - first)
            b.load_tile(x.part_of_k(first, shape[1]), args["x"], at, full)
        b.load_tile(y, args["y"], (0, 0), full)
    b.wait(full, 0)
    d = b.warpgroup_tile(64, 64)
    b.gemm(d, y, x)
    d.store(args["d"], 64)
    rng = np.random.default_rng(1)
    wide, other = rng.integers(-4, 5, (2, 64, 128)).astype(np.float32)
    found = np.zeros((64, 64), np.float32)
    given = (wide if major is K else np.ascontiguousarray(wide.T)).astype(np.float16)
    launch(b.finish(), given, other.astype(np.float16), found)
    turned = np.concatenate([wide[:, first : first + shape[1]] for first in parts[::-1]], 1)
    assert_exact(found, other @ turned.T)


def test_parts_of_k_are_whole() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a", dynamic_shared=True)
    b.begin()
    tile = b.shared_tile("x", f16, (64, 128))
    for first, k in ((0, 32), (64, 128), (-64, 64)):
        with pytest.raises(InputError, match="no such part of K"):
            tile.part_of_k(first, k)


@pytest.mark.parametrize("name", FORMS)
def test_a_prefetch_has_the_boxes_of_the_copy(name: str) -> None:
    dtype, shape, swizzle, major = FORMS[name]
    b = KernelBuilder("k", block=32, target="sm_90a", dynamic_shared=True)
    b.tile_map("x", dtype, shape, swizzle=swizzle, major=major)
    args, full = b.begin(), b.mbarrier("full")
    tile = b.shared_tile("tile", dtype, shape, swizzle=swizzle, major=major)
    b.make_mbarriers((full, 1))
    with b.if_warp(0), b.elect():
        b.prefetch_tile(tile, args["x"], (8, 3))
        b.arrive_expecting(full, tile)
        b.load_tile(tile, args["x"], (8, 3), full)
        b.wait(full, 0)
    ptx = b.finish().compile().ptx
    copies = [line for line in ptx.split("\n") if "cp.async.bulk" in line]
    boxes = [re.findall(r"\{.*?\}", line)[0] for line in copies]
    half = len(boxes) // 2
    assert [".prefetch." in line for line in copies] == [True] * half + [False] * half
    assert boxes[:half] == boxes[half:]


@pytest.mark.turns(3)
@kernel_test(schedules="all", random=1, targets="sm_90a")
def test_a_ring_between_a_producer_and_two_consumers(launch: Launch) -> None:
    """Each warpgroup sums its 64 rows of nine tiles, through two buffers."""
    b = KernelBuilder("k", block=384, target=launch.target, dynamic_shared=True)
    b.tile_map("x", f32, (128, 32))
    b.pointer("out", f32, output=True)
    args = b.begin()
    ring = b.tile_ring("x", b.shared_tiles("tiles", f32, (128, 32), 2), consumers=2)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warpgroup(2), b.if_warp(8), b.elect():
        end = ring.producer()
        with b.range(9) as number, end.fill() as slot:
            b.load_tile(slot.tile, args["x"], (0, number * 128), slot.full)
    with b.if_warpgroup(0, 2):
        end, row = ring.consumer(), b.tid_x % 128 // 2 + b.warpgroup * 64  # type: ignore[assignment]
        sums = b.variable(b.vector([b.f32(0.0)] * 4))
        with b.range(9), end.use() as slot:  # type: ignore[attr-defined]
            chunk = slot.tile.chunk(row, b.tid_x % 2)
            sums.set(sums.value + b.load(chunk, f32, 4, align=16))
            b.barrier_cta_sync_aligned(1 + b.warpgroup, 128)
        b.store(sums.value, args["out"].at(row * 8 + b.tid_x % 2 * 4), align=16)
    x = np.random.default_rng(5).integers(-9, 9, (9 * 128, 32)).astype(np.float32)
    out = np.zeros((128, 8), np.float32)
    launch(b.finish(), x, out)
    assert_exact(out, x.reshape(9, 128, 32)[:, :, :8].sum(0))


@kernel_test(schedules="all", random=1, targets="sm_90a")
def test_a_tile_for_a_cluster(launch: Launch) -> None:
    """Each of two CTAs brings half of the rows for both."""
    b = KernelBuilder("k", block=32, cluster=2, target=launch.target, dynamic_shared=True)
    b.tile_map("x", f32, (32, 32))
    b.pointer("out", f32, output=True)
    args = b.begin()
    tile, full = b.shared_tile("tile", f32, (64, 32)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_warp(0), b.elect():
        b.arrive_expecting(full, tile)
        half = b.cluster_ctarank * 32
        part = tile.part(half, 32)
        b.load_tile(part, args["x"], (0, half), full, cta_mask=b.const(3, 16))
    b.wait(full, 0, scope=Scope.CLUSTER)
    with b.range(64) as row:
        number = tile.chunk(row, b.tid_x // 4).of(f32)[b.tid_x % 4]
        args["out"][(b.ctaid_x * 64 + row) * 32 + b.tid_x] = number
    b.cluster_sync()
    x = np.random.default_rng(6).integers(-9, 9, (64, 32)).astype(np.float32)
    out = np.zeros((2, 64, 32), np.float32)
    launch(b.finish(), x, out, grid=2, cluster=2)
    assert_exact(out, np.stack([x, x]))


def begun() -> KernelBuilder:
    b = KernelBuilder("k", block=128, target="sm_90a", dynamic_shared=True)
    b.tile_map("x", bf16, (64, 64))
    b.tensor_map("wide", dtype=bf16, box=(64, 32), swizzle=64)
    b.args = b.begin()  # type: ignore[attr-defined]
    b.full = b.mbarrier("full")  # type: ignore[attr-defined]
    return b


def load(b: KernelBuilder, tmap: str, shape: tuple[int, int], at: tuple[int, ...], **how) -> None:
    tile = b.shared_tile("tile", bf16, shape, **how)
    with b.if_thread(0):
        b.load_tile(tile, b.args[tmap], at, b.full)  # type: ignore[attr-defined]


REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "another swizzling": (lambda b: load(b, "wide", (64, 64), (0, 0)), "do not make tile"),
    "another height": (lambda b: load(b, "x", (32, 64), (0, 0)), "do not make tile"),
    "another major": (lambda b: load(b, "x", (64, 32), (0, 0), major=MN), "do not make tile"),
    "other coordinates": (lambda b: load(b, "x", (64, 64), (0, 0, 0)), "do not make tile"),
    "no map": (
        lambda b: b.load_tile(
            b.shared_tile("t", bf16, (64, 64)), b.shared_word("w"), (0, 0), b.full  # type: ignore[attr-defined]
        ),
        "no tensor map of this kernel",
    ),
    "no coordinates": (lambda b: load(b, "x", (64, 64), 64), "begins at coordinates"),
    "no coordinates of a store": (
        lambda b: b.store_tile(b.shared_tile("t", bf16, (64, 64)), b.args["x"], 64),  # type: ignore[attr-defined]
        "begins at coordinates",
    ),
    "no barrier": (
        lambda b: b.load_tile(b.shared_tile("t", bf16, (64, 64)), b.args["x"], (0, 0)),  # type: ignore[attr-defined]
        "counted on an mbarrier",
    ),
    "all threads": (
        lambda b: b.load_tile(b.shared_tile("t", bf16, (64, 64)), b.args["x"], (0, 0), b.full),  # type: ignore[attr-defined]
        "issued by one thread",
    ),
    "a ring of unequal counts": (
        lambda b: b.tile_ring(
            "r", b.shared_tiles("p", bf16, (64, 64), 2), b.shared_tiles("q", bf16, (64, 64), 3)
        ),
        "tiles of each kind",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_at_its_line(name: str) -> None:
    wrong, text = REFUSED[name]
    with pytest.raises(InputError, match=text) as caught:
        wrong(begun())
    assert caught.value.findings[0].place.file == __file__


@pytest.mark.parametrize(
    ("shape", "how"),
    [((64, 48), {}), ((64, 64), {"rank": 1}), ((257, 64), {}), ((32, 64), {"major": MN})],
)
def test_a_map_that_no_tile_has_is_refused_where_it_is_declared(shape, how) -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    with pytest.raises(InputError, match="no copies by TMA") as caught:
        b.tile_map("x", bf16, shape, **how)
    assert caught.value.findings[0].place.file == __file__
