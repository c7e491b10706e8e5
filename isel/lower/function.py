"""One function, ready to be selected.

Layer: isel.lower.  Input: a function as it was read.  Output: the same function, or one without
what has no instruction.
"""

from __future__ import annotations

from isel.llvm import ir
from isel.llvm.vocabulary import Opcode
from isel.lower import (
    atomics,
    copies,
    elementwise,
    intrinsics,
    masked,
    memory_elements,
    narrow_division,
    neighbours,
    remainders,
    switches,
    varargs,
    vector_moves,
)
from isel.lower.rewriter import Replacement, Rewriter
from isel.select.types import TypeLayout

_ACCESSES = {Opcode.LOAD, Opcode.STORE, Opcode.ATOMICRMW, Opcode.CMPXCHG}
_CANDIDATES = {
    *_ACCESSES,
    *(Opcode.CALL, Opcode.FREM, Opcode.VA_ARG),
    *(Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI),
}
"""The opcodes of what may have no instruction."""


def _candidates(function: ir.Function) -> list[ir.Instruction]:
    """The instructions that PTX may have none for."""
    return [i for i in function.instructions() if i.opcode in _CANDIDATES]


def lower(
    function: ir.Function, layout: TypeLayout, pure: frozenset[str], *, bfloats: bool
) -> ir.Function:
    """Rewrite what PTX has no instruction for; `bfloats`: it has those that add bfloats.

    Accesses may move across calls of `pure` functions.  What stands for an instruction may need the
    same again, on smaller parts.
    """

    function = memory_elements.with_elements(varargs.with_list(function), layout, pure)

    def choose(i: ir.Instruction) -> Replacement | None:
        if i.opcode not in _CANDIDATES:
            return None
        if i.opcode in _ACCESSES:
            return atomics.lowered(i, layout, bfloats=bfloats)
        return (
            remainders.lowered(i)
            or copies.lowered(i, layout)
            or intrinsics.lowered(i)
            or masked.lowered(i, layout)
            or vector_moves.lowered(i)
            or elementwise.lowered(i)
            or varargs.lowered(i, function, layout)
        )

    while any(map(choose, _candidates(function))):
        function = Rewriter(function).run(choose)
    function = neighbours.with_vectors(switches.with_searches(function), layout, pure)
    return narrow_division.with_narrow_divisions(function)
