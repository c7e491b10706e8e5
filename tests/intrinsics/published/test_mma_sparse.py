"""Metadata and scale factors of warp-level multiplies against the layouts that are published."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from intrinsics.layouts.fragments_mma import fragment_a, fragment_b
from intrinsics.layouts.fragments_mma_factors import factor_bytes, factor_fragment
from intrinsics.layouts.fragments_mma_sparse import metadata_fragment, selectors, stored
from intrinsics.modifiers.mma_sync import MmaShape
from tests.intrinsics.published.mma_fragments import places
from tests.intrinsics.published.mma_sparse import DEEP_B, METADATA, SCALES, SPARSE_A


@pytest.mark.parametrize(("k", "bits"), DEEP_B)
def test_a_deep_b_is_as_published(k: int, bits: int) -> None:
    column, row = places(DEEP_B[k, bits], 8)
    for ours, theirs in zip(fragment_b(MmaShape(f"m16n8k{k}"), bits), (row, column), strict=True):
        assert np.array_equal(np.broadcast_to(ours, theirs.shape), theirs)


@pytest.mark.parametrize(("k", "bits"), SPARSE_A)
def test_what_is_stored_of_a_stands_for_the_published_elements(k: int, bits: int) -> None:
    """A thread's stored elements come from chunks of which it has all elements, in the order."""
    chunk = METADATA[k, bits].chunk
    row, column = places(SPARSE_A[k, bits], 16)
    ours = fragment_a(stored(MmaShape(f"m16n8k{k}")), bits)
    assert np.array_equal(np.broadcast_to(ours[0], (32, row.shape[1] // 2)), row[:, ::2])
    assert np.array_equal(ours[1] // (chunk // 2), column[:, ::2] // chunk)


@pytest.mark.parametrize(("k", "bits"), METADATA)
def test_metadata_are_as_published(k: int, bits: int) -> None:
    known = METADATA[k, bits]
    shape = MmaShape(f"m16n8k{k}")
    row, column = places(known.layout, 16)
    assert list(selectors(shape, bits)) == list(range(4 // known.threads))
    for selector in selectors(shape, bits):
        thread, bit = metadata_fragment(shape, bits, selector)
        assert thread.shape == bit.shape == (16, k // known.chunk)
        for m, n in np.ndindex(thread.shape):
            holder, place = int(thread[m, n]), int(bit[m, n])
            at = place // 4 * known.chunk
            assert (row[holder, at : at + known.chunk] == m).all()
            elements = n * known.chunk + np.arange(known.chunk)
            assert (column[holder, at : at + known.chunk] == elements).all()
            assert holder % 4 // known.threads == selector
        assert len(set(zip(thread.flat, bit.flat, strict=True))) == thread.size


@pytest.mark.parametrize("factors", [1, 2, 4])
@pytest.mark.parametrize("matrix", ["a", "b"])
def test_scale_factors_are_as_published(matrix: str, factors: int) -> None:
    rows = 16 if matrix == "a" else 8
    row, column = places(SCALES[matrix], rows)
    chosen = 2 if matrix == "a" else 4
    for selector, first in itertools.product(range(chosen), factor_bytes(factors)):
        thread, byte = np.broadcast_arrays(*factor_fragment(matrix, factors, first, selector))
        assert thread.shape == (rows, factors)
        for m, block in np.ndindex(thread.shape):
            holder = int(thread[m, block])
            blocks = column[holder] // (64 // factors)
            assert (row[holder][blocks == block] == m).all()
            assert holder % 4 // (4 // chosen) == selector
            assert byte[m, block] == first + block


def test_what_does_not_exist_is_refused() -> None:
    for call in (
        lambda: metadata_fragment(MmaShape.M16N8K64, 8, 1),
        lambda: metadata_fragment(MmaShape.M16N8K32, 16, 2),
        lambda: metadata_fragment(MmaShape.M16N8K8, 32, 4),
        lambda: factor_fragment("a", 2, 1),
        lambda: factor_fragment("a", 4, 2),
        lambda: factor_fragment("a", 1, 4),
        lambda: factor_fragment("a", 1, 0, 2),
        lambda: factor_fragment("b", 1, 0, 4),
    ):
        with pytest.raises(ValueError, match=r"\d"):
            call()
