"""The fields of descriptors, and words put together by hand.

Sources: CUTLASS, include/cute/arch/mma_sm100_desc.hpp (InstrDescriptor, InstrDescriptorBlockScaled,
SmemDescriptor, MaskAndShiftB: bit fields in their order) and include/cute/arch/mma_sm90_desc.hpp
(GmmaDescriptor); PTX ISA, Tables 40, 42, 43, 44, 45 (bit positions), Zero-Column Mask Descriptor
(four examples).

Where they differ: the manual's M of block-scaled kinds is 2 bits from bit 27 without the 7 lowest
bits, CUTLASS's 5 bits from bit 24 without the 4 lowest: the same for 128 and 256.  The manual's
B type of the 4-bit kinds has 2 bits, CUTLASS's 3: the same for 1, the only code.  The manual's
constant 0b001 in bits 46 to 48 is CUTLASS's 2-bit version 1 and a bit that is not used.  Table 45
says that skip_span counts columns of B that are used and use_span zeros; its four examples, and
CUTLASS's comment, have it the other way round.  CUTLASS's comment says that nzm = 0 enables the
mask; the manual, and CUTLASS's code, that nzm = 0 means no column is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

Members = Sequence[tuple[str, int]]

INSTRUCTION: Members = [
    ("sparse_id", 2), ("sparse", 1), ("saturate", 1), ("c", 2), ("", 1), ("a", 3), ("b", 3),
    ("a_negate", 1), ("b_negate", 1), ("a_major", 1), ("b_major", 1), ("n", 6), ("", 1), ("m", 5),
    ("", 1), ("max_shift", 2),
]  # fmt: skip
"""CUTLASS's InstrDescriptor: (member, bits) from bit 0 on."""

BLOCK_SCALED: Members = [
    ("sparse_id", 2), ("sparse", 1), ("", 1), ("b_sf", 2), ("", 1), ("a", 3), ("b", 3),
    ("a_negate", 1), ("b_negate", 1), ("a_major", 1), ("b_major", 1), ("n", 6), ("scale", 1),
    ("m", 5), ("a_sf", 2), ("k", 1),
]  # fmt: skip
"""CUTLASS's InstrDescriptorBlockScaled."""

SHARED: Members = [
    ("start", 14), ("", 2), ("lbo", 14), ("", 2), ("sbo", 14), ("version", 2), ("", 1), ("base", 3),
    ("lbo_mode", 1), ("", 3), ("", 5), ("layout", 3),
]  # fmt: skip
"""CUTLASS's SmemDescriptor."""

MASK: Members = [
    ("start0", 8), ("start1", 8), ("start2", 8), ("start3", 8), ("first", 4), ("", 3), ("nzm", 1),
    ("skip", 8), ("use", 8), ("shift", 6), ("", 2),
]  # fmt: skip
"""CUTLASS's MaskAndShiftB."""

LAYOUTS = {"NONE": 0, "B128_ATOM32": 1, "B128": 2, "B64": 4, "B32": 6}
"""tcgen05's swizzle codes."""


def pack(members: Members, **values: int) -> int:
    """The word in which the members have these values, all others 0."""
    word, bit = 0, 0
    for name, width in members:
        value = values.pop(name, 0) if name else 0
        assert 0 <= value < 1 << width, name
        word |= value << bit
        bit += width
    assert not values, values
    return word


MASK_EXAMPLES = [
    # M, start counts sc0.., first spans fs0.., non-zero, skip, use, shift, the sub-masks
    (128, (0, 0, 0, 0), (0, 0, 0, 0), 0, 4, 3, 0, ["… 0"]),
    (128, (0, 0, 0, 0), (0, 0, 0, 0), 1, 2, 3, 0, ["… 111 0000 111 0000"]),
    (64, (0, 0, 0, 0), (1, 0, 0, 0), 1, 2, 3, 0, ["… 111 0000 111 0000 111",
                                                  "… 0000 111 0000 111 0000"]),
    (32, (0, 1, 2, 1), (1, 1, 0, 0), 1, 2, 3, 2, ["… 0000 111 0000 111", "… 0000 111 0000 11",
                                                  "… 111 0000 111 00", "… 111 0000 111 000"]),
]  # fmt: skip
"""The manual's four examples, each sub-mask with its lowest column to the right."""


def columns(text: str) -> list[int]:
    """The columns of a sub-mask that the manual prints, column 0 first."""
    return [int(bit) for bit in reversed(text.replace("…", "").replace(" ", ""))]
