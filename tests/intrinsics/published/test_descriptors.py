"""Instruction descriptors, shared memory descriptors and zero-column masks, worked by hand."""

from __future__ import annotations

import pytest

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle, problems
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType, Major
from intrinsics.modifiers import MmaKind
from tests.intrinsics.published.descriptors import (
    BLOCK_SCALED,
    INSTRUCTION,
    LAYOUTS,
    MASK,
    MASK_EXAMPLES,
    SHARED,
    columns,
    pack,
)

E, K = ElementType, MmaKind

PLAIN = [
    (InstructionDescriptor(K.F16, 128, 128, E.F16, E.F16, E.F32), 0x08200010,
     {"c": 1, "n": 16, "m": 8}),
    (InstructionDescriptor(K.F16, 256, 256, E.BF16, E.BF16, E.F32), 0x10400490,
     {"c": 1, "a": 1, "b": 1, "n": 32, "m": 16}),
    (InstructionDescriptor(K.F16, 64, 8, E.F16, E.F16, E.F16, b_major=Major.MN, negate_a=True),
     0x04032000, {"a_negate": 1, "b_major": 1, "n": 1, "m": 4}),
    (InstructionDescriptor(K.TF32, 128, 64, E.TF32, E.TF32, E.F32, a_major=Major.MN, sparse=True,
                           selector=1),
     0x08108915,
     {"sparse_id": 1, "sparse": 1, "c": 1, "a": 2, "b": 2, "a_major": 1, "n": 8, "m": 8}),
    (InstructionDescriptor(K.I8, 64, 32, E.S8, E.U8, E.S32, saturate=True), 0x040800A8,
     {"saturate": 1, "c": 2, "a": 1, "n": 4, "m": 4}),
    (InstructionDescriptor(K.F8F6F4, 128, 240, E.E2M1, E.E3M2, E.F16, negate_b=True, max_shift=3),
     0xC83C5280, {"a": 5, "b": 4, "b_negate": 1, "n": 30, "m": 8, "max_shift": 3}),
    (InstructionDescriptor(K.F8F6F4, 32, 256, E.E5M2, E.E2M3, E.F32), 0x02400C90,
     {"c": 1, "a": 1, "b": 3, "n": 32, "m": 2}),
]  # fmt: skip

SCALED = [
    (InstructionDescriptor(K.MXF8F6F4, 128, 256, E.E4M3, E.E5M2, scale=E.UE8M0, sfa_id=3, sfb_id=2),
     0x68C00420, {"b": 1, "n": 32, "scale": 1, "m": 8, "a_sf": 3, "b_sf": 2}),
    (InstructionDescriptor(K.MXF4, 256, 64, E.E2M1, E.E2M1, scale=E.UE8M0, sparse=True, sfa_id=2),
     0x50900484, {"sparse": 1, "a": 1, "b": 1, "n": 8, "scale": 1, "m": 16, "a_sf": 2}),
    (InstructionDescriptor(K.MXF4NVF4, 256, 128, E.E2M1, E.E2M1, scale=E.UE4M3, k96=True),
     0x90200480, {"a": 1, "b": 1, "n": 16, "m": 16, "k": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("descriptor", "word", "members"), PLAIN)
def test_instruction_descriptor(
    descriptor: InstructionDescriptor, word: int, members: dict[str, int]
) -> None:
    """Table 42."""
    assert pack(INSTRUCTION, **members) == word
    assert descriptor.encode() == word
    assert InstructionDescriptor.decode(word, descriptor.kind) == descriptor


@pytest.mark.parametrize(("descriptor", "word", "members"), SCALED)
def test_block_scaled_instruction_descriptor(
    descriptor: InstructionDescriptor, word: int, members: dict[str, int]
) -> None:
    """Tables 43 and 44."""
    assert pack(BLOCK_SCALED, **members) == word
    assert descriptor.encode() == word
    assert InstructionDescriptor.decode(word, descriptor.kind) == descriptor


SHARED_WORDS = [
    (SharedMemoryDescriptor(0, 16, 1024, Swizzle.B128), 0x4000404000010000,
     {"lbo": 1, "sbo": 64, "layout": 2}),
    (SharedMemoryDescriptor(0x400, 0x4000, 256, Swizzle.B32), 0xC000401004000040,
     {"start": 0x40, "lbo": 0x400, "sbo": 16, "layout": 6}),
    (SharedMemoryDescriptor(0x3FFF0, 128, 2048, Swizzle.NONE, 5), 0x000A408000083FFF,
     {"start": 0x3FFF, "lbo": 8, "sbo": 128, "base": 5}),
    (SharedMemoryDescriptor(0x8000, 0x9000, 1024, Swizzle.B128, 0, True), 0x4010404009000800,
     {"start": 0x800, "lbo": 0x900, "sbo": 64, "lbo_mode": 1, "layout": 2}),
    (SharedMemoryDescriptor(16, 0, 0, Swizzle.B128_ATOM32), 0x2000400000000001,
     {"start": 1, "layout": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("descriptor", "word", "members"), SHARED_WORDS)
def test_shared_memory_descriptor(
    descriptor: SharedMemoryDescriptor, word: int, members: dict[str, int]
) -> None:
    """Table 40."""
    assert pack(SHARED, version=1, **members) == word
    assert descriptor.encode() == word
    assert SharedMemoryDescriptor.decode(word) == descriptor
    assert problems(word) == []


@pytest.mark.parametrize("mode", LAYOUTS)
def test_swizzle_codes(mode: str) -> None:
    assert SharedMemoryDescriptor(0, 16, 16, Swizzle[mode]).encode() >> 61 == LAYOUTS[mode]


@pytest.mark.parametrize(
    ("m", "start", "first", "nonzero", "skip", "use", "shift", "texts"), MASK_EXAMPLES
)
def test_zero_column_mask(
    m: int, start: tuple[int, int, int, int], first: tuple[int, int, int, int], nonzero: int,
    skip: int, use: int, shift: int, texts: list[str],
) -> None:  # fmt: skip
    """The manual's examples, through the 64-bit word of Table 45; N = 128."""
    members = {f"start{i}": count for i, count in enumerate(start)}
    spans = sum(bit << i for i, bit in enumerate(first))
    word = pack(MASK, **members, first=spans, nzm=nonzero, skip=skip, use=use, shift=shift)
    decoded = ZeroColumnMask.decode(word)
    assert decoded.encode() == word
    assert decoded.shift == shift
    mask, width = decoded.mask(m, 128), 128 // len(texts)
    period = (skip + 1) + (use + 1)
    for index, text in enumerate(texts):
        part = [mask >> index * width + i & 1 for i in range(width)]
        shown = columns(text)
        assert part[: len(shown)] == shown
        if nonzero:  # and so on, one period after the other
            assert part[period:] == part[:-period]
    if not nonzero:
        assert mask == 0
