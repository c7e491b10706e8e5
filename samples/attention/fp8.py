"""Attention for Hopper in fp8: Q, K and V in e4m3 with a scale for each head, O in bf16.

    O = softmax(Q·Kᵀ·scale·q_scale·k_scale)·V·v_scale

Sums are of f32.  A multiply of bytes takes K-major matrices only, so V, which lies as in bf16,
heads × keys × d, is transposed on its way: two warps read each tile by ldmatrix, put bytes in
order, and store it by stmatrix for the multiply.  P stays in registers, as the columns of S and the
rows of V are summed in the order in which threads have P.

P of fp8 ends at 448: m is chosen so that the greatest score of an item's first block has P = 8, and
a sum of more than 448 in a thread makes a block anew, with another m.  The rest is sample 14.

It has run on an H200: docs/attention.md.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import Kernel, bf16, e4m3, f32, u32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from attention.plan import ROWS, Config, attention, choose, grid, numbers

plain = importlib.import_module("14_attention_sm90")
TURNERS, TARGET = 2, plain.TARGET  # warps that transpose V
HEADROOM = 3.0  # log2 of P where the greatest score of the first block is


class Fp8Attention(plain.Attention):
    """The kernel under construction."""

    @property
    def registers(self) -> dict[int, tuple[int, int]]:
        """Of other roles, of multiplying ones: with 40, warps that transpose heads of 64 spill."""
        return {2: (56, 224) if self.config.d == 64 else (40, 232)}

    def declare(self) -> None:
        """V lies as K does, O is bf16; the heads' scales stand before the numbers."""
        b, d, block = self.b, self.config.d, self.config.block
        for name, rows in (("q", self.config.rows), ("k", block), ("v", block)):
            b.tile_map(name, e4m3, (rows, d), rank=3, swizzle=self.config.swizzle)
        b.tile_map("o", bf16, (ROWS, d), rank=3, output=True)
        b.pointer("counter", u32)
        for name in ("q_scale", "k_scale", "v_scale"):
            b.pointer(name, f32)
        for name in self.numbers:
            b.u32(name)
        b.f32("scale")

    def allocate_values(self) -> None:
        """V as it comes, and as it is multiplied; O in tiles of its own."""
        b, config = self.b, self.config
        shape = config.block, config.d
        raw = b.shared_tiles("raw_tiles", e4m3, shape, 2, swizzle=config.swizzle)
        lines = {"swizzle": min(128, config.block)}
        turned = b.shared_tiles("v_tiles", e4m3, shape[::-1], config.stages, **lines)
        self.brought = b.tile_ring("raw", raw, consumers=TURNERS)
        self.v = b.tile_ring("v", turned, consumers=config.warpgroups, warps=4, writers=TURNERS)
        self.rings += [self.brought, self.v]
        self.o_tiles = b.shared_tiles("o_tiles", bf16, (config.rows, config.d), config.queries)

    def help(self) -> None:
        """Two warps transpose V."""
        b, first = self.b, self.config.warpgroups * 4 + 2
        for index in range(TURNERS):
            with b.if_warp(first + index):
                self.turn(index)

    def turn(self, index: int) -> None:
        """A warp's half of each tile of V."""
        b, raw, turned = self.b, self.brought.consumer(), self.v.producer()
        with self.q.consumer().until(self.total) as item:
            _, row = self.item(item.note)
            count = self.blocks(row, self.config.rows) - self.unseen(row)
            with b.range(count), raw.use() as source, turned.write() as target:
                b.transpose_bytes(source.tile, target.tile, index=index, warps=TURNERS)

    def take_scales(self, head) -> None:
        """Of Q and K for the scores, of V for O."""
        args, of_k = self.args, head // self.args["ratio"]
        super().take_scales(head)
        self.scale = self.scale * args["q_scale"][head] * args["k_scale"][of_k]
        self.v_scale = args["v_scale"][of_k]

    def near(self, greatest):
        """m, so that there is room above and below."""
        return greatest * self.scale - HEADROOM

    def packed(self, p):
        """The registers of A."""
        return p.as_bytes(e4m3)

    def operand(self, packed):
        """A of a multiply."""
        steps = [packed[i : i + 4] for i in range(0, packed.count, 4)]
        return self.b.warpgroup_operand([steps], e4m3)

    def factor(self):
        """The sums, and V's scale."""
        return super().factor() * self.v_scale


def build(config: Config) -> Kernel:
    """The kernel, as LLVM IR."""
    return Fp8Attention(config).finish()


def quantised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads × length × d in e4m3, and the scale of each head."""
    scale = np.maximum(np.abs(x).max((1, 2)), 1e-20) / 448
    return (x / scale[:, None, None]).astype(e4m3.numpy), scale.astype(np.float32)


def main() -> None:
    """Run two heads of 200 rows on the simulator and compare with numpy."""
    config, n, rng = choose(128, 200, causal=True, dtype=e4m3), 200, np.random.default_rng(0)
    (q, of_q), (k, of_k), (v, of_v) = map(quantised, rng.standard_normal((3, 2, n, 128)))
    o, counter = np.zeros(q.shape, bf16.numpy), np.zeros(1, np.uint32)
    arguments = q, k, v, o, counter, of_q, of_k, of_v, *numbers(config, 2, 1, n, n)
    build(config).compile().run(*arguments, grid=grid(config, 2, n, 3), device="sim")
    wide = [x.astype(np.float64) * s[:, None, None] for x, s in ((q, of_q), (k, of_k), (v, of_v))]
    expected = attention(*wide, 128**-0.5, causal=True)
    apart = np.abs(o.astype(np.float64) - expected).max()
    assert apart < np.abs(wide[2]).max() / 16, "the result differs from numpy"
    print(f"2 heads of {n}x128 in fp8: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
