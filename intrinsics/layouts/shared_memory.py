"""Addresses of matrix elements in shared memory.

Layer: intrinsics (numpy).  A matrix in shared memory is made of *pieces*, 16 bytes along K
(K-major) or along M or N (MN-major), which no layout splits.  PTX ISA, Canonical Layouts; Strides;
Shared Memory Layout and Swizzling (Table 53).  The canonical layouts are CuTe's too (CUTLASS,
`mma_traits_sm100.hpp`); the one with 32-byte atoms, which the manual only draws, is taken from
there.
"""

from __future__ import annotations

import numpy as np

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.layouts.packing import PIECE
from intrinsics.layouts.swizzling import Addresses, swizzle


def piece_addresses(
    descriptor: SharedMemoryDescriptor, rows: int, k: int, per_piece: int, major: Major
) -> Addresses:
    """The byte address of each 16-byte piece of a rows x k matrix.

    `per_piece` is elements a piece; the shape is (rows, k / per_piece) for K-major, and
    (rows / per_piece, k) for MN-major, where pieces run along the rows; a last piece may be filled
    in part.  In bytes: a K-major swizzled matrix has rows of the swizzle span, 8 of them in a
    group, groups SBO apart; an MN-major one has the same with rows and k exchanged, its spans LBO
    apart (and 4 in a group with 32-byte atoms); without swizzling pieces take the place of spans.

    With an absolute leading dimension (K of 48 bytes, sm_103) the pieces of a row that would lie
    beyond its 128 bytes lie at the beginning of a second buffer, whose address LBO is.  This is the
    manual's text and how CUTLASS uses it (`sm103_blockscaled_mma_warpspecialized.hpp`).

    Raises: NotImplementedError for K-major with 32-byte atoms, which has no documented layout;
    ValueError for an absolute leading dimension in another layout than K-major, 128-byte swizzling
    and no base offset.
    """
    if major is Major.K:
        pieces = np.arange(-(-k // per_piece), dtype=np.int64)[None, :]
        return _k_major(descriptor, np.arange(rows, dtype=np.int64)[:, None], pieces)
    pieces = np.arange(-(-rows // per_piece), dtype=np.int64)[:, None]
    return _mn_major(descriptor, pieces, np.arange(k, dtype=np.int64)[None, :])


def _k_major(d: SharedMemoryDescriptor, row: Addresses, piece: Addresses) -> Addresses:
    if d.swizzle is Swizzle.B128_ATOM32:
        raise NotImplementedError(f"a K-major matrix with {d.swizzle.words}")
    if d.absolute_lbo:
        return _two_buffers(d, row, piece)
    along = piece * (d.lbo if d.swizzle is Swizzle.NONE else PIECE)
    group, within = np.divmod(row, d.swizzle.rows)
    offset = along + within * d.swizzle.span + group * d.sbo
    return swizzle(d.address + offset, d.swizzle, d.base_offset)


def _mn_major(d: SharedMemoryDescriptor, piece: Addresses, column: Addresses) -> Addresses:
    if d.absolute_lbo:
        raise ValueError("an absolute leading dimension of an MN-major matrix")
    plain = d.swizzle is Swizzle.NONE
    far, group_step = (d.sbo, d.lbo) if plain else (d.lbo, d.sbo)
    span, along = np.divmod(piece * PIECE, d.swizzle.span)
    group, within = np.divmod(column, d.swizzle.rows)
    offset = along + span * far + within * d.swizzle.span + group * group_step
    return swizzle(d.address + offset, d.swizzle, d.base_offset)


def _two_buffers(d: SharedMemoryDescriptor, row: Addresses, piece: Addresses) -> Addresses:
    if d.swizzle is not Swizzle.B128 or d.base_offset:
        raise ValueError(
            "an absolute leading dimension with another layout than 128-byte swizzling and base "
            f"offset 0: {d.swizzle.words}, base offset {d.base_offset}"
        )
    line = d.swizzle.span
    along = d.address % line + piece * PIECE
    start = np.where(along < line, d.address - d.address % line, d.lbo)
    group, within = np.divmod(row, d.swizzle.rows)
    offset = along % line + within * line + group * d.sbo
    return swizzle(start + offset, d.swizzle)
