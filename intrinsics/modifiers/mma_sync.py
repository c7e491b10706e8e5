"""The shapes and layouts of warp-level matrix multiplies.

Layer: intrinsics.  PTX ISA, Warp Level Matrix Instructions, Matrix Shape; mma.
"""

from __future__ import annotations

import re

from intrinsics.modifiers.kinds import Modifier


class MmaShape(Modifier):
    """M, N and K of a multiply: `m16n8k16`."""

    M8N8K4 = "m8n8k4"
    M8N8K16 = "m8n8k16"
    M8N8K32 = "m8n8k32"
    M8N8K128 = "m8n8k128"
    M16N8K4 = "m16n8k4"
    M16N8K8 = "m16n8k8"
    M16N8K16 = "m16n8k16"
    M16N8K32 = "m16n8k32"
    M16N8K64 = "m16n8k64"
    M16N8K128 = "m16n8k128"
    M16N8K256 = "m16n8k256"

    @property
    def mnk(self) -> tuple[int, int, int]:
        """M, N and K."""
        m, n, k = map(int, re.findall(r"\d+", self.value))
        return m, n, k

    @property
    def m(self) -> int:
        """Rows of A and D."""
        return self.mnk[0]

    @property
    def n(self) -> int:
        """Columns of B and D."""
        return self.mnk[1]

    @property
    def k(self) -> int:
        """Columns of A and rows of B."""
        return self.mnk[2]


class MmaLayout(Modifier):
    """Whether a row or a column of a matrix is contiguous."""

    ROW = "row"
    COL = "col"
