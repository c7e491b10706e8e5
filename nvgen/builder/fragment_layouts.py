"""The threads that hold a matrix in registers, and A there.

Layer: nvgen.builder.  Which elements a thread has, `intrinsics.layouts.register_layout`
says; here its numbers become instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from intrinsics.element import ElementType
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import FragmentLayout
from nvgen.builder.constants import constant
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.regions import Host
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.vectors import Vector


def scaled_bits(number: Int, steps: Sequence[int]) -> Int:
    """The sum of `steps[i]` for each bit i of a number; neighbours that double go together."""
    total: Int | None = None
    i = 0
    while i < len(steps):
        last = i
        while last + 1 < len(steps) and steps[last + 1] == 2 * steps[last] != 0:
            last += 1
        if steps[i]:
            part = (number >> i) & ((1 << last - i + 1) - 1) if i else number & (2 << last) - 1
            part = part * steps[i] if steps[i] != 1 else part
            total = part if total is None else total + part
        i = last + 1
    return Int(number.builder, constant(0, 32)) if total is None else total


@dataclass(frozen=True, slots=True)
class Holders:
    """The threads that hold a matrix, and where in it this thread's share begins.

    A matrix of several warps, rows × columns of them, is shared; `first` gives the first row and
    column of a warp.
    """

    builder: SharedMemory
    layout: FragmentLayout
    first: Callable[[], tuple[IntLike, IntLike]] | None = None
    across: bool = False
    """Whether several warps hold elements of one row."""

    def place(self) -> tuple[Int, Int]:
        """The row and the column that this thread's elements are counted from."""
        thread = self.builder.tid_x
        row = scaled_bits(thread, self.layout.row_bits)
        column = scaled_bits(thread, self.layout.column_bits)
        if self.first is not None:
            down, along = self.first()
            row, column = row + down, column + along
        return row, column


# ---- A of a multiply ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """A in registers: `fragments[i][s]` are the four for rows from i·`each` on, and step s of K.

    A register holds 32 bits of a row along K, as the manual's figures of A say.  One multiply has
    `each` rows: 64 of a warpgroup, 16 of a warp.
    """

    fragments: tuple[tuple[Vector, ...], ...]
    dtype: ElementType
    each: int = WARPGROUP_ROWS

    def __repr__(self) -> str:
        fragments = f"{len(self.fragments)} times {len(self.fragments[0])} fragments"
        return f"<A in registers: {self.m}x{self.k} of {self.dtype.value}, {fragments}>"

    @property
    def m(self) -> int:
        """Rows."""
        return len(self.fragments) * self.each

    @property
    def k(self) -> int:
        """Columns."""
        return len(self.fragments[0]) * 256 // self.dtype.bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.dtype.bits

    @property
    def builder(self) -> Host:
        """The kernel that it is of."""
        return self.fragments[0][0].builder
