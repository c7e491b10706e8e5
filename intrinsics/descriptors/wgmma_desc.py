"""The shared memory descriptor of wgmma: 64 bits that say where and how a matrix lies (sm_90a).

Layer: intrinsics.  It differs from tcgen05's (see `smem_desc`): the swizzling field has two bits,
62 and 63, and no code for 32-byte atoms; there is no constant and no absolute leading dimension.
PTX ISA, Asynchronous Warpgroup Level Matrix Shared Memory Layout, Matrix Descriptor
Format; agrees with CuTe's `GmmaDescriptor` (CUTLASS, `mma_sm90_desc.hpp`) and Mojo's
`WGMMADescriptor`.
"""

from __future__ import annotations

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.lazy_dataclass import dataclass
from intrinsics.row import Problem

_CODES = {Swizzle.NONE: 0, Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}
_MODES = {code: mode for mode, code in _CODES.items()}
_ZERO = 0x3FF << 52 | 7 << 46 | 3 << 30 | 3 << 14


def _encode(value: int) -> int:
    return (value & 0x3FFFF) >> 4


@dataclass(frozen=True, slots=True)
class WgmmaDescriptor:
    """A matrix in shared memory; all sizes in bytes, multiples of 16.

    `lbo` and `sbo` are the leading and stride dimension byte offsets; for K-major swizzled layouts
    `lbo` is not used.
    """

    address: int
    lbo: int = 16
    sbo: int = 1024
    swizzle: Swizzle = Swizzle.B128
    base_offset: int = 0

    def encode(self) -> int:
        """The 64-bit descriptor.

        Raises: ValueError when an address or offset is not a multiple of 16, when the base offset
        has more than three bits, or when wgmma has no such swizzling.
        """
        for name, size in (("address", self.address), ("lbo", self.lbo), ("sbo", self.sbo)):
            if size % 16:
                raise ValueError(f"{name} = {size} is not a multiple of 16 bytes")
        if not 0 <= self.base_offset <= 7:
            raise ValueError(f"base_offset = {self.base_offset} has no code: 0 to 7 fit")
        code = _CODES.get(self.swizzle)
        if code is None:
            raise ValueError(f"wgmma has no {self.swizzle.words}")
        return (
            _encode(self.address)
            | _encode(self.lbo) << 16
            | _encode(self.sbo) << 32
            | self.base_offset << 49
            | code << 62
        )

    @classmethod
    def decode(cls, word: int) -> WgmmaDescriptor:
        """Decode a descriptor; `problems` lists errors in bits outside of its fields."""
        return cls(
            (word & 0x3FFF) << 4,
            (word >> 16 & 0x3FFF) << 4,
            (word >> 32 & 0x3FFF) << 4,
            _MODES[word >> 62 & 3],
            word >> 49 & 7,
        )

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        return [
            ("0-13", "start address", f"{self.address:#x}"),
            ("16-29", "leading dimension", f"{self.lbo} bytes"),
            ("32-45", "stride dimension", f"{self.sbo} bytes"),
            ("46-48", "unused", "0"),
            ("49-51", "base offset", str(self.base_offset)),
            ("52-61", "unused", "0"),
            ("62-63", "swizzling", f"{_CODES[self.swizzle]} {self.swizzle.words}"),
        ]

    def __str__(self) -> str:
        return f"{self.address:#x} lbo {self.lbo} sbo {self.sbo}, {self.swizzle.words}"


def problems(word: int) -> list[Problem]:
    """Errors in the unused bits of a descriptor."""
    if not word & _ZERO:
        return []
    text = "bits 14-15, 30-31, 46-48 and 52-61 must be 0"
    return [Problem("wgmma-descriptor-reserved", text, f"{word & _ZERO:#x}", "0")]
