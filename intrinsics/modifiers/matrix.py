"""Matrices that warp-level loads, stores and transpositions move: shapes, counts, fragments.

Layer: intrinsics (numpy).  A matrix lies in memory as rows of 16 bytes, each at an address of its
own.  PTX ISA, Warp-level matrix load instruction: ldmatrix; store instruction: stmatrix; transpose
instruction: movmatrix.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


class MatrixShape(Modifier):
    """Rows and columns of one matrix; of `M16N8` and with `.trans` memory has the columns."""

    M8N8 = "m8n8"
    M8N16 = "m8n16"
    M16N16 = "m16n16"
    M16N8 = "m16n8"

    @property
    def lines(self) -> int:
        """The number of 16-byte lines of a matrix in memory."""
        return 16 if self is MatrixShape.M16N16 else 8

    @property
    def registers(self) -> int:
        """The number of registers of a thread for a matrix."""
        return self.lines // 8


class MatrixNum(Modifier):
    """The number of matrices that one instruction moves."""

    X1 = "x1"
    X2 = "x2"
    X4 = "x4"

    @property
    def count(self) -> int:
        """The number."""
        return int(self.value[1:])


class Transposed(Modifier):
    """A matrix lies in memory with rows and columns exchanged."""

    TRANS = "trans"
