"""D in fp8 for the next product: rows have a scale for each 128 columns; and the largest element.

    scale[row, block] = max |D[row, block]| / 448,      D8 = D / scale,      amax = max |D|

A warp has the 128 columns of a block of its 16 rows, so that four threads that share a row agree on
its scale by two exchanges, before anything is rounded; with `swap`, for few rows, eight warps have
a block, and agree in shared memory.  The scales are what gemm_block_scaled.py takes of A, but that
it wants them blocks × rows.  `amax` holds the bits of an f32 as an integer, whose order is that of
numbers from 0 on: zero before the launch.  A kind that does not read it asks for none.

The rest is sample 10, its epilogue too: an activation goes before the scales.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from nvgen import AtomicOp, ElementType, Kernel, ScalarType, Shuffle, e4m3, f32

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_family_plan import BLOCK, WARPS, told
from gemm_family_plan import QUANTISED as FP8
from gemm_output import Output
from gemm_plan import WARPGROUP, Config, Kind
from gemm_sharing import Work

gemm = importlib.import_module("10_gemm_sm90")

LARGEST = 448.0  # of e4m3
TOLD = 4  # the named barrier behind which all warps have told what they have seen


class QuantisedOutput(Output):
    """Pieces of 128 columns, scaled before they are rounded."""

    def begin(self) -> None:
        """Nothing has been seen."""
        super().begin()
        self.seen = self.b.variable(self.b.f32(0.0))

    def end(self) -> None:
        """The greatest that a warp has seen joins the greatest of all, where that is asked for."""
        super().end()
        if "amax" in dict(self.kind.reads):
            found = self.b.warp_reduce(self.seen.value, lambda x, y: x.max(y))
            with self.b.elect():
                self.b.atom(AtomicOp.MAX, ScalarType.U32, self.gemm.args["amax"].at(0), found.word)

    def finished(self, values, row, column) -> list:
        """Scale 16 rows of a piece, and note by how much, and the greatest element."""
        b, args, factors = self.b, self.gemm.args, []
        values = super().finished(values, row, column)
        for greatest, place, block, is_mine in self.scaled(values, row, column):
            is_inside = place < args["m"]
            factors.append(b.select(greatest > 0.0, greatest.rcp() * LARGEST, 1.0))
            with b.if_(is_mine & is_inside):
                scale = b.select(greatest > 0.0, greatest * (1 / LARGEST), 1.0)
                args["scales"][place * (args["n"] // BLOCK) + block] = scale
            self.seen.set(self.seen.value.max(b.select(is_inside, greatest, 0.0)))
        return [value * factors[self.group(i)] for i, value in enumerate(values)]

    def group(self, register: int) -> int:
        """Which of the rows of D that a thread has a part of this register belongs to."""
        return register // 2 % 2

    def scaled(self, values, row, column) -> Iterator[tuple]:
        """Of each of these rows its greatest absolute value in this block, which row and which
        block that is, and whether this thread says so.
        """
        lane = self.b.tid_x % 32
        for half in range(2):
            greatest = self.greatest_of(values, half, (1, 2))
            yield greatest, row + lane // 4 + half * 8, column // BLOCK, lane % 4 == 0

    def greatest_of(self, values, group: int, bits: Sequence[int]):
        """The greatest absolute value of a row, of threads whose numbers differ in these bits."""
        numbers = [x.abs() for i, x in enumerate(values) if self.group(i) == group]
        while len(numbers) > 1:
            numbers = [x.max(y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        (found,) = numbers
        for bit in bits:
            found = found.max(self.b.shfl_sync(Shuffle.BFLY, found, bit))
        return found

    def put(self, staged, begin: int, values) -> None:
        """Put 16 rows and 16 columns from `begin` on, two neighbours at a time."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(0, len(values), 2):
            row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i // 4 * 8
            place = staged.chunk(row, begin // 16) + column
            b.store(b.vector(values[i : i + 2]).to(e4m3), place, align=2)


class TurnedOutput(QuantisedOutput):
    """With `swap` a tile's rows are the 128 columns of D of a block, 16 in each of eight warps.

    What they have seen of a row of D they tell each other in shared memory.
    """

    def allocate(self) -> None:
        """For each warp what it has seen of a piece's rows, and of the next one's."""
        super().allocate()
        shape = told(self.wide) // 4, 4
        self.told = self.b.shared_tile("told", ElementType.F32, shape, swizzle=0).pointer.of(f32)

    def begin(self) -> None:
        """The two take turns."""
        super().begin()
        self.turns = self.b.ring(2)

    def is_stored(self, work: Work, top):
        """All warps store a piece, or none does: N is a multiple of the tile."""
        return work.row >= work.top

    def group(self, register: int) -> int:
        """Registers of two rows of the tile are of one of D."""
        return register // 4 * 2 + register % 2

    def scaled(self, values, row, column) -> Iterator[tuple]:
        """By what all warps have seen; the first one says so."""
        b, lane, first = self.b, self.b.tid_x % 32, self.b.tid_x % 4 * 2
        seen = [self.greatest_of(values, group, (4, 8, 16)) for group in range(self.wide // 4)]
        with b.if_(lane < 4):
            for i in range(0, len(seen), 2):
                b.store(b.vector(seen[i : i + 2]), self.place(b.warp, first + i * 4), align=8)
        b.barrier_cta_sync_aligned(TOLD, self.config.consumers * WARPGROUP)
        for at in range(0, self.wide, 8):
            told = [b.load(self.place(w, first + at), f32, 2, align=8) for w in range(WARPS)]
            for i in range(2):
                greatest = functools.reduce(lambda x, y: x.max(y), (pair[i] for pair in told))
                yield greatest, column + first + at + i, row // BLOCK, (b.warp == 0) & (lane < 4)
        self.turns.advance()

    def place(self, warp, row):
        """Where a warp tells what it has seen of a row of the piece."""
        return self.told.at((self.turns.stage * WARPS + warp) * self.wide + row)

    def put(self, staged, begin: int, values) -> None:
        """Put up to 16 rows of D from `begin` on and 16 columns, two of a row at a time."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(len(values)):
            if i % 4 < 2:
                row = begin + i // 4 * 8 + lane % 4 * 2 + i % 2
                place, pair = staged.chunk(row, 0) + lane // 4, b.vector([values[i], values[i + 2]])
                for half, value in enumerate(pair.to(e4m3)):
                    b.store(value, place + half * 8)


class QuantisedGemm(gemm.Gemm):
    """Sample 10 with such a D."""

    def output_of(self, kernel) -> Output:
        """By the side that D's columns are on."""
        return (TurnedOutput if self.config.swap else QuantisedOutput)(kernel)


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
