"""D in fp8 for the next product: rows have a scale for each 128 columns; and the largest element.

    scale[row, block] = max |D[row, block]| / 448,      D8 = D / scale,      amax = max |D|

A warp has the 128 columns of a block of its 16 rows, so that four threads that share a row agree on
its scale by two exchanges, before anything is rounded.  The scales are what gemm_block_scaled.py
takes of A, but that it wants them blocks × rows.  `amax` holds the bits of an f32 as an integer,
whose order is that of numbers from 0 on: zero before the launch.

The rest is sample 10, its epilogue too: an activation goes before the scales.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import AtomicOp, ElementType, Kernel, ScalarType, Shuffle, e4m3

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_family_plan import BLOCK
from gemm_family_plan import QUANTISED as FP8
from gemm_output import Output
from gemm_plan import Config, Kind

gemm = importlib.import_module("10_gemm_sm90")

LARGEST = 448.0  # of e4m3


class QuantisedOutput(Output):
    """Pieces of 128 columns, scaled before they are rounded."""

    def begin(self) -> None:
        """Nothing has been seen."""
        super().begin()
        self.seen = self.b.variable(self.b.f32(0.0))

    def end(self) -> None:
        """The greatest that a warp has seen joins the greatest of all."""
        super().end()
        found = self.b.warp_reduce(self.seen.value, lambda x, y: x.max(y))
        with self.b.elect():
            self.b.atom(AtomicOp.MAX, ScalarType.U32, self.gemm.args["amax"].at(0), found.word)

    def finished(self, values, row, column) -> list:
        """Scale 16 rows of a block, and note by how much, and the greatest element."""
        b, args, lane = self.b, self.gemm.args, self.b.tid_x % 32
        values, factors = super().finished(values, row, column), []
        for half in range(2):
            greatest, place = self.greatest_of(values, half), row + lane // 4 + half * 8
            is_inside = place < args["m"]
            factors.append(b.select(greatest > 0.0, greatest.rcp() * LARGEST, 1.0))
            with b.if_((lane % 4 == 0) & is_inside):
                scale = b.select(greatest > 0.0, greatest * (1 / LARGEST), 1.0)
                args["scales"][place * (args["n"] // BLOCK) + column // BLOCK] = scale
            self.seen.set(self.seen.value.max(b.select(is_inside, greatest, 0.0)))
        return [value * factors[i // 2 % 2] for i, value in enumerate(values)]

    def greatest_of(self, values, half: int):
        """The greatest absolute value of a row's columns, as its four threads get it."""
        b, numbers = self.b, [x.abs() for i, x in enumerate(values) if i // 2 % 2 == half]
        while len(numbers) > 1:
            numbers = [x.max(y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        (found,) = numbers
        for bit in (1, 2):
            found = found.max(b.shfl_sync(Shuffle.BFLY, found, bit))
        return found

    def put(self, staged, begin: int, values) -> None:
        """Put 16 rows and 16 columns from `begin` on, two neighbours at a time."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(0, len(values), 2):
            row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i // 4 * 8
            place = staged.chunk(row, begin // 16) + column
            b.store(b.vector(values[i : i + 2]).to(e4m3), place, align=2)


class QuantisedGemm(gemm.Gemm):
    """Sample 10 with such a D."""

    output_of = QuantisedOutput


def build(config: Config, kind: Kind = FP8) -> Kernel:
    """The kernel; its arguments are A, B, D, scales, amax, M, N, K, N a multiple of 128."""
    return QuantisedGemm(config, kind).finish()


def quantised(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What numpy makes of sums in f32: e4m3, and the scales."""
    blocks = d.reshape(d.shape[0], -1, BLOCK)
    greatest = np.abs(blocks).max(2, keepdims=True)
    scales = np.where(greatest > 0, greatest / LARGEST, 1).astype(np.float32)
    return (blocks / scales).astype(ElementType.E4M3.numpy).reshape(d.shape), scales[:, :, 0]


def main() -> None:
    """Run 70×256×136 on the simulator and compare with numpy."""
    m, n, k = 70, 256, 136
    a, b, sums = gemm.operands(m, n, k, Kind(ElementType.BF16, ElementType.F32))
    d, scales = np.zeros((m, n), ElementType.E4M3.numpy), np.zeros((m, n // BLOCK), np.float32)
    amax = np.zeros(1, np.uint32)
    kernel = build(Config(m=64, n=128, consumers=1, stages=2))
    kernel.compile(target=gemm.TARGET).run(a, b, d, scales, amax, m, n, k, grid=2, device="sim")
    expected, of_rows = quantised(sums)
    back, wanted = (
        x.astype(np.float32).reshape(m, -1, BLOCK) * s[:, :, None]
        for x, s in ((d, scales), (expected, of_rows))
    )
    assert np.allclose(scales, of_rows, rtol=1e-6), "the scales differ from numpy's"
    assert np.allclose(back, wanted, rtol=2.0**-3), "an element is off by more than a rounding"
    assert amax.view(np.float32)[0] == np.abs(sums).max(), "the largest element differs"
    same = (d.view(np.uint8) == expected.view(np.uint8)).mean()
    print(f"D in e4m3, {m}x{n}x{k}: {same:.1%} of the elements are numpy's, the scales all")


if __name__ == "__main__":
    main()
