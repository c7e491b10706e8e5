"""Shared memory: swizzles, canonical layouts, descriptors that advance along K."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.layouts.swizzling import swizzle
from tests.each import each
from tests.intrinsics.elements import matrix_addresses
from tests.intrinsics.published.cute import grid
from tests.intrinsics.published.cute import swizzle as cute_swizzle
from tests.intrinsics.published.shared_memory import PIECES, SWIZZLES, k_major, mn_major, swizzled

PLAIN = ("NONE", "B32", "B64", "B128")


@pytest.mark.parametrize("mode", SWIZZLES)
def test_swizzle(mode: str) -> None:
    addresses = np.arange(8192, dtype=np.int64)
    assert np.array_equal(swizzle(addresses, Swizzle[mode]), swizzled(mode, addresses))


@each("mode", SWIZZLES)
@each("base", range(8))
def test_base_offset_moves_the_pattern(mode: str, base: int) -> None:
    """The manual's text alone: the pattern starts where (address >> 7) & 7 is the base offset."""
    start = 0x2000 + 128 * base
    inside = np.arange(2048, dtype=np.int64)
    got = swizzle(start + inside, Swizzle[mode], base)
    assert np.array_equal(got, start + swizzled(mode, inside))


@each("mode", PLAIN)
@each("size", [1, 2, 4])
@each("m, start", [(64, 0), (128, 0x4000), (8, 1024)])
def test_k_major(mode: str, size: int, m: int, start: int) -> None:
    """32 bytes of K, what one instruction multiplies."""
    k = 32 // size
    lbo, sbo = (m * 16 + 1024, 128) if mode == "NONE" else (16, 8 * 16 * PIECES[mode] + 1024)
    descriptor = SharedMemoryDescriptor(start, lbo, sbo, Swizzle[mode])
    got = matrix_addresses(descriptor, m, k, size, Major.K)
    assert np.array_equal(got, k_major(mode, m, k, size, lbo, sbo, start))


@pytest.mark.parametrize("mode", ["B64", "B128"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_descriptor_advanced_along_k_reads_the_next_columns(mode: str, size: int) -> None:
    """Libraries add 32 bytes to the start address inside the swizzle atom."""
    span, sbo = 16 * PIECES[mode], 8 * 16 * PIECES[mode]
    whole = k_major(mode, 64, span // size, size, 16, sbo, 0x800)
    for step in range(span // 32):
        descriptor = SharedMemoryDescriptor(0x800 + 32 * step, 16, sbo, Swizzle[mode])
        got = matrix_addresses(descriptor, 64, 32 // size, size, Major.K)
        columns = slice(step * 32 // size, (step + 1) * 32 // size)
        assert np.array_equal(got, whole[:, columns])


@each("mode", PLAIN)
@each("size", [1, 2, 4])
@each("m", [128, 256])
def test_mn_major(mode: str, size: int, m: int) -> None:
    k, start = 32 // size, 0x1000
    lbo, sbo = (8192, 128) if mode == "NONE" else (16384, 128 * PIECES[mode])
    descriptor = SharedMemoryDescriptor(start, lbo, sbo, Swizzle[mode])
    got = matrix_addresses(descriptor, m, k, size, Major.MN)
    assert np.array_equal(got, mn_major(mode, m, k, size, lbo, sbo, start))


def test_mn_major_tf32_in_32_byte_atoms() -> None:
    """The only mode of an MN-major tf32; K = 8 is two groups of four rows of 128 bytes."""
    descriptor = SharedMemoryDescriptor(0x1000, 8192, 512, Swizzle.B128_ATOM32)
    got = matrix_addresses(descriptor, 128, 8, 4, Major.MN)
    assert np.array_equal(got, mn_major("B128_ATOM32", 128, 8, 4, 8192, 512, 0x1000))


@pytest.mark.parametrize(
    ("mode", "major", "m", "k", "size", "lbo", "sbo", "shape", "stride"),
    [
        ("NONE", "K", 16, 16, 4, 64, 32, ((8, 2), (4, 4)), ((4, 32), (1, 64))),
        # Figure 189 has 16 columns, of which the last 8 lie on rows 1 to 8 of the first 8: the
        # span of 32 bytes is 8 columns of tf32, and no more is taken from the figure
        ("B32", "K", 16, 8, 4, 4, 64, ((8, 2), (4, 2)), ((8, 64), (1, 4))),
        ("NONE", "MN", 16, 16, 2, 128, 64, ((8, 1, 2), (8, 2)), ((1, 8, 64), (8, 128))),
        ("B32", "MN", 32, 16, 2, 128, 256, ((8, 2, 2), (8, 2)), ((1, 8, 128), (16, 256))),
        ("B64", "MN", 64, 16, 2, 256, 512, ((8, 4, 2), (8, 2)), ((1, 8, 256), (32, 512))),
    ],
    ids=["Figure 188", "Figure 189", "Figure 190", "Figure 191", "Figure 192"],
)
def test_the_manuals_examples(
    mode: str, major: str, m: int, k: int, size: int, lbo: int, sbo: int,
    shape: tuple[tuple[int, ...], ...], stride: tuple[tuple[int, ...], ...],
) -> None:  # fmt: skip
    """The exact layouts under Figures 188 to 192, LBO and SBO in elements."""
    descriptor = SharedMemoryDescriptor(0, lbo * size, sbo * size, Swizzle[mode])
    got = matrix_addresses(descriptor, m, k, size, Major[major])
    expected = cute_swizzle(*SWIZZLES[mode], size * grid(shape, stride))
    assert np.array_equal(got, expected)


@each("mode", PLAIN)
@each("size", [1, 2, 4])
def test_pieces_are_the_first_bytes_of_sixteen(mode: str, size: int) -> None:
    t, lbo, sbo = 16 // size, 2048, 8 * 16 * PIECES[mode]
    descriptor = SharedMemoryDescriptor(0x400, lbo, sbo, Swizzle[mode])
    got = piece_addresses(descriptor, 128, 2 * t, t, Major.K)
    assert np.array_equal(got, k_major(mode, 128, 2 * t, size, lbo, sbo, 0x400)[:, ::t])


@each("mode", PLAIN)
@each("size", [1, 2])
def test_pieces_run_along_rows_of_an_mn_major_matrix(mode: str, size: int) -> None:
    t, lbo, sbo = 16 // size, 16384, 1024
    descriptor = SharedMemoryDescriptor(0x400, lbo, sbo, Swizzle[mode])
    got = piece_addresses(descriptor, 256, 32 // size, t, Major.MN)
    assert np.array_equal(got, mn_major(mode, 256, 32 // size, size, lbo, sbo, 0x400)[::t])


@pytest.mark.parametrize("m", [128, 256])
def test_k_of_48_bytes_goes_on_at_an_absolute_address(m: int) -> None:
    """Eight MMAs of K = 96 read three buffers of 128 bytes in K, three pieces each.

    CUTLASS, sm103_blockscaled_mma_warpspecialized.hpp: MMA i begins at piece 3 i, and where it
    leaves its buffer the leading dimension is the address of the next; PTX ISA, Absolute address
    mode for K dimension being 48B.
    """
    buffers, t = (0x4000, 0x18000, 0x10000), 32
    pieces = [k_major("B128", m, 128, 1, 16, 1024, start)[:, ::16] for start in buffers]
    whole = np.concatenate(pieces, axis=1)
    for mma in range(8):
        buffer, piece = divmod(3 * mma, 8)
        following = buffers[min(buffer + 1, 2)]
        descriptor = SharedMemoryDescriptor(
            buffers[buffer] + 16 * piece, following, 1024, Swizzle.B128, 0, True
        )
        got = piece_addresses(descriptor, m, 3 * t, t, Major.K)
        assert np.array_equal(got, whole[:, 3 * mma : 3 * mma + 3])
