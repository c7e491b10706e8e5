"""A GEMM of MXFP8: D = (A·scales)·(B·scales)ᵀ, E4M3 with a power of two for each 32 elements.

OCP's microscaling formats keep small numbers and share an exponent: element (r, k) of A counts
A[r, k] · 2^(SFA[r, k div 32] - 127).  The tensor core takes the factors from tensor memory, where
they come from memory in two steps:

     global memory           shared memory                    tensor memory
     ┌──────────────┐  TMA   ┌──────────────┐  tcgen05.cp     ┌───────────────┐
     │ 512 bytes:   │ ─────► │ the same     │ ──────────────► │ 4 columns, in │ ──► tcgen05.mma
     │ 128 rows × 4 │        │              │  32x128b.warpx4 │ each 32 lanes │     .block_scale
     └──────────────┘        └──────────────┘                 └───────────────┘

A step of K = 128 has four factors for each row, which make a word.  Its four MMAs, of K = 32, take
byte 0, 1, 2 and 3 of it: gemm_async writes that into their instruction descriptors.  The copies and
the MMAs of one thread are a pipeline, so that nothing waits in between; each stage has columns of
its own for the factors, which are free again when its buffers are.

A CTA computes 128×128 of D.  M and N are multiples of 128, K of 128.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, LdStNum

TILE, TILE_K = 128, 128
BLOCK = 32  # elements that share a factor
STAGES = 4
COLUMNS = 256  # of tensor memory: the accumulator has 128, the factors of a stage 4 + 4

EPILOGUE = 128  # threads of warps 0 to 3
TMA_WARP, MMA_WARP = 4, 5
THREADS = 6 * 32

TARGETS = ("sm_100a", "sm_103a", "sm_110a")


def build(dtype: ElementType = ElementType.E4M3) -> Kernel:
    """The kernel, as LLVM IR."""
    b = KernelBuilder("gemm_mxfp8", block=THREADS, dynamic_shared=True)
    for name in ("a", "b"):
        b.tensor_map(name, dtype=dtype, box=(TILE, TILE_K), swizzle=128)
    for name in ("sfa", "sfb"):
        b.tensor_map(name, dtype=ElementType.S32, box=(1, 128))  # 512 bytes, by words
    b.pointer("d", output=True)
    b.integer("n")
    b.integer("k")
    args = b.begin()
    n, steps = args["n"], args["k"] // TILE_K

    a_ring = b.shared_tiles("a_ring", dtype, (TILE, TILE_K), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (TILE, TILE_K), STAGES)
    sfa_ring = b.shared_scales("sfa_ring", TILE, TILE_K, STAGES, size=BLOCK)
    sfb_ring = b.shared_scales("sfb_ring", TILE, TILE_K, STAGES, size=BLOCK)
    rings = {"a": a_ring, "b": b_ring, "sfa": sfa_ring, "sfb": sfb_ring}
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    sums = b.mbarrier("sums")

    with b.if_thread(0):
        for stage in range(STAGES):
            b.mbarrier_init(full[stage], 1)
            b.mbarrier_init(empty[stage], 1)
        b.mbarrier_init(sums, 1)
        b.fence_mbarrier_init_release_cluster()
    tmem = b.tensor_memory("tmem", COLUMNS, warp=MMA_WARP)
    accumulator = tmem.tile(TILE, TILE)
    sfa = tmem.scale_tiles(TILE, TILE_K, STAGES, size=BLOCK)
    sfb = tmem.scale_tiles(TILE, TILE_K, STAGES, size=BLOCK)

    across = n // TILE
    row, column = b.ctaid_x // across, b.ctaid_x % across  # in tiles

    with b.if_warp(TMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            loaded = full[ring.stage]
            b.mbarrier_arrive_expect_tx(loaded, sum(r.nbytes for r in rings.values()))
            places = {
                "a": (step * TILE_K, row * TILE),
                "b": (step * TILE_K, column * TILE),
                "sfa": (0, row * steps + step),
                "sfb": (0, column * steps + step),
            }
            for name, place in places.items():
                target = rings[name][ring.stage].pointer
                b.cp_async_bulk_tensor_g2s_tile(target, loaded, args[name], place)
            ring.advance()
        with b.range(STAGES):  # the last commits arrive before the CTA ends
            b.wait(empty[ring.stage], ring.parity ^ 1)
            ring.advance()

    with b.if_warp(MMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(full[ring.stage], ring.parity)
            b.tcgen05_fence_after_thread_sync()
            b.copy_scales(sfa[ring.stage], sfa_ring[ring.stage])
            b.copy_scales(sfb[ring.stage], sfb_ring[ring.stage])
            b.gemm_async(
                accumulator,
                a_ring[ring.stage],
                b_ring[ring.stage],
                accumulate=step != 0,
                sfa=sfa[ring.stage],
                sfb=sfb[ring.stage],
            )
            b.tcgen05_commit(empty[ring.stage])
            ring.advance()
        b.tcgen05_commit(sums)

    with b.if_(b.tid_x < EPILOGUE):
        b.wait(sums, 0)
        b.tcgen05_fence_after_thread_sync()
        lanes = accumulator.pointer + (b.tid_x >> 5 << 21)
        at = (row * TILE + b.tid_x) * n + column * TILE
        target = args["d"] + at.zext(64) * 4
        for part in range(0, TILE, 32):
            values = b.tcgen05_ld(lanes + part, num=LdStNum.X32)
            b.tcgen05_wait_ld()
            b.store(values, target + part * 4, align=16)

    b.bar_warp_sync()
    tmem.free(warp=MMA_WARP)
    return b.finish()


def blocked(factors: np.ndarray) -> np.ndarray:
    """Factors of (rows, K / 32) in the order in which the tensor core copies them.

    Blocks of 128 rows by four factors, those of a row of blocks one after the other; in a block the
    factors of row r are the four bytes at 16 (r mod 32) + 4 (r div 32).  So cuDNN has them, too.
    Each row of the result is a block, in words of 32 bits.
    """
    rows, count = factors.shape
    parts = factors.view(np.uint8).reshape(rows // 128, 4, 32, count // 4, 4)
    blocks = parts.transpose(0, 3, 2, 1, 4).reshape(-1, 512)
    return np.ascontiguousarray(blocks).view(np.int32)


def operands(
    m: int, n: int, k: int, dtype: ElementType = ElementType.E4M3, *, normal: bool = False
) -> tuple[np.ndarray, ...]:
    """A, B, their factors as the kernel takes them, and the product that numpy gives.

    Small integers times powers of two, so that every sum is exact; normally distributed numbers
    with `normal`, and a product in float64.
    """
    rng = np.random.default_rng(0)

    def matrix(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        wide = rng.standard_normal((rows, k)) if normal else rng.integers(-4, 5, (rows, k))
        narrow = wide.astype(dtype.numpy)
        exponents = rng.integers(-2, 3, (rows, k // BLOCK))
        factors = np.exp2(exponents).astype(ml_dtypes.float8_e8m0fnu)
        meant = narrow.astype(np.float64) * np.exp2(exponents).repeat(BLOCK, axis=1)
        return narrow, blocked(factors), meant

    (a, sfa, a_meant), (b, sfb, b_meant) = matrix(m), matrix(n)
    product = a_meant @ b_meant.T
    return a, b, sfa, sfb, product if normal else product.astype(np.float32)


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
    print(f"MXFP8 D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
