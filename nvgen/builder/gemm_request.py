"""One call of gemm_async: its matrices, and what follows from them.

Layer: nvgen.builder.  PTX ISA, Matrix Shape (Table 39); Table 50 (N of an 8-bit B that is
transposed); Data Path Layout Organization.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.descriptors.idesc import FP4_KINDS, m_values, n_values
from intrinsics.element import Major
from intrinsics.modifiers import MmaKind
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import Scope
from nvgen.builder.families import Family, family_of
from nvgen.builder.gemm_options import TensorOptions
from nvgen.builder.numbers import Int
from nvgen.builder.tensor_tiles import (
    OperandTile,
    SparseTile,
    TensorTile,
    accumulator_columns,
    block_of,
)
from nvgen.builder.tiles import SharedTile

LeftTile: TypeAlias = SharedTile | OperandTile | SparseTile
"""What A may be."""

_K96 = 96


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


@dataclass(frozen=True, slots=True)
class Request:
    """One call of gemm_async, as its requirements see it."""

    builder: BuilderBase
    scope: Scope
    d: TensorTile
    a: LeftTile
    b: SharedTile
    options: TensorOptions
    accumulate: bool | Int = False
    all_steps: bool = True

    # ---- shape -------------------------------------------------------------------------------

    @property
    def group(self) -> int:
        """CTAs that multiply together."""
        return self.options.group

    @property
    def rows(self) -> int:
        """Rows of A in one CTA."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m

    @property
    def m(self) -> int:
        """Rows of D."""
        return self.rows * self.group

    @property
    def n(self) -> int:
        """Columns of D."""
        return self.b.rows * self.group

    @property
    def k(self) -> int:
        """K, the zeros of a sparse A counted."""
        return self.b.k

    @property
    def a_k(self) -> int:
        """A's K, the zeros counted that a sparse one does not store."""
        return self.a.k * (2 if self.sparse and isinstance(self.a, SharedTile) else 1)

    @property
    def step(self) -> int:
        """K of one instruction."""
        if self.options.k96 and self.kind in FP4_KINDS:
            return _K96
        return (self.family.k if self.family else 16) * (2 if self.sparse else 1)

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.k // self.step

    # ---- kind --------------------------------------------------------------------------------

    @property
    def sparse(self) -> bool:
        """Whether half of A is stored."""
        return isinstance(self.a, SparseTile) or self.options.metadata is not None

    @property
    def stationary(self) -> bool:
        """Whether B may stay in a collector: tcgen05.mma.ws."""
        return self.options.stationary

    @property
    def scale_size(self) -> int:
        """Elements that share a factor, zeros of a sparse A not counted; 0 without factors."""
        sfa = self.options.sfa
        return sfa.size // (2 if self.sparse else 1) if sfa and self.options.sfb else 0

    @property
    def family(self) -> Family | None:
        """What multiplies A by B; None where nothing does."""
        a, b = (self.a.dtype, self.a.bits), (self.b.dtype, self.b.bits)
        return family_of(a, b, self.scale_size)

    @property
    def kind(self) -> MmaKind:
        """The kind, f16 where there is none."""
        return self.family.kind if self.family else MmaKind.F16

    # ---- matrices ----------------------------------------------------------------------------

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
        factors = (("sfa", self.options.sfa), ("sfb", self.options.sfb))
        owners |= {name: tile.pointer.builder for name, tile in factors if tile is not None}
        return [name for name, owner in owners.items() if owner is not self.builder]

    # ---- pieces ------------------------------------------------------------------------------

    def heights(self) -> tuple[int, ...]:
        """The values of M that one instruction has.

        A pair's factors of B lie otherwise for M = 128 than for 256: there it is one or the other.
        """
        values = m_values(self.kind, self.group, sparse=self.sparse, ws=self.stationary)
        mixed = not self.options.sfa or self.group == 1 or self.m == 128
        return values if mixed else tuple(m for m in values if m != 128)

    @property
    def scale_parts(self) -> int:
        """In how many parts the factors of B lie."""
        return 2 if self.options.sfa and self.group == 2 and self.m == 128 else 1

    def widths(self) -> list[int]:
        """The values of N that one instruction has."""
        values = n_values(self.kind, self.group, sparse=self.sparse, ws=self.stationary)
        wide = self.b.major is Major.MN and self.b.dtype.bits == 8
        return [n for n in values if not wide or n % (16 * self.group) == 0]

    def row_pieces(self) -> list[Piece]:
        """M in pieces that one instruction can do; none where there are no such.

        What lies in tensor memory begins anew at lane 0 with every 128 rows of a CTA, so there no
        other rows can be a piece's first.
        """
        found = pieces(self.m, self.heights())
        in_lanes = self.sparse or not isinstance(self.a, SharedTile)
        begins = all(block_of(piece.first // self.group)[1] == 0 for piece in found)
        return found if begins or not in_lanes else []

    def column_pieces(self) -> list[Piece]:
        """N in pieces that one instruction can do; none where there are no such."""
        return pieces(self.n, self.widths())

    @property
    def instructions(self) -> int:
        """How many instructions the nest has."""
        steps = self.steps if self.all_steps else 1
        return len(self.row_pieces()) * len(self.column_pieces()) * steps

    def place_in_d(self, rows: Piece, columns: Piece) -> int:
        """The column of the accumulator at which a piece begins."""
        return self.columns_of(rows.first, self.n) + self.columns_of(rows.size, columns.first)

    def columns_of(self, m: int, n: int) -> int:
        """Columns of tensor memory that m rows and n columns of D take in each CTA."""
        return accumulator_columns(
            m,
            n,
            cta_group=self.options.cta_group,
            stationary=self.stationary,
            sparse=self.sparse,
        )
