"""One function, ready to be selected.

Layer: isel.lower.  Input: a function as it was read.  Output: the same function, or one without
what has no instruction.
"""

from __future__ import annotations

from isel.llvm import ir
from isel.lower import atomics, copies, intrinsics, remainders
from isel.lower.rewriter import Replacement, Rewriter
from isel.select.types import Layout

_CANDIDATES = (ir.AtomicRMW, ir.CompareExchange, ir.Call)


def lower(function: ir.Function, layout: Layout, *, bfloats: bool) -> ir.Function:
    """Rewrite what PTX has no instruction for; `bfloats`: it has those that add bfloats."""

    def choose(i: ir.Instruction) -> Replacement | None:
        if isinstance(i, ir.BinaryOp):
            return remainders.lowered(i)
        if not isinstance(i, _CANDIDATES):
            return None
        return (
            copies.lowered(i, layout)
            or intrinsics.lowered(i)
            or atomics.lowered(i, layout, bfloats=bfloats)
        )

    if not any(choose(i) for i in function.instructions()):
        return function
    return Rewriter(function).run(choose)
