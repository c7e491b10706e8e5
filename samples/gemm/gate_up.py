"""The two products of a gated layer in one: D = activation(X·Gᵀ) · (X·Uᵀ), as in SwiGLU.

Rows of G and U lie in one B in turns, eight of G and eight of U (`interleaved`), so that a thread
has the sums of both for the same places: they are joined in registers, and D, half as wide as the
product, is all that is stored.  Which function of the gate it is the user writes.

The rest is sample 10: its tiles, its split K, D transposed for few rows of X.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nvgen import F32, ElementType, Kernel

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.family_plan import TURN
from gemm.output import Output
from gemm.plan import BF16, Config, Kind

gemm = importlib.import_module("10_gemm_sm90")


def silu(x: F32) -> F32:
    """x · sigmoid(x)."""
    return x * ((x * -math.log2(math.e)).ex2() + 1.0).rcp()


class GatedOutput(Output):
    """Pieces half as wide as those of the product."""

    activation: Callable[[F32], F32]

    def __init__(self, kernel) -> None:
        """Blocks of eight rows of B are columns of wgmma's D, or with `swap` its rows."""
        super().__init__(kernel)
        self.piece = self.piece[0], self.piece[1] // 2

    def corner(self, top, left) -> tuple:
        """The column and the row of D."""
        column, row = super().corner(top, left)
        return column // 2, row

    def put(self, staged, begin: int, values) -> None:
        """Join the sums of 16 rows and up to 16 columns from `begin` on, and put them."""
        b, swap, apart = self.b, self.config.swap, 2 if self.config.swap else 4
        made = [
            type(self).activation(values[i]) * values[i + apart]
            for i in range(len(values))
            if i % (2 * apart) < apart
        ]
        pack = b.pack_f16x2 if self.kind.out is ElementType.F16 else b.pack_bf16x2
        pairs = [pack(made[i], made[i + 1]) for i in range(0, len(made), 2)]
        lane = b.tid_x % 32
        line = lane % 8 + (lane // 8 % 2 * 8 if len(pairs) == 2 else 0)
        place = staged.chunk(line + begin, 0) if swap else staged.chunk(line, begin // 16)
        b.stmatrix(place, pairs, trans=swap)


def build(config: Config, kind: Kind = BF16, activation: Callable[[F32], F32] = silu) -> Kernel:
    """The kernel; N of its arguments A, B, D, M, N, K are the rows of B, twice D's columns.

    `activation` makes of a sum of X·Gᵀ what the one of X·Uᵀ is multiplied with.
    """
    joined = type("Joined", (GatedOutput,), {"activation": staticmethod(activation)})
    return type("GatedGemm", (gemm.Gemm,), {"output_of": joined})(config, kind).finish()


def interleaved(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """B of G and U, N/2 × K each: eight rows of one, eight of the other; N/2 a multiple of 8."""
    both = np.stack([x.reshape(-1, TURN, x.shape[1]) for x in (gate, up)], 1)
    return np.ascontiguousarray(both.reshape(-1, gate.shape[1]))


def operands(m: int, n: int, k: int) -> tuple[np.ndarray, ...]:
    """Small integers as X, G and U, and the sums of both products."""
    rng = np.random.default_rng(0)
    x, gate, up = (rng.integers(-3, 4, (rows, k)).astype(np.float32) for rows in (m, n, n))
    dtype = ElementType.BF16.numpy
    return x.astype(dtype), gate.astype(dtype), up.astype(dtype), x @ gate.T, x @ up.T


def main() -> None:
    """Run 72×(2·136)×136 on the simulator and compare with numpy."""
    m, n, k = 72, 136, 136
    x, gate, up, of_gate, of_up = operands(m, n, k)
    d = np.zeros((m, n), x.dtype)
    kernel = build(Config(m=64, n=64, consumers=1, stages=2))
    b = interleaved(gate, up)
    kernel.compile(target=gemm.TARGET).run(x, b, d, m, 2 * n, k, grid=2, device="sim")
    expected = of_gate / (1 + np.exp(-of_gate.astype(np.float64))) * of_up
    apart = np.abs(d.astype(np.float32) - expected).max() / np.abs(expected).max()
    assert apart < 2.0**-8, "the result differs from numpy"
    print(f"gated D, {m}x{n}x{k}: equal to numpy within {apart:.1e} of the largest element")


if __name__ == "__main__":
    main()
