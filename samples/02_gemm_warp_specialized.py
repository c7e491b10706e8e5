"""A whole GEMM, D = A·Bᵀ in f16 or bf16 with f32 sums, by CTAs whose warps have different jobs.

A CTA of six warps walks over tiles of 128×128 of D.  A tile's K goes by in steps of 64, through a
ring of four buffers; its sums lie in one of two accumulators, so that the multiplies of the next
tile run while this one is stored:

      warp 4, one thread           warp 5, one thread              warps 0 to 3, all threads
     ┌────────────────────┐ full  ┌─────────────────────────┐ sums  ┌───────────────────────────┐
     │ TMA: A and B, a    │ ────► │ MMA: 4 of K = 16 for    │ ────► │ tensor memory → registers │
     │ step of K, into    │       │ each step, into one of  │       │ → staging → TMA store     │
     │ the ring in shared │ ◄──── │ two accumulators in     │ ◄──── │ of D, 32 columns at a     │
     │ memory             │ empty │ tensor memory           │ free  │ time                      │
     └────────────────────┘       └─────────────────────────┘       └───────────────────────────┘

Each arrow is an array of mbarriers, one for each buffer.  TMA arrives on `full` with its bytes, the
commit of a step's multiplies on `empty`, the commit of a tile's on `sums`; the threads that have
read the sums arrive on `free`.  A consumer's n-th look at a buffer, from 0 on,
waits for parity n mod 2, which a ring counts; a producer waits for the use before, parity ^ 1.

M and N are multiples of 128, K of 64; all three come at run time.  The grid is any number of CTAs.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.

Machine code for a step of K = 64 (f16, 128×128, sm_100a), counted in the innermost loop that holds
the instruction, as nvdisasm 13.5.37 lists it, on 20 November 2026:

                                            UTCHMMA  UTMALDG  UTCBAR
    this kernel, by ptxas 13.5.37                 4        2       1
    cuTile, cuda-tile 1.7.0, tileiras 13.5.37     4        2       1
    CuTe DSL, nvidia-cutlass-dsl 4.8.1            4        2       1    (its loop does two steps)

cuTile's kernel is a plain loop over ct.mma; that of CuTe DSL is CUTLASS's tutorial fp16_gemm_0 with
tiles of 128×128.  Both were compiled without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, LdStNum, Space

TILE_M, TILE_N, TILE_K = 128, 128, 64
STAGES = 4  # buffers of A and B
ACCUMULATORS = 2
COLUMNS = ACCUMULATORS * TILE_N  # of tensor memory
PART = 32  # columns of D that are staged and stored at once: 128 bytes

EPILOGUE = 128  # threads of warps 0 to 3: a warp reads the lanes of its number modulo 4
TMA_WARP, MMA_WARP = 4, 5
THREADS = 6 * 32
EPILOGUE_BARRIER = 1  # of the sixteen that a CTA has; 0 is for all threads

TARGETS = ("sm_100a", "sm_103a", "sm_110a")


@contextmanager
def tiles_of(b: KernelBuilder, m, n) -> Iterator[tuple]:
    """Every tile of this CTA, by its first row and column."""
    across = n // TILE_N
    with b.range(m // TILE_M * across, start=b.ctaid_x, step=b.nctaid_x) as tile:
        yield tile // across * TILE_M, tile % across * TILE_N


def build(dtype: ElementType = ElementType.F16) -> Kernel:
    """The kernel, as LLVM IR."""
    b = KernelBuilder("gemm", block=THREADS, dynamic_shared=True)
    b.tensor_map("a", dtype=dtype, box=(TILE_M, TILE_K), swizzle=128)
    b.tensor_map("b", dtype=dtype, box=(TILE_N, TILE_K), swizzle=128)
    b.tensor_map("d", dtype=ElementType.F32, box=(TILE_M, PART), swizzle=128, output=True)
    for name in ("m", "n", "k"):
        b.integer(name)
    args = b.begin()
    m, n, steps = args["m"], args["n"], args["k"] // TILE_K

    a_ring = b.shared_tiles("a_ring", dtype, (TILE_M, TILE_K), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (TILE_N, TILE_K), STAGES)
    staging = b.shared_tiles("staging", ElementType.F32, (TILE_M, PART), 2)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    sums, free = b.mbarriers("sums", ACCUMULATORS), b.mbarriers("free", ACCUMULATORS)
    tmem_slot = b.shared_word("tmem_slot")

    with b.if_thread(0):
        for stage in range(STAGES):
            b.mbarrier_init(full[stage], 1)
            b.mbarrier_init(empty[stage], 1)
        for accumulator in range(ACCUMULATORS):
            b.mbarrier_init(sums[accumulator], 1)
            b.mbarrier_init(free[accumulator], EPILOGUE)
        b.fence_mbarrier_init_release_cluster()
    with b.if_warp(MMA_WARP):
        b.tcgen05_alloc(tmem_slot, COLUMNS)
        b.tcgen05_relinq_alloc_permit()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()
    tmem = b.load_word(tmem_slot)

    with b.if_warp(TMA_WARP), b.elect():
        ring = b.ring(STAGES)
        with tiles_of(b, m, n) as (row, column), b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            loaded = full[ring.stage]
            b.mbarrier_arrive_expect_tx(loaded, a_ring.nbytes + b_ring.nbytes)
            for tile, tensor, start in ((a_ring, "a", row), (b_ring, "b", column)):
                target, at = tile[ring.stage].pointer, (step * TILE_K, start)
                b.cp_async_bulk_tensor_g2s_tile(target, loaded, args[tensor], at)
            ring.advance()
        with b.range(STAGES):  # the last commits arrive before the CTA ends
            b.wait(empty[ring.stage], ring.parity ^ 1)
            ring.advance()

    with b.if_warp(MMA_WARP), b.elect():
        ring, turn = b.ring(STAGES), b.ring(ACCUMULATORS)
        with tiles_of(b, m, n):
            b.wait(free[turn.stage], turn.parity ^ 1)
            b.tcgen05_fence_after_thread_sync()
            accumulator = b.tensor_tile(tmem + turn.stage * TILE_N, TILE_M, TILE_N)
            with b.range(steps) as step:
                b.wait(full[ring.stage], ring.parity)
                b.tcgen05_fence_after_thread_sync()
                a_tile, b_tile = a_ring[ring.stage], b_ring[ring.stage]
                b.gemm_async(accumulator, a_tile, b_tile, accumulate=step != 0)
                b.tcgen05_commit(empty[ring.stage])
                ring.advance()
            b.tcgen05_commit(sums[turn.stage])
            turn.advance()

    with b.if_(b.tid_x < EPILOGUE):
        turn = b.ring(ACCUMULATORS)
        lanes = tmem + (b.tid_x >> 5 << 21)
        with tiles_of(b, m, n) as (row, column):
            b.wait(sums[turn.stage], turn.parity)
            b.tcgen05_fence_after_thread_sync()
            for part in range(TILE_N // PART):
                source = b.tensor_pointer(lanes + turn.stage * TILE_N + part * PART)
                values = b.tcgen05_ld(source, num=LdStNum.X32)
                b.tcgen05_wait_ld()
                if part == TILE_N // PART - 1:  # the accumulator is read
                    b.tcgen05_fence_before_thread_sync()
                    b.mbarrier_arrive(free[turn.stage])

                with b.if_warp(0), b.elect():  # the last store but one has read its buffer
                    b.cp_async_bulk_wait_group_read(1)
                b.barrier_cta_sync_aligned(EPILOGUE_BARRIER, EPILOGUE)
                staged = staging[part % 2]
                for chunk in range(PART // 4):
                    four = values[4 * chunk : 4 * chunk + 4]
                    b.store(four, staged.chunk(b.tid_x, chunk), align=16)
                b.fence_proxy_async(Space.SHARED_CTA)
                b.barrier_cta_sync_aligned(EPILOGUE_BARRIER, EPILOGUE)
                with b.if_warp(0), b.elect():
                    at = (column + part * PART, row)
                    b.cp_async_bulk_tensor_s2g_tile(args["d"], at, staged.pointer)
                    b.cp_async_bulk_commit_group()
            turn.advance()
        with b.if_warp(0), b.elect():
            b.cp_async_bulk_wait_group_read(0)

    b.bar_warp_sync()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    with b.if_warp(MMA_WARP):
        b.tcgen05_dealloc(b.tensor_pointer(tmem), COLUMNS)
    return b.finish()


def operands(
    m: int, n: int, k: int, dtype: ElementType = ElementType.F16
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and the product that numpy gives."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (m, k)).astype(dtype.numpy)
    b = rng.integers(-4, 5, (n, k)).astype(dtype.numpy)
    return a, b, a.astype(np.float32) @ b.astype(np.float32).T


def main() -> None:
    """Run 256×256×256 by two CTAs on the simulator and compare with numpy."""
    m, n, k = 256, 256, 256
    a, b, expected = operands(m, n, k)
    d = np.zeros((m, n), np.float32)
    build().compile(target="sm_100a").run(a, b, d, m, n, k, grid=2, device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
