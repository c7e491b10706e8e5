"""Tiles in the registers of a warpgroup: accumulators that multiplies change in place.

Layer: nvgen.builder.  Each of the four warps holds 16 of every 64 rows.  PTX ISA, Register
Fragments and Shared Memory Matrix Layouts of wgmma.mma_async.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from nvgen.builder.fragment_layouts import warpgroup_layout
from nvgen.builder.fragments import Fragment, Holders
from nvgen.builder.held_fragments import HeldFragment, assign, held, kernel_of
from nvgen.builder.wgmma import Accumulator

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

WARPGROUP = 128
"""Threads of a warpgroup."""

WARPGROUP_ROWS = 64
"""Rows of D, and of A, that one multiply of a warpgroup has."""


@dataclass(frozen=True, slots=True, eq=False)
class WarpgroupTile(HeldFragment):
    """D of one warpgroup: `m` rows by `n` columns of `dtype`, `parts` of 64 rows each.

    Branches and loops carry it on.  Its registers mean something behind a wait for the group of
    multiplies that last wrote them.
    """

    parts: tuple[Accumulator, ...]
    m: int
    n: int
    dtype: ElementType

    @property
    def builder(self) -> KernelBuilder:
        """The kernel that it is of."""
        return kernel_of(self.parts[0])

    @property
    def fragment(self) -> Fragment:
        """What D holds at this place of the kernel."""
        layout = warpgroup_layout(self.m, self.n, 16 if self.dtype is ElementType.F16 else 32)
        values = [part.raw for part in self.parts]
        return held(self.builder, values, self.dtype, Holders(self.builder, layout))

    def set(self, value: object) -> None:
        """Assign a matrix of the same layout and type, or one number for all elements.

        A `wgmma_fence` goes before the next multiply.

        Raises: InputError for anything else.
        """
        assign(self.parts, self.fragment.taken(value))
