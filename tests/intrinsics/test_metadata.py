"""Sparsity metadata in tensor memory: as a program arranges it in memory before it is copied.

For 128 rows and K = 128 of 16-bit elements, JAX reorders 2-bit indices of shape (128, 64) so that
each lane gets 16 bytes; elements of 8 bits need no order.  `tests/mosaic/gpu_test.py` of JAX.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.layouts.data_paths import DataPath, accumulator_cells
from intrinsics.layouts.metadata import MetadataCells, metadata_cells
from intrinsics.layouts.sparse import chunk
from intrinsics.modifiers import MmaKind as K
from tests.each import each

K_OF = {K.TF32: 16, K.F16: 32, K.F8F6F4: 64, K.MXF8F6F4: 64, K.I8: 64, K.MXF4: 128, K.MXF4NVF4: 128}
SHARING = (K.TF32, K.F16)
CHUNKS = {kind: 8 if kind in SHARING else 16 for kind in K_OF}


def lane_bits(cells: MetadataCells, nibbles: np.ndarray, columns: int) -> np.ndarray:
    """The cells (128 lanes) that hold these nibbles, put there one by one."""
    shape = nibbles.shape
    lane, column, bit = (np.broadcast_to(x, shape) for x in (cells.lane, cells.column, cells.bit))
    held = np.zeros((128, columns), np.uint64)
    for at in np.ndindex(shape):
        held[lane[at], column[at]] |= np.uint64(int(nibbles[at]) << int(bit[at]))
    return held.astype(np.uint32)


def indices(m: int, chunks: int) -> np.ndarray:
    return np.random.default_rng(m + chunks).integers(0, 16, (m, chunks))


@pytest.mark.parametrize("kind", SHARING)
def test_128_rows_of_16_and_32_bit_elements(kind: K):
    """Four instructions: column pairs, and in each the column that the selector names."""
    nibbles = indices(128, 32)
    pairs = np.stack([nibbles & 3, nibbles >> 2], axis=-1).reshape(128, 64)
    ordered = pairs.reshape(1, 8, 2, 8, 1, 4, 2, 8).transpose(0, 4, 1, 6, 3, 5, 2, 7)
    two_bits = ordered.reshape(128, 4, 16)
    expected = (two_bits << 2 * np.arange(16)).sum(axis=-1).astype(np.uint32)
    held = np.zeros((128, 4), np.uint32)
    for step in range(4):
        (cells,) = metadata_cells(DataPath.D, 128, kind, K_OF[kind], step % 2)
        part = nibbles[:, 8 * step : 8 * step + 8]
        held[:, step // 2 * 2 : step // 2 * 2 + 2] |= lane_bits(cells, part, 2)
    assert np.array_equal(held, expected)


@pytest.mark.parametrize("kind", [kind for kind in K_OF if kind not in SHARING])
def test_128_rows_of_narrow_elements(kind: K):
    """Sixteen indices of a row in its own lane, from the lowest bits of two columns upwards."""
    nibbles = indices(128, 16)
    (cells,) = metadata_cells(DataPath.D, 128, kind, K_OF[kind])
    expected = (nibbles.reshape(128, 2, 8) << 4 * np.arange(8)).sum(axis=-1)
    assert np.array_equal(lane_bits(cells, nibbles, 2), expected)


@each("kind", K_OF)
@each("path", DataPath)
def test_no_two_indices_overlap_and_all_lie_in_the_lanes_of_a(kind: K, path: DataPath):
    d = np.broadcast_to(accumulator_cells(path, path.m, 256).lane, (path.m, 256))
    copies = metadata_cells(path, path.m, kind, K_OF[kind])
    assert len(copies) == path.parts
    shape = (path.m, CHUNKS[kind])
    for part, cells in enumerate(copies):
        arrays = [
            np.broadcast_to(x, shape).ravel().tolist()
            for x in (cells.rank, cells.lane, cells.column, cells.bit)
        ]
        places = {*zip(*arrays, strict=True)}
        assert len(places) == path.m * CHUNKS[kind]
        assert {bit % 4 for *_, bit in places} == {0}
        lanes = {lane for _, lane, *_ in places}
        assert lanes == {*d[:, part * 256 // path.parts].tolist()}


def test_what_there_is_not():
    with pytest.raises(ValueError, match="has K = 32, not 16"):
        metadata_cells(DataPath.D, 128, K.F16, 16)
    with pytest.raises(ValueError, match="must be 0, not 1"):
        metadata_cells(DataPath.D, 128, K.I8, 64, 1)
    with pytest.raises(ValueError, match="two bits"):
        metadata_cells(DataPath.D, 128, K.F16, 32, 4)
    with pytest.raises(NotImplementedError, match="sparsity selector 2"):
        metadata_cells(DataPath.D, 128, K.TF32, 16, 2)
    with pytest.raises(ValueError, match="M = 64, not 128"):
        metadata_cells(DataPath.F, 128, K.F16, 32)


def test_chunks_of_an_instruction():
    assert {kind: k // chunk(kind) for kind, k in K_OF.items()} == CHUNKS
