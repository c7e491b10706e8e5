"""A GEMM for Hopper, D = A·Bᵀ in bf16, f16 or fp8 with f32 sums: TMA, mbarriers, wgmma, clusters.

One warp brings tiles of A and B into a ring of buffers, warpgroups multiply them into their
registers, and store their part of D while the others still multiply:

      producer: one thread             consumers: warpgroups of 128 threads
     ┌─────────────────────────┐ full ┌───────────────────────────────────────────────┐
     │ TMA: a step of K, 128   │ ───► │ wgmma: 64 rows of D, 256 columns, K = 16, 4   │
     │ bytes of each row of A  │      │ for each step; one step stays in flight       │
     │ and B; with a cluster a │ ◄─── │ registers → bf16 → stmatrix → staging → TMA   │
     │ part of B for all CTAs  │ empty│ store of 16 rows by 64 columns for each warp  │
     └─────────────────────────┘      └───────────────────────────────────────────────┘

A brings rows to a multiply and B columns; with `swap` it is the other way round and D is stored
transposed, so that few rows of A make narrow tiles.  With `split` several CTAs of a cluster share
a tile, with `tail` all CTAs share those that do not fill the GPU (gemm/sharing.py).

CTAs stay and walk over the tiles of D, in groups of rows whose operands L2 holds.  A warpgroup that
is ahead stores its part while the other one has the tensor cores for itself: so much skew as the
ring has buffers hides the stores.  TMA fills what lies beyond the edges of A and B with zeros and
does not store beyond those of D, so that any M is possible, and any N and K whose rows are a
multiple of 16 bytes.

An arrival at `empty` releases nothing but the buffer, whose reads the wait for the multiplies has
seen complete: it is relaxed, which spares a fence over the whole GPU in each step, and the wait for
it acquires nothing of another CTA's, which spares an invalidation of L1.

Runs on the CPU simulator and on an H200.  What each step gave there on 22 November 2026, in TFLOP/s
and as a share of cuBLAS (all alternating in one process, bf16, random normal inputs, medians of 20
to 25 timings):

                                                    4096³         8192×8192×1024
    tiles of 128×128, one buffer                202   0.28       210   0.33
    two buffers                                 382   0.53       365   0.57
    four buffers                                644   0.89       524   0.81
    one step left in flight                     627   0.87       521   0.81
    tiles of 128×256                            705   0.98       587   0.91
    CTAs that stay, with a look at L2           717   1.00       664   1.03
    LLVM's passes (-O3)                         733   1.02       677   1.05
    a producer that does not wait to begin      732   1.02       679   1.05
    clusters of two, relaxed arrivals           717   0.99       672   1.04
    the same, arrivals that release             504   0.70       528   0.82

In the large shapes the GPU lowers its clock to stay within 700 W: what is left is energy.
In 1024³ the producer's early begin is worth 3.5 %, and launches that overlap another 7 %.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nvgen import CachePriority, Kernel, KernelBuilder, Major, Scope, i32, u16

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm.early import Early
from gemm.output import Output
from gemm.overlay import Overlay
from gemm.plan import BF16, LARGE, ROW, STORED, WARPGROUP, Config, Kind
from gemm.problem import operands
from gemm.sharing import Alone, PingPong, Split, Tail, Work

READY = 1  # the named barrier behind which the mbarriers are there
ONE_WAVE = 4  # tiles of a group where CTAs have one tile each

TARGET = "sm_90a"
TARGETS = (TARGET,)


class Gemm:
    """The kernel under construction.

    `x` is the operand whose rows are wgmma's M, `y` the one whose rows are its N.
    """

    name = "gemm_sm90"
    ranks = {"a": 2, "b": 2, "d": 2}  # noqa: RUF012
    more_bytes = 0  # of a step, that come beside x and y
    copies = 1  # of its sums, that a thread holds
    multiplying = 1  # CTAs that multiply as one
    overlaps = True  # whether tiles begin earlier where they would end beyond an edge
    output_of = Output  # what becomes of sums
    together = 1  # steps of K, of which there are whole pairs or more
    loads = False  # whether warps load from a buffer, beside the multiplies of all four

    def __init__(self, config: Config, kind: Kind) -> None:
        """Parameters, shared memory and mbarriers."""
        self.config, self.kind = config, kind
        self.k = ROW * config.depth * 8 // kind.dtype.bits
        self.b = KernelBuilder(
            self.name, block=config.threads, cluster=config.ctas, dynamic_shared=True,
            minctasm=config.resident,
        )  # fmt: skip
        self.left, self.right = ("b", "a") if config.swap else ("a", "b")
        self.majors = {"a": kind.a_major, "b": kind.b_major}
        self.shared_rows = config.n // config.cluster  # of y, that a CTA brings for all
        self.held_rows = config.n // self.multiplying  # of y, that lie in a CTA
        self.rows = {self.left: config.m, self.right: self.shared_rows}  # of a copy
        self.output = self.output_of(self)
        self.sharing = self.way()(self)
        arrivals = config.cluster - 1 + (4 if self.loads else 1)
        self.readers = config.team * arrivals  # of a buffer
        self.declare()
        self.args = self.b.begin()
        self.allocate()
        self.scope = Scope.CLUSTER if config.cluster > 1 else Scope.CTA
        rank, zero = self.b.cluster_ctarank, self.b.const(0)
        self.rank = rank % config.cluster if config.cluster > 1 else zero
        self.part = rank // config.cluster if config.split > 1 else zero
        (rows, columns), wide = config.clusters, "m" if config.swap else "n"
        self.down = (self.args["n" if config.swap else "m"] + (rows - 1)) // rows
        self.across = (self.args[wide] + (columns - 1)) // columns
        self.group, self.last = self.groups(self.down if config.is_down else self.across)

    def way(self) -> type[Alone]:
        """How CTAs share tiles, and warpgroups."""
        if self.config.split > 1:
            return Overlay if self.config.overlays else Split
        if self.config.tail > 1:
            return Tail
        return PingPong if self.config.pingpong else Alone

    def declare(self) -> None:
        """Parameters: the matrices, what the epilogue reads, the sizes, what CTAs share."""
        b, kind = self.b, self.kind
        for name in ("a", "b"):
            shape = self.rows[name], self.k
            b.tile_map(name, kind.dtype, shape, **self.lies(name), rank=self.ranks[name])
        self.output.declare()
        for name in ("m", "n", "k"):
            b.integer(name)
        self.sharing.declare()

    def allocate(self) -> None:
        """Shared memory: the ring, what is stored, and what CTAs send each other."""
        b, config, kind, stages = self.b, self.config, self.kind, self.config.stages
        self.x_ring, self.y_ring = (
            b.shared_tiles(f"{name}_ring", kind.dtype, (rows, self.k), stages, **self.lies(name))
            for name, rows in ((self.left, config.m), (self.right, self.held_rows))
        )
        self.output.allocate()
        self.full, self.empty = b.mbarriers("full", stages), b.mbarriers("empty", stages)
        self.sharing.allocate()

    def lies(self, name: str) -> dict:
        """How a tile of an operand lies in shared memory: MN-major rows make whole spans."""
        major, span = self.majors[name], ROW
        if major is Major.MN:
            span = math.gcd(self.rows[name] * self.kind.dtype.bits // 8, ROW)
        return {"major": major, "swizzle": span if span > 16 else 0}

    def finish(self) -> Kernel:
        """The two roles."""
        b, config = self.b, self.config
        producer, registers = config.consumers * 4, config.registers(self.copies)
        self.prepare(producer)
        with b.if_warpgroup(config.consumers):
            if registers:
                b.setmaxnreg_dec(registers[0])
            self.policy = b.createpolicy_fractional(CachePriority.FIRST) if config.once else None
            if config.cluster > 1:  # its copies go to the others
                b.barrier_cluster_wait()
            with b.if_warp(producer), b.elect():
                self.produce()
            self.help()
            if config.ctas > config.cluster == 1:
                b.bar_warp_sync()
                b.barrier_cluster_wait()
        with b.if_(b.warpgroup < config.consumers):
            if config.ctas > 1:
                b.barrier_cluster_wait()
            else:
                b.barrier_cta_sync_aligned(READY, config.consumers * WARPGROUP + 32)
            if registers:
                b.setmaxnreg_inc(registers[1])
            self.consume()
        if config.cluster > 1:  # no arrival of the others' is still on its way to this CTA
            b.bar_warp_sync()
            b.barrier_cluster_sync()
        self.leave()
        return b.finish()

    def help(self) -> None:
        """What other warps of the producer's warpgroup do."""

    def leave(self) -> None:
        """What all threads do in the end."""

    def prepare(self, producer: int) -> None:
        """Make the mbarriers; alone, the producer does not wait until all know of them."""
        b, config = self.b, self.config
        with b.if_warp(producer):
            with b.elect():
                for stage in range(config.stages):
                    b.mbarrier_init(self.full[stage], 1)
                    b.mbarrier_init(self.empty[stage], self.readers)
                self.sharing.prepare()
                b.fence_mbarrier_init_release_cluster()
            b.bar_warp_sync()
            if config.ctas == 1:
                b.barrier_cta_arrive_aligned(READY, config.consumers * WARPGROUP + 32)
        if config.ctas > 1:
            b.barrier_cluster_arrive(relaxed=True)

    @contextmanager
    def tiles(self) -> Iterator[Work]:
        """What this CTA multiplies."""
        with self.sharing.tiles(self.tile_count()) as unit:
            yield self.work(*unit)

    @contextmanager
    def own_tiles(self) -> Iterator[Work]:
        """Of these what a warpgroup multiplies, where two have tiles in turn."""
        with self.sharing.every_other(self.tile_count()) as unit:
            yield self.work(*unit)

    def tile_count(self):
        """How many tiles there are, of clusters."""
        return self.down * self.across

    def work(self, number, first, end, is_last) -> Work:
        """A tile by its number."""
        return Work(*self.place(number), first, end, number, is_last)

    def steps_before(self, work: Work):
        """Steps of the tile before this one: of warpgroups in turn the other one has it."""
        return work.end - work.first

    def groups(self, few) -> tuple:
        """How many tiles a group has, and which group is the last: it has what is left, too.

        About as many as the configuration says, of 9 not 8 and 1.  Of a single wave fewer, and an
        even number: CTAs beside each other read less that differs, and the two of a TPC the same.
        """
        b, config = self.b, self.config
        is_one_wave = self.tile_count() <= b.nctaid_x // config.ctas
        in_one = min(config.group, ONE_WAVE)
        count = ((few + config.group // 2) // config.group).max(1)
        last = b.select(is_one_wave, (few // in_one).max(1), count) - 1
        return b.select(is_one_wave, in_one, (few + (count - 1)) // count), last

    def place(self, number) -> tuple:
        """Where a tile begins by its number, a group of tiles at a time, and its own part.

        Zeros beyond an edge cost L2 six times what a matrix' rows do: a tile that would have some
        begins earlier by whole pieces, which the tile before it stores.
        """
        config, sizes = self.config, (self.down, self.across)
        few, many = sizes if config.is_down else reversed(sizes)
        group = (number // (many * self.group)).min(self.last)
        begin = group * self.group
        inside, left = number - begin * many, few - begin
        few = self.b.select(group == self.last, left, left.min(self.group))
        both = begin + inside % few, inside // few
        down, across = both if config.is_down else reversed(both)
        row, column = (down * config.cluster + self.rank) * config.m, across * config.n
        m, n = ("n", "m") if config.swap else ("m", "n")
        earlier = [
            first - self.beyond(first + tile - self.args[size], self.args[size], tile, piece)
            for first, size, tile, piece in (
                (row, m, config.m, STORED), (column, n, config.n, self.output.wide),
            )
        ]  # fmt: skip
        return *earlier, row, column

    def beyond(self, excess, size, tile: int, piece: int):
        """How much of a tile lies beyond an edge, in whole pieces; of the only one nothing."""
        cut = (excess.to(i32) > 0) & (size >= tile) if self.overlaps else self.b.const(0, 1)
        return self.b.select(cut, excess // piece * piece, 0)

    # ---- the producer ----------------------------------------------------------------------------

    def produce(self):
        """Bring the tiles of A and B, a step of K at a time; the place in the ring behind them.

        Behind the last one the next launch may begin.
        """
        b, ring = self.b, self.b.ring(self.config.stages)
        early = Early(self) if self.config.early else None
        if early is None:
            b.griddepcontrol_wait()
        self.sharing.begin_bringing()
        with self.tiles() as work:
            self.sharing.before()
            if early:
                early.begin(work)
            with b.range(work.end, start=work.first) as step:
                b.wait(self.empty[ring.stage], ring.parity ^ 1)
                self.expect(ring.stage)
                self.bring("b", ring.stage, work, step)
                self.bring("a", ring.stage, work, step)
                self.bring_more(ring.stage, work, step)
                ring.advance()
        if early:  # or it does when this launch's CTAs have exited
            b.griddepcontrol_launch_dependents()
        return ring

    def expect(self, stage) -> None:
        """Say how many bytes a step has."""
        nbytes = self.more_bytes + self.x_ring.nbytes + self.y_ring.nbytes
        self.b.mbarrier_arrive_expect_tx(self.full[stage], nbytes)

    def bring(self, name: str, stage, work: Work, step) -> None:
        """Bring an operand's tile; of y the part that this CTA brings for all that share it."""
        b, config, others = self.b, self.config, None
        tile, row = self.part_of(name, stage, work)
        if name == self.right and config.cluster > 1:
            others = b.const((1 << config.cluster) - 1, 16)
            if config.split > 1:
                others = others << (self.part * config.cluster).to(u16)
        b.load_tile(
            tile, self.args[name], self.at(name, row, step), self.full[stage], cta_mask=others,
            cache_policy=self.policy if name == "b" else None,
        )  # fmt: skip

    def part_of(self, name: str, stage, work: Work) -> tuple:
        """What a CTA brings of an operand's tile: where it lies in the ring, and its first row."""
        if name == self.left:
            return self.x_ring[stage], work.row
        y, first = self.y_ring[stage], self.rank * self.shared_rows
        if self.config.cluster > 1:
            y = y.part(first, self.shared_rows)
        return y, work.column + first

    def bring_more(self, stage, work: Work, step) -> None:
        """Bring what else a step needs."""

    def at(self, name: str, row, step) -> tuple:
        """Coordinates of a tile of an operand, innermost first."""
        k = step * self.k
        return (k, row) if self.majors[name] is Major.K else (row, k)

    # ---- the consumers ---------------------------------------------------------------------------

    def consume(self) -> None:
        """Multiply and store."""
        b, config = self.b, self.config
        self.ring, height = b.ring(config.stages), config.m // config.team
        self.sharing.begin(), self.output.begin()
        b.griddepcontrol_wait()
        with self.own_tiles() if config.pingpong else self.tiles() as work:
            sums = self.sums_of(work, height)
            with self.sharing.whole(sums, work) as (mine, first):
                self.output.store(mine, work, self.row_of(height), first)
        self.output.end()

    def row_of(self, height: int):
        """The first row of a warpgroup's part of a tile, or of a tile for itself."""
        return self.b.const(0) if self.config.pingpong else self.b.warpgroup * height

    def sums_of(self, work: Work, height: int) -> list:
        """The sums of a warpgroup's part of a tile: for every 64 rows a thread's registers.

        The buffer of a step is released when the next one is under way.
        """
        b, ring = self.b, self.ring
        d = b.warpgroup_tile(height, self.config.n)
        with self.sharing.turn(work):
            self.wait_for(ring)
            self.multiply(d, ring, accumulate=False)
            held = b.variable(ring.stage)
            ring.advance()
            with b.range(work.end, start=work.first + 1):
                self.wait_for(ring)
                self.multiply(d, ring, accumulate=True)
                b.wgmma_wait_group(1)
                self.release(held.value)
                held.set(ring.stage)
                ring.advance()
        b.wgmma_wait_group(0)
        self.release(held.value)
        return [list(part.registers) for part in d.parts]

    def wait_for(self, ring) -> None:
        """Wait for what one step of K multiplies."""
        self.b.wait(self.full[ring.stage], ring.parity)

    def multiply(self, d, ring, *, accumulate: bool) -> None:
        """Start the multiplies of one step of K."""
        b = self.b
        x = self.x_ring[ring.stage].part(self.row_of(d.m), d.m)
        b.wgmma_fence()
        b.gemm_async(d, x, self.y_ring[ring.stage], accumulate=accumulate)
        b.wgmma_commit_group()

    def release(self, stage) -> None:
        """Tell each producer that writes this buffer that it has been read.

        What warps load is what their own CTA's producer brings.
        """
        b, config, thread = self.b, self.config, self.b.tid_x % WARPGROUP
        if self.loads:
            b.bar_warp_sync()
        if self.loads or config.cluster == 1:
            with b.if_(b.tid_x % (32 if self.loads else WARPGROUP) == 0):
                b.mbarrier_arrive(self.empty[stage])
        if config.cluster > 1:
            tells = thread < config.cluster
            if self.loads:
                tells = tells & (thread != self.rank)
            with b.if_(tells):
                mbarrier = b.of_cta(self.empty[stage], self.part * config.cluster + thread)
                b.mbarrier_arrive_space_cluster(mbarrier, relaxed=True)

    def at_d(self, column, row) -> tuple:
        """Coordinates of a piece of D, innermost first."""
        return column, row


def build(config: Config = LARGE, kind: Kind = BF16) -> Kernel:
    """The kernel, as LLVM IR."""
    return Gemm(config, kind).finish()


def main() -> None:
    """Run 200×136×152 by two CTAs on the simulator and compare with numpy."""
    m, n, k = 200, 136, 152
    a, b, expected = operands(m, n, k)
    d = np.zeros((m, n), expected.dtype)
    config = Config(m=64, n=64, consumers=1, stages=2)
    build(config).compile(target=TARGET).run(a, b, d, m, n, k, grid=2, device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
