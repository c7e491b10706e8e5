"""An accumulator of a CTA in the registers of its warps, by mma.sync (sm_80 and later).

Layer: nvgen.builder.  Each warp multiplies and stores its share, a rectangle of D; multiplies are
complete when they are issued.  PTX ISA, mma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from nvgen.builder.gemm_warp_requirements import whole_fragments
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.refusals import refuse
from nvgen.builder.tile_stores import RowMajor
from nvgen.builder.tiles import SharedTile
from nvgen.builder.warp_tiles import FRAGMENT_COLUMNS, FRAGMENT_ROWS, WARP

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder


class WarpAccumulator(PortableAccumulator):
    """Shares as near to squares as there are: those read the least of A and B."""

    def __init__(self, builder: KernelBuilder, m: int, n: int, dtype: ElementType) -> None:
        super().__init__(builder, m, n, dtype)
        x, y, z = builder.block
        warps = _shared_by(x * y * z, m, n)
        if warps is None:
            raise refuse(
                "no such accumulator in the registers of warps",
                got=f"{m}x{n}, {x * y * z} threads",
                expected=f"shares of {FRAGMENT_ROWS}x{FRAGMENT_COLUMNS}, or multiples of them, for "
                f"every {WARP} threads",
            )
        self._tile = builder.warp_tile(m, n, dtype, warps=warps)

    def multiply(
        self, a: SharedTile, b: SharedTile, accumulate: bool | Int, step: IntLike | None
    ) -> None:
        """By all warps, each its share."""
        self.builder.multiply_in_warps(self._tile, a, b, accumulate, step)

    def commit(self) -> None:
        """Nothing is under way."""

    def wait(self) -> None:
        """Nothing is under way."""

    def store(self, target: Pointer, pitch: IntLike, dtype: ElementType) -> None:
        """Two neighbouring sums at a time."""
        builder, lane = self.builder, self.builder.tid_x & 31
        memory = RowMajor(builder, target, pitch, dtype)
        down, along = builder.place_of_warp(self._tile)
        first_row, first_column = lane // 4 + down, lane % 4 * 2 + along
        for i, parts in enumerate(self._tile.parts):
            for j, part in enumerate(parts):
                for half in range(2):
                    row = first_row + (i * FRAGMENT_ROWS + half * 8)
                    pair = part.registers[2 * half : 2 * half + 2]
                    memory.store(pair, row, first_column + j * FRAGMENT_COLUMNS)

    def free(self) -> None:
        """Nothing was allocated."""


def _shared_by(threads: int, m: int, n: int) -> tuple[int, int] | None:
    """Rows and columns of warps that share D; None where they cannot."""
    warps = threads // WARP
    if threads % WARP:
        return None
    grids = [(rows, warps // rows) for rows in range(1, warps + 1) if warps % rows == 0]
    fitting = [grid for grid in grids if whole_fragments(m, n, grid)]
    return min(fitting, key=lambda grid: m // grid[0] + n // grid[1], default=None)
