"""Tiles in the registers of a warpgroup: accumulators that multiplies change in place, and A.

Layer: nvgen.builder.  Each of the four warps holds 16 of every 64 rows.  PTX ISA, Register
Fragments and Shared Memory Matrix Layouts of wgmma.mma_async.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType
from nvgen.builder.base import BuilderBase
from nvgen.builder.registers import Vector
from nvgen.builder.wgmma import Accumulator

WARPGROUP = 128
"""Threads of a warpgroup."""

WARPGROUP_ROWS = 64
"""Rows of D, and of A, that one multiply of a warpgroup has."""

OPERAND_REGISTERS = 4
"""Registers of a thread that hold A for one multiply: 32 bytes of each of 64 rows."""


@dataclass(frozen=True, slots=True, eq=False)
class WarpgroupTile:
    """D of one warpgroup: `m` rows by `n` columns of `dtype`, `parts` of 64 rows each.

    Branches and loops carry it on.  Its registers mean something behind a wait for the group of
    multiplies that last wrote them.
    """

    parts: tuple[Accumulator, ...]
    m: int
    n: int
    dtype: ElementType

    @property
    def builder(self) -> BuilderBase:
        """The kernel that it is of."""
        return self.parts[0].builder


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """A in registers: `fragments[i][s]` are the four registers for rows from 64·i on and step s.

    A register holds 32 bits of a row along K, as the manual's figures of A say.
    """

    fragments: tuple[tuple[Vector, ...], ...]
    dtype: ElementType

    @property
    def m(self) -> int:
        """Rows."""
        return len(self.fragments) * WARPGROUP_ROWS

    @property
    def k(self) -> int:
        """Columns."""
        return len(self.fragments[0]) * 256 // self.dtype.bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.dtype.bits

    @property
    def builder(self) -> BuilderBase:
        """The kernel that it is of."""
        return self.fragments[0][0].builder
