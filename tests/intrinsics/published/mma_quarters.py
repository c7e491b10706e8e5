"""Which element each of eight threads and each value of mma.m8n8k4 of f16 is.

CUTLASS, include/cute/atom/mma_traits_sm70.hpp: layouts of (thread, value), column-major in A (M,
K), B (N, K) and C (M, N); `THREADS` are the lanes of the first of the four multiplies of a warp.
"""

from __future__ import annotations

import numpy as np

from tests.intrinsics.published.cute import Ints, grid
from tests.intrinsics.published.mma_fragments import Layout

THREADS: Ints = grid(((4, 2),), ((1, 16),))
FACTORS = {
    ("a", "row"): Layout((8, 4), (1, 8)),
    ("a", "col"): Layout(((4, 2), 4), ((8, 4), 1)),
    ("b", "col"): Layout((8, 4), (1, 8)),
    ("b", "row"): Layout(((4, 2), 4), ((8, 4), 1)),
}
"""A and B by what is contiguous."""

SUMS = {
    16: Layout((8, 8), (1, 8)),
    32: Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32))),
}
"""C and D by the bits of an element."""


def quarter_places(layout: Layout) -> tuple[Ints, Ints, Ints]:
    """The multiply, the row and the column of each of 32 threads' values."""
    found = grid(layout.shape, layout.stride)
    cells = np.zeros((3, 32, found.shape[1]), np.int64)
    for quarter in range(4):
        lanes = THREADS + 4 * quarter
        cells[:, lanes] = np.stack([np.full_like(found, quarter), found % 8, found // 8])
    return cells[0], cells[1], cells[2]
