"""D in tensor memory, multiplied into by tcgen05.mma; its columns in registers; scale factors.

Layer: nvgen.builder.  Descriptors and the instruction descriptor are derived from tiles, and the
nest of pieces of M, pieces of N and steps of K is unrolled.  Each warp of a warpgroup has the 32
lanes of its number modulo 4, a thread a row.  PTX ISA, tcgen05.mma; tcgen05.cp; tcgen05.ld;
tcgen05.st; Data Path Layout Organization (layout D); Block Scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import ClassVar

from llvmlite import ir

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType
from intrinsics.layouts.register_layout import tensor_layout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import CollectorA, CopyMulticast, CopyShape, CtaGroup, ScalarType
from intrinsics.multiplies.tensor_shapes import Piece
from nvgen.builder.control.roles import ExecutionScope, Roles
from nvgen.builder.fragments.fragment import Fragment
from nvgen.builder.fragments.layouts import Holders, Rows
from nvgen.builder.multiplies.accumulators import Multiply
from nvgen.builder.multiplies.tensor_requests import (
    AccumulatorColumns,
    OperandAddresses,
    TensorRequest,
    crosses_spans,
    instruction_word,
    mask_word,
    scale_vector,
)
from nvgen.builder.multiplies.tensor_requirements import check
from nvgen.builder.multiplies.tensor_tiles import (
    OperandTile,
    ScaleTile,
    SparseTile,
    by_warpgroup,
    load_columns,
    store_columns,
)
from nvgen.builder.shared_memory.allocations import SharedMemory
from nvgen.builder.shared_memory.tiles import SCALE_BLOCK, SharedScales, SharedTile
from nvgen.builder.values.numbers import Int, IntLike, Number
from nvgen.builder.values.pointers import Pointer, descriptor_at
from nvgen.builder.values.vectors import Vector, vector_of
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse

_ROWS = 128
_ROWS_OF_16 = SharedMemoryDescriptor(0, lbo=16, sbo=128, swizzle=Swizzle.NONE).encode()
"""Rows of 16 bytes, one after the other: a matrix without swizzling, one piece wide."""


_COPIES = {
    1: (CopyShape.S32X128B, CopyMulticast.WARPX4),
    2: (CopyShape.S64X128B, CopyMulticast.WARPX2_01_23),
}
"""What copies a block of each part: to all groups of 32 lanes, or of two to two of them each."""


def _shape(scales: ScaleTile | SharedScales) -> str:
    parts = f", in {scales.parts} parts" if scales.parts > 1 else ""
    rows = f"{scales.rows} rows of K {scales.k}"
    return f"{rows}, one for {scales.size} {scales.dtype.value}{parts}"


_TYPES = {ElementType.F32: ScalarType.F32, ElementType.S32: ScalarType.S32}


@guarded
@dataclass(frozen=True, slots=True)
class TensorTile(AccumulatorColumns):
    """An accumulator in tensor memory: `m` rows and `n` columns of a type, from `pointer` on.

    Each 128 rows of a CTA are a block of `n` columns, one after the other.  In a CTA pair each CTA
    holds its half at the same address.  `columns` is their number in each CTA, where it is known.
    """

    instruction: ClassVar[str] = "tcgen05.mma"
    of_a: ClassVar[tuple[type, ...]] = (SharedTile, OperandTile, SparseTile)
    expected_a: ClassVar[str] = "shared_tile(…), operand_tile(…) or sparse_tile(…)"
    name: ClassVar[str] = "the accumulators"

    def __repr__(self) -> str:
        words = f"{self.m}x{self.n} of {self.dtype.value}"
        return f"<D in tensor memory: {words}, {self.columns or 'unknown'} columns in each CTA>"

    @property
    def extent(self) -> int:
        """Columns to the next one of several."""
        assert self.columns is not None
        return self.columns

    @property
    def nbytes(self) -> int:
        """Size of D in bytes, of both CTAs of a pair."""
        return self.m * self.n * self.dtype.bits // 8

    def start(self, asked: Multiply) -> None:
        """By one thread; in warp scope one of the warp is elected."""
        found = asked.asked_of(TensorRequest)
        check(found)
        b, step = asked.builder, asked.step
        if isinstance(step, int) and not 0 <= step < found.steps:
            raise refuse("no such step of K", got=str(step), expected=f"0..{found.steps - 1}")
        with b.elect() if b.scope is ExecutionScope.WARP else nullcontext():
            _issue(b, found)

    def load(self, first: int = 0, columns: int | None = None) -> Fragment:
        """Load columns of 128 rows into the registers of a warpgroup: 32 lanes per warp.

        Of an accumulator of 256 rows of a CTA pair these are the rows of this CTA.  It waits for
        the load; waiting for the multiplies before it is the caller's part.

        Raises: InputError for another number of rows, columns out of range or that are no multiple
        of a load's, or outside of a warpgroup.
        """
        columns = self.n - first if columns is None else columns
        self._check(first, columns)
        b, type_ = self.builder, _TYPES[self.dtype]
        loaded = load_columns(b, self.pointer, first, columns)
        numbers = [Vector(b, words.value, words.count, type_) for words in loaded]
        several = len(numbers) > 1
        whole = vector_of([n for part in numbers for n in part]) if several else numbers[0]
        return Fragment(whole, Holders(b, tensor_layout(columns)))

    def rows(self, function: Callable[[Int], Number] | float) -> Rows:
        """A number for each row, before anything is loaded: see `Fragment.rows`.

        `function(row)` gives it, or it is the same number for all.
        """
        self._check(0, self.n)
        b = self.builder
        none = Vector(b, ir.Constant(ir.VectorType(ir.FloatType(), 1), None), 1, ScalarType.F32)
        return Fragment(none, Holders(b, tensor_layout(1))).rows(function)

    def take_fragment(self, fragment: Fragment, first: int) -> None:
        """Store such columns, from `first` on, and wait until they are there."""
        b, columns = fragment.builder, fragment.layout.columns
        self._check(first, columns)
        fits = fragment.layout == tensor_layout(columns)
        if not fits or fragment.vector.type is not _TYPES[self.dtype]:
            got, expected = fragment.words, "what its load(…) gives, of the type of the tile"
            raise refuse(
                "no columns of an accumulator in tensor memory", got=got, expected=expected
            )
        store_columns(b, self.pointer, first, fragment.vector)

    def _check(self, first: int, columns: int) -> None:
        b = self.builder
        half_of_pair = self.m == 2 * _ROWS and self.columns == self.n
        fits = (self.m == _ROWS or half_of_pair) and self.dtype in _TYPES
        if not by_warpgroup(b) or not fits or not 0 <= first < first + columns <= self.n:
            raise refuse(
                "no columns of an accumulator for a warpgroup",
                got=f"{columns} from {first} of {self.m}x{self.n} of {self.dtype.value}, "
                f"{b.scope.value}",
                expected=f"{_ROWS} rows of f32 or s32, columns that there are, by one warpgroup",
                hint="of 256 rows of a pair each CTA has 128: use memory.tile or memory.tiles"
                if self.m == 2 * _ROWS
                else "",
            )


# ---- the nest ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One instruction of the nest; `opens` D, and does with A's collector what `usage` says."""

    rows: Piece
    columns: Piece
    step: IntLike
    opens: bool
    usage: CollectorA


def _issue(builder: SharedMemory, request: TensorRequest) -> None:
    """The unrolled nest."""
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
    """One instruction."""
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
    """The descriptor of a tile, its leading dimension left out where that is an address."""
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


# ---- scale factors -----------------------------------------------------------------------------


def copy_scales(
    b: Roles, target: ScaleTile, source: SharedScales, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start copies of scale factors into tensor memory, by one thread.

    MMAs that this thread issues later see them; with `cta_group` 2 each CTA of the pair copies from
    its own shared memory.

    Raises: InputError when the two are of different shapes or types.
    """
    wanted = (target.rows, target.k, target.dtype, target.size, target.parts)
    given = (source.rows, source.k, source.dtype, source.size, source.parts)
    if wanted != given:
        raise refuse("scale factors of another shape", got=_shape(source), expected=_shape(target))
    first = descriptor_at(b, source.pointer, _ROWS_OF_16)
    down, along = source.blocks
    shape, multicast = _COPIES[source.parts]
    for row in range(down):
        for word in range(along):
            block, columns = row * along + word, word * target.pitch + row * 4
            b.tcgen05_cp(
                target.pointer + columns if columns else target.pointer,
                first + (block * source.parts * SCALE_BLOCK >> 4) if block else first,
                shape=shape,
                multicast=multicast,
                cta_group=cta_group,
            )


def copy_metadata(
    b: Roles, target: Pointer, source: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start a copy of 128 rows of 16 bytes from shared memory into four columns.

    Row r goes to lane r: four words of metadata of a sparse A.
    """
    b.tcgen05_cp(
        target,
        descriptor_at(b, source, _ROWS_OF_16),
        shape=CopyShape.S128X128B,
        cta_group=cta_group,
    )
