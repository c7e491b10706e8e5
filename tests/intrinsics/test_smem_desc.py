"""The shared memory descriptor: 64 bits, written out of the manual's Tables 40 and 41."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle, problems
from tests.each import each
from tests.turns import examples

SIZES = st.integers(0, (1 << 14) - 1).map(lambda n: n * 16)
DESCRIPTORS = st.builds(
    SharedMemoryDescriptor,
    SIZES, SIZES, SIZES, st.sampled_from(Swizzle), st.integers(0, 7), st.booleans(),
)  # fmt: skip


def by_the_table(d: SharedMemoryDescriptor) -> int:
    """Table 40, field by field; matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4."""
    codes = {
        Swizzle.NONE: 0, Swizzle.B128_ATOM32: 1, Swizzle.B128: 2, Swizzle.B64: 4, Swizzle.B32: 6,
    }  # fmt: skip
    return sum(
        value << low
        for value, low in (
            ((d.address & 0x3FFFF) >> 4, 0),
            ((d.lbo & 0x3FFFF) >> 4, 16),
            ((d.sbo & 0x3FFFF) >> 4, 32),
            (0b001, 46),
            (d.base_offset, 49),
            (int(d.absolute_lbo), 52),
            (codes[d.swizzle], 61),
        )
    )


@examples(200)
@given(DESCRIPTORS)
def test_encoding(descriptor: SharedMemoryDescriptor):
    word = descriptor.encode()
    assert word == by_the_table(descriptor)
    assert 0 <= word < 1 << 64
    assert problems(word) == []


@examples(200)
@given(DESCRIPTORS)
def test_decoding_is_the_reverse(descriptor: SharedMemoryDescriptor):
    assert SharedMemoryDescriptor.decode(descriptor.encode()) == descriptor


@pytest.mark.parametrize(
    ("word", "lbo", "sbo"),
    [
        # What NVIDIA's tile compiler was seen to write for 128-byte swizzling: A K-major,
        # B MN-major with its spans 8 KiB apart.
        (0x40004040_00010000, 16, 1024),
        (0x40004040_02000000, 8192, 1024),
    ],
)
def test_descriptors_seen_elsewhere(word: int, lbo: int, sbo: int):
    found = SharedMemoryDescriptor.decode(word)
    assert found == SharedMemoryDescriptor(0, lbo, sbo, Swizzle.B128)
    assert found.encode() == word
    assert problems(word) == []


def test_the_manuals_example_of_strides():
    """bf16, T = 8: LBO 256 elements is encoded 32, SBO 512 elements is encoded 64."""
    word = SharedMemoryDescriptor(0, lbo=256 * 2, sbo=512 * 2, swizzle=Swizzle.NONE).encode()
    assert word >> 16 & 0x3FFF == 32
    assert word >> 32 & 0x3FFF == 64


def test_a_step_of_32_bytes_adds_two():
    """K = 16 of f16 is 32 bytes: the next descriptor of a K loop is the last one plus 2."""
    first = SharedMemoryDescriptor(0x1000).encode()
    assert SharedMemoryDescriptor(0x1020).encode() == first + 2


def test_only_the_low_18_bits_of_an_address_count():
    """Shared memory windows of other CTAs differ above."""
    low = SharedMemoryDescriptor(0x01230).encode()
    assert SharedMemoryDescriptor(0x7_01230 & ~0x3FFFF | 0x01230).encode() == low


@each("field", ["address", "lbo", "sbo"])
@each("size", [1, 8, 24, 1000])
def test_what_is_no_multiple_of_16_has_no_code(field: str, size: int):
    with pytest.raises(ValueError, match=rf"{field} = {size} .*16"):
        SharedMemoryDescriptor(**{"address": 0, field: size}).encode()


@pytest.mark.parametrize("base_offset", [-1, 8, 255])
def test_a_base_offset_has_three_bits(base_offset: int):
    """A larger one would spill into the mode and constant bits above it."""
    with pytest.raises(ValueError, match="base"):
        SharedMemoryDescriptor(0, base_offset=base_offset).encode()


@pytest.mark.parametrize("code", [3, 5, 7])
def test_swizzling_modes_that_do_not_exist(code: int):
    word = SharedMemoryDescriptor(0).encode() & ~(7 << 61) | code << 61
    with pytest.raises(ValueError, match=f"mode {code} is invalid"):
        SharedMemoryDescriptor.decode(word)
    assert [p.rule for p in problems(word)] == ["descriptor-swizzle"]


@pytest.mark.parametrize("constant", [0b000, 0b010, 0b011, 0b101, 0b111])
def test_the_constant_of_bits_46_to_48(constant: int):
    word = SharedMemoryDescriptor(0).encode() & ~(7 << 46) | constant << 46
    (problem,) = problems(word)
    assert problem.rule == "descriptor-constant"
    assert problem.got == f"{constant:#05b}"
    assert problem.expected == "0b001"


@each("bit", [14, 15, 30, 31, *range(53, 61)])
def test_bits_that_must_be_zero(bit: int):
    word = SharedMemoryDescriptor(0).encode() | 1 << bit
    assert [p.rule for p in problems(word)] == ["descriptor-reserved"]


def test_no_bit_is_forgotten():
    """Every bit is a field, the constant, or zero: flipping it is seen by one or the other."""
    word = SharedMemoryDescriptor(0x1230, 0x40, 0x400, Swizzle.B128, 5, True).encode()
    for bit in range(64):
        flipped = word ^ 1 << bit
        if not problems(flipped):
            assert SharedMemoryDescriptor.decode(flipped) != SharedMemoryDescriptor.decode(word)


def test_the_swizzle_patterns():
    """Table 41: where a pattern begins to repeat; the atom is as wide as its name says."""
    assert [(mode.span, mode.repeat) for mode in (Swizzle.B32, Swizzle.B64, Swizzle.B128)] == [
        (32, 256), (64, 512), (128, 1024),
    ]  # fmt: skip


def test_an_explanation_names_bits_and_meanings():
    rows = SharedMemoryDescriptor(0x1230, 32, 512, Swizzle.B64, 3, True).explain()
    meanings = {bits: meaning for bits, _, meaning in rows}
    assert list(meanings) == [
        "0-13", "16-29", "32-45", "46-48", "49-51", "52", "53-60", "61-63",
    ]  # fmt: skip
    assert meanings["0-13"] == "0x1230"
    assert meanings["16-29"] == "32 bytes"
    assert meanings["49-51"] == "3"
    assert meanings["52"] == "absolute address"
    assert meanings["61-63"].startswith("4 64-byte")
