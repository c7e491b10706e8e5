"""Where each instruction of a gemm_async finds what it multiplies: words, columns, ids.

Layer: nvgen.builder.  Input: the request and a step of K, a number or a value of the kernel.
PTX ISA, Instruction descriptor (Tables 42 to 44); Scale Factor A ID, Scale Factor B ID; Sparsity
selector; Zero-Column Mask Descriptor (Table 45).
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import Major
from intrinsics.layouts.sparse import sparse_columns
from intrinsics.modifiers import MmaKind, ScaleVec
from nvgen.builder.gemm_request import Request
from nvgen.builder.numbers import IntLike
from nvgen.builder.tensor_tiles import WORD_FACTORS, ScaleTile, whole_words
from nvgen.builder.tiles import SharedTile

_SFA_ID, _SFB_ID = 29, 4
"""The first bits of the scale factor ids in an instruction descriptor."""


def instruction_word(request: Request, m: int, n: int) -> int:
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
        max_shift=(0, 8, 16, 32).index(options.most_shifted),
        scale=options.sfa.dtype if options.sfa else None,
        k96=options.k96,
    ).encode()


def factors_per_step(request: Request, scales: ScaleTile) -> int:
    """Scale factors of a row that one instruction reads: 1, 2 or 4, with K = 96 3 or 6."""
    return request.step // scales.size


def scale_vector(request: Request) -> ScaleVec | None:
    """The modifier that says so; one for 32 elements goes without saying, but not for K = 96."""
    if request.scale_size == 16:
        return ScaleVec.BLOCK16
    return ScaleVec.BLOCK32 if request.options.k96 else None


def scale_place(request: Request, scales: ScaleTile, step: IntLike, first: int) -> IntLike:
    """The column of the factors of a step, for rows from the `first` on, a multiple of 32."""
    return _word(request, scales, step) * scales.pitch + first // 32


def _word(request: Request, scales: ScaleTile, step: IntLike) -> IntLike:
    """The word that a step's factors begin in."""
    factors = factors_per_step(request, scales)
    if WORD_FACTORS % factors:
        return step * factors // WORD_FACTORS
    return step // (WORD_FACTORS // factors)


def scale_ids(request: Request, step: IntLike) -> IntLike:
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


def metadata_place(request: Request, step: IntLike) -> tuple[IntLike, IntLike]:
    """The column of a step's metadata, and the selector.

    Of kind::f16 and kind::tf32 a step takes one column; the address is that of an even one, and
    the selector says which of the two it is.  Of the others it takes two columns, and the selector
    is 0.  (CUTLASS, include/cute/atom/mma_traits_sm100.hpp and mma_traits_sm100_frag.hpp.)
    """
    if request.kind in (MmaKind.F16, MmaKind.TF32):
        return step // 2 * 2, step % 2
    return step * 2, 0


def metadata_pitch(request: Request) -> int:
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
