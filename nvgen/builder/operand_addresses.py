"""Operands of each instruction of a multiply into tensor memory: descriptors, words and addresses.

Layer: nvgen.builder.  Input: the request, pieces of M and of N, a step of K, which is a number or a
value of the kernel.  PTX ISA, Shared memory descriptor; Instruction descriptor (Tables 42 to 44);
Scale Factor A ID, Scale Factor B ID; Sparsity selector; Zero-Column Mask Descriptor (Table 45);
Data Path Layout Organization.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import Major
from intrinsics.layouts.sparse import sparse_columns
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MmaKind, ScaleVec
from intrinsics.multiplies.tensor_shapes import Piece, block_of
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.tensor_requests import SHIFTS, TensorRequest
from nvgen.builder.tensor_tiles import ScaleTile, SparseTile, whole_words
from nvgen.builder.tiles import WORD_FACTORS, SharedTile
from nvgen.builder.vectors import Vector

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


def factors_per_step(request: TensorRequest, scales: ScaleTile) -> int:
    """Scale factors of a row that one instruction reads: 1, 2 or 4, with K = 96 3 or 6."""
    return request.step // scales.size


def scale_vector(request: TensorRequest) -> ScaleVec | None:
    """The modifier that says so; one for 32 elements goes without saying, but not for K = 96."""
    if request.scale_size == 16:
        return ScaleVec.BLOCK16
    return ScaleVec.BLOCK32 if request.options.k96 else None


def scale_offset(request: TensorRequest, scales: ScaleTile, step: IntLike, first: int) -> IntLike:
    """The column of the factors of a step, for rows from the `first` on, a multiple of 32."""
    return _word(request, scales, step) * scales.pitch + first // 32


def _word(request: TensorRequest, scales: ScaleTile, step: IntLike) -> IntLike:
    """The word that a step's factors begin in."""
    factors = factors_per_step(request, scales)
    if WORD_FACTORS % factors:
        return step * factors // WORD_FACTORS
    return step // (WORD_FACTORS // factors)


def scale_ids(request: TensorRequest, step: IntLike) -> IntLike:
    """Which byte of the words a step's factors begin at, in both fields of the descriptor."""
    assert request.options.sfa is not None
    factors = factors_per_step(request, request.options.sfa)
    if factors == WORD_FACTORS:
        return 0
    if WORD_FACTORS % factors:
        number = step * factors % WORD_FACTORS
    else:
        number = step % (WORD_FACTORS // factors) * factors
    return number << _SFA_ID | number << _SFB_ID


def metadata_offset(request: TensorRequest, step: IntLike) -> tuple[IntLike, IntLike]:
    """The column of a step's metadata, and the selector.

    Of kind::f16 and kind::tf32 a step takes one column; the address is that of an even one, and
    the selector says which of the two it is.  Of the others it takes two columns, and the selector
    is 0.  (CUTLASS, include/cute/atom/mma_traits_sm100.hpp and mma_traits_sm100_frag.hpp.)
    """
    if request.kind in (MmaKind.F16, MmaKind.TF32):
        return step // 2 * 2, step % 2
    return step * 2, 0


def metadata_pitch(request: TensorRequest) -> int:
    """Columns from the metadata of 128 rows of A to that of the next."""
    return whole_words(sparse_columns(request.kind, request.k, request.a.bits).metadata)


def mask_word(mask: ZeroColumnMask) -> int:
    """The zero-column mask as a literal, with bit 39 set.

    ptxas takes a literal without it for something else; a first run of 256 columns that count, as
    many as there can be, zeroes none either.
    """
    if mask.nonzero:
        return mask.encode()
    none = (0, 0, 0, 0)
    return replace(mask, nonzero=True, start=none, first=none, use_span=255).encode()


def advanced(descriptor: Int, offset: IntLike) -> Int:
    """The descriptor of the same layout `offset` bytes further on, a multiple of 16.

    Addresses lie in the low bits in units of 16 bytes, so one addition moves them.
    """
    if isinstance(offset, Int):
        return descriptor + (offset >> 4).zext(64)
    return descriptor + (offset >> 4) if offset else descriptor


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
        """A piece of D."""
        return moved(self.request.d.pointer, self.request.offset_in_d(rows, columns))

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
        columns, selector = metadata_offset(request, step)
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
        of_a = scale_offset(request, options.sfa, step, rows.first // request.group)
        of_b = scale_offset(request, options.sfb, step, columns.first // options.sfb.parts)
        return (
            scale_ids(request, step),
            moved(options.sfa.pointer, of_a),
            moved(options.sfb.pointer, of_b),
        )


def crosses_spans(request: TensorRequest, tile: SharedTile) -> bool:
    """Whether the leading dimension of a tile's descriptor is the address of the next span."""
    return request.options.k96 and tile.swizzle != 0


def moved(pointer: Pointer, columns: IntLike) -> Pointer:
    """An address in tensor memory some columns further on."""
    return pointer if isinstance(columns, int) and columns == 0 else pointer + columns
