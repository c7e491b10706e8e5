"""Attention for Blackwell over packed sequences of any lengths, with a window or none.

attention/varlen.py says where sequences lie, what their rows see and how a tile's last rows are
stored, attention/sm100.py how a CTA multiplies: their classes are joined, and the arguments of a
launch are those of the former.  Heads of K and V may be fewer than those of Q.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nvgen import Kernel

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from attention.plan import Config, grid, packed_numbers
from attention.sm100 import HEIGHT, TARGETS, BlackwellAttention
from attention.varlen import PackedAttention, expected, operands


class PackedBlackwellAttention(PackedAttention, BlackwellAttention):
    """The kernel under construction."""

    name = "attention_sm100_varlen"


def choose(d: int, *, causal: bool, window: bool = False) -> Config:
    """What fits into the shared memory of a multiprocessor."""
    stages, queries = {64: (4, 2), 128: (2, 1)}[d]
    return Config(d, causal, stages=stages, queries=queries, height=HEIGHT, window=window)


def build(config: Config) -> Kernel:
    """The kernel, as LLVM IR."""
    return PackedBlackwellAttention(config).finish()


def main() -> None:
    """Run three sequences on the simulator and compare with numpy."""
    config, lengths, keys = choose(64, causal=True, window=True), (70, 3, 300), (70, 90, 300)
    *given, begins, begins_keys = operands(lengths, keys, 2, 2, config)
    o, counter, window = np.zeros_like(given[0]), np.zeros(1, np.uint32), 100
    q_, k_, v_, o_ = (x.reshape(len(x), -1) for x in (*given, o))
    numbers = packed_numbers(config, 2, 2, lengths, keys)
    build(config).compile(target=TARGETS[0]).run(
        q_, k_, v_, o_, counter, *numbers, begins, begins_keys, o_, window,
        grid=grid(config, 6, max(lengths), 3), device="sim",
    )  # fmt: skip
    right = expected(*given, begins, begins_keys, config, window)
    apart = np.abs(o.astype(np.float64) - right).max()
    assert apart < 2.0**-5, "the result differs from numpy"
    print(f"{len(lengths)} sequences side by side: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()
