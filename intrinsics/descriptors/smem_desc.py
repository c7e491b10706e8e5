"""The shared memory descriptor of tcgen05: 64 bits that say where and how a matrix lies.

Layer: intrinsics.  PTX ISA, Shared memory descriptor (Tables 40 and 41); Strides; Canonical
Layouts. wgmma's descriptor differs (swizzle field, constant bits) and has an encoder of its own.
"""

from __future__ import annotations

from enum import Enum

from intrinsics.lazy_dataclass import dataclass
from intrinsics.row import Problem


class Swizzle(Enum):
    """Swizzling modes; the value is the field's code."""

    NONE = 0
    B128_ATOM32 = 1
    B128 = 2
    B64 = 4
    B32 = 6

    @property
    def span(self) -> int:
        """Bytes of a row of the swizzle atom; 16 without swizzling."""
        return {0: 16, 1: 128, 2: 128, 4: 64, 6: 32}[self.value]

    @property
    def repeat(self) -> int:
        """Bytes after which the pattern repeats, and the alignment that makes the base offset 0."""
        return {0: 16, 1: 512, 2: 1024, 4: 512, 6: 256}[self.value]

    @property
    def rows(self) -> int:
        """Spans of one swizzle atom, which lie one behind the other (Table 53)."""
        return 4 if self is Swizzle.B128_ATOM32 else 8

    @property
    def words(self) -> str:
        """The mode in words."""
        return {
            0: "no swizzling",
            1: "128-byte swizzling, 32-byte atoms",
            2: "128-byte swizzling",
            4: "64-byte swizzling",
            6: "32-byte swizzling",
        }[self.value]


CONSTANT = 0b001 << 46
"""Bits 46 to 48 always hold 0b001."""

_ZERO = 0xFF << 53 | 3 << 14 | 3 << 30
ADDRESS_LIMIT = 1 << 18
"""Addresses and offsets are encoded from their low 18 bits."""


def _encode(value: int) -> int:
    return (value & 0x3FFFF) >> 4


@dataclass(frozen=True, slots=True)
class SharedMemoryDescriptor:
    """A matrix in shared memory; all sizes in bytes, multiples of 16.

    `lbo` and `sbo` are the leading and stride dimension byte offsets.  For K-major swizzled layouts
    `lbo` is not used and assumed to be 16 (encoded 1).
    """

    address: int
    lbo: int = 16
    sbo: int = 1024
    swizzle: Swizzle = Swizzle.B128
    base_offset: int = 0
    absolute_lbo: bool = False

    def encode(self) -> int:
        """The 64-bit descriptor.

        Raises: ValueError when an address or offset is not a multiple of 16, or the base offset has
        more than three bits.
        """
        for name, size in (("address", self.address), ("lbo", self.lbo), ("sbo", self.sbo)):
            if size % 16:
                raise ValueError(f"{name} = {size} is not a multiple of 16 bytes")
        if not 0 <= self.base_offset <= 7:
            raise ValueError(f"base_offset = {self.base_offset} has no code: 0 to 7 fit")
        return (
            _encode(self.address)
            | _encode(self.lbo) << 16
            | _encode(self.sbo) << 32
            | CONSTANT
            | self.base_offset << 49
            | int(self.absolute_lbo) << 52
            | self.swizzle.value << 61
        )

    @classmethod
    def decode(cls, word: int) -> SharedMemoryDescriptor:
        """Decode a descriptor; `problems` lists errors in bits outside of its fields.

        Raises: ValueError when the swizzling mode has no meaning (3, 5, 7).
        """
        code = word >> 61 & 7
        if code in (3, 5, 7):
            raise ValueError(f"swizzling mode {code} is invalid (0, 1, 2, 4 and 6 are valid)")
        return cls(
            (word & 0x3FFF) << 4,
            (word >> 16 & 0x3FFF) << 4,
            (word >> 32 & 0x3FFF) << 4,
            Swizzle(code),
            word >> 49 & 7,
            bool(word >> 52 & 1),
        )

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        mode = "absolute address" if self.absolute_lbo else "relative offset"
        return [
            ("0-13", "start address", f"{self.address:#x}"),
            ("16-29", "leading dimension", f"{self.lbo} bytes"),
            ("32-45", "stride dimension", f"{self.sbo} bytes"),
            ("46-48", "constant", "0b001"),
            ("49-51", "base offset", str(self.base_offset)),
            ("52", "leading dimension mode", mode),
            ("53-60", "constant", "0"),
            ("61-63", "swizzling", f"{self.swizzle.value} {self.swizzle.words}"),
        ]

    def __str__(self) -> str:
        return f"{self.address:#x} lbo {self.lbo} sbo {self.sbo}, {self.swizzle.words}"


def problems(word: int) -> list[Problem]:
    """Errors in the constant and unused bits of a descriptor."""
    found = []
    if word & 7 << 46 != CONSTANT:
        found.append(
            Problem(
                "descriptor-constant",
                "bits 46..48 must be 0b001",
                f"{word >> 46 & 7:#05b}",
                "0b001",
            )
        )
    if word & _ZERO:
        found.append(
            Problem(
                "descriptor-reserved",
                "bits 14-15, 30-31 and 53-60 must be 0",
                f"{word & _ZERO:#x}",
                "0",
            )
        )
    if word >> 61 & 7 in (3, 5, 7):
        found.append(
            Problem(
                "descriptor-swizzle",
                "invalid swizzling mode",
                str(word >> 61 & 7),
                "0, 1, 2, 4 or 6",
            )
        )
    return found
