"""Does a matrix lie in shared memory as tcgen05.mma can read it?

Layer: intrinsics.  Input: what an MMA reads of A or B, its swizzling and its strides.  Output: what
keeps it from being one of the canonical layouts, in the words of tile compilers.  PTX ISA,
Canonical Layouts; Strides; Matrix Shape (Table 39).

    K-major   ((8,m),(T,2k)): rows in groups of 8; K in pieces of 32 bytes
    MN-major  ((T,s,m),(8,k)): rows in spans of the swizzle (s pieces of 16 bytes); K in groups of 8

T is 16 bytes' worth of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.descriptors.smem_strides import Strides, Tile, right_strides
from intrinsics.element import Major
from intrinsics.row import Problem

STRIDE_FAILURE = "umma-stride"
K_SIZE = "umma-k-size"
MN_SIZE = "umma-mn-size"

_DENSE_BITS, _SPARSE_BITS = 256, 512
"""Bits of one row along K that an instruction multiplies, zeros of a sparse one included."""


def check_umma_layout(
    tile: Tile, swizzle: Swizzle, strides: Strides | None = None, *, sparse: bool = False
) -> list[Problem]:
    """Errors of a matrix with strides in bytes; without strides, of its size.

    `tile.bits` is what an element takes in shared memory.  Of a `sparse` matrix half is stored.
    """
    return list(_problems(tile, swizzle, strides, sparse=sparse))


def _problems(
    tile: Tile, swizzle: Swizzle, strides: Strides | None, *, sparse: bool
) -> Iterator[Problem]:
    layout = f"Not a canonical UMMA_{tile.major.value} Layout: Expected"
    step = (_SPARSE_BITS if sparse else _DENSE_BITS) // tile.bits
    if tile.k % step and not _is_k96(tile, sparse=sparse):
        yield Problem(
            K_SIZE, f"{layout} K-size multiple of {step}.", str(tile.k), f"a multiple of {step}"
        )
    step = 8 if tile.major is Major.K else 8 * swizzle.span // tile.bits
    if tile.rows % step:
        yield Problem(
            MN_SIZE,
            f"{layout} MN-size multiple of {step}.",
            f"{tile.rows}, {swizzle.words}",
            f"a multiple of {step}",
        )
    if strides is None:
        return
    stored = replace(tile, k=tile.k // 2) if sparse else tile
    right = right_strides(stored, swizzle, strides)
    if right != strides:
        yield Problem(
            STRIDE_FAILURE,
            f"{layout} stride failure.",
            f"lbo {strides.lbo}, sbo {strides.sbo}",
            f"lbo {right.lbo}, sbo {right.sbo}",
            "sbo" if right.sbo != strides.sbo else "lbo",
            f"parts of the {stored} overlap: with {swizzle.words} a part has "
            f"{swizzle.rows * swizzle.span} bytes",
        )


def _is_k96(tile: Tile, *, sparse: bool) -> bool:
    """The one K of 48 bytes: 4-bit elements, dense."""
    return tile.bits == 4 and not sparse and tile.k % 96 == 0
