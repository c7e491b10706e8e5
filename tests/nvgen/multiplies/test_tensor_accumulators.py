"""Accumulators in turn: `memory.tiles`, of one CTA and of a pair, which reads its own rows."""

from __future__ import annotations

import numpy as np
import pytest

from nvgen import CtaGroup, InputError, Kernel, KernelBuilder, LdStNum, bf16, f32
from nvgen.testing import Launch, assert_exact, kernel_test

ROWS, N, K, TURNS = 128, 64, 64, 3


def _build(ctas: int) -> Kernel:
    """D of three turns: A times each of three B, into two accumulators."""
    group = CtaGroup.TWO if ctas == 2 else CtaGroup.ONE
    b = KernelBuilder("turns", block=128, cluster=ctas, dynamic_shared=True, target="sm_100a")
    b.tile_map("a", bf16, (ROWS, K))
    b.tile_map("w", bf16, (N // ctas, K))
    b.pointer("d", f32, output=True)
    args = b.begin()
    rank = b.cluster_ctarank if ctas == 2 else b.const(0)
    a, w = b.shared_tile("a_tile", bf16, (ROWS, K)), b.shared_tile("w_tile", bf16, (N // ctas, K))
    full, sums = b.mbarrier("full"), b.mbarrier("sums")
    b.make_mbarriers((full, 1), (sums, 1))
    memory = b.tensor_memory("memory", 2 * N, cta_group=group)
    accumulators = memory.tiles(ROWS * ctas, N, 2)
    turn = b.ring(2)
    with b.range(TURNS) as number:
        with b.if_warp(0), b.elect():
            with b.if_(rank == 0):
                b.arrive_expecting(full, a, w, ctas=ctas)
            there = b.of_even_cta(full) if ctas == 2 else full
            of_pair = group if ctas == 2 else None
            row = number * N + rank * (N // ctas)
            b.load_tile(a, args["a"], (0, rank * ROWS), there, cta_group=of_pair)
            b.load_tile(w, args["w"], (0, row), there, cta_group=of_pair)
            with b.if_(rank == 0):
                b.wait(full, number & 1)
                b.tcgen05_fence_after_thread_sync()
                b.gemm_async(accumulators[turn.stage], a, w, cta_group=group)
                both = {"cta_group": group, "cta_mask": 3} if ctas == 2 else {}
                b.tcgen05_commit(sums, **both)
        b.wait(sums, number & 1)
        b.tcgen05_fence_after_thread_sync()
        found = accumulators[turn.stage].load()
        found.store(args["d"].at((number * ctas + rank) * (ROWS * N)), N)
        turn.advance()
        b.tcgen05_fence_before_thread_sync()
        b.cluster_sync()
        b.tcgen05_fence_after_thread_sync()
    memory.free()
    return b.finish()


@pytest.mark.turns(8)
@pytest.mark.parametrize("ctas", [1, 2])
@kernel_test(schedules="all", targets="sm_100a")
def test_accumulators_by_turns(launch: Launch, ctas: int) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (ROWS * ctas, K)).astype(bf16.numpy)
    w = rng.integers(-4, 5, (TURNS * N, K)).astype(bf16.numpy)
    d = np.zeros((TURNS, ROWS * ctas, N), np.float32)
    launch(_build(ctas), a, w, d, grid=ctas)
    assert_exact(
        d, a.astype(np.float32) @ w.reshape(TURNS, N, K).astype(np.float32).transpose(0, 2, 1)
    )


@pytest.mark.parametrize("ctas", [1, 2])
def test_the_rules_find_nothing(ctas: int) -> None:
    found = _build(ctas).compile(level="all", grid=ctas).findings
    assert [f for f in found if f.severity.value != "note"] == []


def test_what_does_not_fit() -> None:
    b = KernelBuilder("k", block=128, target="sm_100a")
    b.begin()
    memory = b.tensor_memory("memory", 128)
    with pytest.raises(InputError, match="out of resource"):
        memory.tiles(128, 64, 3)
    with pytest.raises(InputError, match="number of accumulators"):
        memory.tiles(128, 64, 0)
    two = memory.tiles(128, 64, 2)
    with pytest.raises(InputError, match="the accumulators"):
        _ = two[2]
    whole = b.tensor_tile(memory.address, 256, 64)
    with pytest.raises(InputError, match="of 256 rows of a pair each CTA has 128"):
        whole.load()


@pytest.mark.turns(2)
@pytest.mark.parametrize(("threads", "widest"), [(256, 128), (512, 64), (1024, 32)])
@kernel_test(schedules=["early", "late"], targets="sm_100a")
def test_one_load_takes_no_more_registers_than_a_thread_has(
    launch: Launch, threads: int, widest: int
) -> None:
    """An SM has 65,536: of 512 threads each has 128, some of which are not free for a load."""
    columns = 128
    b = KernelBuilder("wide", block=threads, target="sm_100a")
    b.pointer("d", f32, output=True)
    args = b.begin()
    memory = b.tensor_memory("memory", columns)
    tile = memory.tile(ROWS, columns)
    with b.if_warpgroup(0):
        for column in range(0, columns, 32):
            words = [b.tid_x * columns + column + i for i in range(32)]
            lanes = tile.pointer + ((b.warp << 21) + column)
            b.tcgen05_st(lanes, b.words(words), num=LdStNum.X32)
        b.tcgen05_wait_st()
        tile.load().as_tile(tile)
        tile.load().store(args["d"], columns)
    memory.free()
    kernel = b.finish().compile(opt=launch.opt)
    d = np.zeros((ROWS, columns), np.float32)
    launch(kernel, d)
    assert_exact(d.view(np.uint32), np.arange(d.size, dtype=np.uint32).reshape(d.shape))
    assert f"tcgen05.st.sync.aligned.32x32b.x{widest}." in kernel.ptx
    assert f"tcgen05.ld.sync.aligned.32x32b.x{widest}." in kernel.ptx
    assert kernel.cubin()  # ptxas refuses a load of more
