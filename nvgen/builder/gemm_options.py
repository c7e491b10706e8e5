"""What gemm_async takes that only tcgen05.mma has.

Layer: nvgen.builder.  PTX ISA, tcgen05.mma; tcgen05.mma.ws; Instruction descriptor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup
from intrinsics.tensor_address import ZeroColumnMask
from nvgen.builder.registers import Vector
from nvgen.builder.tensor_tiles import ScaleTile
from nvgen.builder.values import IntLike, Pointer

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
    """Options of one gemm_async: see its docstring for what each means."""

    cta_group: CtaGroup = CtaGroup.ONE
    metadata: Pointer | None = None
    sfa: ScaleTile | None = None
    sfb: ScaleTile | None = None
    stationary: bool = False
    collector: CollectorWs = CollectorWs.B0_DISCARD
    zero_mask: ZeroColumnMask | None = None
    max_shift: int | None = None
    collector_a: CollectorA = CollectorA.DISCARD
    reuse_a: bool = False
    ashift: bool = False
    negate_a: bool = False
    negate_b: bool = False
    scale_d: int | None = None
    lane_mask: LaneMask | None = None
    k96: bool = False

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
