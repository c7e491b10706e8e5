"""Packing of numbers in bytes: 16-byte units of shared memory, cells of tensor memory, values.

Layer: intrinsics (numpy, ml_dtypes).  A *code* is the bit pattern of one element, right-aligned in
an unsigned integer; a *piece* is the 16 bytes that every canonical layout keeps together; a *cell*
is 32 bits of tensor memory.  PTX ISA, Packing formats of elements in Tensor and Shared memory;
Optional Decompression; Alternate Floating-Point Data Formats.

    kind                     piece in shared memory            cell in tensor memory (A)
    tf32                     4 elements                        1
    f16                      8                                 2
    i8, (mx)f8f6f4  8 bits   16                                4
                    6 bits   16 in 12 bytes, 4 bytes padding   4, in bits 0 to 5 of a byte
                    4 bits   16 in 8 bytes, 8 bytes padding    4, in bits 2 to 5 of a byte
    mxf4, mxf4nvf4           32                                8

Elements go from the lowest bits upwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.modifiers import FP4_KINDS, CopyFormat, MmaKind

Codes = NDArray[np.unsignedinteger]
Bytes = NDArray[np.uint8]
Cells = NDArray[np.uint32]
Numbers = NDArray[np.float64] | NDArray[np.int64]

PIECE = 16
"""Bytes that all canonical layouts keep together."""

_E = ElementType
_TYPES = {
    MmaKind.TF32: (_E.TF32,),
    MmaKind.F16: (_E.F16, _E.BF16),
    MmaKind.I8: (_E.S8, _E.U8),
    MmaKind.F8F6F4: (_E.E4M3, _E.E5M2, _E.E2M3, _E.E3M2, _E.E2M1),
    MmaKind.MXF8F6F4: (_E.E4M3, _E.E5M2, _E.E2M3, _E.E3M2, _E.E2M1),
    MmaKind.MXF4: (_E.E2M1,),
    MmaKind.MXF4NVF4: (_E.E2M1,),
}
_UNSIGNED: dict[int, type[np.unsignedinteger]] = {8: np.uint8, 16: np.uint16, 32: np.uint32}
_TF32_MASK = np.uint32(0xFFFFE000)
_CONTAINER_SHIFT = {4: 2, 6: 0, 8: 0}


def elements_per_piece(type_: ElementType, kind: MmaKind) -> int:
    """Elements of a matrix in 16 bytes of shared memory, padding included.

    Raises: ValueError when `kind` does not multiply `type_`.
    """
    _check(type_, kind)
    if kind in FP4_KINDS:
        return 32
    return 16 if type_.bits <= 8 else 128 // type_.bits


def unpack_pieces(pieces: Bytes, type_: ElementType, kind: MmaKind) -> Codes:
    """The codes in pieces: (…, 16) bytes to (…, n) elements; what stands in the padding is ignored.

    The padded formats are those of the TMA (b4x16_p64, b6x16_p32); that element 0 lies in the
    lowest bits agrees with CUTLASS (`array_subbyte.h`) and PyTorch (`float4_e2m1fn_x2`).

    Raises: ValueError when `kind` does not multiply `type_`, or a piece has not 16 bytes.
    """
    count = elements_per_piece(type_, kind)
    if pieces.shape[-1] != PIECE:
        raise ValueError(f"a piece has {PIECE} bytes, not {pieces.shape[-1]}")
    return _unpack(pieces, type_.bits, count)


def pack_pieces(codes: Codes, type_: ElementType, kind: MmaKind) -> Bytes:
    """The reverse: (…, n) elements to (…, 16) bytes, with padding of zeros.

    Raises: ValueError when `kind` does not multiply `type_`, when the elements are not those of one
    piece, or when a code has more bits than the type.
    """
    count = elements_per_piece(type_, kind)
    if codes.shape[-1] != count:
        raise ValueError(f"a piece holds {count} elements, not {codes.shape[-1]}")
    packed = _pack(codes, type_.bits)
    pieces = np.zeros((*codes.shape[:-1], PIECE), np.uint8)
    pieces[..., : packed.shape[-1]] = packed
    return pieces


def unpack_cells(cells: Cells, type_: ElementType, kind: MmaKind) -> Codes:
    """The codes of A in tensor memory: (…, c) cells to (…, n) elements, column by column.

    Narrow elements of kind::f8f6f4 and kind::mxf8f6f4 have a byte each: four bits stand in its
    middle (Triton, pull request 10202, and TIRx-harness, `test_tcgen05_block_tmem.py`, of tensor
    memory; CUTLASS, `mma_traits_sm120.hpp`, of the same kind's registers), six bits at its low end
    (the last two).  The other bits of the byte are ignored here; what they do is not documented.

    Raises: ValueError when `kind` does not multiply `type_`.
    """
    _check(type_, kind)
    data = _bytes(cells, 4)
    if kind in FP4_KINDS or type_.bits > 8:
        return _unpack(data, type_.bits, data.shape[-1] * 8 // type_.bits)
    shift = np.uint8(_CONTAINER_SHIFT[type_.bits])
    return (data >> shift) & np.uint8((1 << type_.bits) - 1)


def pack_cells(codes: Codes, type_: ElementType, kind: MmaKind) -> Cells:
    """The reverse: (…, n) elements to (…, c) cells; the unused bits of containers are zero.

    Raises: ValueError when `kind` does not multiply `type_`, when the elements do not fill whole
    cells, or when a code has more bits than the type.
    """
    _check(type_, kind)
    if kind in FP4_KINDS or type_.bits > 8:
        data = _pack(codes, type_.bits)
    else:
        _check_codes(codes, type_.bits)
        data = codes.astype(np.uint8) << np.uint8(_CONTAINER_SHIFT[type_.bits])
    if data.shape[-1] % 4:
        raise ValueError(f"{codes.shape[-1]} elements do not fill cells of 32 bits")
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


def decompress(pieces: Bytes, source: CopyFormat) -> Bytes:
    """The bytes that tcgen05.cp makes of 16 bytes of narrow elements: (…, 16), one for each
    element.

    The elements come to lie where the MMA reads them in tensor memory (see `unpack_cells`): the
    manual only draws this, TIRx-harness (`tcgen05/layouts.rs`) has it so too.

    Raises: ValueError when `source` is b8x16, which needs no decompression.
    """
    return widened(pieces, source) << np.uint8(_CONTAINER_SHIFT[_compressed_bits(source)])


def widened(pieces: Bytes, source: CopyFormat) -> Bytes:
    """The narrow elements of 16 bytes, one in each byte, at its low end: (…, 16) to (…, 16).

    So ldmatrix gives them; of four bits see also CUTLASS (`mma_traits_sm120.hpp`), which shifts
    them to where the MMA wants them.

    Raises: ValueError when `source` is b8x16, whose elements are bytes already.
    """
    return _unpack(pieces, _compressed_bits(source), 16).astype(np.uint8)


def _compressed_bits(source: CopyFormat) -> int:
    bits = {CopyFormat.B4X16_P64: 4, CopyFormat.B6X16_P32: 6}.get(source)
    if bits is None:
        raise ValueError(f"{source.value} is not a compressed format")
    return bits


def decode(codes: Codes, type_: ElementType) -> Numbers:
    """The numbers that codes stand for, exactly: int64 for integer types, else float64.

    NaN and infinity are as the type has them.  Of a tf32 the last 13 bits do not count, and of a
    ue4m3, which has seven bits, the first.
    """
    if type_ is _E.TF32:
        return (codes.astype(np.uint32) & _TF32_MASK).view(np.float32).astype(np.float64)
    if type_ is _E.UE4M3:
        codes = codes.astype(np.uint8) & np.uint8(0x7F)
    plain = codes.astype(_UNSIGNED[max(type_.bits, 8)]).view(type_.numpy)
    if type_.is_integer:
        return plain.astype(np.int64)
    with np.errstate(invalid="ignore"):  # a NaN is no accident here
        return plain.astype(np.float64)


def encode(values: Numbers, type_: ElementType) -> Codes:
    """The codes of numbers, rounded once to the nearest, ties to even.

    What is too large becomes what ml_dtypes makes of it: NaN in e4m3, infinity in e5m2, bf16, f16,
    f32 and tf32, the largest number in the types of 6 and 4 bits; ue8m0 rounds ties up.

    Raises: ValueError when an integer type does not have a value, or ue4m3 is given one below zero.
    """
    unsigned = _UNSIGNED[max(type_.bits, 8)]
    if type_.is_integer:
        return _encode_integers(values, type_).view(unsigned)
    wide = np.asarray(values, np.float64)
    if type_ is _E.UE4M3 and (wide < 0).any():
        raise ValueError("ue4m3 has no numbers below zero")
    with np.errstate(over="ignore"):
        if type_ is _E.TF32:
            return _nearest_tf32(_round_to_odd(wide))
        if type_ not in (_E.F16, _E.F32):
            # ml_dtypes goes by way of float32; a sticky last bit keeps its second rounding right.
            return _round_to_odd(wide).astype(type_.numpy).view(unsigned)
        return wide.astype(type_.numpy).view(unsigned)


def _encode_integers(values: Numbers, type_: ElementType) -> NDArray[np.signedinteger]:
    limits = np.iinfo(type_.numpy)
    whole = np.asarray(values)
    if whole.size and not ((whole >= limits.min) & (whole <= limits.max)).all():
        raise ValueError(f"{type_.value} has the numbers {limits.min} to {limits.max}")
    return whole.astype(type_.numpy)


def _round_to_odd(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """binary32 whose last bit is set where something was cut off: safe to be rounded again."""
    near = values.astype(np.float32)
    bits = near.view(np.uint32).copy()
    back = near.astype(np.float64)
    inexact = np.isfinite(values) & (back != values)
    bits[np.abs(back) > np.abs(values)] -= np.uint32(1)
    bits[inexact] |= np.uint32(1)
    return bits.view(np.float32)


def _nearest_tf32(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    bits = values.view(np.uint32)
    kept = bits >> np.uint32(13) & np.uint32(1)
    rounded = (bits + np.uint32(0xFFF) + kept) & _TF32_MASK
    return np.where(np.isnan(values), np.uint32(0x7FC00000), rounded).astype(np.uint32)


def _check(type_: ElementType, kind: MmaKind) -> None:
    known = _TYPES.get(kind, ())
    if type_ not in known:
        wanted = ", ".join(t.value for t in known) or "nothing that is documented"
        raise ValueError(f"{kind.value} multiplies {wanted}, not {type_.value}")


def _check_codes(codes: Codes, bits: int) -> None:
    if codes.size and int(codes.max()) >> bits:
        raise ValueError(f"code {int(codes.max()):#x} has more than {bits} bits")


def _bytes(values: Codes, size: int) -> Bytes:
    """The bytes of unsigned integers, the lowest first."""
    return np.ascontiguousarray(values.astype(f"<u{size}")).view(np.uint8)


def _unpack(data: Bytes, bits: int, count: int) -> Codes:
    """The first `count` elements of `bits` each along the last axis."""
    used = np.ascontiguousarray(data[..., : count * bits // 8])
    if bits == 32:
        return used.view("<u4").astype(np.uint32)
    if bits == 16:
        return used.view("<u2").astype(np.uint16)
    if bits == 8:
        return used
    single = np.unpackbits(used, axis=-1, bitorder="little")
    grouped = single.reshape(*data.shape[:-1], count, bits)
    return np.packbits(grouped, axis=-1, bitorder="little")[..., 0]


def _pack(codes: Codes, bits: int) -> Bytes:
    """Elements of `bits` each, one after the other."""
    _check_codes(codes, bits)
    if bits >= 8:
        return _bytes(codes, bits // 8)
    single = np.unpackbits(codes.astype(np.uint8)[..., None], axis=-1, bitorder="little")
    joined = single[..., :bits].reshape(*codes.shape[:-1], codes.shape[-1] * bits)
    return np.packbits(joined, axis=-1, bitorder="little")
