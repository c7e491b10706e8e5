"""Sums from registers to global memory, converted on the way.

Layer: nvgen.builder.  Rows of D are contiguous.  PTX ISA, cvt; st.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from intrinsics.element import ElementType
from nvgen.builder.llvm_ext import BFloatType
from nvgen.builder.values import Int, IntLike, Pointer, Vector, refuse

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_PAIRS = {
    ElementType.F16: ("llvm.nvvm.ff2f16x2.rn", ir.HalfType()),
    ElementType.BF16: ("llvm.nvvm.ff2bf16x2.rn", BFloatType()),
}
"""Two f32 rounded to nearest even, the first one in the upper half."""


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
        """Store neighbouring sums of a row: two, or a multiple of eight; so is `column`.

        Their registers are floats or words.
        """
        values = sums if self.dtype.bits == 32 else narrowed(self.builder, sums, self.dtype)
        size = self.dtype.bits // 8
        offset = row * (self.pitch * size) + column * size
        place = self.origin + self.builder.zext(offset, 64)
        self.builder.store(values, place, align=min(sums.count * size, 16))


def check_stored(sums: ElementType, dtype: ElementType) -> None:
    """Whether sums of one type are stored as another.

    Raises: InputError.
    """
    possible = (sums, *_PAIRS) if sums is ElementType.F32 else (sums,)
    if dtype not in possible:
        raise refuse(
            f"sums in {sums.value} are not stored so",
            got=dtype.value,
            expected=" or ".join(t.value for t in possible),
        )


def narrowed(builder: KernelBuilder, sums: Vector, dtype: ElementType) -> Vector | Int:
    """Sums in f32 as pairs of f16 or bf16, rounded to nearest even, the first in the lower half."""
    name, half = _PAIRS[dtype]
    words = []
    for first in range(0, sums.count, 2):
        low, high = (_as_float(builder, sums, first + i) for i in range(2))
        pair = ir.VectorType(half, 2)
        function = builder.declare(name, ir.FunctionType(pair, [ir.FloatType()] * 2))
        packed = builder.at_caller().call(function, [high, low])
        words.append(Int(builder, builder.at_caller().bitcast(packed, ir.IntType(32))))
    return builder.words(words) if len(words) > 1 else words[0]


def _as_float(builder: KernelBuilder, sums: Vector, number: int) -> ir.Value:
    element = sums[number].value
    floating = element.type == ir.FloatType()
    return element if floating else builder.at_caller().bitcast(element, ir.FloatType())
