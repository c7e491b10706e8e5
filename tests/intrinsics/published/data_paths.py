"""Where D, and A in tensor memory, lie: layouts A to G.

Sources: PTX ISA, Data Path Layout Organization (the table of M, CTAs, sparsity and .ws, and the
datapath organisations "4x1", "2x2", "1x4"); CUTLASS, include/cute/atom/mma_traits_sm100_frag.hpp
(tmem_frg, tmem_frg_ws, and TmemAllocMode with its comment on A of a pair with M = 128); Triton,
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp (tensorMemoryToLinearLayout: blocks of 64 rows
in lanes 0 to 15, 32 to 47, ...).

- The manual calls layout E "2x3"; CUTLASS's tmem_frg_ws "2x2", and no matrix fits three.
- Layout C (a sparse pair with M = 128) rests on the manual's words, "4x1 (1/2 datapath utilized)",
  the same as of layout F: CUTLASS has metadata for M = 256 only.
- A copy of A in each lane group: CUTLASS says so of layout B; of layouts E and G, DeepSeek's
  FlashMLA, csrc/kerutils/include/kerutils/device/sm100/gemm.cuh (its atom of .ws with A in tensor
  memory: "duplicated") and a public TIRx emulator (tcgen05/layouts.rs: 2 and 4 banks of A).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.intrinsics.published.cute import Ints, Nest, grid


@dataclass(frozen=True)
class Published:
    """One row of the manual's table, and the fragment of one CTA.

    `m` is the instruction's M; `shape` and `stride` give lane + 128 * column of the rows of one CTA
    by N columns, for a given N.  `copies` are the lanes at which each further copy of A begins.
    """

    m: int
    group: int
    ws: bool
    sparse: tuple[bool, ...]
    starts: tuple[int, ...]
    copies: tuple[int, ...]
    columns: tuple[int, ...]

    def rows(self) -> int:
        """Rows of D that one CTA holds."""
        return self.m // self.group


BOTH = (False, True)
TABLE = {
    "A": Published(256, 2, False, BOTH, (0,), (0,), (16, 128, 256)),
    "B": Published(128, 2, False, (False,), (0,), (0, 64), (16, 128, 256)),
    "C": Published(128, 2, False, (True,), (0, 16), (0,), (16, 128, 256)),
    "D": Published(128, 1, False, BOTH, (0,), (0,), (8, 128, 256)),
    "E": Published(64, 1, True, BOTH, (0,), (0, 64), (64, 128, 256)),
    "F": Published(64, 1, False, BOTH, (0, 16), (0,), (8, 128, 256)),
    "G": Published(32, 1, True, BOTH, (0,), (0, 32, 64, 96), (64, 128, 256)),
}


def fragment(letter: str, n: int) -> Ints:
    """lane + 128 * column of one CTA's rows of D by n columns."""
    shape: tuple[Nest, Nest]
    stride: tuple[Nest, Nest]
    match letter:
        case "A" | "D":
            shape, stride = (128, n), (1, 128)
        case "B" | "E":
            shape, stride = (64, (n // 2, 2)), (1, (128, 64))
        case "C" | "F":
            shape, stride = ((16, 4), n), ((1, 32), 128)
        case _:
            shape, stride = (32, (n // 4, 4)), (1, (128, 32))
    return grid(shape, stride)


def accumulator(letter: str, n: int) -> tuple[Ints, Ints, Ints]:
    """Rank, lane and column of each element of D, each of shape (M, n)."""
    row = TABLE[letter]
    one = fragment(letter, n)
    whole = np.concatenate([one] * row.group)
    rank = np.repeat(np.arange(row.group), row.rows())[:, None] + np.zeros(n, dtype=np.int64)
    return rank, whole % 128, whole // 128


def operand(letter: str, copy: int, columns: int) -> tuple[Ints, Ints, Ints]:
    """Rank, lane and column of each cell of one copy of A, each of shape (M, columns)."""
    row = TABLE[letter]
    lanes = fragment(letter, 256)[:, 0] % 128 + row.copies[copy]
    lane = np.concatenate([lanes] * row.group)[:, None] + np.zeros(columns, dtype=np.int64)
    rank = np.repeat(np.arange(row.group), row.rows())[:, None] + np.zeros(columns, dtype=np.int64)
    return rank, lane, np.zeros_like(lane) + np.arange(columns)


def triton(rows: int, n: int) -> Ints:
    """lane + 128 * column by Triton's bits of the row: of 64 rows bit 4 is left out."""
    bits = [1, 2, 4, 8, 32, 64] if rows == 64 else [1, 2, 4, 8, 16, 32, 64]
    row = np.arange(rows)
    lane = sum((row >> i & 1) * step for i, step in enumerate(bits))
    return np.asarray(lane)[:, None] + 128 * np.arange(n)
