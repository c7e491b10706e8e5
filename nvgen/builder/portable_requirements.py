"""Which targets multiply what by which instruction, and what a multiply that all have requires.

Layer: nvgen.builder.  What one target's instruction requires of its tiles is checked beyond this.
PTX ISA, tcgen05.mma; wgmma.mma_async; mma.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from intrinsics.element import ElementType
from intrinsics.targets import Feature, Target, TargetSet, at_least, spell, with_feature
from nvgen.builder.accumulators import AccumulatorTile
from nvgen.builder.base import BuilderBase
from nvgen.builder.refusals import Requirement
from nvgen.builder.roles import ExecutionScope
from nvgen.builder.tiles import SharedTile

E = ElementType


class Multiplier(Enum):
    """What multiplies tiles; the value is the instruction."""

    TENSOR = "tcgen05.mma"
    WARPGROUP = "wgmma.mma_async"
    WARP = "mma.sync"


HALVES = (E.F16, E.BF16)
_FLOATS = (*HALVES, E.TF32)
_BYTES = (E.E4M3, E.E5M2)
_INTEGERS = (E.S8, E.U8)

_TENSOR = with_feature(Feature.HAS_TMEM)
_WARPGROUP = with_feature(Feature.HAS_WGMMA)


@dataclass(frozen=True, slots=True)
class _Ability:
    """Targets whose multiplier has elements of some types."""

    multiplier: Multiplier
    types: tuple[ElementType, ...]
    targets: TargetSet


_ABILITIES = (
    _Ability(Multiplier.TENSOR, _FLOATS + _BYTES, _TENSOR),
    _Ability(Multiplier.WARPGROUP, _FLOATS + _BYTES + _INTEGERS, _WARPGROUP),
    _Ability(Multiplier.WARP, _FLOATS + _INTEGERS, at_least(80) - _TENSOR - _WARPGROUP),
    _Ability(Multiplier.WARP, _BYTES, with_feature(Feature.HAS_FP8) - _TENSOR - _WARPGROUP),
)


def multiplier_of(target: Target) -> Multiplier:
    """What the tiles of a target are multiplied by."""
    asynchronous = (a for a in _ABILITIES if target in a.targets)
    return next((a.multiplier for a in asynchronous), Multiplier.WARP)


def targets_for(dtype: ElementType | None = None) -> TargetSet:
    """The targets that multiply elements of `dtype`, or any."""
    able = [a.targets for a in _ABILITIES if dtype is None or dtype in a.types]
    return frozenset().union(*able)


# ---- what it requires --------------------------------------------------------------------------

_SECTION = "tcgen05.mma; wgmma.mma_async; mma"


@dataclass(frozen=True, slots=True)
class AccumulatorRequest:
    """One call of `accumulator`."""

    target: Target
    scope: ExecutionScope
    dtype: ElementType

    @property
    def factors(self) -> ElementType:
        """A type whose products are summed so."""
        return ElementType.S8 if self.dtype is ElementType.S32 else ElementType.F16


OF_ACCUMULATORS: tuple[Requirement[AccumulatorRequest], ...] = (
    Requirement(
        "scope", "an accumulator is made by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA,
        lambda r: r.scope.value,
        lambda r: ExecutionScope.CTA.value,
        _SECTION,
    ),
    Requirement(
        "accumulator", "sums have a type that only some instructions have",
        lambda r: r.dtype in (ElementType.F32, ElementType.S32),
        lambda r: r.dtype.value,
        lambda r: "f32 or s32",
        _SECTION,
    ),
    Requirement(
        "target", "the target does not multiply tiles into such an accumulator",
        lambda r: r.target in targets_for(r.factors),
        lambda r: f"{r.target.name}, sums in {r.dtype.value}",
        lambda r: spell(targets_for(r.factors)),
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
    others: tuple[str, ...] = ()

    @property
    def sums(self) -> ElementType:
        """The type of the sums of A's products."""
        return ElementType.S32 if self.a.dtype.is_integer else ElementType.F32


REQUIREMENTS: tuple[Requirement[PortableRequest], ...] = (
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: r.d.builder is r.builder,
        lambda r: "D of another KernelBuilder",
        lambda r: "tiles of the builder that multiplies them",
        _SECTION,
    ),
    Requirement(
        "scope", "tiles are multiplied by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA,
        lambda r: r.scope.value,
        lambda r: ExecutionScope.CTA.value,
        _SECTION,
    ),
    Requirement(
        "option", "an option of tcgen05.mma that not every target has",
        lambda r: not r.others,
        lambda r: ", ".join(r.others),
        lambda r: "accumulate and step",
        _SECTION,
    ),
    Requirement(
        "target", "the target does not multiply elements of this type",
        lambda r: r.builder.known_target() in targets_for(r.a.dtype),
        lambda r: f"{r.a.dtype.value} on {r.builder.known_target().name}",
        lambda r: spell(targets_for(r.a.dtype)),
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
