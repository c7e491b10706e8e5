"""An accumulator of a CTA in the registers of its warpgroups, by wgmma.mma_async (sm_90a).

Layer: nvgen.builder.  Each warpgroup multiplies and stores its share of the rows.  PTX ISA,
Asynchronous Warpgroup Level Matrix Instructions; Register Fragments of D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.refusals import refuse
from nvgen.builder.register_tiles import WARPGROUP, WARPGROUP_ROWS
from nvgen.builder.tile_stores import RowMajor
from nvgen.builder.tiles import SharedTile

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder


class WarpgroupAccumulator(PortableAccumulator):
    """Rows of each warpgroup, 64 or more."""

    def __init__(self, builder: KernelBuilder, m: int, n: int, dtype: ElementType) -> None:
        super().__init__(builder, m, n, dtype)
        x, y, z = builder.block
        groups = x * y * z // WARPGROUP
        if x * y * z % WARPGROUP or m <= 0 or m % (WARPGROUP_ROWS * groups):
            raise refuse(
                "no such accumulator in the registers of warpgroups",
                got=f"{m} rows, {x * y * z} threads",
                expected=f"{WARPGROUP_ROWS} rows, or a multiple of them, for every {WARPGROUP} "
                "threads",
            )
        self._rows = m // groups
        self._first: IntLike = builder.warpgroup * self._rows if groups > 1 else 0
        self._tile = builder.warpgroup_tile(self._rows, n, dtype)

    def multiply(
        self, a: SharedTile, b: SharedTile, accumulate: bool | Int, step: IntLike | None
    ) -> None:
        """By all warpgroups, each its rows of A."""
        part = a if self._rows == self.m else a.part(self._first, self._rows)
        self.builder.wgmma_fence()
        self.builder.multiply_in_warpgroup(self._tile, part, b, accumulate, step)

    def commit(self) -> None:
        """A group."""
        self.builder.wgmma_commit_group()

    def wait(self) -> None:
        """For all groups."""
        self.builder.wgmma_wait_group(0)

    def store(self, target: Pointer, pitch: IntLike, dtype: ElementType) -> None:
        """Two neighbouring sums at a time."""
        builder, thread = self.builder, self.builder.tid_x
        memory = RowMajor(builder, target, pitch, dtype)
        row = (thread >> 5 & 3) * 16 + (thread & 31) // 4 + self._first
        column = thread % 4 * 2
        for number, part in enumerate(self._tile.parts):
            registers = part.registers
            for pair in range(self.n // 4):
                down, along = number * WARPGROUP_ROWS + pair % 2 * 8, pair // 2 * 8
                memory.store(registers[2 * pair : 2 * pair + 2], row + down, column + along)

    def free(self) -> None:
        """Nothing was allocated."""
