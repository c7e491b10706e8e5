"""The families of a warpgroup's multiplies: element types, types of sums, K, and operands.

Layer: intrinsics.  PTX ISA, Asynchronous Warpgroup Level Matrix Instructions, Matrix Data-types;
wgmma.mma_async.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, ScalarType
from intrinsics.modifiers.wgmma import MatrixType

T = ScalarType


@dataclass(frozen=True, slots=True)
class WgmmaFamily:
    """One syntax of the manual: K of a dense A, the types of D, and those of A and B.

    `scaled` ones have signs of A and B, `transposed` ones a major for each matrix in shared memory.
    """

    name: str
    k: int
    d: tuple[ScalarType, ...]
    a: tuple[Modifier, ...]
    scaled: bool = False
    transposed: bool = False

    @property
    def integers(self) -> bool:
        """Whether integers, or bits, are multiplied."""
        return self.d == (T.S32,)


_FLOATS = (T.F16, T.F32)
HALF = WgmmaFamily("half", 16, _FLOATS, (T.F16, T.BF16), scaled=True, transposed=True)
"""A and B are both f16 or both bf16; products of bf16 are summed in f32."""
TF32 = WgmmaFamily("tf32", 8, (T.F32,), (T.TF32,), scaled=True)
FP8 = WgmmaFamily("fp8", 32, _FLOATS, (MatrixType.E4M3, MatrixType.E5M2), scaled=True)
INT = WgmmaFamily("int", 32, (T.S32,), (T.S8, T.U8))
B1 = WgmmaFamily("b1", 256, (T.S32,), (MatrixType.B1,))

FAMILIES = (HALF, TF32, FP8, INT, B1)
FAMILY_OF: dict[Modifier, WgmmaFamily] = {
    type_: family for family in FAMILIES for type_ in family.a
}
"""Families by the type of A."""
