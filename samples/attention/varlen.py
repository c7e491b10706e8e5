"""Attention for Hopper over sequences of any lengths, packed side by side, with a window or none.

Q and O are rows × heads × d, the rows of all sequences one behind the other; so are K and V, whose
heads may be fewer.  `begins` and `begins_keys` say at which row each sequence begins, and at last
where the last one ends.  Causal, the last row of a sequence sees its last key, as FlashAttention
has it; with a window a row sees no more than so many keys.  A row that sees none has zeros.

What is behind a sequence's end is another's: its keys are masked, its values are multiplied by
zeros, so that they have to be numbers; rows of O that a tile has too many of are left alone, as the
warps themselves store such a tile, row by row, and TMA all others.  The rest is sample 14.

It has run on an H200: docs/attention.md.
"""

from __future__ import annotations

import importlib
import math
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from nvgen import Kernel, i32, u32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from attention.plan import Config, attention, grid, packed_numbers

plain = importlib.import_module("14_attention_sm90")
TARGET = plain.TARGET


class PackedAttention(plain.Attention):
    """The kernel under construction."""

    rank, numbers = 2, (*plain.Attention.numbers, "each")

    def declare(self) -> None:
        """Where sequences begin, and O for single rows, stand behind the scale."""
        super().declare()
        b = self.b
        b.pointer("begins", u32), b.pointer("begins_keys", u32)
        b.pointer("rows", self.config.dtype, output=True)
        b.u32("window")

    def item(self, number):
        """A sequence's head, of which all count, and its rows."""
        index, row = super().item(number)
        args, sequence = self.args, index // self.args["each"]
        self.first, self.first_key = args["begins"][sequence], args["begins_keys"][sequence]
        self.length = args["begins"][sequence + 1] - self.first
        self.end = args["begins_keys"][sequence + 1] - self.first_key
        self.shift = (self.end - self.length).to(i32)
        return index % args["each"], row

    def at(self, row, head) -> tuple:
        """Rows of all sequences are one behind the other."""
        return head * self.config.d, self.first + row

    def at_keys(self, row, head) -> tuple:
        """Keys are, too."""
        return head * self.config.d, self.first_key + row

    def when_there(self, row) -> AbstractContextManager:
        """A sequence may be shorter than the longest."""
        return self.b.if_(row < self.length)

    def when_whole(self, row) -> AbstractContextManager:
        """Rows behind a sequence's end are another's."""
        return self.b.if_(row + self.config.height <= self.length)

    def write(self, o, stage, row, head) -> None:
        """A tile for TMA, or each row that is the sequence's."""
        b, d, heads = self.b, self.config.d, self.args["each"]
        with self.when_whole(row):
            super().write(o, stage, row, head)
        with b.else_():
            left = self.length.max(row) - row
            corner = self.args["rows"].at(((self.first + row) * heads + head) * d)
            o.to(self.config.dtype).store(corner, heads * d, align=4, rows=lambda r: r < left)

    def blocks(self, row, rows: int):
        """The last row sees the last key."""
        block = self.config.block
        count = ((self.end + (block - 1)) // block).max(1)
        if not self.config.causal:
            return count
        seen = ((row + rows).to(i32) + self.shift).max(1).to(u32)
        return count.min((seen + (block - 1)) // block)

    def unseen(self, row):
        """How many blocks lie before the window of all rows from `row` on."""
        window, block = self.args["window"], self.config.block
        if not self.config.window:
            return 0
        last = ((row + 1).to(i32) + self.shift).max(window.to(i32)).to(u32)
        return ((last - window) // block).min(self.blocks(row, self.config.rows) - 1)

    def mask(self, row, column) -> None:
        """Leave what a row sees: the diagonal goes through two blocks, its window's end too."""
        b, s, config = self.b, self.s, self.config
        last, begin = row.to(i32) + self.shift, column.to(i32)
        if config.causal:
            with b.if_(begin + config.block - 1 > last):
                ends = s.rows(lambda r: r.to(i32) + (last - begin))
                s.set(s.where(lambda end, c: c.to(i32) <= end, -math.inf, of=ends))
        if config.window:
            behind = begin + self.args["window"].to(i32)
            with b.if_(behind < last + config.height):
                begins = s.rows(lambda r: r.to(i32) + (last - behind))
                s.set(s.where(lambda begin, c: c.to(i32) > begin, -math.inf, of=begins))


def build(config: Config) -> Kernel:
    """The kernel, as LLVM IR."""
    return PackedAttention(config).finish()


def operands(lengths, keys, heads: int, ratio: int, config: Config) -> tuple[np.ndarray, ...]:
    """Q, K and V of sequences one behind the other, and where these begin."""
    rng = np.random.default_rng(0)
    begins = [np.cumsum([0, *n]).astype(np.uint32) for n in (lengths, keys)]
    shapes = [(begins[0][-1], heads, config.d), *[(begins[1][-1], heads // ratio, config.d)] * 2]
    return *(rng.standard_normal(x).astype(config.dtype.numpy) for x in shapes), *begins


def expected(q, k, v, begins, begins_keys, config: Config, window: int = 0) -> np.ndarray:
    """What numpy gives, in f64, a sequence at a time; zeros where a row sees no key."""
    o = np.zeros(q.shape)
    for i in range(len(begins) - 1):
        rows, keys = (slice(x[i], x[i + 1]) for x in (begins, begins_keys))
        parts = (x.transpose(1, 0, 2) for x in (q[rows], k[keys], v[keys]))
        shift = int(keys.stop - keys.start) - int(rows.stop - rows.start)
        with np.errstate(all="ignore"):
            found = attention(
                *parts, config.d**-0.5, causal=config.causal, window=window, shift=shift
            )
        o[rows] = np.nan_to_num(found.transpose(1, 0, 2))
    return o


def main() -> None:
    """Run three sequences on the simulator and compare with numpy."""
    config, lengths, keys = (
        Config(64, causal=True, window=True, block=64),
        (70, 3, 130),
        (70, 90, 200),
    )
    *given, begins, begins_keys = operands(lengths, keys, 2, 2, config)
    o, counter, window = np.zeros_like(given[0]), np.zeros(1, np.uint32), 100
    q_, k_, v_, o_ = (x.reshape(len(x), -1) for x in (*given, o))
    numbers = packed_numbers(config, 2, 2, lengths, keys)
    build(config).compile().run(
        q_, k_, v_, o_, counter, *numbers, begins, begins_keys, o_, window,
        grid=grid(config, 6, max(lengths), 3), device="sim",
    )  # fmt: skip
    apart = np.abs(
        o.astype(np.float64) - expected(*given, begins, begins_keys, config, window)
    ).max()
    assert apart < 2.0**-5, "the result differs from numpy"
    print(f"{len(lengths)} sequences side by side: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
