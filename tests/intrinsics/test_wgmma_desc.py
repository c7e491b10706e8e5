"""wgmma's shared memory descriptor: the manual's bit-fields, packed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor, problems
from tests.each import each
from tests.turns import examples

CODES = {Swizzle.NONE: 0, Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}
OFFSETS = st.integers(0, 0x3FFF).map(lambda x: x * 16)


@examples(200)
@given(OFFSETS, OFFSETS, OFFSETS, st.sampled_from([*CODES]), st.integers(0, 7))
def test_every_field(address: int, lbo: int, sbo: int, mode: Swizzle, base: int):
    descriptor = WgmmaDescriptor(address, lbo, sbo, mode, base)
    fields = (
        address // 16,
        lbo // 16 * 2**16,
        sbo // 16 * 2**32,
        base * 2**49,
        CODES[mode] * 2**62,
    )
    word = descriptor.encode()
    assert word == sum(fields)
    assert WgmmaDescriptor.decode(word) == descriptor
    assert problems(word) == []


def test_a_tile_of_libraries():
    """128-byte swizzling, groups of 8 rows 1,024 bytes apart, as CUTLASS and DeepGEMM have it."""
    assert WgmmaDescriptor(0x400, 16, 1024).encode() == 0x4000_0040_0001_0040


def test_it_is_not_the_descriptor_of_tcgen05():
    """Which has a constant in bits 46 to 48, and one bit more of swizzling."""
    other = SharedMemoryDescriptor(0x400, 16, 1024, Swizzle.B128).encode()
    assert other == 0x4000_4040_0001_0040
    assert problems(other)[0].got == hex(1 << 46)
    with pytest.raises(ValueError, match="swizzling mode"):
        SharedMemoryDescriptor.decode(1 << 61 | WgmmaDescriptor(0x400).encode())


@each("bit", [14, 15, 30, 31, 46, 47, 48, *range(52, 62)])
def test_unused_bits(bit: int):
    (problem,) = problems(1 << bit)
    assert problem.got == hex(1 << bit)
    assert problem.expected == "0"


def test_what_has_no_code():
    with pytest.raises(ValueError, match="sbo = 1000 is not a multiple of 16"):
        WgmmaDescriptor(0, 16, 1000).encode()
    with pytest.raises(ValueError, match="base_offset = 8"):
        WgmmaDescriptor(0, base_offset=8).encode()
    with pytest.raises(ValueError, match="wgmma has no 128-byte swizzling, 32-byte atoms"):
        WgmmaDescriptor(0, swizzle=Swizzle.B128_ATOM32).encode()


def test_an_explanation():
    rows = {bits: meaning for bits, _, meaning in WgmmaDescriptor(0x400, 16, 1024).explain()}
    assert rows["0-13"] == "0x400"
    assert rows["32-45"] == "1024 bytes"
    assert rows["62-63"] == "1 128-byte swizzling"
    assert str(WgmmaDescriptor(0x400, 16, 1024)) == "0x400 lbo 16 sbo 1024, 128-byte swizzling"
