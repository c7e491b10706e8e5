"""Accumulators of a whole CTA, which each target keeps where its multiplies write them.

Layer: nvgen.builder.  One body of a kernel multiplies by tcgen05.mma into tensor memory, by
wgmma.mma_async into the registers of warpgroups, or by mma.sync into those of warps; what has to be
allocated, committed, waited for and fenced is hidden here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from intrinsics.targets import Feature, Target, TargetSet, at_least, with_feature
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.tiles import SharedTile

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

E = ElementType


class Multiplier(Enum):
    """What multiplies tiles; the value is the instruction."""

    TENSOR = "tcgen05.mma"
    WARPGROUP = "wgmma.mma_async"
    WARP = "mma.sync"


_HALVES = (E.F16, E.BF16, E.TF32)
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
    _Ability(Multiplier.TENSOR, _HALVES + _BYTES, _TENSOR),
    _Ability(Multiplier.WARPGROUP, _HALVES + _BYTES + _INTEGERS, _WARPGROUP),
    _Ability(Multiplier.WARP, _HALVES + _INTEGERS, at_least(80) - _TENSOR - _WARPGROUP),
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


class PortableAccumulator(ABC):
    """D = A·Bᵀ of a whole CTA: `m` rows by `n` columns of `dtype`."""

    def __init__(self, builder: KernelBuilder, m: int, n: int, dtype: ElementType) -> None:
        self.builder = builder
        self.m = m
        self.n = n
        self.dtype = dtype

    @abstractmethod
    def multiply(
        self, a: SharedTile, b: SharedTile, accumulate: bool | Int, step: IntLike | None
    ) -> None:
        """Start D = A·Bᵀ, or add to what is in D."""

    @abstractmethod
    def commit(self) -> None:
        """Close what has been started, for the next wait."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for all that is committed: D may be read, A and B be written again."""

    @abstractmethod
    def store(self, target: Pointer, pitch: IntLike, dtype: ElementType) -> None:
        """Store D to global memory, row by row, as elements of `dtype`."""

    @abstractmethod
    def free(self) -> None:
        """Give back what was allocated, when all threads are through with it."""
