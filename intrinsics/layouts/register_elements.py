"""Layouts of matrices in the registers of a warp or a warpgroup, with the formula.

Layer: intrinsics (numpy).  Names of such fragments are read in `register_fragment`.  PTX
ISA, Matrix Fragments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RegisterFragment:
    """A register layout: rows and columns by thread, register and element of a register.

    `place` are the formulas of row and column of element e of register r of thread t; `across` and
    `down` say what columns and rows are, and `note` what there is to know of them.  `threads` are
    the threads of the arrays where not all have elements, `low` is the first bit of element 0.
    """

    title: str
    row: Indices
    column: Indices
    bits: int
    place: tuple[str, str]
    down: str
    across: str
    note: str = ""
    threads: tuple[int, ...] = ()
    low: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return int(self.row.max()) + 1, int(self.column.max()) + 1

    @property
    def holders(self) -> tuple[int, ...]:
        """The numbers of the threads."""
        return self.threads or tuple(range(len(self.row)))
