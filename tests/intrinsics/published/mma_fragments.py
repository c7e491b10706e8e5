"""Which element of A, B, C and D each thread and value of a warp-level multiply is.

CUTLASS, include/cute/atom/mma_traits_sm80.hpp, _sm89.hpp, _sm90.hpp and _sm120.hpp: layouts of
(thread, value), column-major in A (M, K), B (N, K) and C (M, N).  What has no traits there (f16 of
m8n8k4 aside) is from the manual's figures, in the same notation: four bits with K = 32.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.intrinsics.published.cute import Ints, Nest, grid


class Layout(NamedTuple):
    """(thread shape, value shape) and (thread stride, value stride)."""

    shape: tuple[Nest, Nest]
    stride: tuple[Nest, Nest]


FOUR_EIGHT = (4, 8)


def _of(values: Nest, threads: tuple[int, int], strides: Nest) -> Layout:
    return Layout((FOUR_EIGHT, values), (threads, strides))


_8X4 = _of(1, (8, 1), 0)
_8X8 = _of(2, (16, 1), 8)
_8X16 = _of(4, (32, 1), 8)
_8X32 = _of(8, (64, 1), 8)  # the manual's figures for .s4
_8X128 = _of(32, (256, 1), 8)
_16X8 = _of((2, 2), (32, 1), (16, 8))
_SIDE = _of((2, 2), (16, 1), (8, 64))

FACTORS: dict[tuple[int, int, int, int], tuple[Layout, Layout]] = {
    (16, 8, 8, 16): (_16X8, _8X8),
    (16, 8, 16, 16): (_of((2, 2, 2), (32, 1), (16, 8, 128)), _of((2, 2), (16, 1), (8, 64))),
    (16, 8, 4, 32): (_of(2, (16, 1), 8), _8X4),
    (16, 8, 8, 32): (_SIDE, _of(2, (8, 1), 32)),
    (8, 8, 4, 64): (_8X4, _8X4),
    (16, 8, 4, 64): (_of(2, (16, 1), 8), _8X4),
    (16, 8, 8, 64): (_SIDE, _of(2, (8, 1), 32)),
    (16, 8, 16, 64): (_of((2, 4), (16, 1), (8, 64)), _of(4, (8, 1), 32)),
    (8, 8, 16, 8): (_8X16, _8X16),
    (16, 8, 16, 8): (_of((4, 2), (64, 1), (16, 8)), _8X16),
    (16, 8, 32, 8): (_of((4, 2, 2), (64, 1), (16, 8, 256)), _of((4, 2), (32, 1), (8, 128))),
    (8, 8, 32, 4): (_8X32, _8X32),
    (16, 8, 32, 4): (_of((8, 2), (128, 1), (16, 8)), _8X32),
    (16, 8, 64, 4): (_of((8, 2, 2), (128, 1), (16, 8, 512)), _of((8, 2), (64, 1), (8, 256))),
    (8, 8, 128, 1): (_8X128, _8X128),
    (16, 8, 128, 1): (_of((32, 2), (512, 1), (16, 8)), _8X128),
    (16, 8, 256, 1): (_of((32, 2, 2), (512, 1), (16, 8, 2048)), _of((32, 2), (256, 1), (8, 1024))),
}
"""Layouts of A and B by M, N, K and the bits of an element in a register."""

SUMS = {8: _8X8, 16: _16X8}
"""Layouts of C and D by M."""


def places(layout: Layout, rows: int) -> tuple[Ints, Ints]:
    """The row and column of each of 32 threads' values, in a matrix of so many rows."""
    found = grid(layout.shape, layout.stride)
    return found % rows, found // rows
