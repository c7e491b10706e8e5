"""Swizzling: XOR of address bits, written out piece by piece."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.layouts.swizzling import swizzle
from tests.each import each
from tests.intrinsics.elements import matrix_addresses

# CuTe's Swizzle<B, M, S>: B bits from bit M on are XORed with those S higher.
CUTE = {
    Swizzle.NONE: (0, 4, 3),
    Swizzle.B32: (1, 4, 3),
    Swizzle.B64: (2, 4, 3),
    Swizzle.B128: (3, 4, 3),
    Swizzle.B128_ATOM32: (2, 5, 2),
}
ALL = np.arange(0, 8192, dtype=np.int64)


def cute(address: int, b: int, m: int, s: int) -> int:
    mask = (1 << b) - 1 << m + s
    return address ^ (address & mask) >> s


@pytest.mark.parametrize("mode", Swizzle)
def test_the_functions_of_cute(mode: Swizzle):
    expected = [cute(int(address), *CUTE[mode]) for address in ALL]
    assert np.array_equal(swizzle(ALL, mode), expected)


def test_atoms_of_32_bytes():
    """Row r of four: the 32-byte atom a goes to a XOR r, its two pieces stay together."""
    pieces = np.arange(4 * 8, dtype=np.int64).reshape(4, 8) * 16
    table = swizzle(pieces, Swizzle.B128_ATOM32) // 16 % 8
    expected = [
        [(atom ^ row) * 2 + half for atom in range(4) for half in (0, 1)] for row in range(4)
    ]
    assert table.tolist() == expected


@each("mode", Swizzle)
@each("offset", range(8))
def test_a_base_offset_moves_the_beginning_of_the_pattern(mode: Swizzle, offset: int):
    """A pattern that begins at `offset` rows of 128 bytes looks like one that begins at 0."""
    start = 1024 + offset * 128
    here = np.arange(1024, dtype=np.int64)
    there = swizzle(start + here, mode, offset) - start
    rows = (there // 128, swizzle(here, mode) // 128)
    assert np.array_equal(*rows)
    assert np.array_equal(there, swizzle(here, mode))


@pytest.mark.parametrize("mode", [Swizzle.B32, Swizzle.B64, Swizzle.B128])
def test_a_descriptor_with_a_base_offset(mode: Swizzle):
    """A matrix that begins three rows of 128 bytes behind the boundary, with offset 3."""
    aligned = matrix_addresses(SharedMemoryDescriptor(0, 16, 2048, mode), 16, 16, 1, Major.K)
    moved = SharedMemoryDescriptor(3 * 128, 16, 2048, mode, base_offset=3)
    assert np.array_equal(matrix_addresses(moved, 16, 16, 1, Major.K), aligned + 3 * 128)


# ---- pieces ----------------------------------------------------------------------------------


@each("mode", [m for m in Swizzle if m is not Swizzle.B128_ATOM32])
@each("size", [1, 2, 4])
def test_a_piece_begins_where_its_first_element_lies(mode: Swizzle, size: int):
    descriptor = SharedMemoryDescriptor(2048, 8192, 1024, mode)
    per_piece = 16 // size
    elements = matrix_addresses(descriptor, 32, 2 * per_piece, size, Major.K)
    pieces = piece_addresses(descriptor, 32, 2 * per_piece, per_piece, Major.K)
    assert pieces.shape == (32, 2)
    assert np.array_equal(elements[:, ::per_piece], pieces)
    across = matrix_addresses(descriptor, 8 * per_piece, 24, size, Major.MN)
    pieces = piece_addresses(descriptor, 8 * per_piece, 24, per_piece, Major.MN)
    assert pieces.shape == (8, 24)
    assert np.array_equal(across[::per_piece, :], pieces)


def test_an_mn_major_matrix_of_tf32_with_32_byte_atoms():
    """Spans of 32 elements, four k in a group, groups SBO apart: ((T,8,m),(4,k))."""
    descriptor = SharedMemoryDescriptor(1024, lbo=4096, sbo=512, swizzle=Swizzle.B128_ATOM32)
    found = matrix_addresses(descriptor, 64, 16, 4, Major.MN)
    for row, k in np.ndindex(64, 16):
        span, within = divmod(row * 4, 128)
        plain = 1024 + span * 4096 + k // 4 * 512 + k % 4 * 128 + within
        assert found[row, k] == cute(plain, 2, 5, 2)
    assert len(np.unique(found)) == found.size


@each("start", range(0, 128, 16))
def test_48_bytes_of_k_go_on_in_a_second_buffer(start: int):
    """Three pieces of a row: those beyond its 128 bytes begin the same row of the next buffer."""
    first, second = 0x4000, 0x9000
    descriptor = SharedMemoryDescriptor(
        first + start, lbo=second, sbo=1024, swizzle=Swizzle.B128, absolute_lbo=True
    )
    found = piece_addresses(descriptor, 24, 96, 32, Major.K)
    assert found.shape == (24, 3)
    for row, piece in np.ndindex(24, 3):
        byte = start + piece * 16
        buffer = first if byte < 128 else second
        column = byte % 128 // 16 ^ row % 8
        assert found[row, piece] == buffer + row * 128 + column * 16


def test_an_absolute_leading_dimension_belongs_to_one_layout():
    for mode, offset, major in (
        (Swizzle.B64, 0, Major.K),
        (Swizzle.B128, 1, Major.K),
        (Swizzle.B128, 0, Major.MN),
    ):
        descriptor = SharedMemoryDescriptor(0, swizzle=mode, base_offset=offset, absolute_lbo=True)
        with pytest.raises(ValueError, match="absolute leading dimension"):
            piece_addresses(descriptor, 64, 64, 8, major)
