"""Which elements of a fragment are stored together: neighbours in a row, matrices of stmatrix.

Layer: intrinsics.  Input: the layout of a matrix in registers.  Output: numbers of a thread's
elements.  PTX ISA, stmatrix; Matrix Fragments.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from intrinsics.layouts.fragments_matrix import matrix_bytes
from intrinsics.layouts.register_layout import FragmentLayout, layout_of
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers.matrix import MatrixShape

MATRIX = 8
"""Rows, and elements of 16 bits in a row, of one matrix of stmatrix."""

LANE_BITS = 5


@functools.cache
def _matrix_layout() -> FragmentLayout:
    """One matrix of stmatrix in the registers of a warp."""
    line, byte = (table[:, ::2] for table in matrix_bytes(MatrixShape.M8N8))
    return layout_of(line, byte // 2, MATRIX, MATRIX)


def is_stmatrix_layout(layout: FragmentLayout) -> bool:
    """Whether the layout of a fragment of 16 bits is that of stmatrix."""
    one = _matrix_layout()
    of_lanes = layout.row_bits[:LANE_BITS], layout.column_bits[:LANE_BITS]
    beyond = (*layout.row_bits[LANE_BITS:], *layout.column_bits[LANE_BITS:])
    aligned = all(n % MATRIX == 0 for n in (*beyond, *layout.down))
    return aligned and of_lanes == (one.row_bits, one.column_bits)


@dataclass(frozen=True, slots=True)
class MatrixBlock:
    """One matrix, or four of 16 by 16: its position, and the thread's elements of it."""

    down: int
    along: int
    elements: tuple[int, ...]

    @property
    def several(self) -> bool:
        """Whether these are four."""
        return len(self.elements) > 2


def blocks(layout: FragmentLayout) -> Iterator[MatrixBlock]:
    """All matrices, in groups of four where possible."""
    places = zip(layout.down, layout.along, strict=True)
    at = {place: e for e, place in enumerate(places)}
    left = sorted(place for place in at if place[1] % MATRIX == 0)
    while left:
        down, along = left[0]
        four = [(down + d, along + a) for a in (0, MATRIX) for d in (0, MATRIX)]
        chosen = four if all(place in left for place in four) else four[:1]
        left = [place for place in left if place not in chosen]
        pairs = tuple(e for d, a in chosen for e in (at[d, a], at[d, a + 1]))
        yield MatrixBlock(down, along, pairs)


def runs(layout: FragmentLayout, most: int) -> Iterator[tuple[int, ...]]:
    """Elements that are adjacent in a row, at most `most` (a power of two) together."""
    e = 0
    while e < layout.count:
        size = most
        while size > 1 and not _is_run(layout, e, size):
            size //= 2
        yield tuple(range(e, e + size))
        e += size


def _is_run(layout: FragmentLayout, first: int, size: int) -> bool:
    """Whether elements are adjacent in a row, and aligned to their number."""
    run, (down, along) = slice(first, first + size), (layout.down[first], layout.along[first])
    begins = all(n % size == 0 for n in (along, *layout.column_bits))
    follows = layout.along[run] == tuple(range(along, along + size))
    return begins and follows and layout.down[run] == (down,) * size
