"""What a sparse A, its metadata, a deep B and scale factors of warp-level multiplies are.

CUTLASS, include/cute/atom/mma_traits_sm120.hpp and mma_traits_sm120_sparse.hpp: layouts of (thread,
value), column-major in A (M, K) and B (N, K).  Threads among which a selector chooses have the
stride 0.  What has no traits there is from the manual's text and figures, in the same notation, and
from the sources that the library names: metadata of 16 and 32 bits.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.intrinsics.published.mma_fragments import FOUR_EIGHT, Layout

QUADS = (2, 2, 8)


class Metadata(NamedTuple):
    """A layout of the elements whose indices a register has, and elements that share one."""

    layout: Layout
    chunk: int
    threads: int  # of four, that have metadata


DEEP_B: dict[tuple[int, int], Layout] = {
    (16, 32): Layout((FOUR_EIGHT, 4), ((8, 1), 32)),
    (32, 16): Layout((FOUR_EIGHT, (2, 4)), ((16, 1), (8, 64))),
    (64, 8): Layout((FOUR_EIGHT, (4, 4)), ((32, 1), (8, 128))),
    (128, 4): Layout((FOUR_EIGHT, (8, 4)), ((64, 1), (8, 256))),
}
"""B by K and the bits of an element in a register, where no dense multiply is so deep."""

METADATA: dict[tuple[int, int], Metadata] = {
    (8, 32): Metadata(Layout((FOUR_EIGHT, (8, 2)), ((0, 1), (16, 8))), 2, 1),
    (16, 32): Metadata(Layout((QUADS, (8, 2)), ((128, 0, 1), (16, 8))), 2, 2),
    (16, 16): Metadata(Layout((FOUR_EIGHT, (16, 2)), ((0, 1), (16, 8))), 4, 1),
    (32, 16): Metadata(Layout((QUADS, (16, 2)), ((256, 0, 1), (16, 8))), 4, 2),
    (32, 8): Metadata(Layout((QUADS, 32), ((8, 0, 1), 16)), 4, 2),
    (64, 4): Metadata(Layout((QUADS, 64), ((8, 0, 1), 16)), 8, 2),
    (64, 8): Metadata(Layout((QUADS, 32), ((8, 512, 1), 16)), 4, 4),
    (128, 4): Metadata(Layout((QUADS, 64), ((8, 1024, 1), 16)), 8, 4),
}
"""Metadata by K and the bits of an element of A in a register.

K = 32 of bytes and 64 of four bits are an H100's, which was asked with one
index changed at a time: thread by thread, nibble by nibble, which row and chunk of D it changes.
"""

SPARSE_A: dict[tuple[int, int], Layout] = {
    (64, 8): Layout((FOUR_EIGHT, (8, 2, 2)), ((128, 1), (16, 8, 512))),
    (128, 4): Layout((FOUR_EIGHT, (16, 2, 2)), ((256, 1), (16, 8, 1024))),
}
"""All elements, zeros included, that the registers of a sparse A stand for."""

SCALES: dict[str, Layout] = {
    "a": Layout((QUADS, 64), ((8, 0, 1), 16)),
    "b": Layout((FOUR_EIGHT, 64), ((0, 1), 8)),
}
"""The elements that the factors of each thread scale, in a multiply of K = 64."""
