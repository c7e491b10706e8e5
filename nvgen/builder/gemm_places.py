"""Where each instruction of a gemm_async finds its matrices, metadata and scale factors.

Layer: nvgen.builder.  Input: the request, pieces of M and of N, a step of K, which is a number or a
value of the kernel.  Output: descriptors, and addresses in tensor memory.  PTX ISA, Shared memory
descriptor; Data Path Layout Organization; Block Scaling; Sparse Matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

from nvgen.builder.descriptors import advanced
from nvgen.builder.gemm_request import Piece, Request
from nvgen.builder.gemm_steps import metadata_pitch, metadata_place, scale_ids, scale_place
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.tensor_tiles import SparseTile, block_of
from nvgen.builder.tiles import SharedTile

_ADDRESS, _LEADING = 0x3FFF, 16
"""Of a descriptor, the bits of the address; the first bit of the leading dimension."""


@dataclass(frozen=True, slots=True)
class Places:
    """Places of one gemm_async, from the descriptors of its matrices in shared memory."""

    request: Request
    a: Int | None
    b: Int

    def of_d(self, rows: Piece, columns: Piece) -> Pointer:
        """A piece of D."""
        return moved(self.request.d.pointer, self.request.place_in_d(rows, columns))

    def of_a(self, rows: Piece, step: IntLike) -> Int | Pointer:
        """A's rows, from a step of K on."""
        request, a = self.request, self.request.a
        first = rows.first // request.group
        k = step * (request.step // 2 if request.sparse else request.step)
        if isinstance(a, SharedTile):
            assert self.a is not None
            return self._in_shared(self.a, a, k, first)
        values = a.values if isinstance(a, SparseTile) else a.pointer
        return moved(values, k * a.bits // 32 + block_of(first)[0] * a.pitch)

    def of_b(self, columns: Piece, step: IntLike) -> Int:
        """The rows of B that are a piece of D's columns: those of this CTA."""
        request = self.request
        first = columns.first // request.group
        return self._in_shared(self.b, request.b, step * request.step, first)

    def _in_shared(self, base: Int, tile: SharedTile, k: IntLike, first: int) -> Int:
        """A tile from an element on; of 48 bytes of a row those beyond a span are in the next."""
        here = advanced(base, tile.offset(k, first))
        if not crosses_spans(self.request, tile):
            return here
        beyond = advanced(base & _ADDRESS, tile.offset((k // tile.span + 1) * tile.span, first))
        return here | beyond << _LEADING

    def of_metadata(self, rows: Piece, step: IntLike) -> tuple[IntLike, Pointer | None]:
        """The sparsity selector, and the place of a sparse A's metadata."""
        request, a = self.request, self.request.a
        first = a.metadata if isinstance(a, SparseTile) else request.options.metadata
        if first is None:
            return 0, None
        columns, selector = metadata_place(request, step)
        pitch = a.pitch if isinstance(a, SparseTile) else metadata_pitch(request)
        before = block_of(rows.first // request.group)[0] * pitch
        return selector, moved(first, columns + before if before else columns)

    def of_factors(
        self, rows: Piece, columns: Piece, step: IntLike
    ) -> tuple[IntLike, Pointer | None, Pointer | None]:
        """The ids of the scale factors, and their places for A and for B."""
        request, options = self.request, self.request.options
        if options.sfa is None or options.sfb is None:
            return 0, None, None
        of_a = scale_place(request, options.sfa, step, rows.first // request.group)
        of_b = scale_place(request, options.sfb, step, columns.first // options.sfb.parts)
        return (
            scale_ids(request, step),
            moved(options.sfa.pointer, of_a),
            moved(options.sfb.pointer, of_b),
        )


def crosses_spans(request: Request, tile: SharedTile) -> bool:
    """Whether the leading dimension of a tile's descriptor is the address of the next span."""
    return request.options.k96 and tile.swizzle != 0


def moved(pointer: Pointer, columns: IntLike) -> Pointer:
    """An address in tensor memory some columns further on."""
    return pointer if isinstance(columns, int) and columns == 0 else pointer + columns
