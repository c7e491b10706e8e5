"""Attention for Blackwell: O = softmax(Q·Kᵀ·scale)·V, forward, causal or not, d = 64 or 128.

S, P and O lie in tensor memory; items, copies and stores are those of sample 14.  An item is 256
rows of Q in two halves, of which each has a warpgroup with a row in each thread.  One thread issues
all multiplies, for the two halves by turns: while one half's scores become P, the tensor core has
the other half's.

       one thread: tcgen05.mma              a warpgroup for each half
    ┌──────────────────────────────┐  s_full   ┌────────────────────────────────┐
    │ S = Q·Kᵀ                     │ ────────► │ tcgen05.ld: a row of S         │
    │                              │  p_full   │ P = 2^(S·scale - m)            │
    │ O += P·V, P being A in       │ ◄──────── │ tcgen05.st: P                  │
    │ tensor memory                │  o_done   │                                │
    │                              │ ────────► │ in the end O / sums, to Q's    │
    └──────────────────────────────┘           │ buffer, and TMA stores it      │
                                               └────────────────────────────────┘

m is that of a row's first block, as in sample 14: a later block whose sum is too large is made anew
from S, which is still there, and corrects O in tensor memory; no other one touches O.

    columns      d = 64                      d = 128
      0…255      S of both halves            S of both halves, then P over it
    256…         O, and P behind it          O

Where P lies over S, Q·Kᵀ of the next block waits until P·V has read it: that multiplies of several
accumulators follow each other in order is nothing that the PTX ISA says.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nvgen import ElementType, Kernel, Vote, bf16

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from attention.blocks import finite
from attention.plan import Config, attention, grid, numbers, operands

plain = importlib.import_module("14_attention_sm90")
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
HEIGHT = 128  # rows of a half: the lanes of tensor memory
COLUMNS = 512


@dataclass
class Half:
    """Where a half of an item lies in tensor memory, and what its two sides tell each other."""

    s: object
    p: object
    o: object
    s_full: object
    p_full: object
    o_done: object
    turn: object  # the phase of all three: a block each


@dataclass
class Scores:
    """A block of scores, where a mask finds them: a thread's row."""

    held: object

    def set(self, s) -> None:
        """What they are from here on."""
        self.held.set(s)

    def __getattr__(self, name: str):
        """What one does with a matrix in registers."""
        return getattr(self.held.value, name)


class BlackwellAttention(plain.Attention):
    """The kernel under construction."""

    registers = {2: (40, 232)}  # noqa: RUF012
    name, target = "attention_sm100", TARGETS[0]

    def ring(self, name: str, tiles):
        """Buffers that commits of multiplies give back."""
        return self.b.tile_ring(name, tiles)

    def allocate(self) -> None:
        """Tensor memory, and mbarriers of the halves, beside what Hopper has."""
        super().allocate()
        b, names = self.b, ("s_full", "p_full", "o_done")
        self.told = {name: b.mbarriers(name, 2) for name in names}
        b.make_mbarriers(*zip(self.told.values(), (1, 4, 1), strict=True))
        self.tensor = b.tensor_memory("tensor", COLUMNS)
        self.apart = 3 * self.config.block + 2 * self.config.d <= COLUMNS

    def half(self, number) -> Half:
        """One of the halves."""
        b, d, block = self.b, self.config.d, self.config.block
        s = self.tensor.address + number * block
        o = self.tensor.address + number * d + 2 * block
        p = self.tensor.address + number * (block // 2) + 2 * (block + d) if self.apart else s
        return Half(
            b.tensor_tile(s, HEIGHT, block), b.tensor_operand(p, HEIGHT, block, self.config.dtype),
            b.tensor_tile(o, HEIGHT, d), *(told[number] for told in self.told.values()), b.ring(1),
        )  # fmt: skip

    # ---- multiplies --------------------------------------------------------------------------

    def help(self) -> None:
        """The thread that multiplies."""
        with self.b.if_warp(self.config.warpgroups * 4 + 2), self.b.elect():
            self.multiply()

    def multiply(self) -> None:
        """For each block: P·V of the block before and Q·Kᵀ, of one half and then of the other.

        Of a causal item the first half does not see the last block, which comes first.
        """
        b, config = self.b, self.config
        keys, values, halves = self.k.consumer(), self.v.consumer(), [self.half(0), self.half(1)]
        held = b.variable(0)
        with self.q.consumer().until(self.total) as slot:
            _, row = self.item(slot.note)
            blocks = self.blocks(row, config.rows)
            firsts, count = (
                (blocks - self.blocks(row, HEIGHT), b.const(0)),
                blocks - self.unseen(row),
            )
            parts = [slot.tile.part(i * HEIGHT, HEIGHT) for i in range(2)]
            with b.range(count) as index:
                k = keys.take()
                for half, first, q in zip(halves, firsts, parts, strict=True):
                    with b.if_(index > first):
                        self.add_values(half, held, index - 1 > first)
                    with b.if_(index >= first):
                        self.start_scores(half, q, k.tile)
                b.tcgen05_commit(self.k.empty[k.stage])
                with b.if_(index > 0):
                    b.tcgen05_commit(self.v.empty[held.value])
                held.set(values.take().stage)
            for half, first in zip(halves, firsts, strict=True):
                self.add_values(half, held, count - 1 > first)
            b.tcgen05_commit(self.v.empty[held.value])

    def start_scores(self, half: Half, q, k) -> None:
        """S = Q·Kᵀ."""
        b = self.b
        if not self.apart:
            b.wait(half.o_done, half.turn.parity ^ 1)
            b.tcgen05_fence_after_thread_sync()
        b.gemm_async(half.s, q, k)
        b.tcgen05_commit(half.s_full)

    def add_values(self, half: Half, held, accumulate) -> None:
        """O += P·V of the block whose V is held."""
        b = self.b
        b.wait(half.p_full, half.turn.parity)
        b.tcgen05_fence_after_thread_sync()
        b.gemm_async(half.o, half.p, self.v.slot(held.value).tile, accumulate=accumulate)
        b.tcgen05_commit(half.o_done)
        half.turn.advance()

    # ---- softmax -----------------------------------------------------------------------------

    def consume(self) -> None:
        """P of all blocks of a half, then O."""
        b, config, half = self.b, self.config, self.half(self.b.warpgroup)
        with self.q.consumer().until(self.total) as slot:
            head, first = self.item(slot.note)
            self.take_scales(head)
            row = first + b.warpgroup * HEIGHT
            blocks = self.blocks(row, HEIGHT)
            column = (blocks - 1) * config.block
            s = self.masked(self.seen(self.scores(half), row, column), row, column)
            self.m = b.variable(self.near(s.row_max()))
            p, sums = self.powers(s, finite(self.m.value))
            self.sums = b.variable(sums)
            self.hand_on(half, p)
            with b.range(blocks - self.unseen(first), start=1) as index:
                column = (blocks - 1 - index) * config.block
                s = self.masked(self.scores(half), row, column)
                p, part = map(b.variable, self.powers(s, self.m.value))
                few = part.value.vector[0] <= config.limit
                with b.if_(b.vote_sync(Vote.ALL, few) ^ 1):
                    self.correct(half, self.masked(half.s.load(), row, column), p, part)
                self.hand_on(half, p.value)
                self.sums.set(self.sums.value + part.value)
            b.wait(half.o_done, half.turn.parity ^ 1)
            b.tcgen05_fence_after_thread_sync()
            self.hand_over(half.o.load().scale_rows(self.factor()), slot.stage, row, head)

    def scores(self, half: Half):
        """A row of S of the next block, behind P·V of the block before.

        Who did not see each phase of `o_done` would take the one before for the last.
        """
        b = self.b
        b.wait(half.s_full, half.turn.parity)
        b.wait(half.o_done, half.turn.parity ^ 1)
        b.tcgen05_fence_after_thread_sync()
        return half.s.load()

    def hand_on(self, half: Half, p) -> None:
        """P to the thread that multiplies."""
        b = self.b
        p.as_tile(half.p)
        b.tcgen05_fence_before_thread_sync()
        b.bar_warp_sync()
        with b.elect():
            b.mbarrier_arrive(half.p_full)
        half.turn.advance()

    def masked(self, s, row, column):
        """What rows see of a block that is not an item's first."""
        self.s = Scores(self.b.variable(s))
        self.mask(row, column)
        return self.s.held.value

    def correct(self, half: Half, s, p, part) -> None:
        """A block of scores far above m: another m, and what there is of O scaled."""
        greatest = self.m.value.max(self.near(s.row_max()))
        shrink = (self.m.value - finite(greatest)).ex2(ftz=True)
        numbers, sums = self.powers(s, finite(greatest))
        p.set(numbers), part.set(sums), self.m.set(greatest)
        self.sums.set(self.sums.value * shrink)
        for first in range(0, self.config.d, 32):
            half.o.load(first, 32).scale_rows(shrink).as_tile(half.o, first=first)

    def leave(self) -> None:
        """Give tensor memory back."""
        self.b.bar_warp_sync()
        self.tensor.free()


def choose(d: int, *, causal: bool, dtype: ElementType = bf16) -> Config:
    """What fits into the shared memory of a multiprocessor."""
    stages, queries = {64: (4, 2), 128: (2, 1)}[d]
    return Config(d, causal, dtype, stages=stages, queries=queries, height=HEIGHT)


def build(config: Config) -> Kernel:
    """The kernel, as LLVM IR."""
    return BlackwellAttention(config).finish()


def main() -> None:
    """Run two heads of 200 rows on the simulator and compare with numpy."""
    for d, causal in ((64, True), (128, False)):
        n, config = 200, choose(d, causal=causal)
        q, k, v = operands(2, n, n, config)
        o, counter = np.zeros_like(q), np.zeros(1, np.uint32)
        arguments = q, k, v, o, counter, *numbers(config, 2, 1, n, n)
        build(config).compile().run(*arguments, grid=grid(config, 2, n, 3), device="sim")
        expected = attention(q, k, v, d**-0.5, causal=causal)
        apart = np.abs(o.astype(np.float64) - expected).max()
        assert apart < np.abs(v.astype(np.float32)).max() / 256, "the result differs from numpy"
        print(f"2 heads of {n}x{d}, {causal=}: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
