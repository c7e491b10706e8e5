"""wgmma's shared memory descriptor, worked by hand from CUTLASS's bit fields."""

from __future__ import annotations

import pytest

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor, problems
from tests.intrinsics.published.descriptors import GMMA, GMMA_LAYOUTS, pack

WORDS = [
    (WgmmaDescriptor(0, 16, 1024, Swizzle.B128, 0), 0x4000004000010000,
     {"lbo": 1, "sbo": 64, "layout": 1}),
    (WgmmaDescriptor(0x400, 0x4000, 512, Swizzle.B64, 3), 0x8006002004000040,
     {"start": 0x40, "lbo": 0x400, "sbo": 32, "base": 3, "layout": 2}),
    (WgmmaDescriptor(0x3FFF0, 128, 256, Swizzle.B32, 0), 0xC000001000083FFF,
     {"start": 0x3FFF, "lbo": 8, "sbo": 16, "layout": 3}),
    (WgmmaDescriptor(16, 0, 128, Swizzle.NONE, 0), 0x0000000800000001, {"start": 1, "sbo": 8}),
]  # fmt: skip


@pytest.mark.parametrize(("descriptor", "word", "members"), WORDS)
def test_wgmma_descriptor(descriptor: WgmmaDescriptor, word: int, members: dict[str, int]) -> None:
    assert pack(GMMA, **members) == word
    assert descriptor.encode() == word
    assert WgmmaDescriptor.decode(word) == descriptor
    assert problems(word) == []


@pytest.mark.parametrize("mode", GMMA_LAYOUTS)
def test_swizzle_codes(mode: str) -> None:
    assert WgmmaDescriptor(0, 16, 16, Swizzle[mode], 0).encode() >> 62 == GMMA_LAYOUTS[mode]


def test_32_byte_atoms_have_no_code() -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        WgmmaDescriptor(0, 16, 16, Swizzle.B128_ATOM32, 0).encode()
