"""Swizzling of shared memory: where a byte really lies.

Layer: intrinsics (numpy).  Address bits are XORed with higher ones, so that the 16-byte pieces of a
column lie in different banks.  PTX ISA, Shared Memory Layout and Swizzling (Table 53); Shared
memory descriptor (Table 41).

    mode                        bits      with bits   CuTe             rows of 128 bytes in a period
    32 bytes                    4         7           Swizzle<1,4,3>   2
    64 bytes                    4, 5      7, 8        Swizzle<2,4,3>   4
    128 bytes                   4, 5, 6   7, 8, 9     Swizzle<3,4,3>   8
    128 bytes, 32-byte atoms    5, 6      7, 8        Swizzle<2,5,2>   4

The manual writes the first three; the last agrees with CUTLASS (`mma_traits_sm100.hpp`), with
TransformerEngine (`hadamard_transform_utils.cuh`) and with the 8x4 atom of Table 53.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import Swizzle

Addresses = NDArray[np.int64]

_ROW_BITS = 7
"""A row of the pattern has 128 bytes."""

_FIELDS = {
    Swizzle.NONE: (0, 4),
    Swizzle.B32: (1, 4),
    Swizzle.B64: (2, 4),
    Swizzle.B128: (3, 4),
    Swizzle.B128_ATOM32: (2, 5),
}
"""How many bits are XORed, and the lowest of them."""


def swizzle(addresses: Addresses, mode: Swizzle, base_offset: int = 0) -> Addresses:
    """The addresses where bytes really lie.

    Rows are counted from the beginning of the repeating pattern; `base_offset` is the row number,
    modulo 8, of the address where it begins, 0 when that is a multiple of 1024.  (That the offset
    is subtracted from the row number is what the manual's formula for it means; no public program
    uses another than 0.)
    """
    bits, shift = _FIELDS[mode]
    row = (addresses >> _ROW_BITS) - base_offset
    return addresses ^ (row & (1 << bits) - 1) << shift
