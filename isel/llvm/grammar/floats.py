"""The bits of a floating-point number from any of LLVM's spellings.

Layer: isel.llvm (standard library only).
Input: a token such as `1.000000e+00`, `0x3FF0000000000000` or `0xH3C00`, and its type.
Output: the bit pattern in that type.
"""

from __future__ import annotations

import struct

from isel.llvm.grammar.lexer import UnreadableError
from isel.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    PPC_FP128,
    X86_FP80,
    Type,
)

_PREFIXES: dict[str, Type] = {
    "0xH": HALF,
    "0xR": BFLOAT,
    "0xK": X86_FP80,
    "0xL": FP128,
    "0xM": PPC_FP128,
}
_DOUBLE_EXPONENT = 0x7FF << 52
_FLOAT_EXPONENT = 0xFF << 23


def float_bits(token: str, type: Type) -> int:
    """The bits of the number `token` in `type`."""
    prefixed = _PREFIXES.get(token[:3])
    if prefixed is not None:
        return _prefixed_bits(token, prefixed, type)
    if type not in (FLOAT, DOUBLE):
        raise UnreadableError(f"{token!r} is no spelling of a {type}")
    bits = int(token, 16) if token.startswith("0x") else _bits_of(float(token))
    return bits if type is DOUBLE else _narrow(bits, token)


def _prefixed_bits(token: str, prefixed: Type, type: Type) -> int:
    if prefixed is not type:
        raise UnreadableError(f"{token!r} is no spelling of a {type}")
    bits = int(token[3:], 16)
    if type in (FP128, PPC_FP128):  # LLVM prints the low half first
        return (bits & (1 << 64) - 1) << 64 | bits >> 64
    return bits


def _bits_of(number: float) -> int:
    return int.from_bytes(struct.pack(">d", number), "big")


def _narrow(bits: int, token: str) -> int:
    # LLVM writes a float as the double of the same value; a NaN keeps its payload's upper bits,
    # and Python's own conversion would make a signalling one quiet.
    sign = bits >> 63 << 31
    if bits & _DOUBLE_EXPONENT == _DOUBLE_EXPONENT:
        if bits & (1 << 29) - 1:
            raise UnreadableError(f"{token!r} is not exact in a float")
        return sign | _FLOAT_EXPONENT | bits >> 29 & 0x7FFFFF
    number: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    packed = struct.pack(">f", number)
    if struct.unpack(">f", packed)[0] != number:
        raise UnreadableError(f"{token!r} is not exact in a float")
    return int.from_bytes(packed, "big")
