"""Families of element types: what one kind of MMA multiplies, and in which containers.

Layer: nvgen.builder.  PTX ISA, Matrix Shape (Table 39); Packing formats of elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.descriptors.idesc import DENSE_K, FP4_KINDS, SCALED_KINDS
from intrinsics.element import ElementType
from intrinsics.modifiers import MmaKind
from intrinsics.multiplies.block_scale import block_scale

E = ElementType
_NARROW = (E.E4M3, E.E5M2, E.E2M3, E.E3M2, E.E2M1)


@dataclass(frozen=True, slots=True)
class Family:
    """Element types that one kind of MMA multiplies."""

    kind: MmaKind
    types: tuple[ElementType, ...]

    @property
    def k(self) -> int:
        """K of one dense instruction; of a sparse one it is twice as much."""
        return DENSE_K[self.kind]

    @property
    def scaled(self) -> bool:
        """Whether A and B come with scale factors."""
        return self.kind in SCALED_KINDS

    def holds(self, dtype: ElementType, bits: int) -> bool:
        """Whether it multiplies elements of `dtype` that take `bits` each."""
        narrow = self.types == _NARROW
        return dtype in self.types and bits == (8 if narrow else dtype.bits)

    def __str__(self) -> str:
        types = " or ".join(t.value for t in self.types)
        if self.kind in FP4_KINDS:
            types += ", two in a byte"
        elif self.types == _NARROW:
            types += ", 16 in 16 bytes"
        return types + (" with scale factors" if self.scaled else "")


FAMILIES = (
    Family(MmaKind.F16, (E.F16, E.BF16)),
    Family(MmaKind.TF32, (E.TF32,)),
    Family(MmaKind.F8F6F4, _NARROW),
    Family(MmaKind.I8, (E.S8, E.U8)),
    Family(MmaKind.MXF8F6F4, _NARROW),
    Family(MmaKind.MXF4, (E.E2M1,)),
    Family(MmaKind.MXF4NVF4, (E.E2M1,)),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


def family_of(
    a: tuple[ElementType, int], b: tuple[ElementType, int], scale_size: int = 0
) -> Family | None:
    """The family that multiplies A by B, each a type and the bits that an element takes.

    `scale_size` is how many elements share a factor, zeros of a sparse A not counted; 0 for none.
    """
    able = [f for f in FAMILIES if f.holds(*a) and f.holds(*b) and f.scaled is (scale_size > 0)]
    for family in able:
        scaling = block_scale(family.k, scale_size)
        if scaling is not None and family.kind in scaling.kinds:
            return family
    return able[0] if able else None
