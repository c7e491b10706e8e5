"""Shapes of tcgen05.mma: element types of a kind, pieces of M and N, columns of D.

Layer: intrinsics.  A multiply of tiles that is larger than one instruction is a nest of them.  PTX
ISA, tcgen05.mma; Packing formats of elements; Matrix Shape (Table 39); Data Path Layout
Organization.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, SCALED_KINDS, CtaGroup, MmaKind
from intrinsics.multiplies.block_scale import block_scale

E = ElementType
_NARROW = (E.E4M3, E.E5M2, E.E2M3, E.E3M2, E.E2M1)


@dataclass(frozen=True, slots=True)
class KindTypes:
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
    KindTypes(MmaKind.F16, (E.F16, E.BF16)),
    KindTypes(MmaKind.TF32, (E.TF32,)),
    KindTypes(MmaKind.F8F6F4, _NARROW),
    KindTypes(MmaKind.I8, (E.S8, E.U8)),
    KindTypes(MmaKind.MXF8F6F4, _NARROW),
    KindTypes(MmaKind.MXF4, (E.E2M1,)),
    KindTypes(MmaKind.MXF4NVF4, (E.E2M1,)),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


def family_of(
    a: tuple[ElementType, int], b: tuple[ElementType, int], scale_size: int = 0
) -> KindTypes | None:
    """The family that multiplies A by B, each a type and the bits that an element takes.

    `scale_size` is how many elements share a factor, zeros of a sparse A not counted; 0 for none.
    """
    able = [f for f in FAMILIES if f.holds(*a) and f.holds(*b) and f.scaled is (scale_size > 0)]
    for family in able:
        scaling = block_scale(family.k, scale_size)
        if scaling is not None and family.kind in scaling.kinds:
            return family
    return able[0] if able else None


# ---- pieces ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows or columns of D that one instruction computes; of a pair those of both CTAs count."""

    first: int
    size: int


def pieces(whole: int, sizes: Iterable[int]) -> list[Piece]:
    """Pieces of some sizes, the largest first, that make up `whole`; none where they do not."""
    known, found, first = sorted(sizes), [], 0
    while first < whole:
        size = max((size for size in known if size <= whole - first), default=0)
        if not size:
            return []
        found.append(Piece(first, size))
        first += size
    return found


def nearest(whole: int, sizes: Iterable[int]) -> list[int]:
    """The largest number below `whole` and the smallest above it that pieces make up."""
    known = sorted(sizes)
    least = known[0] if known else 0
    if not least:
        return []
    below = (n for n in range(whole - 1, 0, -1) if pieces(n, known))
    above = (n for n in range(max(whole + 1, least), whole + known[-1] + 1) if pieces(n, known))
    return [n for n in (next(below, 0), next(above, 0)) if n]


# ---- columns -----------------------------------------------------------------------------------

BLOCK_ROWS = 128
"""Rows of a CTA, after which D begins anew in the next columns: the lanes of tensor memory."""


def accumulator_columns(
    m: int, n: int, *, cta_group: CtaGroup, stationary: bool, sparse: bool
) -> int:
    """Columns of tensor memory that an accumulator of m rows and n columns takes in each CTA.

    Each 128 rows of a CTA take n columns, one block behind the other.  M = 64 and 32 of a
    weight-stationary MMA, and M = 128 of a pair with a dense A, lie in groups of lanes side by
    side: layouts E, G and B.
    """
    blocks, rest = block_of(m // (2 if cta_group is CtaGroup.TWO else 1))
    if not rest:
        return blocks * n
    if stationary:
        return blocks * n + n * rest // BLOCK_ROWS
    halves = cta_group is CtaGroup.TWO and rest == BLOCK_ROWS // 2 and not sparse
    return blocks * n + (n // 2 if halves else n)


def block_of(row: int) -> tuple[int, int]:
    """The block of 128 rows that a row of a CTA is in, and its number there."""
    return divmod(row, BLOCK_ROWS)


def row_blocks(m: int) -> int:
    """The number of 128-row blocks that hold `m` rows of a CTA."""
    return -(-m // BLOCK_ROWS)
