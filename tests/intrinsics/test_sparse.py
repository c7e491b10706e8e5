"""Sparse A: which zeros are kept, and what does not fit; all else is asked in `published`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from intrinsics.layouts.sparse import (
    SparseColumns,
    compress,
    decompress,
    sparse_columns,
)
from intrinsics.modifiers import MmaKind as K
from tests.each import each


@pytest.mark.parametrize(
    ("kind", "k", "bits", "metadata_bits"),
    [
        (K.TF32, 16, 32, 8 * 4),  # 8 chunks of two
        (K.F16, 32, 16, 8 * 4),  # 8 chunks of four
        (K.F8F6F4, 64, 8, 16 * 4),
        (K.I8, 64, 8, 16 * 4),
        (K.MXF4, 128, 4, 16 * 4),  # 16 chunks of eight
    ],
)
def test_what_one_instruction_reads(kind: K, k: int, bits: int, metadata_bits: int) -> None:
    """Half of a row of 64 bytes is stored: eight columns of 32 bits."""
    assert sparse_columns(kind, k, bits) == SparseColumns(8, metadata_bits // 32)
    assert sparse_columns(kind, 4 * k, bits) == SparseColumns(32, metadata_bits // 8)


@pytest.mark.parametrize("k", [0, 16, 48])
def test_a_k_that_a_sparse_instruction_does_not_have(k: int) -> None:
    with pytest.raises(ValueError, match="multiple of 32"):
        sparse_columns(K.F16, k, 16)


# ---- compression -----------------------------------------------------------------------------


@each("pattern", [*itertools.product((0, 1), repeat=4)])
def test_chunks_with_few_non_zeros_keep_their_first_zeros(pattern: tuple[int, ...]):
    codes = (np.array(pattern, np.uint16) * np.array([1, 2, 3, 4], np.uint16))[None, :]
    if sum(pattern) > 2:
        with pytest.raises(ValueError, match=f"elements 0 to 3: {sum(pattern)} non-zeros"):
            compress(codes, K.F16)
        return
    filled = [place for place in range(4) if pattern[place]]
    empty = [place for place in range(4) if not pattern[place]]
    first, second = sorted([*filled, *empty][:2])
    values, metadata = compress(codes, K.F16)
    assert metadata[0, 0] == second << 2 | first
    assert values[0].tolist() == codes[0, [first, second]].tolist()


def test_a_negative_zero_is_kept():
    """Its bits are not zero, so that what comes back is the same to the bit."""
    codes = np.array([[0, 0, 0x8000, 0]], np.uint16)
    values, metadata = compress(codes, K.F16)
    assert values.tolist() == [[0, 0x8000]]
    assert metadata.tolist() == [[0b1000]]


def test_a_pair_of_fp4_is_kept_whole():
    codes = np.array([[0, 0, 5, 0, 0, 0, 0, 7]], np.uint8)
    values, metadata = compress(codes, K.MXF4)
    assert values.tolist() == [[5, 0, 0, 7]]
    assert metadata.tolist() == [[0b1101]]
    with pytest.raises(ValueError, match="elements 0 to 7: 3 pairs that are not zero, at most 2"):
        compress(np.array([[1, 0, 1, 0, 1, 0, 0, 0]], np.uint8), K.MXF4)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="K = 6 is no multiple of 4"):
        compress(np.zeros((2, 6), np.uint8), K.I8)
    with pytest.raises(ValueError, match="indices of 4 elements"):
        decompress(np.zeros((2, 6), np.uint8), np.full((2, 2), 4, np.uint8), K.I8)
