"""Fragments of warp-level multiplies against the layouts that are published."""

from __future__ import annotations

import numpy as np

from intrinsics.layouts.fragments_mma import fragment_a, fragment_b, fragment_c
from intrinsics.modifiers.mma_sync import MmaShape
from tests.each import each
from tests.intrinsics.published.mma_fragments import FACTORS, SUMS, places


@each("m, n, k, bits", FACTORS)
def test_fragments_are_as_published(m: int, n: int, k: int, bits: int) -> None:
    shape = MmaShape(f"m{m}n{n}k{k}")
    a, b = FACTORS[m, n, k, bits]
    for ours, theirs in zip(fragment_a(shape, bits), places(a, m), strict=True):
        assert np.array_equal(np.broadcast_to(ours, theirs.shape), theirs)
    column, row = places(b, n)
    for ours, theirs in zip(fragment_b(shape, bits), (row, column), strict=True):
        assert np.array_equal(np.broadcast_to(ours, theirs.shape), theirs)
    for ours, theirs in zip(fragment_c(shape), places(SUMS[m], m), strict=True):
        assert np.array_equal(np.broadcast_to(ours, theirs.shape), theirs)
