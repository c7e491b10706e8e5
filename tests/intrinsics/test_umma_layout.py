"""Canonical layouts: sizes, and strides against the addresses that elements then have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_strides import Strides, Tile
from intrinsics.element import Major
from intrinsics.layouts.umma_layout import check_umma_layout
from tests.each import each
from tests.intrinsics.elements import matrix_addresses

MODES = (Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128)


def texts(tile: Tile, swizzle: Swizzle, strides: Strides | None = None, **more: bool) -> list[str]:
    return [problem.text for problem in check_umma_layout(tile, swizzle, strides, **more)]


@each("bits, k", [(16, 16), (8, 32), (32, 8), (4, 64)])
@each("sparse", [False, True])
def test_k_goes_by_32_bytes_and_sparse_by_64(bits: int, k: int, sparse: bool) -> None:
    """What one instruction multiplies, by Table 39; a sparse one has twice as much."""
    step = 2 * k if sparse else k
    assert texts(Tile(64, step, bits, Major.K), Swizzle.B128, sparse=sparse) == []
    assert texts(Tile(64, 3 * step, bits, Major.K), Swizzle.B128, sparse=sparse) == []
    assert texts(Tile(64, step + k // 4, bits, Major.K), Swizzle.B128, sparse=sparse) == [
        f"Not a canonical UMMA_K Layout: Expected K-size multiple of {step}."
    ]


def test_the_k_of_48_bytes() -> None:
    assert texts(Tile(128, 96, 4, Major.K), Swizzle.B128) == []
    assert texts(Tile(128, 24, 16, Major.K), Swizzle.B128) != []


@pytest.mark.parametrize(
    ("swizzle", "elements"),
    [(Swizzle.NONE, 8), (Swizzle.B32, 16), (Swizzle.B64, 32), (Swizzle.B128, 64)],
)
def test_rows_of_an_mn_major_matrix_go_by_spans(swizzle: Swizzle, elements: int) -> None:
    """Elements of 16 bits in 16, 32, 64 and 128 bytes."""
    assert texts(Tile(2 * elements, 16, 16, Major.MN), swizzle) == []
    assert texts(Tile(elements + 8, 16, 16, Major.MN), swizzle) == (
        [f"Not a canonical UMMA_MN Layout: Expected MN-size multiple of {elements}."]
        if elements > 8
        else []
    )


def test_rows_of_a_k_major_matrix_go_by_eight() -> None:
    assert texts(Tile(24, 16, 16, Major.K), Swizzle.B128) == []
    assert texts(Tile(12, 16, 16, Major.K), Swizzle.B128) == [
        "Not a canonical UMMA_K Layout: Expected MN-size multiple of 8."
    ]


MANUAL = [  # strides of the manual's own examples, in elements; K in one span where K is swizzled
    (Tile(16, 16, 32, Major.K), Swizzle.NONE, Strides(64 * 4, 32 * 4)),
    (Tile(16, 8, 32, Major.K), Swizzle.B32, Strides(16, 64 * 4)),
    (Tile(16, 16, 16, Major.MN), Swizzle.NONE, Strides(128 * 2, 64 * 2)),
    (Tile(32, 16, 16, Major.MN), Swizzle.B32, Strides(128 * 2, 256 * 2)),
    (Tile(64, 16, 16, Major.MN), Swizzle.B64, Strides(256 * 2, 512 * 2)),
]


@pytest.mark.parametrize(("tile", "swizzle", "strides"), MANUAL, ids=str)
def test_the_manuals_examples(tile: Tile, swizzle: Swizzle, strides: Strides) -> None:
    assert texts(tile, swizzle, strides) == []


@each("mode", MODES, ids=lambda mode: mode.name)
@each("major", list(Major))
def test_overlapping_strides_fail(mode: Swizzle, major: Major) -> None:
    """Whether two elements lie in one place is counted from the addresses."""
    tile = Tile(128, 16, 16, major)
    for lbo, sbo in itertools.product((0, 16, 128, 256, 512, 1024, 2048, 4096), repeat=2):
        descriptor = SharedMemoryDescriptor(0, lbo, sbo, mode)
        found = matrix_addresses(descriptor, tile.rows, tile.k, 2, major)
        if len(np.unique(found)) < found.size:
            assert texts(tile, mode, Strides(lbo, sbo)) == [
                f"Not a canonical UMMA_{major.value} Layout: Expected stride failure."
            ]


def test_half_of_a_sparse_matrix_is_stored() -> None:
    """K = 128 of 16 bits are two spans of 128 bytes, and one where half of them are zeros."""
    tile, strides = Tile(64, 128, 16, Major.K), Strides(16, 1024)
    assert texts(tile, Swizzle.B128, strides, sparse=True) == []
    assert texts(tile, Swizzle.B128, strides) == [
        "Not a canonical UMMA_K Layout: Expected stride failure."
    ]
