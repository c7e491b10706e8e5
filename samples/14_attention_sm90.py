"""Attention for Hopper: O = softmax(Q·Kᵀ·scale)·V, forward, causal or not, d = 64, 128 or 256.

A CTA stays and takes item after item: some rows of Q of a head.  One warp brings tiles of Q, K
and V by TMA and runs ahead into the next items, one stores O by TMA, and each of two or three
warpgroups multiplies 64 rows.  The items that have the most to do come first, and whoever is
through takes the next number of a counter in global memory, which the last one leaves at zero.

    tensor cores   S₁ = Q·K₁ᵀ   O += P₀·V₀     S₂ = Q·K₂ᵀ   O += P₁·V₁     …
    registers                   P₁ = 2^(S₁ - m)             P₂ = 2^(S₂ - m)

P never leaves the registers: as bf16 or f16 it is A of the next multiply (attention/blocks.py).
Blocks of keys come from the last one on, so that only the first has a mask: for what is causal,
and for rows behind the end, which TMA fills with zeros.  Arrays are heads × length × d; Q and O
have `ratio` times as many heads as K and V, and the lengths may differ.
It has run on an H100 and an H200: docs/attention.md has figures and method.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nvgen import Kernel, KernelBuilder, Major, u32

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from attention.blocks import Blocks
from attention.plan import PLAIN, ROWS, Config, attention, choose, grid, numbers, operands

TARGET, TARGETS = "sm_90a", ("sm_90a",)


class Attention(Blocks):
    """The kernel under construction."""

    name, target = "attention_sm90", TARGET
    rank, numbers = 3, ("heads", "ratio", "length", "keys", "section")
    registers = {2: (24, 240), 3: (32, 160)}  # noqa: RUF012  # of other roles, of multiplying ones

    def __init__(self, config: Config) -> None:
        self.config, threads = config, (config.warpgroups + 1) * 128
        b = self.b = KernelBuilder(
            self.name, block=threads, dynamic_shared=True, target=self.target, minctasm=1
        )
        self.declare()
        self.args = b.begin()
        self.allocate()

    def declare(self) -> None:
        """The parameters."""
        b, d, dtype, block = self.b, self.config.d, self.config.dtype, self.config.block
        b.tile_map("q", dtype, (self.config.rows, d), rank=self.rank)
        b.tile_map("k", dtype, (block, d), rank=self.rank)
        b.tile_map("v", dtype, (d, block), rank=self.rank, major=Major.MN)
        b.tile_map("o", dtype, (self.config.height, d), rank=self.rank, output=True)
        b.pointer("counter", u32)
        for name in self.numbers:
            b.u32(name)
        b.f32("scale")

    def allocate(self) -> None:
        """Rings of tiles, and mbarriers that tell of O."""
        b, config, d, dtype = self.b, self.config, self.config.d, self.config.dtype
        shapes, lines = ((config.rows, d), (config.block, d)), {"swizzle": config.swizzle}
        q_tiles = b.shared_tiles("q_tiles", dtype, shapes[0], config.queries, **lines)
        k_tiles = b.shared_tiles("k_tiles", dtype, shapes[1], config.stages, **lines)
        self.q = b.tile_ring("q", q_tiles, notes=True)
        self.k = self.ring("k", k_tiles)
        self.rings, self.o_tiles = [self.q, self.k], q_tiles  # O lies where Q was
        self.allocate_values()
        self.o_full = b.mbarriers("o_full", config.queries)
        counted = [pair for ring in self.rings for pair in ring.mbarriers]
        b.make_mbarriers(*counted, (self.o_full, config.warpgroups * 4))

    def allocate_values(self) -> None:
        """The ring that V is brought to, which is that it is multiplied from."""
        b, config, shape = self.b, self.config, (self.config.d, self.config.block)
        tiles = b.shared_tiles("v_tiles", config.dtype, shape, config.stages, major=Major.MN)
        self.v = self.brought = self.ring("v", tiles)
        self.rings.append(self.v)

    def ring(self, name: str, tiles):
        """Buffers that all multiplying warps give back: each may multiply a block again."""
        return self.b.tile_ring(name, tiles, consumers=self.config.warpgroups, warps=4)

    def finish(self) -> Kernel:
        """The three roles."""
        b, count = self.b, self.config.warpgroups
        few, many = self.registers[count]
        self.length, self.end, self.shift = self.args["length"], self.args["keys"], 0
        self.across = (self.length + (self.config.rows - 1)) // self.config.rows
        self.total = self.args["heads"] * self.across
        with b.if_warpgroup(count):
            b.setmaxnreg_dec(few)
            with b.if_warp(count * 4), b.elect():
                self.produce()
            with b.if_warp(count * 4 + 1), b.elect():
                self.store()
            self.help()
        with b.if_warpgroup(0, count):
            b.setmaxnreg_inc(many)
            self.consume()
        self.leave()
        return b.finish()

    # ---- items -------------------------------------------------------------------------------

    def item(self, number):
        """The head and the first row of an item: the last rows of all heads of a section first."""
        section, across = self.args["section"], self.across
        first = number // (section * across) * section
        inside = number - first * across
        heads = (self.args["heads"] - first).min(section)
        return first + inside % heads, (across - 1 - inside // heads) * self.config.rows

    # ---- roles -------------------------------------------------------------------------------

    def produce(self) -> None:
        """Take items; bring Q, and blocks of K and V, the last ones first."""
        b, args, config = self.b, self.args, self.config
        queries, keys, values = self.q.producer(), self.k.producer(), self.brought.producer()
        with b.items(args["counter"], self.total) as number:
            head, row = self.item(number)
            with self.when_there(row):
                with queries.fill(note=number) as slot:
                    b.load_tile(slot.tile, args["q"], self.at(row, head), slot.full)
                blocks = self.blocks(row, config.rows)
                with b.range(blocks - self.unseen(row)) as index:
                    at = self.at_keys((blocks - 1 - index) * config.block, head // args["ratio"])
                    for end, tmap in ((keys, "k"), (values, "v")):
                        with end.fill() as slot:
                            b.load_tile(slot.tile, args[tmap], at, slot.full)
        queries.send(self.total)  # nothing more comes
        keys.drain(), values.drain()

    def store(self) -> None:
        """Store O, and give its buffer, which is Q's, back."""
        b, place, height = self.b, self.b.ring(self.config.queries), self.config.height
        with self.q.consumer().until(self.total) as slot:
            head, row = self.item(slot.note)
            b.wait(self.o_full[place.stage], place.parity)
            for first in range(0, self.config.rows, height):
                part = self.o_tiles[slot.stage].part(first, height)
                with self.when_whole(row + first):
                    b.store_tile(part, self.args["o"], self.at(row + first, head))
            b.cp_async_bulk_wait_group_read(0)
            b.mbarrier_arrive(self.q.empty[slot.stage])
            place.advance()

    def consume(self) -> None:
        """Multiply 64 rows of each item."""
        b, config, first = self.b, self.config, self.b.warpgroup * ROWS
        self.keys, self.values = self.k.consumer(), self.v.consumer()
        s, o = b.warpgroup_tile(ROWS, config.block), b.warpgroup_tile(ROWS, config.d)
        self.s, self.o, self.held = s, o, b.variable(0)
        self.m, self.sums = b.variable(s.rows(0.0)), b.variable(s.rows(0.0))
        self.p = b.variable(self.packed(s.fragment))
        with self.q.consumer().until(self.total) as slot:
            head, row = self.item(slot.note)
            self.take_scales(head)
            q, blocks = slot.tile.part(first, ROWS), self.blocks(row + first, ROWS)
            if config.rows % config.block or (config.causal and config.rows != config.block):
                blocks = b.select(row + first < self.length, blocks, 1 + self.unseen(row))
                with b.range(self.blocks(row, config.rows) - blocks):  # others need those
                    self.keys.release(self.keys.take()), self.values.release(self.values.take())
            self.begin(q, row + first, (blocks - 1) * config.block)
            with b.range(blocks - self.unseen(row), start=1) as index:
                self.go_on(q, row + first, (blocks - 1 - index) * config.block)
            self.multiply_values()
            b.wgmma_wait_group(0)
            self.values.release(self.held.value)
            self.hand_over(o.scale_rows(self.factor()), slot.stage, row + first, head)


def build(config: Config = PLAIN) -> Kernel:
    """The kernel, as LLVM IR."""
    return Attention(config).finish()


def main() -> None:
    """Run two heads of 136 rows on the simulator and compare with numpy."""
    for causal in (False, True):
        n, config = 136, choose(64, 136, causal=causal)
        q, k, v = operands(2, n, n, config)
        o, counter = np.zeros_like(q), np.zeros(1, np.uint32)
        arguments = q, k, v, o, counter, *numbers(config, 2, 1, n, n)
        build(config).compile().run(*arguments, grid=grid(config, 2, n, 3), device="sim")
        expected = attention(q, k, v, config.d**-0.5, causal=causal)
        apart = np.abs(o.astype(np.float64) - expected).max()
        assert apart < np.abs(v.astype(np.float32)).max() / 256, "the result differs from numpy"
        print(f"2 heads of {n}x{config.d}, {causal=}: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
