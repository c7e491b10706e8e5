"""Which element types are multiplied together, summed in which types, on which targets.

Layer: intrinsics.  Input: the families of the rows of mma and wgmma.  Output: the same in element
types of whole bytes, for tiles whose sums lie in registers, or wherever a target has them.  PTX
ISA, Matrix Data-types.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from intrinsics.modifiers.mma_sync import MmaShape
from intrinsics.multiplies.element_names import ELEMENTS
from intrinsics.multiplies.register_atom import TARGETS, AtomTarget
from intrinsics.rows.mma_families import DENSE
from intrinsics.rows.wgmma_families import B1, HALF
from intrinsics.rows.wgmma_families import FAMILIES as WGMMA
from intrinsics.targets import Feature, TargetSet, at_least, with_feature

E = ElementType
_TENSOR, _WARPGROUP = TARGETS[AtomTarget.SM100], TARGETS[AtomTarget.SM90]


@dataclass(frozen=True, slots=True)
class RegisterFamily:
    """Element types whose products are summed, the types of the sums, where, in what shape."""

    types: tuple[ElementType, ...]
    sums: tuple[ElementType, ...]
    targets: TargetSet
    shape: MmaShape | None = None

    def __str__(self) -> str:
        sums = " or ".join(t.value for t in self.sums)
        return f"{' or '.join(t.value for t in self.types)} with sums in {sums}"


def _of_warps() -> Iterator[RegisterFamily]:
    """Of the rows' families those of whole bytes, with the K that 32 bytes hold (sm_80)."""
    for family in DENSE:
        types = tuple(ELEMENTS[a] for a in family.a if a in ELEMENTS)
        sums = E.F32 if ScalarType.F32 in family.d else E.S32
        if types:
            shape = MmaShape(f"m16n8k{256 // family.bits}")
            targets = family.needs.targets & at_least(80)
            yield RegisterFamily(types, (sums,), targets, shape)


def _of_warpgroups() -> Iterator[RegisterFamily]:
    elements, targets = {t.value: t for t in ElementType}, with_feature(Feature.HAS_WGMMA)
    for family in WGMMA:
        sums = tuple(elements[d.value] for d in reversed(family.d))
        if family is HALF:
            yield RegisterFamily((E.F16,), sums, targets)
            yield RegisterFamily((E.BF16,), (E.F32,), targets)
        elif family is not B1:
            yield RegisterFamily(tuple(ELEMENTS[a] for a in family.a), sums, targets)


OF_WARPS, OF_WARPGROUPS = tuple(_of_warps()), tuple(_of_warpgroups())
"""What warps, and what warpgroups multiply: A and B of one family, whose types may be mixed."""

_ABLE: tuple[tuple[tuple[ElementType, ...], TargetSet], ...] = (
    ((E.F16, E.BF16, E.TF32, E.E4M3, E.E5M2), _TENSOR),
    *((family.types, family.targets) for family in OF_WARPGROUPS),
    *((f.types, f.targets - _TENSOR - _WARPGROUP) for f in OF_WARPS),
)


def targets_for(dtype: ElementType) -> TargetSet:
    """The targets whose multiplier of tiles has elements of `dtype`."""
    return frozenset().union(*(targets for types, targets in _ABLE if dtype in types))
