"""Where matrix elements lie in shared memory, written out anew from the manual's layouts."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.layouts.swizzling import swizzle
from tests.each import each
from tests.intrinsics.elements import matrix_addresses

# The modes with 16-byte atoms: how many 16-byte pieces stand in a row of the atom.
PIECES = {Swizzle.NONE: 1, Swizzle.B32: 2, Swizzle.B64: 4, Swizzle.B128: 8}


def swizzled(row: int, piece: int, mode: Swizzle) -> int:
    """Which piece of an atom's row a 16-byte piece goes to.

    Eight rows of 128 bytes make the period: the row, counted in units of 128 bytes, is XORed into
    the number of the piece.
    """
    pieces = PIECES[mode]
    return piece ^ row * pieces // 8 % pieces


def k_major(row: int, byte: int, mode: Swizzle, lbo: int, sbo: int) -> int:
    """Byte `byte` along K of a row: rows as wide as the atom, groups of eight SBO apart."""
    pieces = PIECES[mode]
    piece, within = divmod(byte, 16)
    start = row // 8 * sbo + row % 8 * pieces * 16
    if mode is Swizzle.NONE:
        return start + piece * lbo + within
    return start + swizzled(row % 8, piece, mode) * 16 + within


def mn_major(byte: int, k: int, mode: Swizzle, lbo: int, sbo: int) -> int:
    """Byte `byte` along M or N of column `k`: the same with rows and columns exchanged."""
    pieces = PIECES[mode]
    piece, within = divmod(byte, 16)
    if mode is Swizzle.NONE:
        return piece * sbo + k // 8 * lbo + k % 8 * 16 + within
    atom, piece = divmod(piece, pieces)
    start = atom * lbo + k // 8 * sbo + k % 8 * pieces * 16
    return start + swizzled(k % 8, piece, mode) * 16 + within


def descriptor(mode: Swizzle) -> SharedMemoryDescriptor:
    """Strides that leave no two groups on top of each other."""
    return SharedMemoryDescriptor(0, lbo=16384, sbo=2048, swizzle=mode)


@each("mode", PIECES)
@each("size", [1, 2, 4])
def test_k_major(mode: Swizzle, size: int):
    width = 2 if mode is Swizzle.NONE else PIECES[mode]
    rows, k = 32, width * 16 // size
    d = descriptor(mode)
    expected = [[k_major(r, c * size, mode, d.lbo, d.sbo) for c in range(k)] for r in range(rows)]
    assert np.array_equal(matrix_addresses(d, rows, k, size, Major.K), expected)


@each("mode", PIECES)
@each("size", [1, 2, 4])
def test_mn_major(mode: Swizzle, size: int):
    rows, k = 3 * PIECES[mode] * 16 // size, 24
    d = descriptor(mode)
    expected = [[mn_major(r * size, c, mode, d.lbo, d.sbo) for c in range(k)] for r in range(rows)]
    assert np.array_equal(matrix_addresses(d, rows, k, size, Major.MN), expected)


@each("mode", PIECES)
@each("major", Major)
def test_no_two_elements_share_a_place(mode: Swizzle, major: Major):
    k = 16 if mode is Swizzle.NONE or major is Major.MN else PIECES[mode] * 8
    places = matrix_addresses(descriptor(mode), 64, k, 2, major)
    assert len(np.unique(places)) == places.size
    assert not (places % 2).any()


def test_the_address_of_a_descriptor_moves_everything():
    """As long as it is a multiple of the pattern's period."""
    here = matrix_addresses(SharedMemoryDescriptor(0), 16, 64, 2, Major.K)
    there = matrix_addresses(SharedMemoryDescriptor(4096), 16, 64, 2, Major.K)
    assert np.array_equal(there, here + 4096)


def test_a_step_along_k_stays_in_the_swizzled_row():
    """The second K = 16 of f16 begins 32 bytes on; its address alone decides where it lies."""
    whole = matrix_addresses(SharedMemoryDescriptor(0), 64, 64, 2, Major.K)
    step = matrix_addresses(SharedMemoryDescriptor(32), 64, 16, 2, Major.K)
    assert np.array_equal(step, whole[:, 16:32])


@pytest.mark.parametrize("mode", Swizzle)
def test_swizzling_stays_in_its_pattern_and_is_its_own_reverse(mode: Swizzle):
    addresses = np.arange(0, 4096, dtype=np.int64)
    there = swizzle(addresses, mode)
    assert np.array_equal(swizzle(there, mode), addresses)
    assert np.array_equal(np.sort(there), addresses)
    assert np.array_equal(there // mode.repeat, addresses // mode.repeat)
    assert np.array_equal(there % 16, addresses % 16)


def test_the_first_rows_of_128_byte_swizzling():
    """Row r of eight: piece p goes to piece p XOR r."""
    pieces = np.arange(64, dtype=np.int64) * 16
    table = (swizzle(pieces, Swizzle.B128) // 16 % 8).reshape(8, 8)
    assert table.tolist() == [[p ^ r for p in range(8)] for r in range(8)]


def test_32_byte_atoms_along_k_have_no_documented_layout():
    descriptor = SharedMemoryDescriptor(0, swizzle=Swizzle.B128_ATOM32)
    with pytest.raises(NotImplementedError, match="32-byte atoms"):
        matrix_addresses(descriptor, 8, 8, 4, Major.K)
