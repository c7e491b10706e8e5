"""Columns of a sparse A: counted from the granularities of the manual."""

from __future__ import annotations

import pytest

from intrinsics.modifiers import MmaKind as K
from intrinsics.sparse import SparseColumns, chunk, sparse_columns


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
