"""Layouts of shared memory that there are not, base offsets; `published` has the layouts."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.layouts.shared_memory import piece_addresses
from tests.intrinsics.elements import matrix_addresses


@pytest.mark.parametrize("mode", [Swizzle.B32, Swizzle.B64, Swizzle.B128])
def test_a_descriptor_with_a_base_offset(mode: Swizzle):
    """A matrix that begins three rows of 128 bytes behind the boundary, with offset 3."""
    aligned = matrix_addresses(SharedMemoryDescriptor(0, 16, 2048, mode), 16, 16, 1, Major.K)
    moved = SharedMemoryDescriptor(3 * 128, 16, 2048, mode, base_offset=3)
    assert np.array_equal(matrix_addresses(moved, 16, 16, 1, Major.K), aligned + 3 * 128)


def test_an_absolute_leading_dimension_belongs_to_one_layout():
    for mode, offset, major in (
        (Swizzle.B64, 0, Major.K),
        (Swizzle.B128, 1, Major.K),
        (Swizzle.B128, 0, Major.MN),
    ):
        descriptor = SharedMemoryDescriptor(0, swizzle=mode, base_offset=offset, absolute_lbo=True)
        with pytest.raises(ValueError, match="absolute leading dimension"):
            piece_addresses(descriptor, 64, 64, 8, major)


def test_32_byte_atoms_along_k_have_no_documented_layout():
    descriptor = SharedMemoryDescriptor(0, swizzle=Swizzle.B128_ATOM32)
    with pytest.raises(NotImplementedError, match="32-byte atoms"):
        piece_addresses(descriptor, 8, 8, 4, Major.K)
