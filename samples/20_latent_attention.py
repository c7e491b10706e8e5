"""Latent attention (MLA) for Hopper, decoding: 64 heads of Q share one row of 576 for each key.

    O = softmax(Q·Cᵀ·scale)·C[:, :512]

C is the cache: a latent of 512, which is V, too, and 64 for the position.  A page of 64 rows comes
once, by TMA, and is read both ways: K-major for S, MN-major for O.  O does not fit into the
registers of a warpgroup: two have half of its columns each.  The first computes P, which the second
gets through shared memory, with what O shrinks by.

      warp 8            warpgroup 0                            warpgroup 1
     ┌───────┐ pages   ┌─────────────────────────────┐  P     ┌──────────────────────────────┐
     │ TMA   │ ──────► │ S = Q·Cᵀ, P = 2^(S - m)     │ ─────► │ O[:, 256:] += P·C[:, 256:512] │
     │       │ ◄────── │ O[:, :256] += P·C[:, :256]  │ ◄───── │                              │
     └───────┘         └─────────────────────────────┘        └──────────────────────────────┘

Several CTAs share a sequence; each writes its O and the logarithm of its sum, and a second kernel
joins them.  Behind its end a page must hold numbers.  Figures on an H200: docs/attention.md.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from nvgen import Kernel, KernelBuilder, bf16, f32, i32, u32

ROWS, K, V, PAGE = 64, 576, 512, 64
HALF, STAGES = V // 2, 2
TARGET, TARGETS = "sm_90a", ("sm_90a",)


class LatentAttention:
    """The kernel under construction."""

    def __init__(self) -> None:
        b = self.b = KernelBuilder(
            "latent_attention", block=384, dynamic_shared=True, target=TARGET, minctasm=1
        )
        b.tile_map("q", bf16, (ROWS, K)), b.tile_map("cache", bf16, (PAGE, K), rank=3)
        b.pointer("table", i32), b.pointer("lengths", u32)
        b.pointer("parts", f32, output=True), b.pointer("logs", f32, output=True)
        b.u32("pages"), b.f32("scale")
        self.args = args = b.begin()
        self.q, self.q_full = b.shared_tile("q_tile", bf16, (ROWS, K)), b.mbarrier("q_full")
        pages = b.shared_tiles("page_tiles", bf16, (PAGE, K), STAGES)
        self.ring = b.tile_ring("page", pages, consumers=2, warps=4)
        p_tiles = b.shared_tiles("p_tiles", bf16, (ROWS, PAGE), 1)
        self.p = b.tile_ring("p", p_tiles, writers=4, warps=4)
        self.shrinks, self.totals = (b.shared_array(x, f32, ROWS) for x in ("shrinks", "totals"))
        b.make_mbarriers((self.q_full, 1), *self.ring.mbarriers, *self.p.mbarriers)
        self.length, self.part = args["lengths"][b.ctaid_y], b.ctaid_y * b.nctaid_x + b.ctaid_x
        blocks = (self.length + (PAGE - 1)) // PAGE
        each = (blocks + b.nctaid_x - 1) // b.nctaid_x
        self.first = (b.ctaid_x * each).min(blocks)
        self.count = (blocks - self.first).min(each)

    def finish(self) -> Kernel:
        """The three roles."""
        b = self.b
        with b.if_warpgroup(2):
            b.setmaxnreg_dec(40)
            with b.if_warp(8), b.elect():
                self.bring()
        for number, half in enumerate((self.left, self.right)):
            with b.if_warpgroup(number):
                b.setmaxnreg_inc(232)
                half()
        return b.finish()

    def bring(self) -> None:
        """Q, and this CTA's pages."""
        b, args, producer = self.b, self.args, self.ring.producer()
        b.arrive_expecting(self.q_full, self.q)
        b.load_tile(self.q, args["q"], (0, b.ctaid_y * ROWS), self.q_full)
        with b.range(self.count) as i, producer.fill() as slot:
            page = args["table"][b.ctaid_y * args["pages"] + self.first + i]
            b.load_tile(slot.tile, args["cache"], (0, 0, page), slot.full)

    def left(self) -> None:
        """Scores, P and the left half of O."""
        b, pages, hand = self.b, self.ring.consumer(), self.p.producer()
        scale = self.args["scale"] * math.log2(math.e)
        s, o = (b.warpgroup_tile(ROWS, n) for n in (PAGE, HALF))
        m, sums = b.variable(s.rows(-math.inf)), b.variable(s.rows(0.0))
        b.wait(self.q_full, 0)
        with b.range(self.count) as i, pages.use() as slot:
            b.gemm(s, self.q, slot.tile)
            left = self.length - (self.first + i) * PAGE
            with b.if_(left < PAGE):
                s.set(s.where(lambda _, column: column < left, -math.inf))
            greatest = m.value.max(s.row_max() * scale)
            shrink, p = (m.value - greatest).ex2(), (s * scale - greatest).ex2()
            m.set(greatest), sums.set(sums.value * shrink + p.row_sum(whole=False))
            o.set(o.scale_rows(shrink))
            narrow = p.to(bf16)
            with hand.write() as to:
                narrow.as_tile(to.tile)
                self.keep(self.shrinks, shrink)
            values = slot.tile.part_of_k(0, HALF).transposed
            b.gemm(o, narrow.as_a_operand(), values, accumulate=True)
        total = sums.value.whole(operator.add)
        self.keep(self.totals, total)
        self.keep(self.args["logs"].at(self.part * ROWS), m.value + total.map(lambda x: x.lg2()))
        self.store(o, 0)

    def right(self) -> None:
        """The right half of O."""
        b, pages, taken = self.b, self.ring.consumer(), self.p.consumer()
        o = b.warpgroup_tile(ROWS, HALF)
        with b.range(self.count), pages.use() as slot, taken.use() as p:
            o.set(o.scale_rows(o.rows(lambda row: self.shrinks[row])))
            b.gemm(o, p.tile, slot.tile.part_of_k(HALF, HALF).transposed, accumulate=True)
            b.bar_warp_sync()  # all lanes have read what O shrinks by
        self.store(o, HALF)

    def keep(self, place, rows) -> None:
        """A number of each row to memory; four threads have it."""
        for row, number in rows.items():
            with self.b.if_(self.b.lane % 4 == 0):
                place[row] = number

    def store(self, o, column: int) -> None:
        """A half of O, once both warpgroups know the sums."""
        b = self.b
        b.barrier_cta_sync_aligned(1, 256)
        totals = o.rows(lambda row: self.totals[row])
        factors = totals.map(lambda x: b.select(x == 0.0, 0.0, x.rcp()))
        parts = self.args["parts"].at(self.part * (ROWS * V) + column)
        o.scale_rows(factors).store(parts, V, align=8)


def build() -> Kernel:
    """The kernel, as LLVM IR: a grid of (CTAs of a sequence, sequences)."""
    return LatentAttention().finish()


def build_join() -> Kernel:
    """O = Σ 2^(log - greatest)·part / Σ 2^(log - greatest): a CTA for each row of a sequence."""
    b = KernelBuilder("join", block=V // 4, target=TARGET)
    b.pointer("parts", f32), b.pointer("logs", f32), b.pointer("o", bf16, output=True)
    b.u32("splits")
    parts, logs, o, splits = b.begin().values()
    m, weight = b.variable(-math.inf), b.variable(0.0)
    total, first = b.variable(b.vector([b.f32(0.0)] * 4)), b.tid_x * 4
    with b.range(splits) as split:
        at = (b.ctaid_y * splits + split) * ROWS + b.ctaid_x
        log = logs[at]
        with b.if_(log > -math.inf):
            greatest = m.value.max(log)
            shrink, grow = (m.value - greatest).ex2(), (log - greatest).ex2()
            m.set(greatest), weight.set(weight.value * shrink + grow)
            part = b.load(parts.at(at * V + first), f32, 4, align=16)
            total.set(total.value * shrink + part * grow)
    result = (total.value * b.select(weight.value == 0.0, 0.0, weight.value.rcp())).to(bf16)
    b.store(result, o.at((b.ctaid_y * ROWS + b.ctaid_x) * V + first), align=8)
    return b.finish()


def operands(lengths: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Q, a cache whose pages lie in any order, the table, and the lengths."""
    rng, count, pages = np.random.default_rng(0), len(lengths), max(1, -(-max(lengths) // PAGE))
    q = rng.standard_normal((count * ROWS, K)).astype(bf16.numpy)
    cache = rng.standard_normal((count * pages, PAGE, K)).astype(bf16.numpy)
    table = rng.permutation(count * pages).reshape(count, pages).astype(np.int32)
    return q, cache, table, np.array(lengths, np.uint32)


def attention(q: np.ndarray, cache: np.ndarray, table: np.ndarray, lengths, scale: float):
    """What numpy gives in f64; a sequence without rows has zeros."""
    o = np.zeros((len(lengths), ROWS, V))
    for i, length in enumerate(lengths):
        rows = cache[table[i]].reshape(-1, K)[:length].astype(np.float64)
        s = q[i * ROWS : (i + 1) * ROWS].astype(np.float64) @ rows.T * scale
        p = np.exp(s - s.max(1, initial=-math.inf, keepdims=True))
        o[i] = p @ rows[:, :V] / np.maximum(p.sum(1, keepdims=True), 1e-300)
    return o


def workspace(count: int, splits: int) -> list[np.ndarray]:
    """Room for the parts of O, and for the logarithms of their sums."""
    return [np.full((count, splits, ROWS, *n), np.nan, np.float32) for n in ((V,), ())]


def main() -> None:
    """Run three sequences on the simulator and compare with numpy."""
    lengths, splits, scale = (200, 64, 0), 2, K**-0.5
    given, room = operands(lengths), workspace(3, splits)
    made, pages = build().compile(), given[2].shape[1]
    made.run(*given, *room, pages, scale, grid=(splits, 3), device="sim")
    o = np.zeros((3, ROWS, V), bf16.numpy)
    build_join().compile().run(*room, o, splits, grid=(ROWS, 3), device="sim")
    apart = np.abs(o.astype(np.float64) - attention(*given, scale)).max()
    assert apart < 2.0**-6, "the result differs from numpy"
    print(f"3 sequences of {ROWS} heads: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
