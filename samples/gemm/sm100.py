"""The GEMM of sample 10 on Blackwell: its tiles, ring, order, epilogues and stores, by tcgen05.mma.

One more thread multiplies, into accumulators in tensor memory, and the warpgroups that are
consumers on Hopper read these: by tcgen05.ld.16x256b a thread gets the same elements of 16 rows as
wgmma leaves it, so that every output of the family is stored by the code that it has.

      one thread: TMA          one thread: tcgen05.mma            warpgroups of 128 rows
     ┌────────────────┐ full  ┌────────────────────────┐ sums   ┌───────────────────────────┐
     │ a step of K of │ ────► │ into one of two or     │ ─────► │ tcgen05.ld → epilogue →   │
     │ A and B        │ ◄──── │ more accumulators      │ ◄───── │ stmatrix → TMA store      │
     └────────────────┘ empty └────────────────────────┘ free   └───────────────────────────┘

A CTA has tiles of 128 rows, or 256 with two consumers.  With `cluster` 2 two CTAs are a pair that
multiplies as one (cta_group::2): each brings its rows of x and half of y, and has its rows of the
sums; the thread of the even CTA multiplies for both, on what both have told its mbarriers:

     even CTA                                           odd CTA
    x: 128 rows, y: n/2 rows ──► full of the even CTA ◄── x: 128 rows, y: n/2 rows
                                        │
             one thread: tcgen05.mma.cta_group::2, M = 256, N = n
                                        │
        empty, sums ◄── commit to both CTAs ──► empty, sums       free of the even CTA ◄── both

With `cluster` 4 two pairs share y: each CTA brings a quarter, by multicast to the CTA of the other
pair that has the same half.  `split` and `tail` share tiles as on Hopper (gemm/sharing.py), from
what a warpgroup loads of its sums.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import CtaGroup, Kernel, LdStNum, LdStShape, u16

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.output import Output
from gemm.plan import BF16, ROW, STORED, Config, Kind
from gemm.sharing import Work

gemm = importlib.import_module("10_gemm_sm90")
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
LANES, COLUMNS = 128, 512  # of tensor memory
LANE = 1 << 16  # what an address grows by from a lane to the next
SHARED = 128  # columns of a tile whose sums fit into the registers of a warpgroup


class TensorOutput(Output):
    """Pieces of sums that lie in tensor memory; 32 rows of them belong to a warp."""

    def store(self, sums, work: Work, row, column) -> None:
        """Round and store the sums of an accumulator, or what `loaded` and others made of them."""
        b = self.b
        for part, below in enumerate((0, STORED)):
            top = work.row + row + b.warp % 4 * (2 * STORED) + below
            for first in range(0, self.config.slice, self.wide):
                left = work.column + column + first
                values = self.values(sums, part, first, self.wide)
                with b.if_((top >= work.top) & (left >= work.left)):
                    self.store_piece(values, top, left)

    def values(self, sums, part: int, first: int, columns: int) -> list:
        """A thread's sums of 16 rows and some columns."""
        if isinstance(sums, list):
            return sums[part][first // 2 : (first + columns) // 2]
        b, num = self.b, LdStNum(f"x{columns // 8}")
        lanes = (b.warp % 4 * 2 + part) * STORED
        place = sums.pointer + (lanes * LANE + b.warpgroup * self.config.n) + first
        found = list(b.tcgen05_ld(place, shape=LdStShape.S16X256B, num=num).f32)
        b.tcgen05_wait_ld()
        return found

    def loaded(self, sums) -> list[list]:
        """A thread's sums of a whole tile: for its upper and its lower rows."""
        n = self.config.n
        wide = max(w for w in (8, 16, 32, 64) if n % w == 0)
        every = [[self.values(sums, i, first, wide) for first in range(0, n, wide)] for i in (0, 1)]
        return [[value for piece in pieces for value in piece] for pieces in every]


class BlackwellGemm(gemm.Gemm):
    """The kernel under construction."""

    name = "gemm_sm100"
    output_of = TensorOutput

    def __init__(self, config: Config, kind: Kind) -> None:
        """Two CTAs of a cluster are a pair; a buffer is released by the commit of each pair."""
        self.multiplying = min(config.cluster, 2)
        self.pair = CtaGroup.TWO if config.cluster > 1 else CtaGroup.ONE
        self.of_pair = CtaGroup.TWO if config.cluster > 1 else None  # what copies are told
        super().__init__(config, kind)
        self.readers = config.cluster // self.multiplying
        self.is_even = self.rank % self.multiplying == 0
        self.shares = config.split > 1 or config.tail > 1

    def allocate(self) -> None:
        """Tensor memory comes later, with what all threads wait for."""
        super().allocate()
        self.columns = self.config.m // LANES * self.config.n
        self.count = min((COLUMNS - self.columns_beside()) // self.columns, 4)
        self.sums, self.free = (self.b.mbarriers(x, self.count) for x in ("sums", "free"))

    def columns_beside(self) -> int:
        """Columns of tensor memory that are none of the sums'."""
        return 0

    def prepare(self, producer: int) -> None:
        """Mbarriers of the accumulators too, and these."""
        b, warps = self.b, self.config.consumers * 4 * self.multiplying
        b.make_mbarriers((self.sums, 1), (self.free, warps))
        super().prepare(producer)
        sums = self.columns * self.count
        columns = max(32, 1 << (sums + self.columns_beside() - 1).bit_length())
        self.tensor = b.tensor_memory("tensor", columns, warp=producer + 1, cta_group=self.pair)
        self.tensor.take(sums)

    def accumulator(self, number):
        """One of the accumulators; of a pair each CTA has its rows."""
        address = self.tensor.address + number * self.columns
        return self.b.tensor_tile(address, self.config.m * self.multiplying, self.config.n)

    # ---- copies ----------------------------------------------------------------------------------

    def expect(self, stage) -> None:
        """The even CTA of a pair expects what both bring."""
        if self.multiplying == 1:
            super().expect(stage)
            return
        b, nbytes = self.b, self.more_bytes + self.x_ring.nbytes + self.y_ring.nbytes
        with b.if_(self.is_even):
            b.mbarrier_arrive_expect_tx(self.full[stage], 2 * nbytes)

    def bring(self, name: str, stage, work: Work, step) -> None:
        """Of a pair the even CTA counts bytes; pairs bring parts of halves for each other."""
        if self.multiplying == 1:
            super().bring(name, stage, work, step)
            return
        tile, row = self.part_of(name, stage, work)
        shares = name == self.right and self.config.cluster > 2
        self.b.load_tile(
            tile, self.args[name], self.at(name, row, step), self.counted(stage),
            cta_mask=self.same(self.rank % 2) if shares else None,
            cache_policy=self.policy if name == "b" else None, cta_group=self.of_pair,
        )  # fmt: skip

    def part_of(self, name: str, stage, work: Work) -> tuple:
        """Of a pair each CTA brings its rows of x and its half of y, or a part of that."""
        if self.multiplying == 1 or name == self.left:
            return super().part_of(name, stage, work)
        y, part = self.y_ring[stage], self.rank // 2 * self.shared_rows
        if self.config.cluster > 2:
            y = y.part(part, self.shared_rows)
        return y, work.column + self.rank % 2 * self.held_rows + part

    def counted(self, stage):
        """Where a step's bytes are counted: at the even CTA of a pair."""
        full = self.full[stage]
        return full if self.multiplying == 1 else self.b.of_even_cta(full)

    def same(self, half):
        """The CTAs with this half of y: every other one of the cluster."""
        every = sum(1 << rank for rank in range(0, self.config.cluster, 2))
        return (self.b.const(every) << (half + self.part * self.config.cluster)).to(u16)

    def produce(self) -> None:
        """As on Hopper; the last commits arrive before the CTA ends."""
        b, ring = self.b, super().produce()
        with b.range(self.config.stages):
            b.wait(self.empty[ring.stage], ring.parity ^ 1, scope=self.scope)
            ring.advance()

    # ---- multiplies ------------------------------------------------------------------------------

    def help(self) -> None:
        """The thread that multiplies: of a pair one for both."""
        b = self.b
        with b.if_warp(self.config.consumers * 4 + 1):
            if self.multiplying == 1:
                with b.elect():
                    self.multiply_all()
            else:
                with b.if_(self.is_even), b.elect():
                    self.multiply_all()

    def multiply_all(self) -> None:
        """Tiles by turns into the accumulators."""
        b = self.b
        ring, turn = b.ring(self.config.stages), b.ring(self.count)
        b.griddepcontrol_wait()
        with self.tiles() as work:
            b.wait(self.free[turn.stage], turn.parity ^ 1, scope=self.scope)
            b.tcgen05_fence_after_thread_sync()
            d = self.accumulator(turn.stage)
            with b.range(work.end, start=work.first) as step:
                b.wait(self.full[ring.stage], ring.parity, scope=self.scope)
                b.tcgen05_fence_after_thread_sync()
                self.multiply_step(d, ring.stage, step != work.first)
                self.commit(self.empty[ring.stage], self.config.cluster)
                ring.advance()
            self.commit(self.sums[turn.stage], self.multiplying)
            turn.advance()

    def multiply_step(self, d, stage, accumulate) -> None:
        """Start the multiplies of one step of K."""
        x, y = self.x_ring[stage], self.y_ring[stage]
        self.b.gemm_async(d, x, y, accumulate=accumulate, cta_group=self.pair)

    def commit(self, mbarrier, ctas: int) -> None:
        """Arrive at this mbarrier of so many CTAs, from this one's pair or cluster on."""
        b = self.b
        if self.multiplying == 1:
            b.tcgen05_commit(mbarrier)
            return
        first = b.cluster_ctarank if ctas == 2 else self.part * self.config.cluster
        others = (b.const((1 << ctas) - 1) << first).to(u16)
        b.tcgen05_commit(mbarrier, cta_group=self.pair, cta_mask=others)

    # ---- the consumers ---------------------------------------------------------------------------

    def consume(self) -> None:
        """Store what has been multiplied."""
        b, turn = self.b, self.b.ring(self.count)
        self.sharing.begin(), self.output.begin()
        b.griddepcontrol_wait()
        with self.tiles() as work:
            b.wait(self.sums[turn.stage], turn.parity, scope=self.scope)
            b.tcgen05_fence_after_thread_sync()
            sums = self.accumulator(turn.stage)
            if self.shares:
                self.share(self.output.loaded(sums), work, turn)
            else:
                self.output.store(sums, work, b.warpgroup * LANES, 0)
                self.give_back(turn)
            turn.advance()
        self.output.end()

    def share(self, sums: list[list], work: Work, turn) -> None:
        """Store what CTAs that share the tile have of it together."""
        self.give_back(turn)
        with self.sharing.whole(sums, work) as (mine, first):
            self.output.store(mine, work, self.b.warpgroup * LANES, first)

    def give_back(self, turn) -> None:
        """Tell the thread that multiplies that an accumulator has been read."""
        b, free = self.b, self.free[turn.stage]
        b.tcgen05_fence_before_thread_sync()
        b.bar_warp_sync()
        with b.elect():
            if self.multiplying == 1:
                b.mbarrier_arrive(free)
            else:
                b.mbarrier_arrive_space_cluster(b.of_cta(free, b.cluster_ctarank & ~1))

    def leave(self) -> None:
        """Give tensor memory back."""
        self.b.bar_warp_sync()
        self.tensor.free()


def step_of(kind: Kind) -> int:
    """K of a step: 128 bytes of a row."""
    return ROW * 8 // kind.dtype.bits


def has_tiles(config: Config) -> bool:
    """Whether CTAs have whole tiles, and what multiplies has such columns.

    CTAs of a cluster that share columns are pairs; what CTAs add up of a tile lies in registers.
    """
    whole = config.m == LANES * config.team and config.depth == 1 and not config.pingpong
    alone = config.cluster == 1 and config.n % 16 == 0
    pairs = config.cluster in (2, 4) and config.n % (8 * config.cluster) == 0 and config.n >= 32
    shared = config.split == config.tail == 1 or config.n <= SHARED
    return whole and (alone or pairs) and shared


def is_possible(config: Config) -> bool:
    """Whether there are such tiles, and two accumulators fit."""
    return has_tiles(config) and 2 * (config.m // LANES) * config.n <= COLUMNS


def joined(
    machine: type[BlackwellGemm], output: type[Output], family: type[gemm.Gemm], **more
) -> type[BlackwellGemm]:
    """The kernel of a machine with an `output`, and with what else is built on sample 10."""
    both = type("JoinedOutput", (TensorOutput, output), {})
    bases = (machine,) if family is gemm.Gemm else (family, machine)
    return type("Joined", bases, {"output_of": both, **more})


def build(
    config: Config,
    kind: Kind = BF16,
    output: type[Output] = Output,
    family: type[gemm.Gemm] = gemm.Gemm,
) -> Kernel:
    """The kernel, as LLVM IR, with the arguments that sample 10 has, or whatever has this `output`
    or is of this `family` (gemm/gate_up.py, gemm/grouped.py).

    Raises: ValueError for a configuration that is not possible.
    """
    if not is_possible(config):
        raise ValueError(f"no such tiles on Blackwell: {config}")
    return joined(BlackwellGemm, output, family)(config, kind).finish()


def main() -> None:
    """Run 200×136×152 by two CTAs, and by a pair of them, on the simulator; compare with numpy."""
    m, n, k = 200, 136, 152
    a, b, expected = gemm.operands(m, n, k)
    for cluster in (1, 2):
        d, config = np.zeros((m, n), expected.dtype), Config(128, 64, 1, stages=2, cluster=cluster)
        made = build(config).compile(target=TARGETS[0])
        made.run(a, b, d, m, n, k, grid=2, cluster=cluster, device="sim")
        assert np.array_equal(d, expected), "the product differs from numpy"
        print(f"D = A·Bᵀ, {m}x{n}x{k}, {cluster=}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
