"""Sums from registers to global memory, converted on the way.

Layer: nvgen.builder.  Rows of D are contiguous.  PTX ISA, cvt; st.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.builder.vectors import Vector

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_HALVES = (ElementType.F16, ElementType.BF16)


@dataclass(frozen=True, slots=True)
class RowMajor:
    """A matrix in global memory: the address of an element, the elements of a row, their type.

    Rows begin at multiples of 16 bytes, the last one less than 4 GiB behind the first.
    """

    builder: KernelBuilder
    origin: Pointer
    pitch: IntLike
    dtype: ElementType

    def store(self, sums: Vector, row: Int, column: IntLike) -> None:
        """Store neighbouring sums of a row: two, or a multiple of eight; so is `column`."""
        values = sums if self.dtype.bits == 32 else narrowed(self.builder, sums, self.dtype)
        size = self.dtype.bits // 8
        offset = row * (self.pitch * size) + column * size
        place = self.origin + self.builder.zext(offset, 64)
        self.builder.store(values, place, align=min(sums.count * size, 16))


def check_stored(sums: ElementType, dtype: ElementType) -> None:
    """Whether sums of one type are stored as another.

    Raises: InputError.
    """
    possible = (sums, *_HALVES) if sums is ElementType.F32 else (sums,)
    if dtype not in possible:
        raise refuse(
            f"sums in {sums.value} are not stored so",
            got=dtype.value,
            expected=" or ".join(t.value for t in possible),
        )


def narrowed(builder: KernelBuilder, sums: Vector, dtype: ElementType) -> Vector | Int:
    """Sums in f32 as pairs of f16 or bf16, rounded to nearest even, the first in the lower half."""
    pack = builder.pack_f16x2 if dtype is ElementType.F16 else builder.pack_bf16x2
    values = list(sums.f32)
    words = [pack(low, high) for low, high in zip(values[::2], values[1::2], strict=True)]
    return builder.words(words) if len(words) > 1 else words[0]
