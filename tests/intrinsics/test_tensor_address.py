"""Tensor memory addresses, and the zero-column mask with the manual's own examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.descriptors.tensor_address import TensorAddress, ZeroColumnMask
from tests.turns import examples

# ---- addresses -------------------------------------------------------------------------------


@examples(100)
@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_lane_above_column_below(lane: int, column: int):
    word = TensorAddress(lane, column).encode()
    assert word == lane * 65536 + column
    assert TensorAddress.decode(word) == TensorAddress(lane, column)


def test_a_warps_lanes():
    """Warp 3 of a warpgroup loads from lane 96 on: 96 << 16."""
    assert TensorAddress(96, 0).encode() == 0x0060_0000


@pytest.mark.parametrize(
    ("lane", "column", "there"),
    [(0, 0, True), (127, 511, True), (128, 0, False), (0, 512, False)],
)
def test_128_lanes_of_512_columns(lane: int, column: int, there: bool):
    address = TensorAddress(lane, column)
    assert address.in_bounds is there
    assert any("there are" in meaning for _, _, meaning in address.explain()) is not there


# ---- the zero-column mask --------------------------------------------------------------------


def column_mask(text: str, width: int) -> int:
    """A mask as the manual draws it, `… 111 0000 111`: the rightmost digit is column 0.

    The runs go on as they began: with a period of seven, 3 ones and 4 zeros.
    """
    digits = [int(digit) for digit in reversed(text.replace(" ", ""))]
    while len(digits) < width:
        digits.append(digits[-7])
    return sum(digit << i for i, digit in enumerate(digits[:width]))


SKIP, USE = 2, 3  # 3 columns of zeros, 4 columns of B


def test_example_1_without_a_mask_every_column_of_b_counts():
    assert ZeroColumnMask(nonzero=False, skip_span=4, use_span=3).mask(128, 256) == 0


def test_example_2_one_mask_for_128_rows():
    mask = ZeroColumnMask(skip_span=SKIP, use_span=USE)
    assert mask.mask(128, 256) == column_mask("111 0000 111 0000", 256)


def test_example_3_two_masks_for_64_rows():
    mask = ZeroColumnMask(first=(1, 0, 0, 0), skip_span=SKIP, use_span=USE)
    low = column_mask("111 0000 111 0000 111", 64)
    high = column_mask("0000 111 0000 111 0000", 64)
    assert mask.mask(64, 128) == high << 64 | low


def test_example_4_four_masks_for_32_rows():
    """The manual lists start counts and first spans from the fourth down to the first."""
    mask = ZeroColumnMask((0, 1, 2, 1), (1, 1, 0, 0), True, SKIP, USE, 2)
    parts = [
        column_mask("0000 111 0000 111", 32),
        column_mask("0000 111 0000 11", 32),
        column_mask("111 0000 111 00", 32),
        column_mask("111 0000 111 000", 32),
    ]
    expected = sum(part << 32 * i for i, part in enumerate(parts))
    assert mask.mask(32, 128) == expected


BYTES = st.integers(0, 255)
BITS = st.integers(0, 1)
MASKS = st.builds(
    ZeroColumnMask,
    st.tuples(BYTES, BYTES, BYTES, BYTES),
    st.tuples(BITS, BITS, BITS, BITS),
    st.booleans(),
    BYTES,
    BYTES,
    st.integers(0, 63),
)


@examples(150)
@given(MASKS)
def test_the_descriptor_of_a_mask(mask: ZeroColumnMask):
    """Table 45, field by field."""
    fields = [(count, 8 * i) for i, count in enumerate(mask.start)]
    fields += [(bit, 32 + i) for i, bit in enumerate(mask.first)]
    fields += [(int(mask.nonzero), 39), (mask.skip_span, 40), (mask.use_span, 48), (mask.shift, 56)]
    assert mask.encode() == sum(value << low for value, low in fields)
    assert ZeroColumnMask.decode(mask.encode()) == mask


@examples(150)
@given(MASKS, st.sampled_from((32, 64, 128)), st.sampled_from((64, 128, 256)))
def test_runs_of_a_mask_have_the_lengths_of_the_spans(mask: ZeroColumnMask, m: int, n: int):
    """In each part, every run but the first and the last is as long as its span says."""
    bits = mask.mask(m, n)
    assert 0 <= bits < 1 << n
    if not mask.nonzero:
        assert bits == 0
        return
    width = n * m // 128
    for part in range(128 // m):
        text = f"{bits >> part * width & (1 << width) - 1:0{width}b}"[::-1]
        runs = [len(run) for run in text.replace("01", "0 1").replace("10", "1 0").split()]
        digits = [run[0] for run in text.replace("01", "0 1").replace("10", "1 0").split()]
        for digit, length in list(zip(digits, runs, strict=True))[1:-1]:
            assert length == 1 + (mask.skip_span if digit == "1" else mask.use_span)


def test_an_explanation_of_a_mask():
    rows = ZeroColumnMask((1, 2, 3, 4), (1, 0, 1, 0), True, 2, 3, 5).explain()
    assert [bits for bits, _, _ in rows] == ["0-31", "32-35", "39", "40-47", "48-55", "56-61"]
    meanings = {bits: meaning for bits, _, meaning in rows}
    assert meanings["0-31"] == "1, 2, 3, 4"
    assert meanings["40-47"].startswith("2: 3 ")
    assert meanings["48-55"].startswith("3: 4 ")
