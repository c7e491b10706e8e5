"""One multiply into tensor memory: what follows from the call, and its instructions.

Layer: nvgen.multiplies.  Descriptors and the instruction descriptor are derived from tiles, and the
nest of pieces of M, pieces of N and steps of K is unrolled.  PTX ISA, tcgen05.mma; tcgen05.mma.ws;
Matrix Shape (Table 39); Instruction descriptor (Tables 42 to 45); Table 50 (N of an 8-bit B that is
transposed); Shared memory descriptor; Scale Factor A ID, Scale Factor B ID; Sparsity selector; Data
Path Layout Organization.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from intrinsics.descriptors.idesc import InstructionDescriptor, m_values, n_values
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType, Major
from intrinsics.layouts.sparse import sparse_columns
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, CollectorA, MmaKind, ScaleVec
from intrinsics.multiplies.tensor_shapes import (
    KindTypes,
    Piece,
    accumulator_columns,
    block_of,
    family_of,
    pieces,
)
from nvgen.instructions.roles import Roles
from nvgen.multiplies.accumulators import SHIFTS, AccumulatorTile, Multiply, kernel_of
from nvgen.multiplies.tensor_tiles import LeftTile, ScaleTile, SparseTile, whole_words
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import WORD_FACTORS, SharedTile
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer, advanced, descriptor_at
from nvgen.values.vectors import Vector

_K96 = 96


@dataclass(frozen=True, slots=True)
class AccumulatorColumns(AccumulatorTile):
    """What a multiply into tensor memory asks of its accumulator: see `TensorTile`."""

    pointer: Pointer
    m: int
    n: int
    dtype: ElementType = ElementType.F32
    columns: int | None = None

    @property
    def builder(self) -> SharedMemory:
        """The builder of its kernel."""
        return kernel_of(self.pointer.builder)


@dataclass(frozen=True, slots=True)
class TensorRequest(Multiply):
    """One call of gemm_async with D in tensor memory."""

    d: AccumulatorColumns
    a: LeftTile

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
        """K; of a sparse A, elements that are not stored count."""
        return self.b.k

    @property
    def a_k(self) -> int:
        """A's own K, which must be B's; of a sparse A, elements that are not stored count."""
        return self.a.k * (2 if self.sparse and isinstance(self.a, SharedTile) else 1)

    @property
    def depth(self) -> int:
        """K of one instruction."""
        if self.options.k96 and self.kind in FP4_KINDS:
            return _K96
        return (self.family.k if self.family else 16) * (2 if self.sparse else 1)

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.k // self.depth

    # ---- kind --------------------------------------------------------------------------------

    @property
    def sparse(self) -> bool:
        """Whether A is sparse: half of its elements are stored."""
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
        """The family of multiplies that takes the types of A and B; None where there is none."""
        a, b = (self.a.dtype, self.a.bits), (self.b.dtype, self.b.bits)
        return family_of(a, b, self.scale_size)

    @property
    def kind(self) -> MmaKind:
        """The kind, f16 where there is none."""
        return self.family.kind if self.family else MmaKind.F16

    # ---- pieces ------------------------------------------------------------------------------

    def heights(self) -> tuple[int, ...]:
        """The values of M that the instructions of this multiply may have.

        In a pair the scale factors of B lie differently for M = 128 and for M = 256, so that all
        instructions have the same of the two.
        """
        values = m_values(self.kind, self.group, sparse=self.sparse, ws=self.stationary)
        mixed = not self.options.sfa or self.group == 1 or self.m == 128
        return values if mixed else tuple(m for m in values if m != 128)

    @property
    def scale_parts(self) -> int:
        """The number of parts in which the scale factors of B lie: see `scale_cells`."""
        return 2 if self.options.sfa and self.group == 2 and self.m == 128 else 1

    def widths(self) -> list[int]:
        """The values of N that the instructions of this multiply may have."""
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
        steps = self.chosen(self.steps)
        return len(self.row_pieces()) * len(self.column_pieces()) * len(steps)

    def offset_in_d(self, rows: Piece, columns: Piece) -> int:
        """The column of the accumulator at which a piece begins."""
        return self.columns_of(rows.first, self.n) + self.columns_of(rows.size, columns.first)

    def columns_of(self, m: int, n: int) -> int:
        """Columns of tensor memory that m rows and n columns of D take in each CTA."""
        group, stationary = self.options.cta_group, self.stationary
        return accumulator_columns(m, n, cta_group=group, stationary=stationary, sparse=self.sparse)


# ---- operands ------------------------------------------------------------------------------------

_SFA_ID, _SFB_ID = 29, 4
"""The first bits of the scale factor ids in an instruction descriptor."""


def instruction_word(request: TensorRequest, m: int, n: int) -> int:
    """The instruction descriptor with selector and scale factor ids left zero."""
    options = request.options
    return InstructionDescriptor(
        request.kind,
        m,
        n,
        request.a.dtype,
        request.b.dtype,
        None if options.sfa else request.d.dtype,
        a_major=request.a.major if isinstance(request.a, SharedTile) else Major.K,
        b_major=request.b.major,
        negate_a=options.negate_a,
        negate_b=options.negate_b,
        sparse=request.sparse,
        max_shift=SHIFTS.index(options.most_shifted),
        scale=options.sfa.dtype if options.sfa else None,
        k96=options.k96,
    ).encode()


def scale_vector(request: TensorRequest) -> ScaleVec | None:
    """The modifier for the elements that share a scale factor; 32 is the default but for K = 96."""
    if request.scale_size == 16:
        return ScaleVec.BLOCK16
    return ScaleVec.BLOCK32 if request.options.k96 else None


def mask_word(mask: ZeroColumnMask) -> int:
    """The zero-column mask as a literal, with bit 39 set.

    ptxas takes a literal without it for something else; a first run of 256 columns that count, as
    many as there can be, zeroes none either.
    """
    if mask.nonzero:
        return mask.encode()
    none = (0, 0, 0, 0)
    return replace(mask, nonzero=True, start=none, first=none, use_span=255).encode()


# ---- addresses ---------------------------------------------------------------------------------

_ADDRESS, _LEADING = 0x3FFF, 16
"""Of a descriptor, the bits of the address; the first bit of the leading dimension."""


@dataclass(frozen=True, slots=True)
class OperandAddresses:
    """Operands of one gemm_async, by the descriptors of its matrices in shared memory.

    `lane_mask` and `zero_mask` are those of all its instructions.
    """

    request: TensorRequest
    a: Int | None
    b: Int
    lane_mask: Vector | None
    zero_mask: int | None

    def of_d(self, rows: Piece, columns: Piece) -> Pointer:
        """The address of a part of D."""
        return moved(self.request.d.pointer, self.request.offset_in_d(rows, columns))

    def of_a(self, rows: Piece, step: IntLike) -> Int | Pointer:
        """The descriptor, or the address, of rows of A from a step of K on."""
        request, a = self.request, self.request.a
        first = rows.first // request.group
        k = step * (request.depth // 2 if request.sparse else request.depth)
        if isinstance(a, SharedTile):
            assert self.a is not None
            return self._in_shared(self.a, a, k, first)
        values = a.values if isinstance(a, SparseTile) else a.pointer
        return moved(values, k * a.bits // 32 + block_of(first)[0] * a.pitch)

    def of_b(self, columns: Piece, step: IntLike) -> Int:
        """The descriptor of the rows of B, in this CTA, for some columns of D."""
        request = self.request
        first = columns.first // request.group
        return self._in_shared(self.b, request.b, step * request.depth, first)

    def _in_shared(self, base: Int, tile: SharedTile, k: IntLike, first: int) -> Int:
        """The descriptor of a tile from an element on; for K = 96 rows go on in the next span."""
        here = advanced(base, tile.offset(k, first))
        if not crosses_spans(self.request, tile):
            return here
        beyond = advanced(base & _ADDRESS, tile.offset((k // tile.span + 1) * tile.span, first))
        return here | beyond << _LEADING

    def of_metadata(self, rows: Piece, step: IntLike) -> tuple[IntLike, Pointer | None]:
        """The sparsity selector, and the place of a sparse A's metadata.

        (CUTLASS, include/cute/atom/mma_traits_sm100.hpp and mma_traits_sm100_frag.hpp.)
        """
        request, a = self.request, self.request.a
        first = a.metadata if isinstance(a, SparseTile) else request.options.metadata
        if not isinstance(first, Pointer):
            return 0, None
        if isinstance(a, SparseTile):
            pitch = a.pitch
        else:
            pitch = whole_words(sparse_columns(request.kind, request.k, a.bits).metadata)
        before = block_of(rows.first // request.group)[0] * pitch
        if request.kind in (MmaKind.F16, MmaKind.TF32):  # one column: of an even one, or the next
            columns, selector = step // 2 * 2, step % 2
        else:
            columns, selector = step * 2, 0
        return selector, moved(first, columns + before if before else columns)

    def of_factors(
        self, rows: Piece, columns: Piece, step: IntLike
    ) -> tuple[IntLike, Pointer | None, Pointer | None]:
        """The ids of the scale factors, which byte of the words a step's begin at, and their places
        for A and for B."""
        sfa, sfb = self.request.options.sfa, self.request.options.sfb
        if sfa is None or sfb is None:
            return 0, None, None
        of_a = self._word(sfa, step) * sfa.pitch + rows.first // self.request.group // 32
        of_b = self._word(sfb, step) * sfb.pitch + columns.first // sfb.parts // 32
        each = self.request.depth // sfa.size
        byte: IntLike = 0
        if WORD_FACTORS % each:
            byte = step * each % WORD_FACTORS
        elif each < WORD_FACTORS:
            byte = step % (WORD_FACTORS // each) * each
        ids = byte << _SFA_ID | byte << _SFB_ID
        return ids, moved(sfa.pointer, of_a), moved(sfb.pointer, of_b)

    def _word(self, scales: ScaleTile, step: IntLike) -> IntLike:
        """The word in which the factors of a step begin: a row has 1, 2 or 4, for K = 96 3 or 6."""
        each = self.request.depth // scales.size
        if WORD_FACTORS % each:
            return step * each // WORD_FACTORS
        return step // (WORD_FACTORS // each)


def crosses_spans(request: TensorRequest, tile: SharedTile) -> bool:
    """Whether the leading dimension of a tile's descriptor is the address of the next span."""
    return request.options.k96 and tile.swizzle != 0


def moved(pointer: Pointer, columns: IntLike) -> Pointer:
    """An address in tensor memory some columns further on."""
    return pointer if isinstance(columns, int) and columns == 0 else pointer + columns


# ---- the nest ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One instruction of the nest: whether it `opens` D, and its `usage` of A's collector."""

    rows: Piece
    columns: Piece
    step: IntLike
    opens: bool
    usage: CollectorA


def issue(builder: SharedMemory, request: TensorRequest) -> None:
    """Emit all instructions, unrolled."""
    a, options = request.a, request.options
    mask = options.lane_mask
    operands = OperandAddresses(
        request,
        _first(builder, request, a) if isinstance(a, SharedTile) else None,
        _first(builder, request, request.b),
        mask if mask is None or isinstance(mask, Vector) else builder.words(mask),
        mask_word(options.zero_mask) if options.zero_mask else None,
    )
    for instruction in _nest(request, request.chosen(request.steps)):
        _emit(builder, operands, instruction)


def _emit(builder: SharedMemory, at: OperandAddresses, i: _Instruction) -> None:
    """Emit one instruction."""
    request, options = at.request, at.request.options
    d = at.of_d(i.rows, i.columns)
    a, b = at.of_a(i.rows, i.step), at.of_b(i.columns, i.step)
    selector, sp_meta = at.of_metadata(i.rows, i.step)
    word = instruction_word(request, i.rows.size, i.columns.size)
    adds = request.accumulate
    enable_d = (int(adds) if isinstance(adds, bool) else adds) if i.opens else 1
    if request.stationary:
        builder.tcgen05_mma_ws(
            d, a, b, _joined(selector, word), enable_d, kind=request.kind,
            collector=options.collector, zero_mask=at.zero_mask, sp_meta=sp_meta,
        )  # fmt: skip
        return
    ids, sfa, sfb = at.of_factors(i.rows, i.columns, i.step)
    builder.tcgen05_mma(
        d, a, b, _joined(selector, _joined(ids, word)), enable_d, kind=request.kind,
        cta_group=options.cta_group, collector_a=i.usage, ashift=options.ashift,
        mask=at.lane_mask, scale_d=options.scale_d if i.opens else None,
        sp_meta=sp_meta, scale_vec=scale_vector(request), sfa=sfa, sfb=sfb,
    )  # fmt: skip


def _first(builder: SharedMemory, request: TensorRequest, tile: SharedTile) -> Int:
    """The descriptor of a tile, without the leading dimension where that is an address."""
    if not crosses_spans(request, tile):
        return descriptor(builder, tile)
    layout = replace(tile.descriptor(), lbo=0, absolute_lbo=True)
    return descriptor_at(builder, tile.pointer, layout.encode())


def descriptor(b: Roles, tile: SharedTile) -> Int:
    """The tcgen05 descriptor of a tile in shared memory."""
    return descriptor_at(b, tile.pointer, tile.descriptor().encode())


def _joined(fields: IntLike, word: IntLike) -> IntLike:
    return word if isinstance(fields, int) and not fields else fields | word


def _nest(request: TensorRequest, steps: Sequence[IntLike]) -> Iterator[_Instruction]:
    """The instructions in their order: M, N and K from the outside, and with `reuse_a` N inmost.

    Then A's collector is filled by the first piece of N, and given up by the last.
    """
    columns, keeps = request.column_pieces(), request.options.reuse_a
    for rows in request.row_pieces():
        if not keeps or len(columns) == 1:
            usage = request.options.collector_a
            yield from (
                _Instruction(rows, piece, step, number == 0, usage)
                for piece in columns
                for number, step in enumerate(steps)
            )
            continue
        between = [CollectorA.USE] * (len(columns) - 2)
        usages = (CollectorA.FILL, *between, CollectorA.LASTUSE)
        yield from (
            _Instruction(rows, piece, step, number == 0, usage)
            for number, step in enumerate(steps)
            for piece, usage in zip(columns, usages, strict=True)
        )
