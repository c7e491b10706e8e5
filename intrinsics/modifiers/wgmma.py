"""The shapes and element types of warpgroup-level matrix multiplies.

Layer: intrinsics.  M is always 64, N a multiple of 8 up to 256; K is what 32 bytes of A hold, or
64 bytes where A is sparse.  PTX ISA, Asynchronous Warpgroup Level Matrix Instructions, Matrix
Shape.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


class MatrixType(Modifier):
    """Types of elements and scale factors that no register has.  PTX ISA, Matrix Data-types."""

    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E2M3 = "e2m3"
    E3M2 = "e3m2"
    E2M1 = "e2m1"
    S4 = "s4"
    U4 = "u4"
    B1 = "b1"
    UE8M0 = "ue8m0"
    UE4M3 = "ue4m3"


class BitOperation(Modifier):
    """How products of single bits are formed and summed."""

    AND = "and"
    XOR = "xor"
    POPC = "popc"


WIDTHS = range(8, 257, 8)
"""N of a multiply of floating-point numbers."""

INTEGER_WIDTHS = (8, 16, 24, *range(32, 257, 16))
"""N of a multiply of integers or single bits."""

DEPTHS = (8, 16, 32, 64, 256)
"""K of tf32; of halves and sparse tf32; of bytes and sparse halves; of sparse bytes; of bits."""


class WgmmaShape(Modifier):
    """M, N and K of a multiply: `m64n128k16`."""

    _ignore_ = "_n _k"
    for _k in DEPTHS:
        for _n in WIDTHS if _k < DEPTHS[-1] else INTEGER_WIDTHS:
            vars()[f"M64N{_n}K{_k}"] = f"m64n{_n}k{_k}"

    @property
    def n(self) -> int:
        """Columns of B and D."""
        return int(self.value.partition("n")[2].partition("k")[0])

    @property
    def k(self) -> int:
        """Columns of A and rows of B."""
        return int(self.value.partition("k")[2])


def shapes(k: int, *, integers: bool = False) -> tuple[WgmmaShape, ...]:
    """The shapes of one K, in the order of N."""
    widths = INTEGER_WIDTHS if integers else WIDTHS
    return tuple(s for s in WgmmaShape if s.k == k and s.n in widths)
