"""`gemm_async`: a matrix multiply of tiles as tcgen05.mma instructions.

Layer: nvgen.builder.  It derives descriptors and the instruction descriptor from tiles and unrolls
the nest of pieces of N and steps of K; it commits nothing, that is the caller's.  PTX ISA,
tcgen05.mma, tcgen05.mma.sp, tcgen05.mma.ws.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.modifiers import CollectorWs, CtaGroup
from intrinsics.tensor_address import ZeroColumnMask
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.families import family_of
from nvgen.builder.gemm_request import LeftTile, Request
from nvgen.builder.gemm_requirements import check, check_tiles
from nvgen.builder.gemm_steps import (
    instruction_word,
    mask_word,
    metadata_place,
    scale_ids,
    scale_place,
    scale_vector,
)
from nvgen.builder.scale_copies import ScaleCopies
from nvgen.builder.tensor_tiles import OperandTile, ScaleTile, SparseTile, TensorTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.values import Int, IntLike, Pointer, refuse

_DISCARDS = (
    CollectorWs.B0_DISCARD,
    CollectorWs.B1_DISCARD,
    CollectorWs.B2_DISCARD,
    CollectorWs.B3_DISCARD,
)
_SHIFTS = (0, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class _Multiply:
    """What all instructions of one gemm_async have in common."""

    request: Request
    a: Int | Pointer  # where A begins: a descriptor or columns
    b: Int
    word: int  # the instruction descriptor but for N and what changes with K
    metadata: Pointer | None
    accumulate: bool | Int
    collector: CollectorWs
    zero_mask: int | None


class TileOperations(ScaleCopies, ControlFlow):
    """Operations on tiles."""

    def gemm_async(
        self,
        d: TensorTile,
        a: LeftTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        step: IntLike | None = None,
        cta_group: CtaGroup = CtaGroup.ONE,
        metadata: Pointer | None = None,
        sfa: ScaleTile | None = None,
        sfb: ScaleTile | None = None,
        stationary: bool = False,
        collector: CollectorWs = CollectorWs.B0_DISCARD,
        zero_mask: ZeroColumnMask | None = None,
        max_shift: int | None = None,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; the caller commits.

        `a` is M × K in shared or tensor memory, `b` is N × K in shared memory, `d` is M × N in
        tensor memory.  `accumulate` may be a condition that the kernel computes.  Without `step`
        all steps of K are multiplied; with it only that one, whose number, counted in the
        instruction's K, the kernel may compute.  In warp scope one thread of the warp is elected
        to issue.

        With `cta_group` 2 a CTA of the pair holds half of A's rows, and of B's, and of D's where M
        is 256; a thread of the even CTA issues for both.

        A is sparse when it is a `SparseTile`, or when `metadata` says which halves of its chunks
        the shared tile stores; its columns begin at an even one.

        `sfa` and `sfb` are scale factors: `sfa` for A's rows in this CTA, `sfb` for all N, which
        each CTA of a pair holds.  Of a sparse A a factor is for `size` elements with their zeros.

        `stationary` multiplies by tcgen05.mma.ws: `collector` keeps B or uses what it has kept,
        `zero_mask` says which columns of B count as zero, and by how many columns B is shifted;
        `max_shift` (0, 8, 16 or 32) is how many more columns than N a collector keeps, no fewer
        than the mask's shift.

        Raises: InputError when a requirement is not met.
        """
        check_tiles(d, a, b)
        sparse = isinstance(a, SparseTile) or metadata is not None
        size = sfa.size // (2 if sparse else 1) if sfa and sfb else 0
        group = 2 if cta_group is CtaGroup.TWO else 1
        shift = zero_mask.shift if zero_mask else 0
        found = Request(
            self.scope,
            (a.rows if isinstance(a, SharedTile) else a.m) * group,
            b.rows * group,
            b.k,
            a,
            b,
            d,
            group,
            family_of((a.dtype, a.bits), (b.dtype, b.bits), size),
            sparse=sparse,
            stationary=stationary,
            holds_b=collector not in _DISCARDS,
            masked=zero_mask is not None or bool(max_shift),
            shift=shift,
            max_shift=_max_shift(shift) if max_shift is None else max_shift,
            all_steps=step is None,
            sfa=sfa,
            sfb=sfb,
        )
        check(found)
        if isinstance(step, int) and not 0 <= step < found.k // found.step:
            raise refuse("no such step of K", got=str(step), expected=f"0..{found.steps - 1}")
        if self.scope is Scope.WARP:
            with self.elect():
                self._issue(found, metadata, accumulate, step, collector, zero_mask)
        else:
            self._issue(found, metadata, accumulate, step, collector, zero_mask)

    def _issue(
        self,
        request: Request,
        metadata: Pointer | None,
        accumulate: bool | Int,
        step: IntLike | None,
        collector: CollectorWs,
        zero_mask: ZeroColumnMask | None,
    ) -> None:
        """The unrolled nest: M is one instruction's, N goes in pieces, K in steps."""
        a = request.a
        multiply = _Multiply(
            request,
            self.descriptor(a) if isinstance(a, SharedTile) else _first(a),
            self.descriptor(request.b),
            instruction_word(request),
            a.metadata if isinstance(a, SparseTile) else metadata,
            accumulate,
            collector,
            mask_word(zero_mask) if zero_mask else None,
        )
        for first, width in request.pieces():
            for number in range(request.steps) if step is None else (0,):
                self._step(multiply, first, width, number if step is None else step, number == 0)

    def _step(
        self, multiply: _Multiply, first: int, width: int, step: IntLike, opens: bool
    ) -> None:
        """One instruction: `width` columns of D from the `first` on, and a step of K."""
        request = multiply.request
        d = request.d.pointer + first if first else request.d.pointer
        a = self._left(multiply, step)
        b = self._advanced(multiply.b, request.b.offset(step * request.step, first))
        word, place = multiply.word | width >> 3 << 17, None
        idesc: IntLike = word
        if multiply.metadata is not None:
            columns, selector = metadata_place(request, step)
            place = _moved(multiply.metadata, columns)
            idesc = selector | word
        elif request.sfa is not None:
            idesc = scale_ids(request, step) | word
        adds = multiply.accumulate
        enable_d = (int(adds) if isinstance(adds, bool) else adds) if opens else 1
        if request.stationary:
            self.tcgen05_mma_ws(
                d, a, b, idesc, enable_d, kind=request.kind, collector=multiply.collector,
                zero_mask=multiply.zero_mask, sp_meta=place,
            )  # fmt: skip
            return
        if request.sfa is None or request.sfb is None:
            self.tcgen05_mma(
                d, a, b, idesc, enable_d, kind=request.kind, cta_group=_group(request),
                sp_meta=place,
            )  # fmt: skip
            return
        self.tcgen05_mma(
            d, a, b, idesc, enable_d, kind=request.kind, cta_group=_group(request),
            sp_meta=place, scale_vec=scale_vector(request),
            sfa=_moved(request.sfa.pointer, scale_place(request, request.sfa, step, 0)),
            sfb=_moved(request.sfb.pointer, scale_place(request, request.sfb, step, first)),
        )  # fmt: skip

    def _left(self, multiply: _Multiply, step: IntLike) -> Int | Pointer:
        """A, from the step of K on."""
        request, base = multiply.request, multiply.a
        k = step * (request.step // 2 if request.sparse else request.step)
        if isinstance(base, Int):
            assert isinstance(request.a, SharedTile)
            return self._advanced(base, request.a.offset(k))
        return _moved(base, k * request.a.bits // 32)

    def _advanced(self, descriptor: Int, offset: IntLike) -> Int:
        """The descriptor of the same layout `offset` bytes further on, a multiple of 16."""
        if isinstance(offset, Int):
            return descriptor + self.zext(offset >> 4, 64)
        return descriptor + (offset >> 4) if offset else descriptor

    def descriptor(self, tile: SharedTile) -> Int:
        """The descriptor of a tile, whose address the kernel knows."""
        return self.descriptor_at(tile.pointer, tile.descriptor())


def _first(a: OperandTile | SparseTile | SharedTile) -> Pointer:
    assert not isinstance(a, SharedTile)
    return a.values if isinstance(a, SparseTile) else a.pointer


def _moved(pointer: Pointer, columns: IntLike) -> Pointer:
    return pointer if isinstance(columns, int) and columns == 0 else pointer + columns


def _group(request: Request) -> CtaGroup:
    return CtaGroup.TWO if request.group == 2 else CtaGroup.ONE


def _max_shift(shift: int) -> int:
    """The smallest maximum that allows a shift; itself where there is none."""
    return next((most for most in _SHIFTS if shift <= most), shift)
