"""Rings whose buffers multiplies into tensor memory read: a commit gives them back."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Finding, InputError, VerificationError
from nvgen import CtaGroup, KernelBuilder, bf16, f32, u16
from nvgen.built import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each

TARGET, STEPS, STAGES = "sm_100a", 5, 2


def product(way: str, *, warp: bool = False) -> Kernel:
    """D = A·Bᵀ of one tile; more steps than buffers, so that each is filled again."""
    b = KernelBuilder("product", block=192, dynamic_shared=True, target=TARGET)
    b.tile_map("a", bf16, (128, 64))
    b.tile_map("b", bf16, (64, 64))
    b.pointer("d", f32, output=True)
    args = b.begin()
    a_tiles = b.shared_tiles("a_tiles", bf16, (128, 64), STAGES)
    b_tiles = b.shared_tiles("b_tiles", bf16, (64, 64), STAGES)
    ring, done = b.tile_ring("ring", a_tiles, b_tiles), b.mbarrier("done")
    b.make_mbarriers(*ring.mbarriers, (done, 1))
    memory = b.tensor_memory("columns", 64)
    sums = memory.tile(128, 64)
    with b.if_warp(4), b.elect():
        producer = ring.producer()
        with b.range(STEPS) as step, producer.fill() as slot:
            b.load_tile(slot.tiles[0], args["a"], (step * 64, 0), slot.full)
            b.load_tile(slot.tiles[1], args["b"], (step * 64, 0), slot.full)
        producer.drain()
    with b.if_warp(5):
        consumer = ring.consumer()
        if warp:
            with b.range(STEPS) as step, consumer.use(commit=True) as slot:
                b.gemm_async(sums, *slot.tiles, accumulate=step != 0)
            with b.elect():
                b.tcgen05_commit(done)
        else:
            with b.elect():
                with b.range(STEPS) as step, consumer.use(commit=way == "commit") as slot:
                    b.gemm_async(sums, *slot.tiles, accumulate=step != 0)
                b.tcgen05_commit(done)
    with b.if_warpgroup(0):
        b.wait(done, 0)
        b.tcgen05_fence_after_thread_sync()
        sums.load().store(args["d"], 64)
    memory.free()
    return b.finish()


@pytest.mark.turns(6)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@each("warp", [False, True])
@kernel_test(schedules="all", random=2, targets=TARGET)
def test_a_committed_buffer_is_filled_again_behind_its_multiplies(
    launch: Launch, warp: bool
) -> None:
    rng = np.random.default_rng(5)
    a, w = (rng.integers(-3, 4, (n, 64 * STEPS)).astype(bf16.numpy) for n in (128, 64))
    d = np.zeros((128, 64), np.float32)
    launch(product("commit", warp=warp).compile(level="function"), a, w, d)
    assert_exact(d, a.astype(np.float32) @ w.astype(np.float32).T)


def test_a_buffer_that_an_arrival_gives_back_is_reported() -> None:
    """What `use` does for multiplies that are complete; the tensor core still reads."""
    with pytest.raises(VerificationError) as caught:
        product("release").compile(level="function")
    assert any(found.rule.endswith("/operand-modified") for found in caught.value.findings)


def of_pair(cluster: int, *, drains: bool = True) -> Kernel:
    """Pairs of a cluster multiply 256 × 64 tiles of D each, with half of A and of B in each CTA."""
    b = KernelBuilder("pair", block=192, cluster=cluster, dynamic_shared=True, target=TARGET)
    b.tile_map("a", bf16, (128, 64))
    b.tile_map("b", bf16, (32, 64))
    b.pointer("d", f32, output=True)
    args = b.begin()
    rank = b.cluster_ctarank
    a_tiles = b.shared_tiles("a_tiles", bf16, (128, 64), STAGES)
    b_tiles = b.shared_tiles("b_tiles", bf16, (32, 64), STAGES)
    ring = b.tile_ring("ring", a_tiles, b_tiles, cta_group=CtaGroup.TWO)
    done = b.mbarrier("done")
    b.make_mbarriers(*ring.mbarriers, (done, 1))
    memory = b.tensor_memory("columns", 64, cta_group=CtaGroup.TWO)
    sums = memory.tile(256, 64)
    both = 3 if cluster == 2 else (b.const(3) << (rank & 0xFE)).to(u16)
    with b.if_warp(4), b.elect():
        producer = ring.producer()
        with b.range(STEPS) as step, producer.fill() as slot:
            at, half = step * 64, rank % 2 * 32
            for tile, name, row in zip(slot.tiles, "ab", (rank * 128, half), strict=True):
                b.load_tile(tile, args[name], (at, row), slot.full, cta_group=CtaGroup.TWO)
        if drains:
            producer.drain()
    with b.if_(rank % 2 == 0), b.if_warp(5), b.elect():
        consumer = ring.consumer()
        with b.range(STEPS) as step, consumer.use(commit=True) as slot:
            b.gemm_async(sums, *slot.tiles, accumulate=step != 0, cta_group=CtaGroup.TWO)
        b.tcgen05_commit(done, cta_group=CtaGroup.TWO, cta_mask=both)
    with b.if_warpgroup(0):
        b.wait(done, 0)
        b.tcgen05_fence_after_thread_sync()
        sums.load().store(args["d"].at(rank * (128 * 64)), 64)
    b.cluster_sync()
    memory.free()
    return b.finish()


@pytest.mark.turns(6)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@each("cluster", [2, 4])
@kernel_test(schedules="all", random=2, targets=TARGET)
def test_a_pair_fills_and_releases_the_buffers_of_both(launch: Launch, cluster: int) -> None:
    rng = np.random.default_rng(6)
    rows = 128 * cluster
    a, w = (rng.integers(-3, 4, (n, 64 * STEPS)).astype(bf16.numpy) for n in (rows, 64))
    d = np.zeros((rows, 64), np.float32)
    launch(of_pair(cluster).compile(level="function"), a, w, d, grid=cluster)
    assert_exact(d, a.astype(np.float32) @ w.astype(np.float32).T)


def test_a_pair_that_does_not_wait_for_its_last_commits_is_reported() -> None:
    found = of_pair(2, drains=False).compile(level="record").findings
    compiled = of_pair(2, drains=False).compile(level="function")
    assert any(one.rule == "tcgen05.commit/peer-exit" for one in (*found, *compiled.findings))


def test_what_is_no_ring_of_a_pair_is_refused() -> None:
    for cluster, notes, consumers in ((1, False, 1), (3, False, 1), (2, True, 1), (2, False, 2)):
        b = KernelBuilder("k", block=64, cluster=cluster, dynamic_shared=True, target=TARGET)
        b.begin()
        tiles = b.shared_tiles("t", bf16, (64, 64), STAGES)
        with pytest.raises(InputError, match="no ring of a CTA pair"):
            b.tile_ring("ring", tiles, consumers=consumers, notes=notes, cta_group=CtaGroup.TWO)
    b = KernelBuilder("k", block=64, cluster=2, dynamic_shared=True, target=TARGET)
    b.begin()
    tiles = b.shared_tiles("t", bf16, (64, 64), STAGES)
    ring = b.tile_ring("ring", tiles, cta_group=CtaGroup.TWO)
    b.make_mbarriers(*ring.mbarriers)
    with pytest.raises(InputError, match="released by commits"), b.if_thread(0):
        ring.consumer().release(0)


def of_warpgroup(consumers: int, *, waits: bool) -> Kernel:
    """A product on Hopper in a ring that expects `consumers` to give its buffers back."""
    b = KernelBuilder("product", block=160, dynamic_shared=True, target="sm_90a")
    b.tile_map("a", bf16, (64, 64))
    b.pointer("d", f32, output=True)
    args = b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("t", bf16, (64, 64), STAGES), consumers=consumers)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warp(4), b.elect():
        producer = ring.producer()
        with b.range(STEPS) as step, producer.fill() as slot:
            b.load_tile(slot.tile, args["a"], (step * 64, 0), slot.full)
    with b.if_warpgroup(0):
        consumer, sums = ring.consumer(), b.warpgroup_tile(64, 64)
        with b.range(STEPS) as step, consumer.use() as slot:
            multiply = b.gemm if waits else b.gemm_async
            multiply(sums, slot.tile, slot.tile, accumulate=step != 0)
        sums.store(args["d"], 64)
    return b.finish()


def told(kernel: Kernel, rule: str) -> Finding:
    with pytest.raises(VerificationError) as caught:
        kernel.compile(level="function")
    return next(found for found in caught.value.findings if found.rule.endswith(rule))


def test_a_wait_that_never_ends_says_what_has_arrived() -> None:
    """Two consumers are expected, and one comes."""
    found = told(of_warpgroup(2, waits=True), "mbarrier/deadlock")
    assert "ring_empty, parity 0; phase 0 has 1 of 2 arrivals; it is made by" in found.got


def test_what_wgmma_reads_is_reported_with_its_wait() -> None:
    found = told(of_warpgroup(1, waits=False), "cp.async.bulk.tensor/operand-modified")
    assert "wgmma.wait_group" in found.expected
    assert "tcgen05" not in found.expected + found.hint


def test_a_pair_gives_a_buffer_back_in_both_ctas() -> None:
    b = KernelBuilder("k", block=128, cluster=2, target=TARGET, dynamic_shared=True)
    b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("t", bf16, (64, 64), STAGES))
    b.make_mbarriers(*ring.mbarriers)
    with b.if_thread(0):
        ring.consumer().commit(1, cta_group=CtaGroup.TWO, cta_mask=3)
    ptx = b.finish().compile().ptx
    (commit,) = (line for line in ptx.splitlines() if "tcgen05.commit" in line)
    assert ".cta_group::2.mbarrier::arrive::one" in commit
    assert commit.endswith(".multicast::cluster.b64 [ring_empty+8], 3;")


def test_a_commit_is_of_one_thread() -> None:
    b = KernelBuilder("k", block=128, target=TARGET, dynamic_shared=True)
    b.begin()
    consumer = b.tile_ring("ring", b.shared_tiles("t", bf16, (64, 64), 2)).consumer()
    with pytest.raises(InputError, match="a commit is of one thread"), b.if_warpgroup(0):
        consumer.commit(0)
