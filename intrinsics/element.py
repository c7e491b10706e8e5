"""Element types of matrices: what a descriptor's type fields stand for.

Layer: intrinsics.  PTX ISA, tcgen05 Instruction descriptor; Fundamental and alternate floating-
point data formats.
"""

from __future__ import annotations

import functools
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ElementType(Enum):
    """A matrix's element type."""

    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"
    F32 = "f32"
    S32 = "s32"
    S8 = "s8"
    U8 = "u8"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E2M3 = "e2m3"
    E3M2 = "e3m2"
    E2M1 = "e2m1"
    UE8M0 = "ue8m0"
    UE4M3 = "ue4m3"

    @property
    def bits(self) -> int:
        """Width of one element."""
        return _BITS[self]

    @property
    def is_integer(self) -> bool:
        """Whether the type is an integer."""
        return self in (ElementType.S32, ElementType.S8, ElementType.U8)

    @property
    def numpy(self) -> DTypeLike:
        """The numpy (or ml_dtypes) type; tf32 is a float32 whose last 13 bits do not count."""
        return _numpy_types()[self]


@functools.cache
def _numpy_types() -> dict[ElementType, DTypeLike]:
    import ml_dtypes
    import numpy

    return {
        ElementType.F16: numpy.float16,
        ElementType.BF16: ml_dtypes.bfloat16,
        ElementType.TF32: numpy.float32,
        ElementType.F32: numpy.float32,
        ElementType.S32: numpy.int32,
        ElementType.S8: numpy.int8,
        ElementType.U8: numpy.uint8,
        ElementType.E4M3: ml_dtypes.float8_e4m3fn,
        ElementType.E5M2: ml_dtypes.float8_e5m2,
        ElementType.E2M3: ml_dtypes.float6_e2m3fn,
        ElementType.E3M2: ml_dtypes.float6_e3m2fn,
        ElementType.E2M1: ml_dtypes.float4_e2m1fn,
        ElementType.UE8M0: ml_dtypes.float8_e8m0fnu,
        ElementType.UE4M3: ml_dtypes.float8_e4m3fn,
    }


_BITS = {
    ElementType.F16: 16,
    ElementType.BF16: 16,
    ElementType.TF32: 32,
    ElementType.F32: 32,
    ElementType.S32: 32,
    ElementType.S8: 8,
    ElementType.U8: 8,
    ElementType.E4M3: 8,
    ElementType.E5M2: 8,
    ElementType.E2M3: 6,
    ElementType.E3M2: 6,
    ElementType.E2M1: 4,
    ElementType.UE8M0: 8,
    ElementType.UE4M3: 8,
}


class Major(Enum):
    """Which dimension of a matrix is contiguous in shared memory."""

    K = "K"
    MN = "MN"
