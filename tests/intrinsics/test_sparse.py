"""Sparse A: columns counted from the manual's granularities, products against dense ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.layouts.packing import Codes
from intrinsics.layouts.sparse import (
    SparseColumns,
    chunk,
    compress,
    decompress,
    indices,
    sparse_columns,
)
from intrinsics.modifiers import MmaKind as K
from tests.each import each
from tests.turns import examples


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


def test_chunks_are_those_of_the_granularity() -> None:
    assert {kind: chunk(kind) for kind in (K.TF32, K.F16, K.MXF8F6F4, K.MXF4NVF4)} == {
        K.TF32: 2, K.F16: 4, K.MXF8F6F4: 4, K.MXF4NVF4: 8,
    }  # fmt: skip


@pytest.mark.parametrize("k", [0, 16, 48])
def test_a_k_that_a_sparse_instruction_does_not_have(k: int) -> None:
    with pytest.raises(ValueError, match="multiple of 32"):
        sparse_columns(K.F16, k, 16)


# ---- compression -----------------------------------------------------------------------------

KINDS = (K.TF32, K.F16, K.F8F6F4, K.MXF8F6F4, K.I8, K.MXF4, K.MXF4NVF4)
PAIRS = {  # the manual's indices, as the places of what is stored first and second
    0b0100: (0, 1),
    0b1000: (0, 2),
    0b1100: (0, 3),
    0b1001: (1, 2),
    0b1101: (1, 3),
    0b0110: (2, 1),
    0b1110: (2, 3),
}
HALVES = {0b0100: 0, 0b1110: 1}


def kept_elements(index: int, kind: K) -> list[int]:
    """Where in its chunk each stored element belongs."""
    if kind is K.TF32:
        return [HALVES[index]]
    if kind in (K.MXF4, K.MXF4NVF4):
        return [2 * place + half for place in PAIRS[index] for half in (0, 1)]
    return [*PAIRS[index]]


def sparse_matrix(kind: K, m: int, k: int, seed: int) -> Codes:
    """A matrix whose chunks have up to as many non-zeros as fit, at any of the allowed places."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 16, (m, k)).astype(np.uint8)
    size = chunk(kind)
    for row in range(m):
        for start in range(0, k, size):
            index = int(random.choice(indices(kind)))
            kept = [start + place for place in kept_elements(index, kind)]
            dropped = sorted({*range(start, start + size)} - {*kept})
            codes[row, dropped] = 0
    return codes


@examples(120)
@given(st.sampled_from(KINDS), st.integers(1, 9), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_what_is_compressed_comes_back(kind: K, m: int, chunks: int, seed: int):
    codes = sparse_matrix(kind, m, chunks * chunk(kind), seed)
    values, metadata = compress(codes, kind)
    assert values.shape == (m, chunks * chunk(kind) // 2)
    assert metadata.shape == (m, chunks)
    assert metadata.dtype == np.uint8
    assert values.dtype == codes.dtype
    assert np.array_equal(decompress(values, metadata, kind), codes)
    assert {*metadata.ravel().tolist()} <= {*indices(kind)} - {0b0110}


@examples(60)
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_the_product_is_that_of_the_dense_matrix(kind: K, seed: int):
    """Sums over what is stored, each with the row of B that the index names."""
    m, n, chunks = 5, 3, 4
    a = sparse_matrix(kind, m, chunks * chunk(kind), seed)
    b = np.random.default_rng(seed).integers(-8, 8, (a.shape[1], n))
    values, metadata = compress(a, kind)
    product = np.zeros((m, n), np.int64)
    stored = chunk(kind) // 2
    for row, number in np.ndindex(m, chunks):
        for i, place in enumerate(kept_elements(int(metadata[row, number]), kind)):
            value = int(values[row, number * stored + i])
            product[row] += value * b[number * chunk(kind) + place]
    assert np.array_equal(product, a.astype(np.int64) @ b)


@pytest.mark.parametrize("kind", KINDS)
def test_every_index(kind: K):
    """Indices that the manual lists put the values where they name; others are refused."""
    stored = chunk(kind) // 2
    values = np.arange(1, stored + 1, dtype=np.uint8)[None, :]
    for index in range(16):
        metadata = np.array([[index]], np.uint8)
        if index not in (HALVES if kind is K.TF32 else PAIRS):
            with pytest.raises(ValueError, match=f"row 0, chunk 0: index 0b{index:04b}"):
                decompress(values, metadata, kind)
            continue
        expected = np.zeros(chunk(kind), np.uint8)
        expected[kept_elements(index, kind)] = values[0]
        assert decompress(values, metadata, kind)[0].tolist() == expected.tolist()


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
