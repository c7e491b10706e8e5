"""One tcgen05 tile: D = A·Bᵀ for A 128×64 and B 128×64 in f16, accumulated in f32.

The whole life of a tile on a Blackwell tensor core, by one CTA of 128 threads:

    warp 0 allocates tensor memory; thread 0 makes two mbarriers
    thread 0 has TMA bring A and B into 128-byte-swizzled shared memory
    warp 0 waits for the bytes, and one of its threads issues four MMAs of K = 16 and commits them
    every warp waits for the commit, loads its 32 lanes of the accumulator, and stores its rows
    warp 0 gives the tensor memory back

Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, LdStNum

M, N, K = 128, 128, 64
COLUMNS = 128  # of tensor memory: one for each column of the accumulator
TARGETS = ("sm_100a", "sm_103a", "sm_110a")


def build() -> Kernel:
    """The kernel, as LLVM IR."""
    f16 = ElementType.F16
    b = KernelBuilder("gemm_tile", block=128)
    b.tensor_map("a", dtype=f16, box=(M, K), swizzle=128)
    b.tensor_map("b", dtype=f16, box=(N, K), swizzle=128)
    b.pointer("d", output=True)
    args = b.begin()

    a_tile = b.shared_tile("a_tile", f16, (M, K))
    b_tile = b.shared_tile("b_tile", f16, (N, K))
    loaded, multiplied = b.mbarrier("loaded"), b.mbarrier("multiplied")
    tmem_slot = b.shared_word("tmem_slot")

    with b.if_warp(0):
        b.tcgen05_alloc(tmem_slot, COLUMNS)
    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.mbarrier_init(multiplied, 1)
        b.fence_mbarrier_init_release_cluster()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()
    accumulator = b.tensor_tile(b.load_word(tmem_slot), M, N)

    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, a_tile.nbytes + b_tile.nbytes)
        b.cp_async_bulk_tensor_g2s_tile(a_tile.pointer, loaded, args["a"], (0, 0))
        b.cp_async_bulk_tensor_g2s_tile(b_tile.pointer, loaded, args["b"], (0, 0))
    with b.if_warp(0):
        b.wait(loaded, 0)
        with b.elect():
            b.gemm_async(accumulator, a_tile, b_tile)
            b.tcgen05_commit(multiplied)

    b.wait(multiplied, 0)
    b.tcgen05_fence_after_thread_sync()
    warp = b.tid_x >> 5
    row = args["d"] + b.tid_x.zext(64) * (N * 4)
    for column in range(0, N, 32):
        values = b.tcgen05_ld(accumulator.pointer + (warp << 21) + column, num=LdStNum.X32)
        b.tcgen05_wait_ld()
        b.store(values, row + column * 4, align=16)

    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    with b.if_warp(0):
        b.tcgen05_dealloc(accumulator.pointer, COLUMNS)
        b.tcgen05_relinq_alloc_permit()
    return b.finish()


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and the product that numpy gives."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (M, K)).astype(np.float16)
    b = rng.integers(-4, 5, (N, K)).astype(np.float16)
    return a, b, a.astype(np.float32) @ b.astype(np.float32).T


def main() -> None:
    """Run the tile on the simulator and compare with numpy."""
    a, b, expected = operands()
    d = np.zeros((M, N), np.float32)
    build().compile(target="sm_100a").run(a, b, d=d, device="sim")
    assert np.array_equal(d, expected), "the tile differs from numpy"
    print(f"D = A·Bᵀ, {M}x{N}x{K}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
