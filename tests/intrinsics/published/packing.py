"""How numbers lie in bytes, and what numbers they are.

Sources of the bits: PTX ISA, Packing formats (16 elements of 4 bits and 8 bytes of padding, 16 of 6
bits and 4 bytes; two 4-bit elements a byte for mxf4) and Optional Decompression; CUTLASS,
include/cute/container/array_subbyte.hpp (element 0 in the lowest bits) and
include/cute/atom/mma_traits_sm120.hpp (fp4_shift_A: an 8-bit container of the f8f6f4 kinds holds
the four bits of E2M1 in its middle, 0b00ABCD00, the six bits of FP6 at its bottom).  For tcgen05's
containers in tensor memory, and what tcgen05.cp makes of b4x16_p64 and b6x16_p32, the manual has
pictures only; the engine of a public TIRx emulator (tcgen05/layouts.rs, cp_decode_word) has the
same two shifts as CUTLASS has for mma.sync.

Sources of the values: OCP, 8-bit Floating Point Specification and Microscaling Formats
Specification (exponent biases, which codes are NaN or infinity); IEEE 754; PTX ISA, Alternate
floating-point data formats (tf32 is the upper 19 bits of a binary32).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WIDTH = {
    "F16": 16, "BF16": 16, "TF32": 32, "S8": 8, "U8": 8, "E4M3": 8, "E5M2": 8, "E2M3": 6, "E3M2": 6,
    "E2M1": 4, "UE8M0": 8, "UE4M3": 8,
}  # fmt: skip

PER_PIECE = {
    ("TF32", "TF32"): 4,
    ("F16", "F16"): 8,
    ("BF16", "F16"): 8,
    ("S8", "I8"): 16,
    ("U8", "I8"): 16,
    **{
        (t, k): 16 for t in ("E4M3", "E5M2", "E2M3", "E3M2", "E2M1") for k in ("F8F6F4", "MXF8F6F4")
    },
    ("E2M1", "MXF4"): 32,
    ("E2M1", "MXF4NVF4"): 32,
}
"""Elements in 16 bytes of shared memory, by (type, kind)."""

PER_CELL = {key: number // 4 for key, number in PER_PIECE.items()}
"""Elements in a 32-bit cell of tensor memory: 4 containers of 8 bits, 8 of 4, 2 of 16, 1 of 32."""

CONTAINER_SHIFT = {"E2M1": 2, "E2M3": 0, "E3M2": 0, "E4M3": 0, "E5M2": 0, "S8": 0, "U8": 0}
"""The lowest bit of the element in its container of 8 bits."""


def bit_string(codes: list[int], width: int, size: int) -> list[int]:
    """`size` bytes: the codes one behind the other, element 0 in the lowest bits, then zeros."""
    whole = sum(code << width * i for i, code in enumerate(codes))
    return list(whole.to_bytes(size, "little"))


def piece(codes: list[int], type_: str) -> list[int]:
    """The 16 bytes of shared memory that hold as many codes as fit."""
    return bit_string(codes, WIDTH[type_], 16)


def cell(codes: list[int], type_: str, kind: str) -> int:
    """The 32-bit cell of tensor memory that holds as many codes as fit."""
    if WIDTH[type_] <= 8 and kind not in ("MXF4", "MXF4NVF4"):
        return sum(code << 8 * i + CONTAINER_SHIFT[type_] for i, code in enumerate(codes))
    return sum(code << WIDTH[type_] * i for i, code in enumerate(codes))


def decompressed(codes: list[int], width: int) -> list[int]:
    """16 bytes, one for each element, as tcgen05.cp leaves them."""
    return [code << (2 if width == 4 else 0) for code in codes]


@dataclass(frozen=True)
class Float:
    """A floating-point format: bits of exponent and mantissa, bias, what its last exponent means.

    `specials` is "ieee" (infinity and NaN in the last exponent), "nan" (all ones is NaN, the rest
    are numbers) or "none".
    """

    exponent: int
    mantissa: int
    bias: int
    specials: str
    signed: bool = True


FLOATS = {
    "F16": Float(5, 10, 15, "ieee"),
    "BF16": Float(8, 7, 127, "ieee"),
    "E4M3": Float(4, 3, 7, "nan"),
    "E5M2": Float(5, 2, 15, "ieee"),
    "E2M3": Float(2, 3, 1, "none"),
    "E3M2": Float(3, 2, 3, "none"),
    "E2M1": Float(2, 1, 1, "none"),
    "UE4M3": Float(4, 3, 7, "nan", signed=False),
}


def value(code: int, type_: str) -> float:
    """The number that a code stands for."""
    if type_ == "UE8M0":
        return float("nan") if code == 255 else 2.0 ** (code - 127)
    form = FLOATS[type_]
    fraction = code & ((1 << form.mantissa) - 1)
    exponent = code >> form.mantissa & ((1 << form.exponent) - 1)
    sign = -1.0 if form.signed and code >> form.mantissa + form.exponent & 1 else 1.0
    last = exponent == (1 << form.exponent) - 1
    if form.specials == "ieee" and last:
        return sign * float("inf") if fraction == 0 else float("nan")
    if form.specials == "nan" and last and fraction == (1 << form.mantissa) - 1:
        return float("nan")
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - form.bias - form.mantissa)
    return sign * (1 + fraction / (1 << form.mantissa)) * 2.0 ** (exponent - form.bias)


def values(type_: str) -> npt.NDArray[np.float64]:
    """The values of all codes of a type of up to 16 bits."""
    width = 7 if type_ == "UE4M3" else WIDTH[type_]
    return np.array([value(code, type_) for code in range(1 << width)])
