"""Sparse A: compression, expansion, and where metadata lies."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.data_paths import data_path
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.sparse import chunk, compress, decompress
from intrinsics.modifiers import MmaKind
from tests.each import each
from tests.intrinsics.published.sparsity import (
    CHUNK,
    PAIRS,
    SINGLES,
    SWAPPED,
    expand,
    metadata,
    metadata_of_half,
    random_sparse,
)

K = {"F16": 32, "TF32": 16, "F8F6F4": 64, "I8": 64, "MXF8F6F4": 64, "MXF4": 128, "MXF4NVF4": 128}
"""K of one sparse instruction (PTX ISA, Table 39)."""


@pytest.mark.parametrize(("kind", "elements"), CHUNK.items())
def test_chunk(kind: str, elements: int) -> None:
    assert chunk(MmaKind[kind]) == elements


@each("kind", CHUNK)
@each("seed", range(3))
def test_decompress(kind: str, seed: int) -> None:
    values, indices, dense = random_sparse(kind, 16, K[kind], seed)
    got = decompress(values.astype(np.uint8), indices.astype(np.uint8), MmaKind[kind])
    assert np.array_equal(got, dense)


@each("kind", CHUNK)
@each("index", range(16))
def test_every_index(kind: str, index: int) -> None:
    """What each of the 16 indices does to a chunk; those without meaning are refused."""
    legal = SINGLES if CHUNK[kind] == 2 else PAIRS | SWAPPED
    values = np.arange(1, CHUNK[kind] // 2 + 1, dtype=np.uint8)[None, :]
    indices = np.array([[index]], dtype=np.uint8)
    if index not in legal:
        with pytest.raises(ValueError, match=f"row 0, chunk 0: index 0b{index:04b}"):
            decompress(values, indices, MmaKind[kind])
        return
    expected = expand(values.astype(np.int64), indices.astype(np.int64), kind)
    assert np.array_equal(decompress(values, indices, MmaKind[kind]), expected)


@each("kind", CHUNK)
@each("seed", range(3))
def test_compress_finds_the_only_way(kind: str, seed: int) -> None:
    """With no stored zeros there is one way in order."""
    values, indices, dense = random_sparse(kind, 16, K[kind], seed)
    got_values, got_indices = compress(dense.astype(np.uint8), MmaKind[kind])
    assert np.array_equal(got_values, values)
    assert np.array_equal(got_indices, indices)
    assert got_values.dtype == np.uint8
    assert got_indices.dtype == np.uint8


@each("kind", CHUNK)
@each("seed", range(3))
def test_compress_with_fewer_non_zeros(kind: str, seed: int) -> None:
    """Any choice will do that is in order and that expands to the same rows."""
    values, indices, _ = random_sparse(kind, 32, K[kind], seed)
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(values.shape) < 0.6, 0, values)
    dense = expand(values, indices, kind)
    got_values, got_indices = compress(dense.astype(np.uint8), MmaKind[kind])
    assert set(np.unique(got_indices)) <= set(SINGLES if CHUNK[kind] == 2 else PAIRS)
    again = expand(got_values.astype(np.int64), got_indices.astype(np.int64), kind)
    assert np.array_equal(again, dense)


@pytest.mark.parametrize("kind", CHUNK)
def test_too_many_non_zeros(kind: str) -> None:
    dense = np.zeros((2, K[kind]), dtype=np.uint8)
    dense[1, 0 : CHUNK[kind] : CHUNK[kind] // 4 or 1] = 1  # 4 of 4 elements or pairs, 2 of 2
    with pytest.raises(ValueError):  # noqa: PT011
        compress(dense, MmaKind[kind])


@each("kind", CHUNK)
@each("m, group, ws", [(256, 2, False), (128, 1, False), (128, 1, True)])
def test_metadata_of_128_rows(kind: str, m: int, group: int, ws: bool) -> None:
    path = data_path(m, group=group, ws=ws, sparse=True)
    got = metadata_cells(path, m, MmaKind[kind], K[kind])
    assert len(got) == 1
    shape = (m, K[kind] // CHUNK[kind])
    expected = [np.concatenate([a] * group) for a in metadata(kind, 128, 0)]
    for one, other in zip((got[0].lane, got[0].column, got[0].bit), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, shape), other)
    rank = np.repeat(np.arange(group), 128)[:, None]
    assert np.array_equal(np.broadcast_to(got[0].rank, shape), np.broadcast_to(rank, shape))


@pytest.mark.parametrize("kind", ["F16", "TF32"])
@pytest.mark.parametrize("selector", [0, 1])
def test_the_selector_is_the_column_of_a_pair(kind: str, selector: int) -> None:
    path = data_path(128, sparse=True)
    got = metadata_cells(path, 128, MmaKind[kind], K[kind], selector)[0]
    expected = metadata(kind, 128, selector)
    for one, other in zip((got.lane, got.column, got.bit), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, (128, 8)), other)


@each("kind", ["F16", "TF32", "F8F6F4", "I8"])
@each("m, copies", [(64, 2), (32, 4)])
def test_metadata_of_weight_stationary_rows(kind: str, m: int, copies: int) -> None:
    """tmem_e_frg_ws: a copy for each group of 64 or 32 lanes."""
    path = data_path(m, ws=True, sparse=True)
    got = metadata_cells(path, m, MmaKind[kind], K[kind])
    assert len(got) == copies
    lane, column, bit = metadata(kind, m, 0)
    for index, cells in enumerate(got):
        expected = (lane + m * index, column, bit)
        for one, other in zip((cells.lane, cells.column, cells.bit), expected, strict=True):
            assert np.array_equal(np.broadcast_to(one, lane.shape), other)


@each("kind", CHUNK)
@each("m, group", [(64, 1), (128, 2)])
def test_metadata_in_half_of_the_lanes(kind: str, m: int, group: int) -> None:
    """Layouts F and C."""
    path = data_path(m, group=group, sparse=True)
    got = metadata_cells(path, m, MmaKind[kind], K[kind])
    assert len(got) == 1
    shape = (m, K[kind] // CHUNK[kind])
    expected = [np.concatenate([a] * group) for a in metadata_of_half(kind, 64, 0)]
    for one, other in zip((got[0].lane, got[0].column, got[0].bit), expected, strict=True):
        assert np.array_equal(np.broadcast_to(one, shape), other)
    rank = np.repeat(np.arange(group), 64)[:, None]
    assert np.array_equal(np.broadcast_to(got[0].rank, shape), np.broadcast_to(rank, shape))
