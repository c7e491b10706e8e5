"""wgmma's registers: CuTe's layouts of D, A and the metadata of A, and ours.

Sources: CUTLASS, include/cute/atom/mma_traits_sm90_gmma.hpp (CLayout_64xN, ALayout_64xK) and
mma_traits_sm90_gmma_sparse.hpp (ELayout_64xK).  They send a thread and one of its values to
m + 64 k.  Of a sparse A CuTe counts the zeros, too: one of two values is stored.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.fragments_wgmma import a_fragment, accumulator_fragment, metadata_fragment
from tests.each import each
from tests.intrinsics.published.cute import Ints, Nest, grid

WIDTHS = range(8, 257, 8)


def matrix(values: Nest, steps: Nest, threads: Nest, thread_steps: Nest) -> tuple[Ints, Ints]:
    """Row and column of each value of each of 128 threads."""
    offsets = grid((threads, values), (thread_steps, steps))
    return offsets % 64, offsets // 64


@each("n", WIDTHS)
@each("bits", [16, 32])
def test_accumulators(n: int, bits: int) -> None:
    expected = matrix((2, 2, n // 8), (64, 8, 512), (4, 8, 4), (128, 1, 16))
    for got, wanted in zip(accumulator_fragment(n, bits), expected, strict=True):
        assert got.shape == (128, n * bits // 64, 32 // bits)
        assert np.array_equal(got.reshape(128, -1), wanted)


A_LAYOUTS: dict[int, tuple[Nest, Nest, int]] = {
    32: ((2, 2), (8, 256), 64),
    16: ((2, 2, 2), (64, 8, 512), 128),
    8: ((4, 2, 2), (64, 8, 1024), 256),
}
"""Values with their steps, and the step of the first four threads, by bits of an element."""


@pytest.mark.parametrize("bits", A_LAYOUTS)
def test_a(bits: int) -> None:
    values, steps, step = A_LAYOUTS[bits]
    expected = matrix(values, steps, (4, 8, 4), (step, 1, 16))
    for got, wanted in zip(a_fragment(bits), expected, strict=True):
        assert got.shape == (128, 4, 32 // bits)
        assert np.array_equal(got.reshape(128, -1), wanted)


def test_single_bits_lie_as_bytes_do() -> None:
    """CUTLASS has no layout for them; a byte of eight bits takes the place of a byte."""
    (row, column), (byte_row, byte) = a_fragment(1), a_fragment(8)
    assert np.array_equal(row.reshape(128, 4, 4, 8)[..., 0], byte_row)
    assert np.array_equal(column.reshape(128, 4, 4, 8), byte[..., None] * 8 + np.arange(8))


# ---- metadata --------------------------------------------------------------------------------

HALVES = (((2, 2, 8, 4), (16, 2)), ((1024, 0, 1, 16), (64, 8)), 4)
WORDS = (((2, 2, 8, 4), (8, 2)), ((512, 0, 1, 16), (64, 8)), 2)
BYTES = (((2, 2, 8, 4), 32), ((8, 2048, 1, 16), 64), 4)
"""Threads and values, their steps, and elements that share an index: ELayout_64x32, 64x16, 64x64.

A step of 0 belongs to the pairs of threads among which the selector chooses.
"""


@pytest.mark.parametrize(
    ("layout", "bits", "selector"),
    [(HALVES, 16, 0), (HALVES, 16, 1), (WORDS, 32, 0), (WORDS, 32, 1), (BYTES, 8, 0)],
)
def test_metadata(
    layout: tuple[tuple[Nest, Nest], tuple[Nest, Nest], int], bits: int, selector: int
) -> None:
    (threads, values), steps, size = layout
    row, column = matrix(values, steps[1], threads, steps[0])
    thread, bit = metadata_fragment(bits, selector)
    assert thread.shape == bit.shape == (64, column.max() // size + 1)
    per = 32 // 4 * size  # elements whose indices fill a register
    assert row.shape == (128, per)
    seen = np.zeros((128, 8), np.int64)
    for m in range(64):
        for chunk in range(thread.shape[1]):
            holder, place = int(thread[m, chunk]), int(bit[m, chunk])
            at = place // 4 * size
            assert place % 4 == 0
            assert (row[holder, at : at + size] == m).all()
            assert (column[holder, at : at + size] == chunk * size + np.arange(size)).all()
            assert bits == 8 or holder // 2 % 2 == selector
            seen[holder, place // 4] += 1
    assert set(seen.sum(axis=1).tolist()) == ({8} if bits == 8 else {0, 8})


# ---- what is refused -------------------------------------------------------------------------


def test_what_does_not_exist_is_refused() -> None:
    for call in (
        lambda: accumulator_fragment(12),
        lambda: accumulator_fragment(8, 8),
        lambda: a_fragment(24),
        lambda: metadata_fragment(4),
        lambda: metadata_fragment(8, 1),
        lambda: metadata_fragment(16, 2),
    ):
        with pytest.raises(ValueError, match=r"\d"):
            call()
