"""The shapes of wmma, and how many elements of its matrices a thread has.

Layer: intrinsics.  PTX ISA, Warp-level Matrix Instructions for wmma: Matrix Shape; Matrix Fragments
for WMMA.
"""

from __future__ import annotations

import re

from intrinsics.modifiers.kinds import Modifier


class WmmaShape(Modifier):
    """M, N and K of a multiply: `m16n16k16`."""

    M16N16K16 = "m16n16k16"
    M8N32K16 = "m8n32k16"
    M32N8K16 = "m32n8k16"
    M16N16K8 = "m16n16k8"
    M8N8K4 = "m8n8k4"
    M8N8K32 = "m8n8k32"
    M8N8K128 = "m8n8k128"

    @property
    def mnk(self) -> tuple[int, int, int]:
        """M, N and K."""
        m, n, k = map(int, re.findall(r"\d+", self.value))
        return m, n, k

    def size(self, name: str) -> tuple[int, int]:
        """Rows and columns of the matrix `a`, `b`, `c` or `d`."""
        m, n, k = self.mnk
        return {"a": (m, k), "b": (k, n)}.get(name, (m, n))
