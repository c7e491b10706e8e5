"""The GEMM of sample 10 on Blackwell: its tiles, ring, order, epilogues and stores, by tcgen05.mma.

One more thread multiplies, into accumulators in tensor memory, and the warpgroups that are
consumers on Hopper read these: by tcgen05.ld.16x256b a thread gets the same elements of 16 rows as
wgmma leaves it, so that every output of the family is stored by the code that it has.

      one thread: TMA          one thread: tcgen05.mma            warpgroups of 128 rows
     ┌────────────────┐ full  ┌────────────────────────┐ sums   ┌───────────────────────────┐
     │ a step of K of │ ────► │ into one of two or     │ ─────► │ tcgen05.ld → epilogue →   │
     │ A and B        │ ◄──── │ more accumulators      │ ◄───── │ stmatrix → TMA store      │
     └────────────────┘ empty └────────────────────────┘ free   └───────────────────────────┘

A CTA has whole tiles of 128 rows, or 256 with two consumers.  Runs on the CPU simulator; never run
on a real Blackwell GPU yet.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import Kernel, LdStNum, LdStShape

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_output import STORED, Output
from gemm_plan import BF16, Config, Kind
from gemm_sharing import Work

gemm = importlib.import_module("10_gemm_sm90")
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
LANES, COLUMNS = 128, 512  # of tensor memory
LANE = 1 << 16  # what an address grows by from a lane to the next


class TensorOutput(Output):
    """Pieces of sums that lie in tensor memory; 32 rows of them belong to a warp."""

    def store(self, sums, work: Work, row, column) -> None:
        """Load, round and store the sums of an accumulator piece by piece."""
        b, config, wide = self.b, self.config, self.wide
        num, lanes = LdStNum(f"x{wide // 8}"), b.warp % 4 * (2 * STORED)
        place = sums.pointer + (lanes * LANE + b.warpgroup * config.n)
        for below in (0, STORED):
            top = work.row + row + lanes + below
            for first in range(0, config.n, wide):
                left = work.column + column + first
                at = place + (below * LANE + first)
                values = b.tcgen05_ld(at, shape=LdStShape.S16X256B, num=num).f32
                b.tcgen05_wait_ld()
                with b.if_((top >= work.top) & (left >= work.left)):
                    self.store_piece(list(values), top, left)


class BlackwellGemm(gemm.Gemm):
    """The kernel under construction."""

    name = "gemm_sm100"
    output_of = TensorOutput

    def __init__(self, config: Config, kind: Kind) -> None:
        """A buffer is released once, by the commit of its multiplies."""
        super().__init__(config, kind)
        self.readers = 1

    def allocate(self) -> None:
        """Tensor memory comes later, with what all threads wait for."""
        super().allocate()
        self.columns = self.config.m // LANES * self.config.n
        self.count = min(COLUMNS // self.columns, 4)
        self.sums, self.free = (self.b.mbarriers(x, self.count) for x in ("sums", "free"))

    def prepare(self, producer: int) -> None:
        """Mbarriers of the accumulators too, and these."""
        b = self.b
        b.make_mbarriers((self.sums, 1), (self.free, self.config.consumers * 4))
        super().prepare(producer)
        columns = max(32, 1 << (self.columns * self.count - 1).bit_length())
        self.tensor = b.tensor_memory("tensor", columns, warp=producer + 1)

    def accumulator(self, number):
        """One of the accumulators."""
        address = self.tensor.address + number * self.columns
        return self.b.tensor_tile(address, self.config.m, self.config.n)

    def produce(self) -> None:
        """As on Hopper; the last commits arrive before the CTA ends."""
        b, ring = self.b, super().produce()
        with b.range(self.config.stages):
            b.wait(self.empty[ring.stage], ring.parity ^ 1, scope=self.scope)
            ring.advance()

    def help(self) -> None:
        """The thread that multiplies."""
        with self.b.if_warp(self.config.consumers * 4 + 1), self.b.elect():
            self.multiply_all()

    def multiply_all(self) -> None:
        """Tiles by turns into the accumulators."""
        b = self.b
        ring, turn = b.ring(self.config.stages), b.ring(self.count)
        with self.tiles() as work:
            b.wait(self.free[turn.stage], turn.parity ^ 1)
            b.tcgen05_fence_after_thread_sync()
            d = self.accumulator(turn.stage)
            with b.range(work.end, start=work.first) as step:
                b.wait(self.full[ring.stage], ring.parity)
                b.tcgen05_fence_after_thread_sync()
                x, y = self.x_ring[ring.stage], self.y_ring[ring.stage]
                b.gemm_async(d, x, y, accumulate=step != work.first)
                b.tcgen05_commit(self.empty[ring.stage])
                ring.advance()
            b.tcgen05_commit(self.sums[turn.stage])
            turn.advance()

    def consume(self) -> None:
        """Store what has been multiplied."""
        b, turn = self.b, self.b.ring(self.count)
        self.output.begin()
        b.griddepcontrol_wait()
        with self.tiles() as work:
            b.wait(self.sums[turn.stage], turn.parity)
            b.tcgen05_fence_after_thread_sync()
            self.output.store(self.accumulator(turn.stage), work, b.warpgroup * LANES, 0)
            b.tcgen05_fence_before_thread_sync()
            b.bar_warp_sync()
            with b.elect():
                b.mbarrier_arrive(self.free[turn.stage])
            turn.advance()
        self.output.end()

    def leave(self) -> None:
        """Give tensor memory back."""
        self.b.bar_warp_sync()
        self.tensor.free()


def is_possible(config: Config) -> bool:
    """Whether CTAs have whole tiles, two accumulators fit, and what multiplies has such columns."""
    fits = 2 * (config.m // LANES) * config.n <= COLUMNS and config.m == LANES * config.consumers
    return fits and config.n % 16 == 0 and config.ctas == config.tail == config.depth == 1


def build(config: Config, kind: Kind = BF16, output: type[Output] = Output) -> Kernel:
    """The kernel, as LLVM IR, with the arguments that sample 10 has, or whatever has this `output`.

    Raises: ValueError for a configuration that is not possible.
    """
    if not is_possible(config):
        raise ValueError(f"no such tiles on Blackwell: {config}")
    joined = type("JoinedOutput", (TensorOutput, output), {})
    return type("Joined", (BlackwellGemm,), {"output_of": joined})(config, kind).finish()


def main() -> None:
    """Run 200×136×152 by two CTAs on the simulator and compare with numpy."""
    m, n, k = 200, 136, 152
    a, b, expected = gemm.operands(m, n, k)
    d = np.zeros((m, n), expected.dtype)
    made = build(Config(m=128, n=64, consumers=1, stages=2)).compile(target=TARGETS[0])
    made.run(a, b, d, m, n, k, grid=2, device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
