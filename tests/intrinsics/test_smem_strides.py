"""Strides of descriptors, against the addresses that every element of a tile then has."""

from __future__ import annotations

import itertools

import numpy as np

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_strides import Strides, Tile, right_strides
from intrinsics.element import Major
from tests.each import each
from tests.intrinsics.elements import matrix_addresses

MODES = (Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128)
TILES = [
    Tile(rows, k, bits, major)
    for rows, (k, bits), major in itertools.product(
        (8, 64, 128), ((16, 16), (8, 32), (32, 8)), Major
    )
]
CASES = [
    *itertools.product(TILES, MODES),
    *((Tile(rows, k, 32, Major.MN), Swizzle.B128_ATOM32) for rows in (32, 128) for k in (8, 16)),
]
IDS = [f"{tile}-{mode.name}" for tile, mode in CASES]
OFFSETS = (0, 16, 128, 256, 512, 1024, 1040, 2048, 4096)


def overlaps(tile: Tile, mode: Swizzle, strides: Strides) -> bool:
    """Whether two elements of the tile would lie in one place."""
    descriptor = SharedMemoryDescriptor(0, strides.lbo, strides.sbo, mode)
    found = matrix_addresses(descriptor, tile.rows, tile.k, tile.bits // 8, tile.major)
    return len(np.unique(found)) < found.size


@each("tile, mode", CASES, ids=IDS)
def test_no_two_elements_lie_in_one_place(tile: Tile, mode: Swizzle):
    for lbo, sbo in itertools.product(OFFSETS, OFFSETS):
        assert not overlaps(tile, mode, right_strides(tile, mode, Strides(lbo, sbo)))


@each("tile, mode", CASES, ids=IDS)
def test_what_was_made_right_stays(tile: Tile, mode: Swizzle):
    for lbo, sbo in itertools.product(OFFSETS, OFFSETS):
        once = right_strides(tile, mode, Strides(lbo, sbo))
        assert right_strides(tile, mode, once) == once


def test_strides_that_are_right_are_not_touched():
    """Dense and with gaps, as canonical layouts have them."""
    k_major, mn_major = Tile(128, 16, 16, Major.K), Tile(128, 16, 16, Major.MN)
    for sbo in (1024, 2048, 7168):
        given = Strides(16, sbo)
        assert right_strides(k_major, Swizzle.B128, given) == given
    assert right_strides(mn_major, Swizzle.B128, Strides(2048, 1024)) == Strides(2048, 1024)
    assert right_strides(mn_major, Swizzle.B128, Strides(1024, 2048)) == Strides(1024, 2048)
    assert right_strides(k_major, Swizzle.NONE, Strides(128, 256)) == Strides(128, 256)


def test_atoms_of_32_bytes_have_four_spans():
    """K = 8 of tf32 are two groups, 512 bytes apart."""
    tile = Tile(64, 8, 32, Major.MN)
    given = Strides(1024, 512)
    assert not overlaps(tile, Swizzle.B128_ATOM32, given)
    assert right_strides(tile, Swizzle.B128_ATOM32, given) == given
    assert right_strides(tile, Swizzle.B128_ATOM32, Strides(1024, 256)) == given


def test_the_walkthroughs_numbers():
    """A, 64x16 MN-major: two groups of 1024 bytes.  B, 128x16 K-major: a group every 2048."""
    a, b = Tile(64, 16, 16, Major.MN), Tile(128, 16, 16, Major.K)
    assert overlaps(a, Swizzle.B128, Strides(16, 512))
    assert right_strides(a, Swizzle.B128, Strides(16, 512)) == Strides(16, 1024)
    assert not overlaps(b, Swizzle.B128, Strides(128, 2048))
    assert right_strides(b, Swizzle.B128, Strides(128, 2048)) == Strides(128, 2048)


def test_an_offset_that_the_tile_does_not_use_stays():
    one_group = Tile(8, 16, 16, Major.K)
    assert right_strides(one_group, Swizzle.B128, Strides(3, 5)) == Strides(3, 5)
