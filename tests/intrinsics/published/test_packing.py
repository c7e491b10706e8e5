"""Packing of elements in shared and tensor memory, decompression, and the value of each code."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.layouts.packing import (
    decode,
    decompress,
    elements_per_piece,
    encode,
    pack_cells,
    pack_pieces,
    unpack_cells,
    unpack_pieces,
)
from intrinsics.modifiers import CopyFormat, MmaKind
from tests.each import each
from tests.intrinsics.published.packing import (
    FLOATS,
    PER_CELL,
    PER_PIECE,
    WIDTH,
    bit_string,
    cell,
    decompressed,
    piece,
    values,
)

PAIRS = list(PER_PIECE)
SMALL = [name for name in FLOATS if name not in ("F16", "BF16")]


def some_codes(type_: str, count: int, seed: int = 0) -> list[int]:
    limit = 1 << min(WIDTH[type_], 32)
    return [int(code) for code in np.random.default_rng(seed).integers(0, limit, count)]


def word(type_: str) -> str:
    """numpy's name for what holds a code."""
    return {16: "uint16", 32: "uint32"}.get(WIDTH[type_], "uint8")


@each("pair, number", PER_PIECE.items())
def test_elements_per_piece(pair: tuple[str, str], number: int) -> None:
    assert elements_per_piece(ElementType[pair[0]], MmaKind[pair[1]]) == number


@each("type_, kind", PAIRS)
@each("seed", range(4))
def test_pieces(type_: str, kind: str, seed: int) -> None:
    codes = [some_codes(type_, PER_PIECE[type_, kind], seed + 10 * row) for row in range(3)]
    expected = np.array([piece(row, type_) for row in codes], dtype=np.uint8)
    packed = pack_pieces(np.array(codes, dtype=word(type_)), ElementType[type_], MmaKind[kind])
    assert np.array_equal(packed, expected)
    assert np.array_equal(unpack_pieces(expected, ElementType[type_], MmaKind[kind]), codes)


@pytest.mark.parametrize("type_", ["E2M1", "E2M3", "E3M2"])
def test_padding_of_pieces_is_not_read(type_: str) -> None:
    codes = some_codes(type_, 16)
    dirty = np.array(piece(codes, type_), dtype=np.uint8)
    dirty[2 * WIDTH[type_] :] = 0xA5
    assert np.array_equal(unpack_pieces(dirty, ElementType[type_], MmaKind.F8F6F4), codes)


@each("type_, kind", PAIRS)
@each("seed", range(4))
def test_cells(type_: str, kind: str, seed: int) -> None:
    number = PER_CELL[type_, kind]
    codes = some_codes(type_, 5 * number, seed)
    rows = [codes[i : i + number] for i in range(0, len(codes), number)]
    expected = np.array([cell(row, type_, kind) for row in rows], dtype=np.uint32)
    packed = pack_cells(np.array(codes, dtype=word(type_)), ElementType[type_], MmaKind[kind])
    assert np.array_equal(packed, expected)
    assert np.array_equal(unpack_cells(expected, ElementType[type_], MmaKind[kind]), codes)


@each("source, width", [("B4X16_P64", 4), ("B6X16_P32", 6)])
@each("seed", range(4))
def test_decompression(source: str, width: int, seed: int) -> None:
    codes = [int(code) for code in np.random.default_rng(seed).integers(0, 1 << width, 16)]
    pieces = np.array([bit_string(codes, width, 16)], dtype=np.uint8)
    pieces[:, 2 * width :] = 0x5A  # padding
    got = decompress(pieces, CopyFormat[source])
    assert np.array_equal(got, [decompressed(codes, width)])


@each("type_", [*FLOATS, "UE8M0"])
def test_decode_every_code(type_: str) -> None:
    expected = values(type_)
    got = decode(np.arange(len(expected), dtype=word(type_)), ElementType[type_])
    assert np.array_equal(np.asarray(got, dtype=np.float64), expected, equal_nan=True)
    finite = np.isfinite(expected)
    assert np.array_equal(np.signbit(got)[finite], np.signbit(expected)[finite])


def test_decode_integers() -> None:
    codes = np.arange(256, dtype=np.uint8)
    assert np.array_equal(decode(codes, ElementType.U8), np.arange(256))
    assert np.array_equal(
        decode(codes, ElementType.S8), np.where(codes < 128, codes, codes - 256.0)
    )


def test_decode_tf32_without_its_low_bits() -> None:
    """The upper 19 bits of a binary32 count."""
    codes = np.random.default_rng(5).integers(0x00800000, 0x7F7FFFFF, 1000).astype(np.uint32)
    expected = (codes >> 13 << 13).astype(np.uint32).view(np.float32).astype(np.float64)
    assert np.array_equal(decode(codes, ElementType.TF32), expected)


@each("type_", [*FLOATS])
def test_encode_finds_every_value_again(type_: str) -> None:
    table = values(type_)
    codes = np.flatnonzero(~np.isnan(table))
    assert np.array_equal(encode(table[codes], ElementType[type_]), codes)


def test_encode_scale_factors_and_integers() -> None:
    """What has a code of its own: powers of two from 2**-127 to 2**127; integers in range."""
    assert np.array_equal(encode(values("UE8M0")[:255], ElementType.UE8M0), np.arange(255))
    assert np.array_equal(encode(np.arange(256), ElementType.U8), np.arange(256))
    signed = np.arange(-128, 128)
    assert np.array_equal(encode(signed, ElementType.S8), signed & 0xFF)


@pytest.mark.parametrize("type_", SMALL)
def test_encode_rounds_to_nearest_even(type_: str) -> None:
    """Between two neighbours: the middle to the code whose last bit is 0, the rest to the near."""
    table = values(type_)
    positive = table[: len(table) // 2] if FLOATS[type_].signed else table
    last = int(np.flatnonzero(np.isfinite(positive)).max())
    low = np.arange(last)
    middle = (positive[low] + positive[low + 1]) / 2
    gap = (positive[low + 1] - positive[low]) / 64
    even = np.where(low % 2 == 0, low, low + 1)
    assert np.array_equal(encode(middle, ElementType[type_]), even)
    assert np.array_equal(encode(middle - gap, ElementType[type_]), low)
    assert np.array_equal(encode(middle + gap, ElementType[type_]), low + 1)


@pytest.mark.parametrize("type_", ["F16", "BF16", *[n for n in SMALL if n != "UE4M3"]])
def test_encode_overflows_as_ml_dtypes(type_: str) -> None:
    beyond = np.array([1e30, -1e30, 1e300]) if type_ != "BF16" else np.array([1e39, -1e39, 1e300])
    with np.errstate(all="ignore"):
        stored = beyond.astype(np.float32).astype(ElementType[type_].numpy)
    expected = stored.astype(np.float64)
    got = decode(encode(beyond, ElementType[type_]), ElementType[type_])
    assert np.array_equal(got, expected, equal_nan=True)
