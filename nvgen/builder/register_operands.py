"""A of a multiply in registers.

Layer: nvgen.builder.  PTX ISA, Register Fragments of wgmma.mma_async; Matrix Fragments for mma.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType
from nvgen.builder.regions import Host
from nvgen.builder.vectors import Vector

OPERAND_REGISTERS = 4
"""Registers of a thread that hold A for one multiply: 32 bytes of each row."""

_ROWS = 64


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """A in registers: `fragments[i][s]` are the four for rows from i·`each` on, and step s of K.

    A register holds 32 bits of a row along K, as the manual's figures of A say.  One multiply has
    `each` rows: 64 of a warpgroup, 16 of a warp.
    """

    fragments: tuple[tuple[Vector, ...], ...]
    dtype: ElementType
    each: int = _ROWS

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
