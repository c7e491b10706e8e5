"""D in fp8 for the next product: rows have a scale for each 128 columns; and the largest element.

    scale[row, block] = max |D[row, block]| / 448,      D8 = D / scale,      amax = max |D|

A warp has the 128 columns of a block of its 16 rows, so that four threads that share a row agree on
its scale by two exchanges, before anything is rounded; with `swap`, for few rows, eight warps have
a block, and agree in shared memory.  The scales are what gemm/block_scaled.py takes of A, but that
it wants them blocks × rows.  `amax` holds the bits of an f32 as an integer, whose order is that of
numbers from 0 on: zero before the launch.  A kind that does not read it asks for none.

The rest is sample 10, its epilogue too: an activation goes before the scales.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nvgen import AtomicOp, ElementType, Kernel, ScalarType, Shuffle, e4m3, f32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.family_plan import BLOCK, WARPS, told
from gemm.family_plan import QUANTISED as FP8
from gemm.output import Output
from gemm.plan import ROWS, STORED, WARPGROUP, Config, Kind
from gemm.sharing import Work

gemm = importlib.import_module("10_gemm_sm90")

LARGEST = 448.0  # of e4m3
TOLD = 4  # the named barrier behind which all warps have told what they have seen


def largest(numbers):
    """The greatest of some."""
    while len(numbers) > 1:
        odd = numbers[len(numbers) // 2 * 2 :]
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        numbers = [x.max(y) for x, y in pairs] + odd
    return numbers[0]


def exchanged(b, found, bits: Sequence[int]):
    """The greatest of threads whose numbers differ in these bits."""
    for bit in bits:
        found = found.max(b.shfl_sync(Shuffle.BFLY, found, bit))
    return found


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
        """Scale 16 rows of a piece."""
        b, lane = self.b, self.b.tid_x % 32
        values = super().finished(values, row, column)
        factors = []
        for half in range(2):
            numbers = [x.abs() for i, x in enumerate(values) if i // 2 % 2 == half]
            greatest = exchanged(b, largest(numbers), (1, 2))
            place = row + lane // 4 + half * 8, column // BLOCK
            factors.append(self.factor(greatest, *place, lane % 4 == 0))
        return [value * factors[i // 2 % 2] for i, value in enumerate(values)]

    def factor(self, greatest, row, block, says):
        """What scales a row of D in a block of columns; this thread may say it, and notes it."""
        b, args = self.b, self.gemm.args
        is_inside = row < args["m"]
        with b.if_(says & is_inside):
            scale = b.select(greatest > 0.0, greatest * (1 / LARGEST), 1.0)
            args["scales"][row * (args["n"] // BLOCK) + block] = scale
        self.seen.set(self.seen.value.max(b.select(is_inside, greatest, 0.0)))
        return b.select(greatest > 0.0, greatest.rcp() * LARGEST, 1.0)

    def put(self, staged, begin: int, values) -> None:
        """Put 16 rows and 16 columns from `begin` on, two neighbours at a time."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(0, len(values), 2):
            row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i // 4 * 8
            place = staged.chunk(row, begin // 16) + column
            b.store(b.vector(values[i : i + 2]).to(e4m3), place, align=2)


class TurnedOutput(QuantisedOutput):
    """With `swap` a tile's rows are the 128 columns of D of a block, 16 in each of eight warps, or
    32 in each of four where a warpgroup has the tile for itself.

    What they have seen of a row of D they tell each other in shared memory.
    """

    def allocate(self) -> None:
        """For each warp what it has seen of a piece's rows, and of the next one's."""
        super().allocate()
        shape = told(self.wide) // 4, 4
        self.told = self.b.shared_tile("told", ElementType.F32, shape, swizzle=0).pointer.of(f32)

    def begin(self) -> None:
        """The two take turns; of warpgroups in turn each has warps and a barrier of its own."""
        super().begin()
        self.turns, alone = self.b.ring(2), self.config.pingpong
        self.which = self.b.warpgroup if alone else self.b.const(0)

    def store(self, sums, work: Work, row, column) -> None:
        """All warps store a piece, or none does: N is a multiple of the tile."""
        b, wide = self.b, self.wide
        tops = [work.row + row + part * ROWS + b.warp % 4 * STORED for part in range(len(sums))]
        for first in range(0, self.config.slice, wide):
            left = work.column + column + first
            with b.if_((work.row >= work.top) & (left >= work.left)):
                pieces = [
                    Output.finished(self, values[first // 2 : (first + wide) // 2], top, left)
                    for values, top in zip(sums, tops, strict=True)
                ]
                factors = self.factors(pieces, left, work.row // BLOCK)
                for values, top in zip(pieces, tops, strict=True):
                    scaled = [x * factors[i // 4 * 2 + i % 2] for i, x in enumerate(values)]
                    self.store_finished(scaled, top, left)

    def factors(self, pieces, first, block) -> list:
        """What scales each of a thread's rows of D from the `first` one on, by what all warps of
        the tile have seen: a lane finds those of a row or two, and tells the others."""
        b, wide, lane, mine = self.b, self.wide, self.b.tid_x % 32, self.b.tid_x % 4 * 2
        rows = [begin + i for begin in range(0, wide, 8) for i in range(2)]  # and `mine`
        self.tell(pieces)
        b.barrier_cta_sync_aligned(TOLD + self.which, self.config.team * WARPGROUP)
        warp, found = self.which * 4, []
        for begin in range(0, wide, 32):
            row = (lane + begin).min(wide - 1)
            told = [b.load(self.place(warp + i * 4, row), f32, 4) for i in range(self.config.team)]
            greatest = largest([x for four in told for x in four])
            found.append(self.factor(greatest, first + row, block, b.warp == warp))
        self.turns.advance()
        return [b.shfl_sync(Shuffle.IDX, found[row // 32], mine + row % 32) for row in rows]

    def tell(self, pieces) -> None:
        """Tell the other warps the greatest of each row.  Of eight lanes that share rows half keep
        the even rows and half the odd ones, and give away the others; then each halves its rows
        again, as long as there is an even number of them."""
        b, wide, lane, same = self.b, self.wide, self.b.tid_x % 32, 0
        rows, row = list(range(0, wide, 8)), lane % 4 * 2
        seen = [
            largest([x[of_row + odd + i].abs() for x in pieces for i in (0, 2)])
            for odd in range(2)
            for of_row in range(0, wide // 2, 4)
        ]
        for bit in (16, 8, 4):
            half = len(seen) // 2
            if len(seen) % 2:
                seen = [exchanged(b, value, (bit,)) for value in seen]
                same |= bit
                continue
            upper, pairs = (lane & bit) != 0, [*zip(seen[:half], seen[half:], strict=True)]
            row = row + b.select(upper, 1 if bit == 16 else rows[half], 0)
            rows = rows[:half]
            kept = [b.select(upper, y, x) for x, y in pairs]
            given = [b.select(upper, x, y) for x, y in pairs]
            given = [b.shfl_sync(Shuffle.BFLY, value, bit) for value in given]
            seen = [x.max(y) for x, y in zip(kept, given, strict=True)]
        with b.if_((lane & same) == 0):
            for value, further in zip(seen, rows, strict=True):
                b.store(value, self.place(b.warp, row + further))

    def place(self, warp, row):
        """Where a warp tells what it has seen of a row of the piece."""
        return self.told.at((self.turns.stage * self.wide + row) * WARPS + warp)

    def put(self, staged, begin: int, values) -> None:
        """Put up to 16 rows of D from `begin` on and 16 columns, two of a row at a time."""
        b, lane = self.b, self.b.tid_x % 32
        corner = staged.chunk(lane % 4 * 2, 0) + lane // 4
        for i in range(len(values)):
            if i % 4 < 2:
                row = begin + i // 4 * 8 + i % 2  # of 16 bytes
                pair = b.vector([values[i], values[i + 2]])
                for half, value in enumerate(pair.to(e4m3)):
                    b.store(value, corner + (row * STORED + half * 8))


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
