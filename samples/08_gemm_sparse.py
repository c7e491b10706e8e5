"""A GEMM with a sparse A: of each four elements of a row two are zero, and are never multiplied.

A is stored at half its size, with four bits for each chunk of four elements: the places of the two
that are kept.  A sparse MMA covers twice the K of a dense one.

     A, pruned       . 5 3 .   2 . . 7        values     5 3 2 7           (f16, shared memory)
                                              metadata   (1,2) (0,3)       (tensor memory)

The metadata goes through shared memory as A and B do; one tcgen05.cp of 128 rows of 16 bytes brings
what a step of K = 128 needs: four columns, one for each of four MMAs of K = 32.  How the chunks of
16 rows share the lanes of a column is `metadata_words`' business, on the host.

A CTA computes 128×128 of D.  M and N are multiples of 128, K of 128.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, LdStNum

TILE, TILE_K = 128, 128  # K counts the zeros
KEPT = TILE_K // 2
SPAN = 64  # elements of B in a swizzle span; a step is two of them
WORDS = TILE_K // 32  # of metadata, for a row and a step
STAGES = 4
COLUMNS = 256  # of tensor memory: the accumulator has 128, the metadata of a stage 4

EPILOGUE = 128  # threads of warps 0 to 3
TMA_WARP, MMA_WARP = 4, 5
THREADS = 6 * 32

TARGETS = ("sm_100a", "sm_103a", "sm_110a")


def build(dtype: ElementType = ElementType.F16) -> Kernel:
    """The kernel, as LLVM IR."""
    b = KernelBuilder("gemm_sparse", block=THREADS, dynamic_shared=True)
    b.tensor_map("a", dtype=dtype, box=(TILE, KEPT), swizzle=128)
    b.tensor_map("metadata", dtype=ElementType.S32, box=(TILE, WORDS))
    b.tensor_map("b", dtype=dtype, box=(TILE, SPAN), swizzle=128)
    b.pointer("d", output=True)
    b.integer("n")
    b.integer("k")
    args = b.begin()
    n, steps = args["n"], args["k"] // TILE_K

    a_ring = b.shared_tiles("a_ring", dtype, (TILE, KEPT), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (TILE, TILE_K), STAGES)
    word_ring = b.shared_tiles("word_ring", ElementType.S32, (TILE, WORDS), STAGES, swizzle=0)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    sums = b.mbarrier("sums")

    with b.if_thread(0):
        for stage in range(STAGES):
            b.mbarrier_init(full[stage], 1)
            b.mbarrier_init(empty[stage], 1)
        b.mbarrier_init(sums, 1)
        b.fence_mbarrier_init_release_cluster()
    tmem = b.tensor_memory("tmem", COLUMNS, warp=MMA_WARP)
    accumulator = tmem.tile(TILE, TILE, sparse=True)
    words = tmem.metadata(STAGES * TILE_K, dtype)

    across = n // TILE
    row, column = b.ctaid_x // across * TILE, b.ctaid_x % across * TILE

    with b.if_warp(TMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            loaded, b_tile = full[ring.stage], b_ring[ring.stage].pointer
            b.mbarrier_arrive_expect_tx(loaded, a_ring.nbytes + b_ring.nbytes + word_ring.nbytes)
            copies = (
                (a_ring[ring.stage].pointer, "a", (step * KEPT, row)),
                (word_ring[ring.stage].pointer, "metadata", (step * WORDS, row)),
                (b_tile, "b", (step * TILE_K, column)),
                (b_tile + b_ring.nbytes // 2, "b", (step * TILE_K + SPAN, column)),
            )
            for target, tensor, at in copies:
                b.cp_async_bulk_tensor_g2s_tile(target, loaded, args[tensor], at)
            ring.advance()
        with b.range(STAGES):  # the last commits arrive before the CTA ends
            b.wait(empty[ring.stage], ring.parity ^ 1)
            ring.advance()

    with b.if_warp(MMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(full[ring.stage], ring.parity)
            b.tcgen05_fence_after_thread_sync()
            metadata = words + ring.stage * WORDS
            b.copy_metadata(metadata, word_ring[ring.stage].pointer)
            a_tile, b_tile = a_ring[ring.stage], b_ring[ring.stage]
            b.gemm_async(accumulator, a_tile, b_tile, accumulate=step != 0, metadata=metadata)
            b.tcgen05_commit(empty[ring.stage])
            ring.advance()
        b.tcgen05_commit(sums)

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
    tmem.free(warp=MMA_WARP)
    return b.finish()


def pruned(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix with the two smallest of each four left out: as a whole, its values, the places.

    The places are (rows, K / 4) of four bits: that of the first value in the lower two.
    """
    rows, k = dense.shape
    chunks = dense.reshape(rows, k // 4, 4)
    order = np.argsort(-np.abs(chunks.astype(np.float32)), axis=2, kind="stable")
    places = np.sort(order[:, :, :2], axis=2)
    values = np.take_along_axis(chunks, places, axis=2)
    whole = np.zeros_like(chunks)
    np.put_along_axis(whole, places, values, axis=2)
    bits = places[:, :, 0] | places[:, :, 1] << 2
    return whole.reshape(rows, k), values.reshape(rows, k // 2), bits


def metadata_words(places: np.ndarray) -> np.ndarray:
    """The metadata as 16-bit kinds want it in tensor memory: (rows, K / 32) words, a lane a row.

    A word holds the chunks of 32 elements.  Sixteen rows share sixteen lanes: lanes 0 to 7 have the
    first four chunks of each row, lanes 8 to 15 the others; rows 0 to 7 lie in the lower half of
    the words, rows 8 to 15 in the upper.
    """
    rows, chunks = places.shape
    parts = places.reshape(rows // 16, 2, 8, chunks // 8, 2, 4)  # 16s, half, row, word, four, chunk
    nibbles = parts.transpose(0, 4, 2, 3, 1, 5).reshape(rows, chunks // 8, 8).astype(np.uint32)
    return (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(2, dtype=np.uint32).view(np.int32)


def operands(
    m: int, n: int, k: int, dtype: ElementType = ElementType.F16, *, normal: bool = False
) -> tuple[np.ndarray, ...]:
    """A's values, its metadata, B, and the product of the pruned A and B that numpy gives.

    Small integers, so that every sum is exact; normally distributed numbers with `normal`, and a
    product in float64.
    """
    rng = np.random.default_rng(0)

    def matrix(rows: int) -> np.ndarray:
        wide = rng.standard_normal((rows, k)) if normal else rng.integers(-4, 5, (rows, k))
        return wide.astype(dtype.numpy)

    (a, values, places), b = pruned(matrix(m)), matrix(n)
    wide = np.float64 if normal else np.float32
    return values, metadata_words(places), b, a.astype(wide) @ b.astype(wide).T


def grid(m: int, n: int) -> int:
    """CTAs of a launch."""
    return (m // TILE) * (n // TILE)


def main() -> None:
    """Run 128×256×512 on the simulator and compare with numpy."""
    m, n, k = 128, 256, 512
    *inputs, expected = operands(m, n, k)
    d = np.zeros((m, n), np.float32)
    compiled = build().compile(target="sm_100a")
    compiled.run(*inputs, d, n, k, grid=grid(m, n), device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"sparse D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
