"""A tile of 256×256 by two CTAs: D = A·Bᵀ in f16 with f32 sums, each CTA with half of everything.

A CTA pair multiplies as one: each of the two brings its 128 rows of A and its 128 rows of B into
its own shared memory, and gets its 128 rows of D in its own tensor memory.  What one CTA would have
to load for such a tile alone, the two share: half the bytes of B for each row of D.

      even CTA                          odd CTA
     ┌───────────────────────────┐     ┌───────────────────────────┐
     │ TMA: A   0…127, B   0…127 │     │ TMA: A 128…255, B 128…255 │
     └────────────┬──────────────┘     └────────────┬──────────────┘
             full │◄── the odd CTA's bytes count ───┘
                  ▼    here too
       one thread: tcgen05.mma.cta_group::2, M 256, N 256, for both
                  │
                  ├── commit, multicast ──────────► empty, sums of both
                  ▼                                 ▼
       D 0…127: tensor memory → memory   D 128…255: tensor memory → memory

`full` of the even CTA expects the bytes of both; `empty` and `sums` are in each.  M and N are
multiples of 256, K of 64; the grid has two CTAs for each tile, in clusters of two.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import numpy as np

from nvgen import CtaGroup, ElementType, Kernel, KernelBuilder, LdStNum

TILE, HALF, TILE_K = 256, 128, 64  # rows and columns of D of the pair, of one CTA; K of a step
STAGES = 4
PAIR, BOTH = CtaGroup.TWO, 0b11

EPILOGUE = 128  # threads of warps 0 to 3
TMA_WARP, MMA_WARP = 4, 5
THREADS = 6 * 32

TARGETS = ("sm_100a", "sm_103a", "sm_110a")


def build(dtype: ElementType = ElementType.F16) -> Kernel:
    """The kernel, as LLVM IR."""
    b = KernelBuilder("gemm_two_ctas", block=THREADS, cluster=2, dynamic_shared=True)
    b.tensor_map("a", dtype=dtype, box=(HALF, TILE_K), swizzle=128)
    b.tensor_map("b", dtype=dtype, box=(HALF, TILE_K), swizzle=128)
    b.pointer("d", output=True)
    b.integer("n")
    b.integer("k")
    args = b.begin()
    n, steps = args["n"], args["k"] // TILE_K

    a_ring = b.shared_tiles("a_ring", dtype, (HALF, TILE_K), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (HALF, TILE_K), STAGES)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    sums = b.mbarrier("sums")

    with b.if_thread(0):
        for stage in range(STAGES):
            b.mbarrier_init(full[stage], 1)
            b.mbarrier_init(empty[stage], 1)
        b.mbarrier_init(sums, 1)
        b.fence_mbarrier_init_release_cluster()
    b.barrier_cluster_sync()  # the other CTA runs, and its mbarriers are there
    tmem = b.tensor_memory("tmem", TILE, warp=MMA_WARP, cta_group=PAIR)

    rank, pair = b.cluster_ctarank, b.ctaid_x >> 1
    across = n // TILE
    row = pair // across * TILE + rank * HALF
    column = pair % across * TILE
    accumulator = tmem.tile(TILE, TILE)

    with b.if_warp(TMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            with b.if_(rank == 0):
                b.mbarrier_arrive_expect_tx(full[ring.stage], 2 * (a_ring.nbytes + b_ring.nbytes))
            loaded = b.of_even_cta(full[ring.stage])
            for tile, tensor, start in ((a_ring, "a", row), (b_ring, "b", column + rank * HALF)):
                target, at = tile[ring.stage].pointer, (step * TILE_K, start)
                b.cp_async_bulk_tensor_g2s_tile(target, loaded, args[tensor], at, cta_group=PAIR)
            ring.advance()
        with b.range(STAGES):  # the last commits arrive before the CTA ends
            b.wait(empty[ring.stage], ring.parity ^ 1)
            ring.advance()

    with b.if_(rank == 0), b.if_warp(MMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(full[ring.stage], ring.parity)
            b.tcgen05_fence_after_thread_sync()
            a_tile, b_tile = a_ring[ring.stage], b_ring[ring.stage]
            b.gemm_async(accumulator, a_tile, b_tile, accumulate=step != 0, cta_group=PAIR)
            b.tcgen05_commit(empty[ring.stage], cta_group=PAIR, cta_mask=BOTH)
            ring.advance()
        b.tcgen05_commit(sums, cta_group=PAIR, cta_mask=BOTH)

    with b.if_(b.tid_x < EPILOGUE):
        b.wait(sums, 0)
        b.tcgen05_fence_after_thread_sync()
        lanes = accumulator.pointer + (b.tid_x >> 5 << 21)
        target = args["d"] + ((row + b.tid_x) * n + column).zext(64) * 4
        for part in range(0, TILE, 32):
            values = b.tcgen05_ld(lanes + part, num=LdStNum.X32)
            b.tcgen05_wait_ld()
            b.store(values, target + part * 4, align=16)

    b.bar_warp_sync()
    b.barrier_cluster_sync()  # nobody is gone while the other still needs him
    tmem.free(warp=MMA_WARP)
    return b.finish()


def operands(
    m: int, n: int, k: int, dtype: ElementType = ElementType.F16, *, normal: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and the product that numpy gives.

    With `normal` they are normally distributed instead, and the product is in float64.
    """
    rng = np.random.default_rng(0)

    def matrix(rows: int) -> np.ndarray:
        wide = rng.standard_normal((rows, k)) if normal else rng.integers(-4, 5, (rows, k))
        return wide.astype(dtype.numpy)

    a, b = matrix(m), matrix(n)
    wide = np.float64 if normal else np.float32
    return a, b, a.astype(wide) @ b.astype(wide).T


def grid(m: int, n: int) -> int:
    """CTAs of a launch: two for each tile."""
    return 2 * (m // TILE) * (n // TILE)


def main() -> None:
    """Run 256×512×256 by two pairs on the simulator and compare with numpy."""
    m, n, k = 256, 512, 256
    a, b, expected = operands(m, n, k)
    d = np.zeros((m, n), np.float32)
    compiled = build().compile(target="sm_100a")
    compiled.run(a, b, d, n, k, grid=grid(m, n), device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"D = A·Bᵀ, {m}x{n}x{k}, by CTA pairs: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
