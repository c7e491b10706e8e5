"""Numbers in bytes that are not packed, and rounding; `published` has packing and codes."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.element import ElementType as E
from intrinsics.layouts.packing import (
    Codes,
    decode,
    decompress,
    elements_per_piece,
    encode,
    pack_cells,
    pack_pieces,
    unpack_cells,
    unpack_pieces,
)
from intrinsics.modifiers import CopyFormat
from intrinsics.modifiers import MmaKind as K
from tests.turns import examples


def random_codes(type_: E, shape: tuple[int, ...], seed: int = 1) -> Codes:
    """Codes that use every bit of the type."""
    numbers = np.random.default_rng(seed).integers(0, 1 << type_.bits, shape, dtype=np.uint64)
    unsigned = {8: np.uint8, 16: np.uint16, 32: np.uint32}[max(type_.bits, 8)]
    return numbers.astype(unsigned)


@pytest.mark.parametrize("type_", [E.E2M3, E.E3M2, E.E2M1])
def test_the_unused_bits_of_a_container_do_not_count(type_: E):
    codes = random_codes(type_, (8,))
    cells = pack_cells(codes, type_, K.MXF8F6F4)
    unused = {E.E2M1: 0xC3C3C3C3}.get(type_, 0xC0C0C0C0)
    assert np.array_equal(unpack_cells(cells | np.uint32(unused), type_, K.MXF8F6F4), codes)


def test_what_is_decompressed_is_what_an_mma_reads_from_tensor_memory():
    for type_, source in ((E.E2M1, CopyFormat.B4X16_P64), (E.E3M2, CopyFormat.B6X16_P32)):
        codes = random_codes(type_, (3, 16))
        copied = decompress(pack_pieces(codes, type_, K.F8F6F4), source).view("<u4")
        assert np.array_equal(unpack_cells(copied, type_, K.F8F6F4), codes)


def test_what_cannot_be_packed_says_why():
    four = np.zeros(16, np.uint8)
    with pytest.raises(ValueError, match="multiplies e2m1, not e4m3"):
        elements_per_piece(E.E4M3, K.MXF4)
    with pytest.raises(ValueError, match="nothing that is documented"):
        pack_cells(four, E.S8, K.TI16)
    with pytest.raises(ValueError, match="holds 32 elements, not 16"):
        pack_pieces(four, E.E2M1, K.MXF4)
    with pytest.raises(ValueError, match="more than 4 bits"):
        pack_pieces(four + np.uint8(16), E.E2M1, K.F8F6F4)
    with pytest.raises(ValueError, match="more than 6 bits"):
        pack_cells(four + np.uint8(64), E.E2M3, K.F8F6F4)
    with pytest.raises(ValueError, match="do not fill cells"):
        pack_cells(four[:6], E.S8, K.I8)
    with pytest.raises(ValueError, match="16 bytes, not 8"):
        unpack_pieces(four[:8], E.S8, K.I8)
    with pytest.raises(ValueError, match="b8x16 is not a compressed format"):
        decompress(four, CopyFormat.B8X16)


# ---- values ----------------------------------------------------------------------------------

FORMATS = {  # exponent bits, mantissa bits, bias
    E.E4M3: (4, 3, 7),
    E.E5M2: (5, 2, 15),
    E.E2M3: (2, 3, 1),
    E.E3M2: (3, 2, 3),
    E.E2M1: (2, 1, 1),
    E.F16: (5, 10, 15),
    E.BF16: (8, 7, 127),
}


def value_of(code: int, type_: E) -> Fraction | float:
    """What a code of a signed floating-point type stands for, by its definition."""
    exponent_bits, mantissa_bits, bias = FORMATS[type_]
    sign = -1 if code >> exponent_bits + mantissa_bits else 1
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    top = (1 << exponent_bits) - 1
    if type_ is E.E4M3 and (exponent, mantissa) == (15, 7):
        return math.nan
    if type_ in (E.E5M2, E.F16, E.BF16) and exponent == top:
        return math.nan if mantissa else sign * math.inf
    if exponent == 0:
        return sign * Fraction(mantissa, 1 << mantissa_bits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)


@pytest.mark.parametrize(("type_", "low"), [(E.S8, -128), (E.U8, 0)])
def test_integers_that_have_no_code(type_: E, low: int):
    for outside in (low - 1, low + 256):
        with pytest.raises(ValueError, match="has the numbers"):
            encode(np.array([outside]), type_)


def test_scale_factors_that_have_no_code():
    assert np.isnan(decode(np.array([127, 255], np.uint8), E.UE4M3)).all()
    with pytest.raises(ValueError, match="below zero"):
        encode(np.array([1.0, -0.5]), E.UE4M3)


def test_every_nan_stays_one():
    for type_ in FORMATS:
        values = decode(np.arange(1 << type_.bits).astype(np.uint16), type_)
        assert np.isnan(decode(encode(values[np.isnan(values)], type_), type_)).all()


BITS = st.integers(0, (1 << 32) - 1)


@examples(200)
@given(BITS)
def test_a_tf32_is_a_float_without_its_last_13_bits(bits: int):
    word = np.array([bits], np.uint32)
    value = decode(word, E.TF32)
    kept = (word >> np.uint32(13) << np.uint32(13)).view(np.float32).astype(np.float64)
    assert np.array_equal(value, kept, equal_nan=True)
    if not np.isnan(value[0]):
        assert decode(encode(value, E.TF32), E.TF32)[0] == value[0]


@functools.cache
def neighbours(type_: E) -> list[tuple[Fraction, int]]:
    """The finite numbers of a type with their codes, in order; of two zeros the positive one."""
    found = []
    for code in range(1 << type_.bits):
        value = value_of(code, type_)
        finite = isinstance(value, Fraction)
        if finite and (value or not code):
            found.append((value, code))
    return sorted(found)


@examples(400)
@given(st.sampled_from([*FORMATS]), st.data())
def test_rounding_is_once_and_to_nearest_even(type_: E, data: st.DataObject):
    """Values around the middle of two neighbours, near enough to be lost in binary32."""
    ordered = neighbours(type_)
    index = data.draw(st.integers(0, len(ordered) - 2))
    (below, low_code), (above, high_code) = ordered[index : index + 2]
    middle = float((below + above) / 2)
    assert middle == (below + above) / 2
    even = high_code if low_code % 2 else low_code
    wanted = {-math.inf: low_code, 0.0: even, math.inf: high_code}
    for direction, code in wanted.items():
        value = math.nextafter(middle, direction) if direction else middle
        found = int(encode(np.array([value]), type_)[0])
        assert decode(np.array([found], np.uint16), type_)[0] == float(value_of(code, type_))


@examples(200)
@given(st.floats(-1e38, 1e38, width=64))
def test_tf32_is_the_nearest_with_ten_bits(value: float):
    found = float(decode(encode(np.array([value]), E.TF32), E.TF32)[0])
    grid = Fraction(2) ** (max(math.frexp(value)[1] - 1, -126) - 10)
    assert abs(Fraction(found) - Fraction(value)) <= grid / 2
    assert Fraction(found) % grid == 0


@examples(100)
@given(st.integers(0, (1 << 18) - 2).filter(lambda x: x < 255 << 10))
def test_tf32_rounds_ties_to_even(upper: int):
    """Between two neighbours, and a hair beside the middle, nearer than binary32 can tell."""
    words = np.array([upper << 13, upper + 1 << 13], np.uint32)
    below, above = decode(words, E.TF32).tolist()
    middle = (below + above) / 2
    even = words[upper % 2]
    values = np.array([middle, math.nextafter(middle, 0), math.nextafter(middle, math.inf)])
    assert encode(values[:1], E.TF32)[0] == even
    assert np.array_equal(encode(values[1:], E.TF32), words)


def test_what_is_too_large():
    """As ml_dtypes has it: e4m3 has no infinity, and the types of 6 and 4 bits saturate."""
    huge = np.array([1e300, -1e300, math.inf])
    assert np.isnan(decode(encode(huge, E.E4M3), E.E4M3)).all()
    for type_ in (E.E5M2, E.F16, E.BF16, E.F32, E.TF32):
        infinite = np.array([math.inf, -math.inf, math.inf])
        assert np.array_equal(decode(encode(huge, type_), type_), infinite)
    for type_ in (E.E2M3, E.E3M2, E.E2M1):
        largest = float(ml_dtypes.finfo(type_.numpy).max)
        assert np.array_equal(decode(encode(huge, type_), type_), [largest, -largest, largest])


@examples(100)
@given(st.floats(width=32))
def test_binary32_is_itself(value: float):
    word = encode(np.array([value]), E.F32)
    assert np.array_equal(decode(word, E.F32), [value], equal_nan=True)
