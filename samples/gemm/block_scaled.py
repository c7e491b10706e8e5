"""Block-scaled fp8 for Hopper, as DeepSeek has it: each 1×128 of A and 128×128 of B has a scale.

    D = Σ of blocks of K:  scale_a[block, row] · scale_b[column / 128, block] · (A_block·B_blockᵀ)

The tensor cores sum a block of 128 products; registers add it to the sums of all blocks, times its
scales, in f32.  Meanwhile the next block is multiplied.  Scales of A are an array of
K/128 × M, so that TMA brings those of a step beside its rows; those of B are N/128 × K/128.

The rest is sample 10: its tiles, its split K, D transposed for few rows of A.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import ElementType, Kernel, f32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.family_plan import BLOCK
from gemm.family_plan import BLOCK_SCALED as FP8
from gemm.plan import ROWS, Config, Kind
from gemm.sharing import Work

gemm = importlib.import_module("10_gemm_sm90")


class BlockScaledGemm(gemm.Gemm):
    """The kernel under construction."""

    loads = True
    overlaps = False  # a tile has one scale of B in each step

    @property
    def together(self) -> int:
        """Blocks that are in work at once: two, of which a warpgroup adds up one while the other is
        multiplied, where it has registers for them.  Of three warpgroups others multiply.
        """
        config = self.config
        return 2 if config.consumers == 1 or (config.consumers == 2 and not config.swap) else 1

    @property
    def copies(self) -> int:
        """What a thread has of a tile: each block's products, and the sums."""
        return self.together + 1

    def declare(self) -> None:
        """The scales of A stand behind the sizes."""
        super().declare()
        self.scaled = self.config.n if self.config.swap else self.config.m  # rows of A in a tile
        self.more_bytes = self.scaled * 4
        self.b.tensor_map("scale_a", dtype=ElementType.F32, box=(1, self.scaled))

    def allocate(self) -> None:
        """Room for the scales of each step."""
        super().allocate()
        shape = self.scaled // 4, 4
        self.scales = self.b.shared_tiles(
            "scales", ElementType.F32, shape, self.config.stages, swizzle=0
        )

    def bring_more(self, stage, work: Work, step) -> None:
        """The scales of the rows of A."""
        at = (work.column if self.config.swap else work.row), step
        target, full = self.scales[stage].pointer, self.full[stage]
        self.b.cp_async_bulk_tensor_g2s_tile(target, full, self.args["scale_a"], at)

    def sums_of(self, work: Work, height: int) -> list:
        """Add up blocks: each is multiplied anew, and joins the sums times its scales."""
        b, first = self.b, work.column
        if self.config.swap:
            first = work.row.min(self.args["n"] - 1)  # a cluster's last CTA may have no rows
        self.blocks = (self.args["k"] + (BLOCK - 1)) // BLOCK
        self.scales_of_b = self.args["scale_b"].at(first // BLOCK * self.blocks)
        products = [b.warpgroup_tile(height, self.config.n) for _ in range(self.together)]
        zeros = b.vector([b.f32(0.0)] * (self.config.n // 2))
        sums = [b.variable(zeros) for _ in products[0].parts]
        if self.together == 1:
            (d,) = products
            with b.range(work.end, start=work.first) as step:
                self.wait_for(self.ring)
                self.complete(d, self.start(d), step, sums)
        else:
            self.in_turn(products, sums, work)
        return [list(total.value) for total in sums]

    def in_turn(self, products: list, sums: list, work: Work) -> None:
        """Add each block to the sums while the next one is multiplied."""
        b, (even, odd) = self.b, products
        self.wait_for(self.ring)
        held = b.variable(self.start(even))
        with b.range(work.end - 2, start=work.first, step=2) as step:
            stage = self.add_beside(even, held.value, step, sums, odd)
            held.set(self.add_beside(odd, stage, step + 1, sums, even))
        stage = self.add_beside(even, held.value, work.end - 2, sums, odd)
        self.complete(odd, stage, work.end - 1, sums)

    def add_beside(self, d, stage, step, sums: list, other):
        """Wait for the multiplies of a block, start the next one's, and add this one meanwhile; the
        buffer that is read next.

        It is waited for before the next one is started: were it behind, ptxas would no longer know
        which products may be read, and let no two multiplies overlap.  ptxas would also add the
        block before behind this wait: hence the next buffer's, a loop, in front of it; and this
        block between the next one's multiplies: hence its scales behind them, and a barrier.
        """
        of_b = self.scales_of_b[step.min(self.blocks - 1)]
        self.wait_for(self.ring)
        self.b.wgmma_wait_group(0)
        following = self.start(other)
        self.b.bar_warp_sync()
        scales = self.scales_of(d.m, stage, of_b)
        self.release(stage)
        self.add(d, sums, scales)
        return following

    def start(self, d):
        """Start the multiplies of a block; the buffer that they read."""
        ring = self.ring
        stage = ring.stage
        self.multiply(d, ring, accumulate=False)
        ring.advance()
        return stage

    def complete(self, d, stage, step, sums: list) -> None:
        """Wait for the multiplies of a block, release its buffer, and add it to the sums."""
        scales = self.scales_of(d.m, stage, self.scales_of_b[step.min(self.blocks - 1)])
        self.b.wgmma_wait_group(0)
        self.release(stage)
        self.add(d, sums, scales)

    def add(self, d, sums: list, scales: list) -> None:
        """Add a block's products to the sums, times their scales."""
        for part, total, factors in zip(d.parts, sums, scales, strict=True):
            values = zip(part.registers, factors, total.value, strict=True)
            total.set(self.b.vector([x.fma(factor, y) for x, factor, y in values]))

    def scales_of(self, height: int, stage, scale) -> list:
        """For every 64 rows of a warpgroup the scale of each of a thread's registers."""
        b, n, lane = self.b, self.config.n, self.b.tid_x % 32
        held = self.scales[stage].pointer.of(f32)
        if self.config.swap:
            pairs = [b.load(held.at(lane % 4 * 2 + c), f32, 2, align=8) for c in range(0, n, 8)]
            factors = [[x * scale for x in pair] for pair in pairs]
            return [[factors[i // 4][i % 2] for i in range(n // 2)]] * (height // ROWS)
        found = []
        for part in range(height // ROWS):
            row = b.warpgroup * height + part * ROWS + b.warp % 4 * 16 + lane // 4
            both = [held[row] * scale, held[row + 8] * scale]
            found.append([both[i // 2 % 2] for i in range(n // 2)])
        return found


def build(config: Config, kind: Kind = FP8) -> Kernel:
    """The kernel, as LLVM IR; its arguments are A, B, D, scale_b, M, N, K, what a `tail` needs, and
    scale_a."""
    return BlockScaledGemm(config, kind).finish()


def operands(m: int, n: int, k: int) -> tuple[np.ndarray, ...]:
    """Small integers and powers of two, so that every sum is exact, and D rounded to bf16."""
    rng, blocks = np.random.default_rng(0), -(-k // BLOCK)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(np.float32) for rows in (m, n))
    scale_a = np.exp2(rng.integers(-2, 3, (blocks, -(-m // 4) * 4))).astype(np.float32)
    scale_b = np.exp2(rng.integers(-2, 3, (-(-n // BLOCK), blocks))).astype(np.float32)
    rows = np.repeat(scale_a.T[:m], BLOCK, 1)[:, :k]
    columns = np.repeat(np.repeat(scale_b, BLOCK, 0), BLOCK, 1)[:n, :k]
    d = (a * rows) @ (b * columns).T
    dtype = ElementType.E4M3.numpy
    return a.astype(dtype), b.astype(dtype), scale_a, scale_b, d.astype(ElementType.BF16.numpy)


def main() -> None:
    """Run 72×136×400 on the simulator and compare with numpy."""
    m, n, k = 72, 136, 400
    a, b, scale_a, scale_b, expected = operands(m, n, k)
    d = np.zeros_like(expected)
    kernel = build(Config(m=64, n=64, consumers=1, stages=2))
    kernel.compile(target=gemm.TARGET).run(a, b, d, scale_b, m, n, k, scale_a, grid=2, device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"block-scaled D, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
