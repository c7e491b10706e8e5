"""Canonical layouts of matrices in shared memory.

Sources: PTX ISA, tcgen05 Canonical Layouts (the table, and the worked examples of Figures 188 to
192); CUTLASS, include/cute/atom/mma_traits_sm100.hpp (comment and checks of make_umma_desc) and
include/cute/atom/mma_traits_sm90_gmma.hpp (Layout_*_Atom_Bits).

128 bytes with 32-byte atoms are in CUTLASS alone, in mma_traits_sm100.hpp as Swizzle<2, 5, 2> over
4 rows of 128 bytes; Table 53 of the manual agrees on the size of the atom (8 by 4 pieces).  Of the
stride of a K row in it, the comment in CUTLASS says 4 pieces and the check below it 8; the layout
atom of the same file has 1024 bits, which is 8.  8 is taken here.
"""

from __future__ import annotations

from tests.intrinsics.published.cute import Ints, Nest, grid, swizzle

SWIZZLES: dict[str, tuple[int, int, int]] = {
    "NONE": (0, 4, 3),
    "B32": (1, 4, 3),
    "B64": (2, 4, 3),
    "B128": (3, 4, 3),
    "B128_ATOM32": (2, 5, 2),
}
"""Swizzle<B, M, S> on byte addresses, by mode."""

PIECES = {"NONE": 1, "B32": 2, "B64": 4, "B128": 8, "B128_ATOM32": 8}
"""16-byte pieces side by side in one row of the swizzle atom."""


def swizzled(mode: str, address: Ints) -> Ints:
    """The address after swizzling."""
    return swizzle(*SWIZZLES[mode], address)


def k_major(mode: str, m: int, k: int, size: int, lbo: int, sbo: int, start: int = 0) -> Ints:
    """Byte addresses of an m by k matrix of elements of `size` bytes, K-major; shape (m, k).

    Swizzled layouts hold one swizzle span of K: the manual's table goes on with stride T, which is
    the next piece of the same row.
    """
    t = 16 // size
    if mode == "NONE":
        stride: tuple[Nest, Nest] = ((t, sbo // size), (1, lbo // size))
    else:
        assert k * size <= 16 * PIECES[mode]
        stride = ((PIECES[mode] * t, sbo // size), (1, t))
    shape: tuple[Nest, Nest] = ((8, m // 8), (t, k // t))
    return swizzled(mode, start + size * grid(shape, stride))


def mn_major(mode: str, m: int, k: int, size: int, lbo: int, sbo: int, start: int = 0) -> Ints:
    """Byte addresses of an m by k matrix of elements of `size` bytes, MN-major; shape (m, k)."""
    t, wide = 16 // size, PIECES[mode]
    deep = 4 if mode == "B128_ATOM32" else 8
    lead, step = lbo // size, sbo // size
    shape: tuple[Nest, Nest] = ((t, wide, m // (t * wide)), (deep, k // deep))
    if mode == "NONE":
        stride: tuple[Nest, Nest] = ((1, t, step), (t, lead))
    else:
        stride = ((1, t, lead), (wide * t, step))
    return swizzled(mode, start + size * grid(shape, stride))
