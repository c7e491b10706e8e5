"""An accumulator of a CTA in tensor memory, by tcgen05.mma (sm_100a, sm_103a, sm_110a).

Layer: nvgen.builder.  Warp 0 allocates; one of its threads issues the multiplies and commits them
to an mbarrier, whose phases a variable counts.  PTX ISA, tcgen05; Data Path Layout Organization
(layouts D and F).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from intrinsics.limits import COLUMNS, FEWEST_COLUMNS
from intrinsics.modifiers import LdStNum, LdStShape
from nvgen.builder.gemm_options import TensorOptions
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.refusals import refuse
from nvgen.builder.register_tiles import WARPGROUP
from nvgen.builder.tile_stores import RowMajor
from nvgen.builder.tiles import SharedTile

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_ROWS = 128
_HALF = 64
_WIDTHS = (32, 16, 8)


class TensorAccumulator(PortableAccumulator):
    """M = 64, or blocks of 128 rows, each in columns of its own."""

    def __init__(self, builder: KernelBuilder, name: str, m: int, n: int) -> None:
        super().__init__(builder, m, n, ElementType.F32)
        x, y, z = builder.block
        self._groups = x * y * z // WARPGROUP
        tiles = max(m // _ROWS, 1)
        columns = max(FEWEST_COLUMNS, 1 << (tiles * n - 1).bit_length())
        whole = m == _HALF or m % _ROWS == 0
        if m <= 0 or n <= 0 or not whole or columns > COLUMNS or x * y * z % WARPGROUP:
            raise refuse(
                "no such accumulator in tensor memory",
                got=f"{m}x{n}, {x * y * z} threads",
                expected=f"{_HALF} or a multiple of {_ROWS} rows, {COLUMNS} columns for every "
                f"{_ROWS} rows together, whole warpgroups",
            )
        if n % (8 * self._groups):
            raise refuse(
                "columns that the warpgroups cannot share",
                got=f"{n} columns, {self._groups} warpgroups",
                expected=f"a multiple of {8 * self._groups} columns",
            )
        self._done = builder.mbarrier(f"{name}_multiplied")
        with builder.if_thread(0):
            builder.mbarrier_init(self._done, 1)
            builder.fence_mbarrier_init_release_cluster()
        self._memory = builder.tensor_memory(f"{name}_columns", columns)
        self._tile = self._memory.tile(m, n)
        self._parity = builder.variable(0)

    def multiply(
        self, a: SharedTile, b: SharedTile, accumulate: bool | Int, step: IntLike | None
    ) -> None:
        """By one thread of warp 0."""
        builder = self.builder
        with builder.if_warp(0), builder.elect():
            builder.tcgen05_fence_after_thread_sync()
            builder.multiply_into_tensor(self._tile, a, b, accumulate, step, TensorOptions())

    def commit(self) -> None:
        """Committed by the thread that multiplied: the same one is elected again."""
        builder = self.builder
        with builder.if_warp(0), builder.elect():
            builder.tcgen05_commit(self._done)
        self._parity.set(self._parity.value ^ 1)

    def wait(self) -> None:
        """For the latest phase; before the first commit that is one that counts as complete."""
        self.builder.wait(self._done, self._parity.value ^ 1)
        self.builder.tcgen05_fence_after_thread_sync()

    def store(self, target: Pointer, pitch: IntLike, dtype: ElementType) -> None:
        """Each warp reads the lanes of its number modulo 4, warpgroups their share of columns."""
        builder, thread = self.builder, self.builder.tid_x
        memory = RowMajor(builder, target, pitch, dtype)
        share = self.n // self._groups
        first: IntLike = builder.warpgroup * share if self._groups > 1 else 0
        lanes = (thread >> 5 & 3) << 21
        for number in range(max(self.m // _ROWS, 1)):
            for place, width in _pieces(share):
                columns = self._tile.pointer + lanes + (first + (place + number * self.n))
                if self.m == _HALF:
                    self._store_half(memory, columns, first + place, width)
                    continue
                values = builder.tcgen05_ld(columns, num=LdStNum(f"x{width}"))
                builder.tcgen05_wait_ld()
                memory.store(values, thread % _ROWS + number * _ROWS, first + place)
        builder.tcgen05_fence_before_thread_sync()

    def _store_half(self, memory: RowMajor, columns: Pointer, column: IntLike, width: int) -> None:
        """Of M = 64 only sixteen lanes of a warp's 32 are written: layout F."""
        builder, thread = self.builder, self.builder.tid_x
        num = LdStNum(f"x{width // 8}")
        values = builder.tcgen05_ld(columns, shape=LdStShape.S16X256B, num=num)
        builder.tcgen05_wait_ld()
        row = (thread >> 5 & 3) * 16 + (thread & 31) // 4
        for pair in range(width // 4):
            at, along = row + pair % 2 * 8, thread % 4 * 2 + pair // 2 * 8
            memory.store(values[2 * pair : 2 * pair + 2], at, along + column)

    def free(self) -> None:
        """The columns, by warp 0."""
        self._memory.free()


def _pieces(columns: int) -> list[tuple[int, int]]:
    """Columns in pieces that one load brings: (first column, how many)."""
    found, place = [], 0
    for width in _WIDTHS:
        while columns - place >= width:
            found.append((place, width))
            place += width
    return found
