"""Matrix multiplies of tiles into tensor memory, as tcgen05.mma instructions.

Layer: nvgen.builder.  It derives descriptors and the instruction descriptor from tiles and unrolls
the nest of pieces of M, pieces of N and steps of K.  PTX ISA, tcgen05.mma, tcgen05.mma.sp,
tcgen05.mma.ws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from intrinsics.modifiers import CollectorA
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.gemm_options import TensorOptions
from nvgen.builder.gemm_places import Places, crosses_spans
from nvgen.builder.gemm_request import LeftTile, Piece, Request
from nvgen.builder.gemm_requirements import check
from nvgen.builder.gemm_steps import instruction_word, mask_word, scale_vector
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.refusals import refuse
from nvgen.builder.scale_copies import ScaleCopies
from nvgen.builder.tensor_tiles import TensorTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Vector


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One instruction of the nest; `opens` D, and does with A's collector what `usage` says."""

    rows: Piece
    columns: Piece
    step: IntLike
    opens: bool
    usage: CollectorA


@dataclass(frozen=True, slots=True)
class _Multiply:
    """What all instructions of one gemm_async have in common."""

    request: Request
    places: Places
    lane_mask: Vector | None
    zero_mask: int | None


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
        found = Request(self, self.scope, d, a, b, options, accumulate, step is None)
        check(found)
        if isinstance(step, int) and not 0 <= step < found.steps:
            raise refuse("no such step of K", got=str(step), expected=f"0..{found.steps - 1}")
        if self.scope is Scope.WARP:
            with self.elect():
                self._issue(found, step)
        else:
            self._issue(found, step)

    def _issue(self, request: Request, step: IntLike | None) -> None:
        """The unrolled nest."""
        a, options = request.a, request.options
        mask = options.lane_mask
        multiply = _Multiply(
            request,
            Places(
                request,
                self._first(request, a) if isinstance(a, SharedTile) else None,
                self._first(request, request.b),
            ),
            mask if mask is None or isinstance(mask, Vector) else self.words(mask),
            mask_word(options.zero_mask) if options.zero_mask else None,
        )
        steps = range(request.steps) if step is None else (step,)
        for instruction in _nest(request, steps):
            self._emit(multiply, instruction)

    def _emit(self, multiply: _Multiply, i: _Instruction) -> None:
        """One instruction."""
        request, places, options = multiply.request, multiply.places, multiply.request.options
        d = places.of_d(i.rows, i.columns)
        a, b = places.of_a(i.rows, i.step), places.of_b(i.columns, i.step)
        selector, sp_meta = places.of_metadata(i.rows, i.step)
        word = instruction_word(request, i.rows.size, i.columns.size)
        adds = request.accumulate
        enable_d = (int(adds) if isinstance(adds, bool) else adds) if i.opens else 1
        if request.stationary:
            self.tcgen05_mma_ws(
                d, a, b, _joined(selector, word), enable_d, kind=request.kind,
                collector=options.collector, zero_mask=multiply.zero_mask, sp_meta=sp_meta,
            )  # fmt: skip
            return
        ids, sfa, sfb = places.of_factors(i.rows, i.columns, i.step)
        self.tcgen05_mma(
            d, a, b, _joined(selector, _joined(ids, word)), enable_d, kind=request.kind,
            cta_group=options.cta_group, collector_a=i.usage, ashift=options.ashift,
            mask=multiply.lane_mask, scale_d=options.scale_d if i.opens else None,
            sp_meta=sp_meta, scale_vec=scale_vector(request), sfa=sfa, sfb=sfb,
        )  # fmt: skip

    def _first(self, request: Request, tile: SharedTile) -> Int:
        """The descriptor of a tile, its leading dimension left out where that is an address."""
        if not crosses_spans(request, tile):
            return self.descriptor(tile)
        layout = replace(tile.descriptor(), lbo=0, absolute_lbo=True)
        return self.descriptor_at(tile.pointer, layout)

    def descriptor(self, tile: SharedTile) -> Int:
        """The descriptor of a tile, whose address the kernel knows."""
        return self.descriptor_at(tile.pointer, tile.descriptor())


def _joined(fields: IntLike, word: IntLike) -> IntLike:
    return word if isinstance(fields, int) and not fields else fields | word


def _nest(request: Request, steps: range | tuple[IntLike]) -> Iterator[_Instruction]:
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
        for number, step in enumerate(steps):
            for place, piece in enumerate(columns):
                last = place == len(columns) - 1
                usage = CollectorA.LASTUSE if last else CollectorA.USE
                yield _Instruction(
                    rows, piece, step, number == 0, usage if place else CollectorA.FILL
                )
