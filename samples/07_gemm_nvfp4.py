"""A GEMM of NVFP4: D = alpha · (A·scales)·(B·scales)ᵀ, E2M1 with an E4M3 factor for 16 elements.

A factor for each 16 elements follows the data closely; as it has a mantissa, but a small range, one
f32 for the whole of each matrix goes before: quantising divides by it, and the epilogue multiplies
the sums by alpha, the product of both.

     A, B    4 bits each, two in a byte: 128 bytes hold the K = 256 of a step
     SFA     16 factors a row and step, E4M3 without its sign: four words, for four MMAs of K = 64
     alpha   one f32, in memory

                     ┌─ TMA ─►  A, B, SFA, SFB in shared memory
     memory ─────────┤            │             │ tcgen05.cp 32x128b.warpx4, 8 a step
                     │            ▼             ▼
                     │          tcgen05.mma.kind::mxf4nvf4.block_scale.block16 ──► sums
                     └─ alpha ────────────────────────────────────────────────────► · alpha ─► D

A CTA computes 128×128 of D.  M and N are multiples of 128, K of 256.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, LdStNum

TILE, TILE_K = 128, 256
BLOCK = 16  # elements that share a factor
WORDS = TILE_K // BLOCK // 4  # of factors, for a row and a step
STAGES = 4
COLUMNS = 256  # of tensor memory: the accumulator has 128, the factors of a stage 16 + 16

EPILOGUE = 128  # threads of warps 0 to 3
TMA_WARP, MMA_WARP = 4, 5
THREADS = 6 * 32

TARGETS = ("sm_100a", "sm_103a", "sm_110a")


def build() -> Kernel:
    """The kernel, as LLVM IR."""
    e2m1, factor = ElementType.E2M1, {"dtype": ElementType.UE4M3, "size": BLOCK}
    b = KernelBuilder("gemm_nvfp4", block=THREADS, dynamic_shared=True)
    for name in ("a", "b"):
        b.tensor_map(name, dtype=ElementType.U8, box=(TILE, TILE_K // 2), swizzle=128)
    for name in ("sfa", "sfb"):
        b.tensor_map(name, dtype=ElementType.S32, box=(WORDS, 128))  # blocks of 512 bytes
    b.pointer("alpha")
    b.pointer("d", output=True)
    b.integer("n")
    b.integer("k")
    args = b.begin()
    n, steps = args["n"], args["k"] // TILE_K

    a_ring = b.shared_tiles("a_ring", e2m1, (TILE, TILE_K), STAGES)
    b_ring = b.shared_tiles("b_ring", e2m1, (TILE, TILE_K), STAGES)
    sfa_ring = b.shared_scales("sfa_ring", TILE, TILE_K, STAGES, **factor)
    sfb_ring = b.shared_scales("sfb_ring", TILE, TILE_K, STAGES, **factor)
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
    sfa = tmem.scale_tiles(TILE, TILE_K, STAGES, **factor)
    sfb = tmem.scale_tiles(TILE, TILE_K, STAGES, **factor)

    across = n // TILE
    row, column = b.ctaid_x // across, b.ctaid_x % across  # in tiles

    with b.if_warp(TMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            loaded = full[ring.stage]
            b.mbarrier_arrive_expect_tx(loaded, sum(r.nbytes for r in rings.values()))
            places = {
                "a": (step * (TILE_K // 2), row * TILE),
                "b": (step * (TILE_K // 2), column * TILE),
                "sfa": (0, (row * steps + step) * WORDS),
                "sfb": (0, (column * steps + step) * WORDS),
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
        alpha = b.f32(b.load_word(args["alpha"]))
        b.wait(sums, 0)
        b.tcgen05_fence_after_thread_sync()
        lanes = accumulator.pointer + (b.tid_x >> 5 << 21)
        at = (row * TILE + b.tid_x) * n + column * TILE
        target = args["d"] + at.zext(64) * 4
        for part in range(0, TILE, 32):
            values = b.tcgen05_ld(lanes + part, num=LdStNum.X32).f32
            b.tcgen05_wait_ld()
            b.store(values * alpha, target + part * 4, align=16)

    b.bar_warp_sync()
    tmem.free(warp=MMA_WARP)
    return b.finish()


def blocked(factors: np.ndarray) -> np.ndarray:
    """Factors of (rows, K / 16) in the order in which the tensor core copies them.

    Blocks of 128 rows by four factors, those of a row of blocks one after the other; in a block the
    factors of row r are the four bytes at 16 (r mod 32) + 4 (r div 32).  So cuDNN has them, too.
    Each row of the result is a block, in words of 32 bits.
    """
    rows, count = factors.shape
    parts = factors.view(np.uint8).reshape(rows // 128, 4, 32, count // 4, 4)
    blocks = parts.transpose(0, 3, 2, 1, 4).reshape(-1, 512)
    return np.ascontiguousarray(blocks).view(np.int32)


def quantised(wide: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.float32, np.ndarray]:
    """A matrix in NVFP4: its bytes, its factors, its f32, and the numbers that they stand for.

    The f32 makes the largest factor 448, the largest E4M3; a factor makes the largest of its 16
    elements about 6, the largest E2M1.  The numbers are in float64.
    """
    rows, k = wide.shape
    blocks = wide.reshape(rows, k // BLOCK, BLOCK)
    largest = np.abs(blocks).max(axis=2)
    whole = np.float32(largest.max() / (6 * 448))
    factors = (largest / 6 / whole).astype(ml_dtypes.float8_e4m3fn)
    scale = factors.astype(np.float64)[:, :, None] * np.float64(whole)
    small = np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)
    codes = np.clip(small, -6, 6).astype(ml_dtypes.float4_e2m1fn)
    meant = codes.astype(np.float64) * factors.astype(np.float64)[:, :, None]
    nibbles = codes.view(np.uint8).reshape(rows, k)
    return nibbles[:, ::2] | nibbles[:, 1::2] << 4, factors, whole, meant.reshape(rows, k)


def operands(m: int, n: int, k: int, *, normal: bool = False) -> tuple[np.ndarray, ...]:
    """A, B, their factors as the kernel takes them, alpha, and the product that numpy gives.

    Numbers whose sums are exact; normally distributed ones with `normal`, quantised, with a product
    of what they have become, in float64.
    """
    rng = np.random.default_rng(0)

    def exact(rows: int) -> tuple[np.ndarray, np.ndarray, np.float32, np.ndarray]:
        numbers = np.array([-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6], ml_dtypes.float4_e2m1fn)
        codes = rng.choice(numbers, (rows, k))
        factors = rng.choice([0.5, 0.75, 1, 1.5, 2], (rows, k // BLOCK))
        nibbles = codes.view(np.uint8)
        meant = codes.astype(np.float64) * factors.repeat(BLOCK, axis=1)
        packed = nibbles[:, ::2] | nibbles[:, 1::2] << 4
        return packed, factors.astype(ml_dtypes.float8_e4m3fn), np.float32(0.5), meant

    def matrix(rows: int) -> tuple[np.ndarray, np.ndarray, np.float32, np.ndarray]:
        return quantised(rng.standard_normal((rows, k))) if normal else exact(rows)

    a, sfa, a_whole, a_meant = matrix(m)
    b, sfb, b_whole, b_meant = matrix(n)
    alpha = np.array([a_whole * b_whole], np.float32)
    product = a_meant @ b_meant.T * np.float64(alpha[0])
    if not normal:
        product = product.astype(np.float32)
    return a, b, blocked(sfa), blocked(sfb), alpha, product


def grid(m: int, n: int) -> int:
    """CTAs of a launch."""
    return (m // TILE) * (n // TILE)


def main() -> None:
    """Run 128×256×1024 on the simulator and compare with numpy."""
    m, n, k = 128, 256, 1024
    *inputs, expected = operands(m, n, k)
    d = np.zeros((m, n), np.float32)
    compiled = build().compile(target="sm_100a")
    compiled.run(*inputs, d, n, k, grid=grid(m, n), device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"NVFP4 D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
