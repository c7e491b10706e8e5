"""What gemm_async takes that only tcgen05.mma has.

Layer: nvgen.builder.  PTX ISA, tcgen05.mma; tcgen05.mma.ws; Instruction descriptor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup
from nvgen.builder.numbers import IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.tensor_tiles import ScaleTile
from nvgen.builder.vectors import Vector

LaneMask = Vector | Sequence[IntLike]
"""Lanes that are not written, 32 in a word: four words, of a CTA pair four for each CTA."""

_DISCARDS = (
    CollectorWs.B0_DISCARD,
    CollectorWs.B1_DISCARD,
    CollectorWs.B2_DISCARD,
    CollectorWs.B3_DISCARD,
)
_SHIFTS = (0, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """Options of a multiply into tensor memory.

    M beyond 128 rows of a CTA goes in blocks of 128, which lie in D one behind the other, N columns
    each.  N beyond 256 goes in pieces of 256; of a pair's pieces the first half of the columns are
    rows of the even CTA's B, the other half rows of the odd CTA's.
    """

    cta_group: CtaGroup = CtaGroup.ONE
    """2: a CTA of the pair holds half of A's rows, and of B's, and of D's where M is 256; a thread
    of the even CTA issues for both."""

    metadata: Pointer | None = None
    """Which halves of its chunks a sparse A stores that lies in shared memory, from an even column
    on; a `SparseTile` has its own."""

    sfa: ScaleTile | None = None
    """Scale factors for A's rows in this CTA; of a sparse A one is for `size` elements with their
    zeros."""

    sfb: ScaleTile | None = None
    """Scale factors for all N, which each CTA of a pair holds; for M = 128 of a pair in 2 parts."""

    stationary: bool = False
    """tcgen05.mma.ws."""

    collector: CollectorWs = CollectorWs.B0_DISCARD
    """Keeps B, or uses what it has kept; stationary."""

    zero_mask: ZeroColumnMask | None = None
    """Which columns of B count as zero, and by how many columns B is shifted; stationary."""

    max_shift: int | None = None
    """How many more columns than N a collector keeps: 0, 8, 16 or 32, no fewer than the shift."""

    collector_a: CollectorA = CollectorA.DISCARD
    """What a call of one instruction does with A's collector."""

    reuse_a: bool = False
    """Keep each piece of A in its collector while the pieces of N are multiplied by it."""

    ashift: bool = False
    """Shift the rows of an A in tensor memory by one."""

    negate_a: bool = False
    negate_b: bool = False
    scale_d: int | None = None
    """D is divided by 2 to this power before the first step adds to it: 0 to 15."""

    lane_mask: LaneMask | None = None
    """A bit for each lane, of every block of D, that is not written."""

    k96: bool = False
    """Multiply 96 elements of K at once: 4-bit kinds, a pair with M = 256, sm_103a."""

    def given(self) -> tuple[str, ...]:
        """The names of those that are not as they are by default."""
        usual = TensorOptions()
        names = (field.name for field in fields(self))
        return tuple(name for name in names if getattr(self, name) != getattr(usual, name))

    @property
    def group(self) -> int:
        """CTAs that multiply together."""
        return 2 if self.cta_group is CtaGroup.TWO else 1

    @property
    def holds_b(self) -> bool:
        """Whether a collector keeps B, or is thought to have it."""
        return self.collector not in _DISCARDS

    @property
    def masked(self) -> bool:
        """Whether columns of B count as zero, or are shifted."""
        return self.zero_mask is not None or bool(self.max_shift)

    @property
    def shift(self) -> int:
        """By how many columns B is shifted."""
        return self.zero_mask.shift if self.zero_mask else 0

    @property
    def most_shifted(self) -> int:
        """How many more columns than N a collector keeps: the fewest that do where none is given,
        and the shift itself where none does.
        """
        if self.max_shift is not None:
            return self.max_shift
        return next((most for most in _SHIFTS if self.shift <= most), self.shift)
