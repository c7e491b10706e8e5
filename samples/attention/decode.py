"""Decoding for Hopper: a few rows of Q for each sequence, over keys and values in pages.

The `heads` of Q that share a head of K, for all tokens of a step, are the rows of one tile, 64 at
most.  A page has `page` rows of K and of V, of all heads; a table says which pages a sequence has,
and `lengths` how many keys.  Several CTAs share a sequence's keys: each writes its O and the
logarithm of its sum, and whoever comes last joins them all, in the order of the keys, and leaves
the counter at zero.  A launch may begin before the one before it has ended.

    grid  (CTAs of a sequence, heads of K, sequences)
    warp 4         the table, TMA: pages of K and V, as many as a block has
    warpgroup 0    S = Q·Kᵀ, P = 2^(S - m), O = O·2^(old m - m) + P·V

What is in a page behind a sequence's end counts for nothing, whatever it is: scores are masked, and
those rows of V are made zeros.  A sequence without keys has zeros.  With several tokens the last
one sees all keys, those before it fewer; with a window each sees so many.

Q and O are sequences × heads of K × rows × d, row r being of token r / `heads`; K and V are pages ×
heads of K × page × d, whose two middle strides may be any.  It is bound by memory: two CTAs a
multiprocessor keep four blocks on their way: with six it took 1.01 times as long.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from pathlib import Path

import numpy as np

from nvgen import AtomicOp, Kernel, KernelBuilder, Major, Scope, Sem, Space, f32, i32, u32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from attention.decode_plan import PLAIN, ROWS, TOGETHER, Config, attention, operands, workspace

THREADS = 128  # that multiply
TARGET, TARGETS = "sm_90a", ("sm_90a",)


class Decode:
    """The kernel under construction."""

    def __init__(self, config: Config) -> None:
        self.config = config
        d, dtype, block = config.d, config.dtype, config.block
        self.height = min(config.page, block)  # rows of a copy
        b = self.b = KernelBuilder(
            "attention_decode", block=THREADS + 32, dynamic_shared=True, target=TARGET,
            minctasm=2 if d < 256 else 1,
        )  # fmt: skip
        b.tile_map("q", dtype, (ROWS, d), rank=4)
        b.tile_map("k", dtype, (self.height, d), rank=4)
        b.tile_map("v", dtype, (d, self.height), rank=4, major=Major.MN)
        b.pointer("o", dtype, output=True)
        for name in ("table", "lengths"):
            b.pointer(name, i32)
        b.pointer("parts", f32), b.pointer("sums", f32), b.pointer("counters", u32)
        for name in ("rows", "heads", "pages", "page", "each", "window"):
            b.u32(name)
        b.f32("scale")
        self.args = b.begin()
        with b.if_thread(THREADS):
            for name in ("q", "k", "v"):
                b.prefetch_tensormap(self.args[name])
        self.q_tile = b.shared_tile("q_tile", dtype, (ROWS, d))
        k_tiles = b.shared_tiles("k_tiles", dtype, (block, d), config.stages)
        v_tiles = b.shared_tiles("v_tiles", dtype, (d, block), config.stages, major=Major.MN)
        self.q_full = b.mbarrier("q_full")
        self.k, self.v = b.tile_ring("k", k_tiles), b.tile_ring("v", v_tiles)
        self.order = b.shared_array("order", u32, 1)
        b.make_mbarriers((self.q_full, 1), *self.k.mbarriers, *self.v.mbarriers)

    def finish(self) -> Kernel:
        """Which blocks of keys are this CTA's; the two roles."""
        b, args, block = self.b, self.args, self.config.block
        b.griddepcontrol_wait()  # where the launch did not wait for the one before it
        b.griddepcontrol_launch_dependents()
        self.part, self.head, self.sequence = (b.sreg(f"ctaid.{axis}") for axis in "xyz")
        self.item = self.sequence * b.sreg("nctaid.y") + self.head
        self.length = args["lengths"][self.sequence].to(u32)
        self.tokens = args["rows"] // args["heads"]
        begin = self.unseen() // block if self.config.window else b.const(0)
        blocks = ((self.length + (block - 1)) // block).max(begin + 1) - begin
        ctas = b.sreg("nctaid.x")
        each = ((blocks + ctas - 1) // ctas).max(args["each"])
        self.parts = (blocks + each - 1) // each
        self.first = begin + self.part * each
        self.count = (begin + blocks - self.first).min(each)
        with b.if_(self.part < self.parts):
            with b.if_warp(THREADS // 32), b.elect():
                self.produce()
            with b.if_warpgroup(0):
                self.consume()
        return b.finish()

    def unseen(self):
        """How many keys no token sees, being before all windows."""
        below = self.args["window"] + self.tokens - 1
        return self.length.max(below) - below

    # ---- copies ------------------------------------------------------------------------------

    def produce(self) -> None:
        """Bring Q, and the blocks of K and V, page by page."""
        b, args, block, height = self.b, self.args, self.config.block, self.height
        b.arrive_expecting(self.q_full, self.q_tile)
        b.load_tile(self.q_tile, args["q"], (0, 0, self.head, self.sequence), self.q_full)
        keys, values = self.k.producer(), self.v.producer()
        parts = range(0, block, height)
        pages = [b.variable(self.page(self.key(0, first))) for first in parts]
        with b.range(self.count) as index:
            places = [
                (first, (0, self.key(index, first) % args["page"], self.head, page.value))
                for first, page in zip(parts, pages, strict=True)
            ]
            following = [self.page(self.key(index + 1, first)) for first in parts]
            with keys.fill() as slot:
                for first, at in places:
                    b.load_tile(slot.tile.part(first, height), args["k"], at, slot.full)
            with values.fill() as slot:
                for first, at in places:
                    b.load_tile(slot.tile.part_of_k(first, height), args["v"], at, slot.full)
            for page, number in zip(pages, following, strict=True):
                page.set(number)

    def key(self, index, first: int):
        """The number of a key of this CTA's block."""
        return (self.first + index) * self.config.block + first

    def page(self, key):
        """The page that has a key; behind the end none, which TMA makes zeros of."""
        b, args = self.b, self.args
        number = (key // args["page"]).min(args["pages"] - 1)
        page = args["table"][self.sequence * args["pages"] + number]
        return b.select(key < self.length, page, b.const(-1).to(i32))

    # ---- multiplies --------------------------------------------------------------------------

    def consume(self) -> None:
        """All blocks of this CTA, then O, or a part of it."""
        b, args, block = self.b, self.args, self.config.block
        scale = args["scale"] * math.log2(math.e)
        s, o = b.warpgroup_tile(ROWS, block), b.warpgroup_tile(ROWS, self.config.d)
        m, sums = b.variable(s.rows(-math.inf)), b.variable(s.rows(0.0))
        keys, values = self.k.consumer(), self.v.consumer()
        b.wait(self.q_full, 0)
        with b.range(self.count) as index:
            column = (self.first + index) * block
            with keys.use() as slot:
                b.gemm(s, self.q_tile, slot.tile)
            self.mask(s, column)
            greatest = m.value.max(s.row_max() * scale)
            base = greatest.map(lambda x: b.select(x == -math.inf, 0.0, x))
            shrink = (m.value - base).ex2(ftz=True)
            s.set(s.fragment.fma(scale, -base).ex2(ftz=True))
            m.set(greatest), sums.set(sums.value * shrink + s.row_sum(whole=False))
            o.set(o.scale_rows(shrink))
            with values.use() as slot:
                self.clear(slot.tile, column)
                b.gemm(o, s.to(self.config.dtype).as_a_operand(), slot.tile, accumulate=True)
        total = sums.value.whole(operator.add)
        result = o.scale_rows(total.map(lambda x: b.select(x == 0.0, 0.0, x.rcp())))
        with b.if_(self.parts == 1):
            rows, d = args["rows"], self.config.d
            to = args["o"].at(self.item * rows * d)
            result.to(self.config.dtype).store(to, d, align=4, rows=lambda r: r < rows)
        with b.else_():
            self.hand_over(result, m.value + total.map(lambda x: x.lg2()))

    def mask(self, s, column) -> None:
        """Leave what the row's token sees, where a block has more."""
        b, args = self.b, self.args
        ends = s.rows(lambda r: self.length + 1 + r // args["heads"] - self.tokens)
        with b.if_(column + self.config.block + self.tokens > self.length + 1):
            below = ends.map(lambda end: end.to(i32) - column.to(i32))
            s.set(s.where(lambda end, c: c.to(i32) < end, -math.inf, of=below))
        if self.config.window:
            with b.if_(column < self.unseen() + self.tokens):
                begins = ends.map(lambda end: end.to(i32) - (column + args["window"]).to(i32))
                s.set(s.where(lambda begin, c: c.to(i32) >= begin, -math.inf, of=begins))

    def clear(self, v, column) -> None:
        """Zeros for rows of V behind the end, which might be no numbers."""
        b, chunks = self.b, self.config.d // 8
        end = self.length - column
        with b.if_(column + self.config.block > self.length):
            zeros, lane = b.words([b.const(0)] * 4), b.tid_x
            for first in range(0, self.config.block, THREADS // chunks):
                line = lane // chunks + first
                with b.if_(line.to(i32) >= end.to(i32)):
                    b.store(zeros, v.chunk(line, lane % chunks), align=16)
            b.fence_proxy_async(Space.SHARED_CTA)
            b.barrier_cta_sync_aligned(1, THREADS)

    # ---- parts of O --------------------------------------------------------------------------

    def hand_over(self, result, logs) -> None:
        """Write a part; whoever is the last of the sequence's CTAs joins all of them."""
        b, args, d = self.b, self.args, self.config.d
        rows, most = args["rows"], b.sreg("nctaid.x")
        mine = (self.item * most + self.part) * rows
        result.store(args["parts"].at(mine * d), d, align=8, rows=lambda r: r < rows)
        for row, log in logs.items():
            with b.if_((row < rows) & (b.tid_x % 4 == 0)):
                args["sums"][mine + row] = log
        b.barrier_cta_sync_aligned(1, THREADS)
        with b.if_(b.tid_x == 0):
            b.fence(Sem.ACQ_REL, Scope.GPU)
            at, last = args["counters"].at(self.item), self.parts - 1
            self.order[0] = b.atom(AtomicOp.INC, u32, at, last, sem=Sem.RELAXED)
            b.fence(Sem.ACQ_REL, Scope.GPU)
        b.barrier_cta_sync_aligned(1, THREADS)
        with b.if_(self.order[0] == self.parts - 1):
            self.join(self.item * most)

    def join(self, first) -> None:
        """O = Σ 2^(log - greatest)·part / Σ 2^(log - greatest), four columns of a thread.

        Some parts are on their way at once; the greatest is the greatest so far.
        """
        b, args, across = self.b, self.args, self.config.d // 4
        rows, parts = args["rows"], args["parts"].at(first * args["rows"] * self.config.d)
        logs = args["sums"].at(first * rows)
        with b.range(rows * across, start=b.tid_x, step=THREADS) as place:
            row = place // across
            greatest, weight = b.variable(-math.inf), b.variable(0.0)
            total = b.variable(b.vector([b.f32(0.0)] * 4))
            with b.range(self.parts, step=TOGETHER) as part:
                numbers = [(part + i).min(self.parts - 1) for i in range(TOGETHER)]
                found = [logs[n * rows + row] for n in numbers]
                these = [
                    b.load(parts.at((n * rows * across + place) * 4), f32, 4, align=16)
                    for n in numbers
                ]
                found = [b.select(part + i < self.parts, x, -math.inf) for i, x in enumerate(found)]
                now = functools.reduce(b.max, found, greatest.value)
                base = b.select(now == -math.inf, 0.0, now)
                shrink = (greatest.value - base).ex2()
                factors = [(x - base).ex2() for x in found]
                greatest.set(now), weight.set(sum(factors, weight.value * shrink))
                sums = total.value * shrink
                for x, factor in zip(these, factors, strict=True):
                    sums = x.fma(factor, sums)
                total.set(sums)
            scale = b.select(weight.value == 0.0, 0.0, weight.value.rcp())
            o = (total.value * scale).to(self.config.dtype)
            b.store(o, args["o"].at((self.item * rows * across + place) * 4), align=8)


def build(config: Config = PLAIN) -> Kernel:
    """The kernel, as LLVM IR."""
    return Decode(config).finish()


def main() -> None:
    """Run three sequences of two heads on the simulator and compare with numpy."""
    config, lengths, rows, heads, page = Config(64, page=16), (300, 7, 129), 8, 4, 16
    q, k, v, table = operands(lengths, 2, rows, config, page)
    o, items = np.zeros_like(q), len(lengths) * 2
    room = workspace(items, 3, rows, config.d)
    numbers = rows, heads, table.shape[1], page, 1, 0, config.d**-0.5
    build(config).compile().run(
        q, k, v, o, table, np.array(lengths, np.int32), *room, *numbers,
        grid=(3, 2, len(lengths)), device="sim",
    )  # fmt: skip
    expected = attention(q, k, v, table, lengths, config.d**-0.5, heads)
    apart = np.abs(o.astype(np.float64) - expected).max()
    assert apart < 2.0**-6, "the result differs from numpy"
    print(f"{len(lengths)} sequences in pages of {page}: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
