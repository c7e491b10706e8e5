"""Attention for Hopper: O = softmax(Q·Kᵀ·scale)·V, forward, causal or not, d = 64, 128 or 256.

A CTA stays and takes item after item: some rows of Q of a head.  One warp brings tiles of Q, K
and V by TMA and runs ahead into the next items, one stores O by TMA, and each of two or three
warpgroups multiplies 64 rows.  The items that have the most to do come first, and whoever is
through takes the next number of a counter in global memory, which the last one leaves at zero.

    tensor cores   S₁ = Q·K₁ᵀ   O += P₀·V₀     S₂ = Q·K₂ᵀ   O += P₁·V₁     …
    registers                   P₁ = 2^(S₁ - m)             P₂ = 2^(S₂ - m)

P never leaves the registers: as bf16 or f16 it is A of the next multiply.  Any m near the greatest
score of a row will do, as P is divided by its sums in the end: m is that of the row's first block,
and no later block looks for its greatest score.  A sum that is too large, or no number, tells of a
score far above m.  The warp then multiplies the block again by itself, with mma.sync, while K is
still there, takes the greatest score so far for m, and scales what it has.

Blocks of keys come from the last one on, so that only the first has a mask: for what is causal,
and for rows behind the end, which TMA fills with zeros.  The wait for the next block of V, a loop,
keeps ptxas from moving the wait for the multiplies before the exponents.

Arrays are heads × length × d; Q and O have `ratio` times as many heads as K and V, and the lengths
may differ.  With a window a row sees no more than so many keys, the last one its own.
It has run on an H100: docs/attention.md has figures, `tests/benchmarks/attention_hopper.py` the
method.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nvgen import AtomicOp, Kernel, KernelBuilder, Major, ScalarType, Space, Vote, i32, u32

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from attention_plan import PLAIN, ROWS, Config, attention, choose, grid, numbers, operands

REGISTERS = {2: (24, 240), 3: (32, 160)}  # of the other roles, and of warpgroups that multiply
TARGET, TARGETS = "sm_90a", ("sm_90a",)


class Attention:
    """The kernel under construction."""

    def __init__(self, config: Config) -> None:
        self.config, rows = config, config.rows
        d, dtype, block, stages = config.d, config.dtype, config.block, config.stages
        threads = (config.warpgroups + 1) * 128
        b = self.b = KernelBuilder(
            "attention_sm90", block=threads, dynamic_shared=True, target=TARGET, minctasm=1
        )
        b.tile_map("q", dtype, (rows, d), rank=3)
        b.tile_map("k", dtype, (block, d), rank=3)
        b.tile_map("v", dtype, (d, block), rank=3, major=Major.MN)
        b.tile_map("o", dtype, (ROWS, d), rank=3, output=True)
        b.pointer("counter", u32)
        for name in ("heads", "ratio", "length", "keys", "section", "window"):
            b.u32(name)
        b.f32("scale")
        a = self.args = b.begin()
        self.q = b.tile_ring(
            "q", b.shared_tiles("q_tiles", dtype, (rows, d), config.queries), notes=True
        )
        k_tiles = b.shared_tiles("k_tiles", dtype, (block, d), stages)
        v_tiles = b.shared_tiles("v_tiles", dtype, (d, block), stages, major=Major.MN)
        self.k = b.tile_ring("k", k_tiles, consumers=config.warpgroups, warps=4)
        self.v = b.tile_ring("v", v_tiles, consumers=config.warpgroups, warps=4)
        self.o_full = b.mbarriers("o_full", config.queries)
        written = self.o_full, config.warpgroups * 4
        b.make_mbarriers(*self.q.mbarriers, *self.k.mbarriers, *self.v.mbarriers, written)
        self.across = (a["length"] + (rows - 1)) // rows
        self.total = a["heads"] * self.across

    def finish(self) -> Kernel:
        """The three roles."""
        b, count = self.b, self.config.warpgroups
        with b.if_warpgroup(count):
            b.setmaxnreg_dec(REGISTERS[count][0])
            with b.if_warp(count * 4), b.elect():
                self.produce()
            with b.if_warp(count * 4 + 1), b.elect():
                self.store()
        with b.if_warpgroup(0, count):
            b.setmaxnreg_inc(REGISTERS[count][1])
            self.consume()
        return b.finish()

    # ---- items -------------------------------------------------------------------------------

    def item(self, number):
        """The head and the first row of an item: the last rows of all heads of a section first."""
        section, across = self.args["section"], self.across
        first = number // (section * across) * section
        inside = number - first * across
        heads = (self.args["heads"] - first).min(section)
        return first + inside % heads, (across - 1 - inside // heads) * self.config.rows

    def blocks(self, row, rows: int):
        """How many blocks of keys some rows see, from `row` on."""
        block = self.config.block
        count = ((self.args["keys"] + (block - 1)) // block).max(1)
        return count.min((row + (rows + block - 1)) // block) if self.config.causal else count

    def unseen(self, row):
        """How many of the first blocks lie before the window of all rows from `row` on."""
        window = self.args["window"]
        return ((row + 1).max(window) - window) // self.config.block if self.config.window else 0

    @contextmanager
    def items(self) -> Iterator[tuple]:
        """All items of this CTA, as the producer hands them on: the buffer of Q, head, row."""
        b, queries = self.b, self.q.consumer()
        slot = queries.take()
        stage, number = b.variable(slot.stage), b.variable(slot.note)
        with b.while_(lambda: number.value < self.total):
            yield self.q.slot(stage.value), *self.item(number.value)
            slot = queries.take()
            stage.set(slot.stage), number.set(slot.note)

    # ---- roles -------------------------------------------------------------------------------

    def produce(self) -> None:
        """Take items; bring Q, and blocks of K and V, the last ones first."""
        b, args, config = self.b, self.args, self.config
        queries, keys, values = self.q.producer(), self.k.producer(), self.v.producer()
        number = b.variable(b.ctaid_x)
        with b.while_(lambda: number.value < self.total):
            head, row = self.item(number.value)
            with queries.fill(note=number.value) as slot:
                b.load_tile(slot.tile, args["q"], (0, row, head), slot.full)
            taken = b.atom(AtomicOp.INC, ScalarType.U32, args["counter"], self.total - 1)
            number.set(b.nctaid_x + taken)
            blocks = self.blocks(row, config.rows)
            with b.range(blocks - self.unseen(row)) as index:
                at = 0, (blocks - 1 - index) * config.block, head // args["ratio"]
                for end, tmap in ((keys, "k"), (values, "v")):
                    with end.fill() as slot:
                        b.load_tile(slot.tile, args[tmap], at, slot.full)
        queries.send(number.value)  # nothing more comes

    def store(self) -> None:
        """Store O, which lies where Q was, and give the buffer back."""
        b = self.b
        place = b.ring(self.config.queries)
        with self.items() as (slot, head, row):
            b.wait(self.o_full[place.stage], place.parity)
            for first in range(0, self.config.rows, ROWS):
                part = slot.tile.part(first, ROWS)
                b.store_tile(part, self.args["o"], (0, row + first, head))
            b.cp_async_bulk_wait_group_read(0)
            b.mbarrier_arrive(self.q.empty[slot.stage])
            place.advance()

    def consume(self) -> None:
        """Multiply 64 rows of each item."""
        b, config, first = self.b, self.config, self.b.warpgroup * ROWS
        self.keys, self.values = self.k.consumer(), self.v.consumer()
        self.scale = self.args["scale"] * math.log2(math.e)  # powers of 2 in place of e's
        s, o = b.warpgroup_tile(ROWS, config.block), b.warpgroup_tile(ROWS, config.d)
        self.s, self.o, self.held = s, o, b.variable(0)
        self.m, self.sums = b.variable(s.rows(0.0)), b.variable(s.rows(0.0))
        self.p = b.variable(s.to(config.dtype))
        with self.items() as (slot, _, row):
            q, blocks = slot.tile.part(first, ROWS), self.blocks(row + first, ROWS)
            if config.rows % config.block or (config.causal and config.rows != config.block):
                blocks = b.select(row + first < self.args["length"], blocks, 1)
                with b.range(self.blocks(row, config.rows) - blocks):  # others need those
                    self.keys.release(self.keys.take()), self.values.release(self.values.take())
            self.begin(q, row + first, (blocks - 1) * config.block)
            with b.range(blocks - self.unseen(row), start=1) as index:
                self.go_on(q, row + first, (blocks - 1 - index) * config.block)
            self.multiply_values()
            b.wgmma_wait_group(0)
            self.values.release(self.held.value)
            o.scale_rows(self.sums.value.whole(operator.add).rcp(approx=True)).as_tile(q)
            b.fence_proxy_async(Space.SHARED_CTA)
            b.bar_warp_sync()
            with b.elect():
                b.mbarrier_arrive(self.o_full[slot.stage])

    # ---- one block of keys -------------------------------------------------------------------

    def begin(self, q, row, column) -> None:
        """The first block of an item: the greatest score of each row is looked for."""
        b, s = self.b, self.s
        with self.keys.use() as slot:
            b.gemm(s, q, slot.tile)
        end = self.args["keys"]
        if self.config.causal:
            last = lambda r: ((r + row).min(end - 1) - column).to(i32)  # noqa: E731
            s.set(s.where(lambda r, c: c.to(i32) <= last(r), -math.inf))
            self.mask_window(s, row, column)
        else:
            with b.if_(column + self.config.block > end):
                s.set(s.where(lambda _, c: c < end - column, -math.inf))
        self.m.set(s.row_max() * self.scale)
        s.set(self.powers(s.fragment, finite(self.m.value)))
        self.sums.set(s.row_sum(whole=False)), self.p.set(s.to(self.config.dtype))
        self.held.set(self.values.take().stage)
        self.o.set(0.0)

    def mask_window(self, s, row, column) -> None:
        """Leave what the window of a row has, where a block has more for some rows."""
        window = self.args["window"]
        if self.config.window:
            with self.b.if_(column + window < row + ROWS):
                s.set(s.where(lambda r, c: c + column + window > r + row, -math.inf))

    def go_on(self, q, row, column) -> None:
        """Another block: Q·K, then P·V of the block before, beside which this one's P is made."""
        b, s = self.b, self.s
        slot = self.keys.take()
        b.wgmma_fence()
        b.gemm_async(s, q, slot.tile)
        b.wgmma_commit_group()
        self.multiply_values(fence=False)
        b.wgmma_wait_group(1)
        self.mask_window(s, row, column)
        s.set(self.powers(s.fragment, self.m.value))
        part = b.variable(s.row_sum(whole=False))
        following = self.values.take()  # a loop, which ptxas moves no code across
        b.wgmma_wait_group(0)
        self.values.release(self.held.value)
        self.held.set(following.stage)
        upper, lower = part.value.vector
        limit = self.config.limit
        with b.if_(b.vote_sync(Vote.ALL, (upper <= limit) & (lower <= limit)) ^ 1):
            self.again(q, slot.tile, part, row, column)
        self.keys.release(slot)
        self.p.set(s.to(self.config.dtype))
        self.sums.set(self.sums.value + part.value)

    def again(self, q, k, part, row, column) -> None:
        """A block of scores far above m, by the warp alone: its rows of S anew, and another m."""
        b = self.b
        t = b.warp_tile(16, self.config.block)
        b.gemm_async(t, q.part(b.warp % 4 * 16, 16), k)
        b.bar_warp_sync()  # all lanes have read K; one of them gives it back
        self.s.set(t.fragment.as_rows_of(self.s.fragment))
        self.mask_window(self.s, row, column)
        scores = self.s.fragment
        greatest = self.m.value.max(scores.row_max() * self.scale)
        shrink = (self.m.value - finite(greatest)).ex2(ftz=True)
        self.s.set(self.powers(scores, finite(greatest)))
        part.set(self.s.row_sum(whole=False)), self.m.set(greatest)
        self.sums.set(self.sums.value * shrink), self.o.set(self.o.scale_rows(shrink))

    def powers(self, scores, m):
        """2^(scores·scale - m)."""
        return scores.fma(self.scale, -m).ex2(ftz=True)

    def multiply_values(self, *, fence: bool = True) -> None:
        """Start O += P·V of the block whose V is held."""
        b, v = self.b, self.v.slot(self.held.value).tile
        if fence:
            b.wgmma_fence()
        b.gemm_async(self.o, self.p.value.as_a_operand(), v, accumulate=True)
        b.wgmma_commit_group()


def finite(m):
    """Zero for a row that has seen no finite score."""
    return m.map(lambda x: x.builder.select(x == -math.inf, 0.0, x))


def build(config: Config = PLAIN) -> Kernel:
    """The kernel, as LLVM IR."""
    return Attention(config).finish()


def main() -> None:
    """Run two heads of 200 rows on the simulator and compare with numpy."""
    for causal in (False, True):
        n = 200
        config = choose(64, n, causal=causal)
        q, k, v = operands(2, n, n, config)
        o, counter = np.zeros_like(q), np.zeros(1, np.uint32)
        numbers_ = numbers(config, 2, 1, n, n)
        build(config).compile().run(
            q, k, v, o, counter, *numbers_, grid=grid(config, 2, n, 3), device="sim"
        )
        expected = attention(q, k, v, config.d**-0.5, causal=causal)
        apart = np.abs(o.astype(np.float64) - expected).max()
        assert apart < np.abs(v.astype(np.float32)).max() / 256, "the result differs from numpy"
        print(f"2 heads of {n}x{config.d}, {causal=}: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
