"""Tiles in the registers of warps: accumulators of mma.sync.

Layer: nvgen.builder.  PTX ISA, Matrix Fragments for mma.m16n8k16 and its like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.modifiers import ScalarType
from nvgen.builder.base import BuilderBase
from nvgen.builder.fragment_layouts import warp_layout
from nvgen.builder.fragments import Fragment, Holders
from nvgen.builder.held_fragments import HeldFragment, assign, held, kernel_of
from nvgen.builder.regions import Changing
from nvgen.builder.vectors import Vector

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

WARP = 32
"""Threads of a warp."""

FRAGMENT_ROWS, FRAGMENT_COLUMNS = 16, 8
"""Rows and columns of D that one multiply of a warp has."""

_REGISTERS = 4
"""Registers of a thread that hold such a D: two rows, two columns each."""


class Sums(Changing):
    """A thread's part of 16 rows and 8 columns of D: four words."""

    def __init__(self, builder: BuilderBase, type: ScalarType) -> None:
        super().__init__(builder, self.zeros())
        self.type = type

    @staticmethod
    def zeros() -> ir.Constant:
        """Four zeros."""
        return ir.Constant(ir.VectorType(ir.IntType(32), _REGISTERS), None)

    @property
    def registers(self) -> Vector:
        """The sums: columns 2c and 2c + 1 of row r, then of row r + 8, for lane 4r + c."""
        return Vector(self.builder, self.raw, _REGISTERS, self.type)


@dataclass(frozen=True, slots=True, eq=False)
class WarpTile(HeldFragment):
    """D of `m` rows by `n` columns of `dtype` in the registers of `warps`, rows × columns of them.

    `parts[i][j]` are rows 16·i and columns 8·j of each warp's share.  Branches and loops carry it
    on.
    """

    parts: tuple[tuple[Sums, ...], ...]
    m: int
    n: int
    dtype: ElementType
    warps: tuple[int, int]

    @property
    def builder(self) -> KernelBuilder:
        """The kernel that it is of."""
        return kernel_of(self.parts[0][0])

    @property
    def share(self) -> tuple[int, int]:
        """Rows and columns of one warp."""
        return self.m // self.warps[0], self.n // self.warps[1]

    @property
    def fragment(self) -> Fragment:
        """What D holds at this place of the kernel: the share of this warp."""
        values = [part.raw for row in self.parts for part in row]
        first = (lambda: self.builder.place_of_warp(self)) if self.warps != (1, 1) else None
        holders = Holders(self.builder, warp_layout(*self.share), first, across=self.warps[1] > 1)
        return held(self.builder, values, self.dtype, holders)

    def set(self, value: object) -> None:
        """Assign a matrix of the same layout and type, or one number for all elements.

        Raises: InputError for anything else.
        """
        assign([part for row in self.parts for part in row], self.fragment.taken(value))
