"""One multiply into tensor memory: its options, and what follows from them.

Layer: nvgen.builder.  PTX ISA, tcgen05.mma; tcgen05.mma.ws; Instruction
descriptor; Matrix Shape (Table 39); Table 50 (N of an 8-bit B that is transposed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from intrinsics.descriptors.idesc import FP4_KINDS, m_values, n_values
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup, MmaKind
from intrinsics.multiplies.tensor_shapes import (
    KindTypes,
    Piece,
    accumulator_columns,
    block_of,
    family_of,
    pieces,
)
from nvgen.builder.base import BuilderBase
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.roles import ExecutionScope
from nvgen.builder.tensor_tiles import AccumulatorColumns, LeftTile, ScaleTile, SparseTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Vector

LaneMask = Vector | Sequence[IntLike]
"""Lanes that are not written, 32 in a word: four words, of a CTA pair four for each CTA."""

_DISCARDS = (
    CollectorWs.B0_DISCARD,
    CollectorWs.B1_DISCARD,
    CollectorWs.B2_DISCARD,
    CollectorWs.B3_DISCARD,
)
SHIFTS = (0, 8, 16, 32)
"""How many more columns than N a collector may keep, by their code in the descriptor."""


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """Options of a multiply into tensor memory.

    M beyond 128 rows of a CTA is split into blocks of 128, which follow one another in D, N columns
    each.  N beyond 256 is split into 256; in a CTA pair the first half of each 256 columns are rows
    of the even CTA's B, the other half rows of the odd CTA's.
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
        """The names of the options that differ from their defaults."""
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
        """How many more columns than N a collector keeps: the least sufficient number where none is
        given, and the shift itself where none is sufficient.
        """
        if self.max_shift is not None:
            return self.max_shift
        return next((most for most in SHIFTS if self.shift <= most), self.shift)


_K96 = 96


@dataclass(frozen=True, slots=True)
class TensorRequest:
    """One call of gemm_async, as its requirements see it."""

    builder: BuilderBase
    scope: ExecutionScope
    d: AccumulatorColumns
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
    def family(self) -> KindTypes | None:
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

    def offset_in_d(self, rows: Piece, columns: Piece) -> int:
        """The column of the accumulator at which a piece begins."""
        return self.columns_of(rows.first, self.n) + self.columns_of(rows.size, columns.first)

    def columns_of(self, m: int, n: int) -> int:
        """Columns of tensor memory that m rows and n columns of D take in each CTA."""
        group, stationary = self.options.cta_group, self.stationary
        return accumulator_columns(m, n, cta_group=group, stationary=stationary, sparse=self.sparse)
