"""Reductions and scans over warps, CTAs and clusters, beside numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder, f32, i32, i64, u32
from nvgen.built import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test

BLOCKS = [(32, 1, 1), (256, 1, 1), (32, 4, 1), (8, 4, 3)]
"""The last two have warps of several rows."""


def shape_id(block: tuple[int, int, int]) -> str:
    return "x".join(map(str, block))


def greatest(b: KernelBuilder, block_wide: bool) -> Kernel:
    """The greatest number and the first place where it stands, and sums of four numbers each."""
    b.pointer("x", f32)
    b.pointer("best", f32, output=True)
    b.pointer("place", u32, output=True)
    b.pointer("sums", f32, output=True)
    args = b.begin()
    reduce = b.cta_reduce if block_wide else b.warp_reduce

    def better(one: tuple, other: tuple) -> tuple:
        (x, i), (y, j) = one, other
        is_first = (x > y) | ((x == y) & (i < j))
        return b.select(is_first, x, y), b.select(is_first, i, j)

    x, place = reduce((args["x"][b.thread], b.thread), better)
    four = b.vector([args["x"][b.thread] * factor for factor in (1.0, 2.0, 4.0, 8.0)])
    sums = reduce(four, operator.add)
    group = b.ctaid_x if block_wide else b.thread // 32
    args["best"][group] = x
    args["place"][group] = place
    b.store(sums, args["sums"].at(group * 4))
    return b.finish()


@pytest.mark.parametrize("block", BLOCKS, ids=shape_id)
@pytest.mark.parametrize("block_wide", [True, False])
@kernel_test(schedules=["early"], targets="sm_90a")
def test_pairs_and_vectors_are_reduced_part_by_part(
    launch: Launch, block: tuple[int, int, int], block_wide: bool
) -> None:
    threads = int(np.prod(block))
    x = np.random.default_rng(0).integers(-9, 9, threads).astype(np.float32)
    rows = x.reshape(1 if block_wide else -1, threads if block_wide else 32)
    best, place = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.uint32)
    sums = np.zeros((len(rows), 4), np.float32)
    launch(greatest(KernelBuilder("greatest", block=block), block_wide), x, best, place, sums)
    first = np.arange(len(rows)) * rows.shape[1] + rows.argmax(1)
    assert_exact(best, rows.max(1))
    assert_exact(place, first.astype(np.uint32))
    assert_exact(sums, rows.sum(1, keepdims=True) * np.float32([1, 2, 4, 8]))


def scans(block: tuple[int, int, int]) -> Kernel:
    """Prefix sums and products of affine maps, whose order matters, in warps and in the CTA."""
    b = KernelBuilder("scans", block=block)
    b.pointer("x", i64)
    b.pointer("out", i64, output=True)
    b.pointer("maps", u32, output=True)
    args = b.begin()
    threads, x = b.threads, args["x"][b.thread]

    def then(one: tuple, other: tuple) -> tuple:
        """First one map, then the other: x * slope + rise."""
        (a, c), (d, e) = one, other
        return a * d, c * d + e

    including, total = b.cta_scan(x, operator.add)
    excluding, more = b.cta_scan(x, operator.add, initial=100)
    of_warp = b.warp_scan(x, operator.add)
    greatest = b.warp_scan(x, lambda one, other: one.max(other), initial=-5)
    for row, found in enumerate((including, total, excluding, more, of_warp, greatest)):
        args["out"][b.thread + row * threads] = found
    mine = (b.thread % 4 + 3, b.thread * 7 + 1)
    (slope, rise), _ = b.cta_scan(mine, then, initial=(1, 0))
    args["maps"][b.thread * 2] = slope
    args["maps"][b.thread * 2 + 1] = rise
    return b.finish()


@pytest.mark.parametrize("block", BLOCKS, ids=shape_id)
@kernel_test(schedules=["early"], targets="sm_90a")
def test_scans(launch: Launch, block: tuple[int, int, int]) -> None:
    threads = int(np.prod(block))
    x = np.random.default_rng(1).integers(-(2**40), 2**40, threads)
    out, maps = np.zeros((6, threads), np.int64), np.zeros((threads, 2), np.uint32)
    launch(scans(block), x, out, maps)
    warps = x.reshape(-1, 32)
    above = np.maximum.accumulate(np.maximum(warps, -5), axis=1)
    expected = [
        x.cumsum(),
        np.full(threads, x.sum()),
        100 + x.cumsum() - x,
        np.full(threads, 100 + x.sum()),
        warps.cumsum(1).ravel(),
        np.concatenate([np.full((len(warps), 1), -5), above[:, :-1]], axis=1).ravel(),
    ]
    assert_exact(out, np.array(expected))
    slope, rise = 1, 0
    for thread in range(threads):
        assert maps[thread].tolist() == [slope, rise]
        by = thread % 4 + 3
        slope, rise = slope * by % 2**32, (rise * by + thread * 7 + 1) % 2**32


@pytest.mark.parametrize("cluster", [1, 4])
@kernel_test(schedules="all", targets="sm_90a")
def test_a_cluster_reduces_through_distributed_shared_memory(launch: Launch, cluster: int) -> None:
    b = KernelBuilder("cluster_sum", block=64, cluster=cluster, target="sm_90a")
    b.pointer("x", i32)
    b.pointer("out", i32, output=True)
    args = b.begin()
    mine = args["x"][b.ctaid_x * 64 + b.thread]
    total, least = b.cluster_reduce((mine, mine), lambda p, q: (p[0] + q[0], p[1].min(q[1])))
    args["out"][(b.ctaid_x * 64 + b.thread) * 2] = total
    args["out"][(b.ctaid_x * 64 + b.thread) * 2 + 1] = least
    x = np.random.default_rng(2).integers(-99, 99, (2, cluster * 64)).astype(np.int32)
    out = np.zeros((2, cluster * 64, 2), np.int32)
    launch(b.finish(), x, out, grid=2 * cluster)
    expected = np.stack([x.sum(1), x.min(1)], axis=1).astype(np.int32)
    assert_exact(out, np.repeat(expected[:, None], cluster * 64, axis=1))


@kernel_test(schedules=["early"], targets=("sm_80", "sm_90a"))
def test_groups_of_lanes_reduce_each_by_itself(launch: Launch) -> None:
    b = KernelBuilder("groups", block=64, target=launch.target)
    b.pointer("x", i32)
    b.pointer("out", i32, output=True)
    x, out = b.begin().values()
    sizes = (1, 2, 4, 8, 16, 32)
    for row, lanes in enumerate(sizes):
        out[row * 64 + b.thread] = b.warp_reduce(x[b.thread], operator.add, lanes=lanes)
    numbers = np.random.default_rng(3).integers(-99, 99, 64).astype(np.int32)
    found = np.zeros((len(sizes), 64), np.int32)
    launch(b.finish(), numbers, found)
    for sums, lanes in zip(found, sizes, strict=True):
        assert_exact(sums, np.repeat(numbers.reshape(-1, lanes).sum(1), lanes).astype(np.int32))


@kernel_test(schedules=["early"], targets=("sm_80", "sm_90a"))
def test_a_warp_sorts(launch: Launch) -> None:
    """Numbers of which some are equal, both ways; with an index no order is left open."""
    b = KernelBuilder("sort", block=64, target=launch.target)
    b.pointer("x", f32)
    b.pointer("ascending", f32, output=True)
    b.pointer("descending", f32, output=True)
    b.pointer("order", u32, output=True)
    x, ascending, descending, order = b.begin().values()

    def greater(one: tuple, other: tuple) -> object:
        (p, i), (q, j) = one, other
        return (p > q) | ((p == q) & (i < j))

    ascending[b.thread] = b.warp_sort(x[b.thread], operator.lt)
    number, index = b.warp_sort((x[b.thread], b.lane), greater)
    descending[b.thread], order[b.thread] = number, index
    numbers = np.random.default_rng(4).integers(0, 12, (2, 32)).astype(np.float32)
    up, down, places = np.zeros_like(numbers), np.zeros_like(numbers), np.zeros((2, 32), np.uint32)
    launch(b.finish(), numbers, up, down, places)
    assert_exact(up, np.sort(numbers))
    assert_exact(down, np.sort(numbers)[:, ::-1])
    assert_exact(places, np.argsort(-numbers, axis=1, kind="stable").astype(np.uint32))


def test_equal_numbers_keep_what_belongs_to_each() -> None:
    """Where the order is not defined nothing is lost: each index comes once."""
    b = KernelBuilder("equal", block=32, target="sm_90a")
    b.pointer("order", u32, output=True)
    order = b.begin()["order"]
    order[b.lane] = b.warp_sort((b.lane % 3, b.lane), lambda p, q: p[0] < q[0])[1]
    found = np.zeros(32, np.uint32)
    b.finish().compile().run(found)
    assert_exact(found % 3, np.sort(np.arange(32, dtype=np.uint32) % 3))
    assert_exact(np.sort(found), np.arange(32, dtype=np.uint32))


Reduction = Callable[[KernelBuilder], object]
REFUSED: dict[str, tuple[Reduction, str]] = {
    "a pair of which one becomes another type": (
        lambda b: b.warp_reduce((b.f32(1), b.u32(1)), lambda p, q: (p[0], p[0])),  # type: ignore[return-value]
        "(f32, f32)"),
    "a pair becomes a number": (
        lambda b: b.cta_reduce((b.f32(1), b.u32(1)), lambda p, q: p[0]),  # type: ignore[return-value]
        "f32"),
    "a scan that makes a condition": (
        lambda b: b.warp_scan(b.tid_x, lambda p, q: p < q), "i1"),
    "a condition": (lambda b: b.cta_scan(b.tid_x < 3, operator.and_), "Int (i1)"),
    "a Python number": (lambda b: b.warp_reduce((b.tid_x, 1), operator.add), "1"),
    "slots for one number": (
        lambda b: b.cta_reduce(
            (b.tid_x, b.tid_x), lambda p, q: p, b.shared_array("s", u32, 2)),
        "2 of each"),
    "a group of twelve lanes": (lambda b: b.warp_reduce(b.tid_x, operator.add, lanes=12), "12"),
    "an order that is a number": (
        lambda b: b.warp_sort(b.tid_x, lambda p, q: p + q), "Int (u32)"),
    "one warp alone": (lambda b: _in_a_warp(b), "one warp"),
}  # fmt: skip


def _in_a_warp(b: KernelBuilder) -> None:
    with b.if_warp(0):
        b.cta_scan(b.tid_x, operator.add)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_reduction(case: str) -> None:
    build, got = REFUSED[case]
    b = KernelBuilder("k", block=64)
    b.begin()
    with pytest.raises(InputError) as caught:
        build(b)
    assert caught.value.findings[0].got == got


@pytest.mark.parametrize("block", [(32, 4, 1), (8, 4, 4)], ids=shape_id)
@kernel_test(schedules=["early"], targets="sm_90a")
def test_roles_count_the_threads_of_all_rows(launch: Launch, block: tuple[int, int, int]) -> None:
    """A block of several rows has its warps in the order of all its threads."""
    b = KernelBuilder("roles", block=block)
    b.pointer("out", u32)
    out = b.begin()["out"]
    out[b.thread] = b.warp
    with b.if_thread(33):
        out[33] = 1000 + b.tid_x + b.tid_y * block[0] + b.tid_z * (block[0] * block[1])
    with b.if_warp(2):
        out[b.thread] = out[b.thread] + 50
    found = np.zeros(128, np.uint32)
    launch(b.finish(), found)
    expected = np.arange(128, dtype=np.uint32) // 32
    expected[64:96] += 50
    expected[33] = 1033
    assert_exact(found, expected)


@kernel_test(schedules=["early", "late", "random:1"], targets="sm_90a")
@pytest.mark.parametrize("first", [0, 1])
def test_warpgroups_scan_and_reduce_each_by_itself(launch: Launch, first: int) -> None:
    """Two of three warpgroups, or one, while the others do something else."""
    count = 2 - first
    b = KernelBuilder("k", block=384, target=launch.target)
    b.pointer("x", u32)
    b.pointer("before", u32, output=True)
    b.pointer("most", u32, output=True)
    x, before, most = b.begin().values()
    with b.if_warpgroup(first, count):
        mine = x[b.thread]
        barrier = 1 + b.warpgroup
        scanned, whole = b.cta_scan(mine, operator.add, initial=5, barrier=barrier)
        before[b.thread] = scanned + whole
        most[b.thread] = b.cta_reduce(mine, b.max, barrier=barrier)
    numbers = np.random.default_rng(0).integers(0, 99, 384).astype(np.uint32)
    got, largest = np.zeros(384, np.uint32), np.zeros(384, np.uint32)
    launch(b.finish(), numbers, got, largest)
    groups = numbers.reshape(3, 128)
    sums = np.cumsum(groups, 1) - groups + 5 + groups.sum(1, keepdims=True) + 5
    here = slice(first, first + count)
    assert_exact(got.reshape(3, 128)[here], sums[here].astype(np.uint32))
    assert_exact(
        largest.reshape(3, 128)[here], np.repeat(groups.max(1, keepdims=True), 128, 1)[here]
    )


def test_a_warpgroup_without_a_barrier_of_its_own_is_refused() -> None:
    b = KernelBuilder("k", block=256, target="sm_90a")
    b.begin()
    with b.if_warpgroup(0):
        for barrier in (None, 0, 16):
            with pytest.raises(InputError, match="needs a barrier of its own"):
                b.cta_scan(b.thread, operator.add, barrier=barrier)
    with pytest.raises(InputError, match="meet at barrier 0"):
        b.cta_reduce(b.thread, operator.add, barrier=1)
