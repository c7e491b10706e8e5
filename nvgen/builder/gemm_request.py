"""One call of gemm_async: its matrices, and what follows from them.

Layer: nvgen.builder.  PTX ISA, Matrix Shape (Table 39); Table 50 (N of an 8-bit B that is
transposed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.element import Major
from intrinsics.idesc import n_values
from intrinsics.modifiers import MmaKind
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import Scope
from nvgen.builder.families import Family
from nvgen.builder.tensor_tiles import OperandTile, ScaleTile, SparseTile, TensorTile
from nvgen.builder.tiles import SharedTile

LeftTile: TypeAlias = SharedTile | OperandTile | SparseTile
"""What A may be."""

MOST_N = 256
"""Columns of D that one instruction computes at most."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call of gemm_async, as its requirements see it; `k` counts the zeros of a sparse A."""

    builder: BuilderBase
    scope: Scope
    m: int
    n: int
    k: int
    a: LeftTile
    b: SharedTile
    d: TensorTile
    group: int
    family: Family | None
    sparse: bool = False
    stationary: bool = False
    holds_b: bool = False  # a collector keeps B, or is thought to have it
    masked: bool = False
    shift: int = 0
    max_shift: int = 0
    all_steps: bool = True
    sfa: ScaleTile | None = None
    sfb: ScaleTile | None = None

    @property
    def step(self) -> int:
        """K of one instruction."""
        return (self.family.k if self.family else 16) * (2 if self.sparse else 1)

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.k // self.step

    @property
    def scale_size(self) -> int:
        """Elements that share a factor, zeros of a sparse A not counted; 0 without factors."""
        return self.sfa.size // (2 if self.sparse else 1) if self.sfa else 0

    @property
    def kind(self) -> MmaKind:
        """The kind, f16 where there is none."""
        return self.family.kind if self.family else MmaKind.F16

    @property
    def shared(self) -> tuple[SharedTile, ...]:
        """The matrices that lie in shared memory."""
        return (self.a, self.b) if isinstance(self.a, SharedTile) else (self.b,)

    @property
    def strangers(self) -> list[str]:
        """Which of the matrices and scale factors belong to another kernel."""
        owners = {
            "D": self.d.pointer.builder,
            "A": (self.a.values if isinstance(self.a, SparseTile) else self.a.pointer).builder,
            "B": self.b.pointer.builder,
        }
        factors = (("sfa", self.sfa), ("sfb", self.sfb))
        owners |= {name: tile.pointer.builder for name, tile in factors if tile is not None}
        return [name for name, owner in owners.items() if owner is not self.builder]

    @property
    def rows(self) -> int:
        """Rows of A in one CTA."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m

    @property
    def a_k(self) -> int:
        """A's K, the zeros counted that a sparse one does not store."""
        return self.a.k * (2 if self.sparse and isinstance(self.a, SharedTile) else 1)

    def columns(self) -> list[int]:
        """The values of N that one instruction has."""
        values = n_values(self.kind, self.group, sparse=self.sparse, ws=self.stationary)
        wide = self.b.major is Major.MN and self.b.dtype.bits == 8
        return [n for n in values if not wide or n % (16 * self.group) == 0]

    def pieces(self) -> list[tuple[int, int]]:
        """N in pieces that one instruction can do: (first column, width).

        A pair's pieces, and those of half a data path, would not lie side by side in D.
        """
        most = MOST_N if self.group == 1 and not self.stationary else self.n
        return [(first, min(most, self.n - first)) for first in range(0, self.n, max(most, 1))]
