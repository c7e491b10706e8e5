"""What tile operations require that are the same on every target, as data.

Layer: nvgen.builder.  Input: a call of `accumulator` or of `gemm_async` with such a D.  Output: an
error that names everything that does not hold, and the targets that would do.  What one target's
instruction requires of its tiles is checked beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.targets import Target, spell
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import Scope
from nvgen.builder.portable import PortableAccumulator, targets_for
from nvgen.builder.refusals import Requirement, unmet
from nvgen.builder.tiles import SharedTile

_SECTION = "tcgen05.mma; wgmma.mma_async; mma"


@dataclass(frozen=True, slots=True)
class AccumulatorRequest:
    """One call of `accumulator`."""

    target: Target
    scope: Scope
    dtype: ElementType

    @property
    def factors(self) -> ElementType:
        """A type whose products are summed so."""
        return ElementType.S8 if self.dtype is ElementType.S32 else ElementType.F16


OF_ACCUMULATORS: tuple[Requirement[AccumulatorRequest], ...] = (
    Requirement(
        "scope", "an accumulator is made by all threads of the CTA",
        lambda r: r.scope is Scope.CTA,
        lambda r: r.scope.value,
        lambda r: Scope.CTA.value,
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
    scope: Scope
    d: PortableAccumulator
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
        lambda r: r.scope is Scope.CTA,
        lambda r: r.scope.value,
        lambda r: Scope.CTA.value,
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


def check_accumulator(request: AccumulatorRequest) -> None:
    """Whether a target has such an accumulator.

    Raises: InputError with one finding for each requirement that is not met.
    """
    findings = unmet("gemm_async", OF_ACCUMULATORS, request)
    if findings:
        raise InputError(findings)


def check_portable(request: PortableRequest) -> None:
    """Whether a multiply is one that the target has.

    Raises: InputError with one finding for each requirement that is not met.
    """
    findings = unmet("gemm_async", REQUIREMENTS, request)
    if findings:
        raise InputError(findings)
