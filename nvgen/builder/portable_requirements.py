"""What multiplies require whose D lies wherever the target has it, as data.

Layer: nvgen.builder.  What one target's instruction requires of the tiles of `accumulator` is
checked beyond this.  PTX ISA, tcgen05.mma; wgmma.mma_async; mma.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType
from intrinsics.targets import Target, TargetSet, spell
from nvgen.builder.accumulators import AccumulatorTile
from nvgen.builder.base import BuilderBase
from nvgen.builder.refusals import Requirement
from nvgen.builder.roles import ExecutionScope
from nvgen.builder.tiles import SharedTile

_SECTION = "tcgen05.mma; wgmma.mma_async; mma"


@dataclass(frozen=True, slots=True)
class AccumulatorRequest:
    """One call of `accumulator`."""

    target: Target
    scope: ExecutionScope
    dtype: ElementType
    able: TargetSet
    """The targets with multiplies whose sums are of the type."""


OF_ACCUMULATORS: tuple[Requirement[AccumulatorRequest], ...] = (
    Requirement(
        "scope", "an accumulator is made by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA,
        lambda r: r.scope.value,
        ExecutionScope.CTA.value,
        _SECTION,
    ),
    Requirement(
        "accumulator", "sums have a type that only some instructions have",
        lambda r: r.dtype in (ElementType.F32, ElementType.S32),
        lambda r: r.dtype.value,
        "f32 or s32",
        _SECTION,
    ),
    Requirement(
        "target", "the target does not multiply tiles into such an accumulator",
        lambda r: r.target in r.able,
        lambda r: f"{r.target.name}, sums in {r.dtype.value}",
        lambda r: spell(r.able),
        _SECTION,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PortableRequest:
    """One call of `gemm_async` with an accumulator that every target has.

    `others` names the options of the call that are tcgen05.mma's.
    """

    builder: BuilderBase
    scope: ExecutionScope
    d: AccumulatorTile
    a: SharedTile
    b: SharedTile
    able: TargetSet
    """The targets that multiply elements of A's type."""
    others: tuple[str, ...] = ()

    @property
    def sums(self) -> ElementType:
        """The type of the sums of A's products."""
        return ElementType.S32 if self.a.dtype.is_integer else ElementType.F32


REQUIREMENTS: tuple[Requirement[PortableRequest], ...] = (
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: r.d.builder is r.builder,
        "D of another KernelBuilder",
        "tiles of the builder that multiplies them",
        _SECTION,
    ),
    Requirement(
        "scope", "tiles are multiplied by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA,
        lambda r: r.scope.value,
        ExecutionScope.CTA.value,
        _SECTION,
    ),
    Requirement(
        "option", "an option of tcgen05.mma that not every target has",
        lambda r: not r.others,
        lambda r: ", ".join(r.others),
        "accumulate and step",
        _SECTION,
    ),
    Requirement(
        "target", "the target does not multiply elements of this type",
        lambda r: r.builder.known_target() in r.able,
        lambda r: f"{r.a.dtype.value} on {r.builder.known_target().name}",
        lambda r: spell(r.able),
        _SECTION,
    ),
    Requirement(
        "accumulator", "D has a type in which these products are not summed",
        lambda r: r.d.dtype is r.sums,
        lambda r: r.d.dtype.value,
        lambda r: r.sums.value,
        _SECTION,
    ),
)  # fmt: skip
