"""One GEMM for six machines: D = A·Bᵀ in f16, bf16 or fp8 with f32 sums, written once.

What multiplies tiles differs from machine to machine, and so does all that goes with it.  The body
below says what it wants; the target decides what that becomes:

                   sm_80, sm_89, sm_120a      sm_90a                    sm_100a, sm_103a, sm_110a
    accumulator    registers of each warp     registers of a warpgroup  tensor memory, allocated
    gemm_async     ldmatrix, mma.sync         wgmma.mma_async           tcgen05.mma by one thread
    sums.commit    nothing                    wgmma.commit_group        tcgen05.commit, an mbarrier
    sums.wait      nothing                    wgmma.wait_group          a wait for its phase
    load_wait      cp.async.wait_group, bar   and fence.proxy.async     and fence.proxy.async
    sums.store     registers                  registers                 tcgen05.ld

A CTA of 128 threads computes 128×128 of D.  K goes by in steps of 128 bytes, through a ring of
three buffers; while one step is multiplied, the next two are on their way:

     step s:   sums.wait (s - 1)   load_wait (s)   gemm_async (s)   load (s + 2)

Behind `sums.wait` and the barrier in `load_wait` the buffer of step s - 1 is free for s + 2.

M and N are multiples of 128, K of a step; all three come at run time.  fp8 is from sm_89 on.
Runs on the CPU simulator for every target; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder

TILE_M, TILE_N = 128, 128
STEP_BYTES = 128  # of a row of A or B: one span of the swizzling
STAGES = 3  # buffers of A and B
THREADS = 128

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a")


def build(
    target: str = "sm_90a",
    dtype: ElementType = ElementType.F16,
    out: ElementType = ElementType.F32,
) -> Kernel:
    """The kernel for one target, as LLVM IR; `out` is D's type in memory: f32, f16 or bf16."""
    tile_k = STEP_BYTES * 8 // dtype.bits
    b = KernelBuilder("gemm", block=THREADS, dynamic_shared=True, target=target)
    b.pointer("a")
    b.pointer("b")
    b.pointer("d", output=True)
    for name in ("m", "n", "k"):
        b.integer(name)
    args = b.begin()
    n, k = args["n"], args["k"]
    across, steps = n // TILE_N, k // tile_k
    row, column = b.ctaid_x // across * TILE_M, b.ctaid_x % across * TILE_N

    def lines(matrix, first, pitch, bits):
        """The address of row `first` of a matrix."""
        return matrix + first.zext(64) * pitch.zext(64) * (bits // 8)

    a_ring = b.shared_tiles("a_ring", dtype, (TILE_M, tile_k), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (TILE_N, tile_k), STAGES)
    a_rows = lines(args["a"], row, k, dtype.bits)
    b_rows = lines(args["b"], column, k, dtype.bits)
    sums = b.accumulator(TILE_M, TILE_N)
    filled, used = b.ring(STAGES), b.ring(STAGES)

    def load(step):
        """Bring a step of A and B, unless K is over; a group of copies either way."""
        with b.if_(step < steps):
            away = (step * STEP_BYTES).zext(64)
            b.load_tile(a_ring[filled.stage], a_rows + away, k)
            b.load_tile(b_ring[filled.stage], b_rows + away, k)
        b.load_commit()
        filled.advance()

    for step in range(STAGES - 1):
        load(b.const(step))
    with b.range(steps) as step:
        sums.wait()
        b.load_wait(STAGES - 2)
        b.gemm_async(sums, a_ring[used.stage], b_ring[used.stage], accumulate=step != 0)
        sums.commit()
        used.advance()
        load(step + (STAGES - 1))
    sums.wait()
    corner = lines(args["d"], row, n, out.bits) + (column * (out.bits // 8)).zext(64)
    sums.store(corner, n, out)
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
    """Run 128×256×256 by two CTAs on the simulator, for each target, and compare with numpy."""
    m, n, k = 128, 256, 256
    a, b, expected = operands(m, n, k)
    for target in TARGETS:
        d = np.zeros((m, n), np.float32)
        grid = m // TILE_M * (n // TILE_N)
        build(target).compile().run(a, b, d, m, n, k, grid=grid, device="sim")
        assert np.array_equal(d, expected), f"the product differs from numpy on {target}"
    print(f"D = A·Bᵀ, {m}x{n}x{k}: equal to numpy on {', '.join(TARGETS)}")


if __name__ == "__main__":
    main()
