"""Matrix multiplies of tiles into tensor memory, as tcgen05.mma instructions.

Layer: nvgen.builder.  It derives descriptors and the instruction descriptor from tiles and unrolls
the nest of pieces of N and steps of K.  PTX ISA, tcgen05.mma, tcgen05.mma.sp, tcgen05.mma.ws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from intrinsics.modifiers import CollectorWs, CtaGroup
from intrinsics.tensor_address import ZeroColumnMask
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.descriptors import advanced
from nvgen.builder.families import family_of
from nvgen.builder.gemm_request import LeftTile, Request
from nvgen.builder.gemm_requirements import check
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


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """What `gemm_async` takes that only tcgen05.mma has."""

    cta_group: CtaGroup = CtaGroup.ONE
    metadata: Pointer | None = None
    sfa: ScaleTile | None = None
    sfb: ScaleTile | None = None
    stationary: bool = False
    collector: CollectorWs = CollectorWs.B0_DISCARD
    zero_mask: ZeroColumnMask | None = None
    max_shift: int | None = None

    def given(self) -> tuple[str, ...]:
        """The names of those that are not as they are by default."""
        usual = TensorOptions()
        names = (field.name for field in fields(self))
        return tuple(name for name in names if getattr(self, name) != getattr(usual, name))


class TensorGemm(ScaleCopies, ControlFlow):
    """Multiplies whose D lies in tensor memory."""

    def multiply_into_tensor(
        self,
        d: TensorTile,
        a: LeftTile,
        b: SharedTile,
        accumulate: bool | Int,
        step: IntLike | None,
        options: TensorOptions,
    ) -> None:
        """What `gemm_async` makes of such tiles.

        Raises: InputError when a requirement is not met.
        """
        sparse = isinstance(a, SparseTile) or options.metadata is not None
        sfa, sfb = options.sfa, options.sfb
        size = sfa.size // (2 if sparse else 1) if sfa and sfb else 0
        group = 2 if options.cta_group is CtaGroup.TWO else 1
        shift = options.zero_mask.shift if options.zero_mask else 0
        found = Request(
            self,
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
            stationary=options.stationary,
            holds_b=options.collector not in _DISCARDS,
            masked=options.zero_mask is not None or bool(options.max_shift),
            shift=shift,
            max_shift=_max_shift(shift) if options.max_shift is None else options.max_shift,
            all_steps=step is None,
            sfa=sfa,
            sfb=sfb,
        )
        check(found)
        if isinstance(step, int) and not 0 <= step < found.k // found.step:
            raise refuse("no such step of K", got=str(step), expected=f"0..{found.steps - 1}")
        if self.scope is Scope.WARP:
            with self.elect():
                self._issue(found, accumulate, step, options)
        else:
            self._issue(found, accumulate, step, options)

    def _issue(
        self,
        request: Request,
        accumulate: bool | Int,
        step: IntLike | None,
        options: TensorOptions,
    ) -> None:
        """The unrolled nest: M is one instruction's, N goes in pieces, K in steps."""
        a = request.a
        multiply = _Multiply(
            request,
            self.descriptor(a) if isinstance(a, SharedTile) else _first(a),
            self.descriptor(request.b),
            instruction_word(request),
            a.metadata if isinstance(a, SparseTile) else options.metadata,
            accumulate,
            options.collector,
            mask_word(options.zero_mask) if options.zero_mask else None,
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
        b = advanced(multiply.b, request.b.offset(step * request.step, first))
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
            return advanced(base, request.a.offset(k))
        return _moved(base, k * request.a.bits // 32)

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
