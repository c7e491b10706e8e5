"""Phis that are equal but for edges on which one of them is undefined: one replaces the other.

Layer: isel.lower.  Input: a function.  Output: the same function, or one without such phis: where
two phis of a block merge the same values, and one has `undef` or `poison` on edges on which the
other has a value, the other one is used for both.  LLVM's loop unrolling makes such pairs: of a
value that the unrolled loop has computed, one phi goes to the remaining iterations, one to the uses
behind the loop.  One register is copied in each iteration then, not two.
LLVM Language Reference, Undefined Values.
"""

from __future__ import annotations

from collections.abc import Sequence

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.lower.substitution import with_others

_NOTHING = frozenset((llvm.Undef, llvm.Poison))


def with_equal_phis(function: ir.Function) -> ir.Function:
    """The function with one phi for several that may be equal."""
    replaced: dict[str, llvm.Value] = {}
    for block in function.blocks:
        if type(block.instructions[0]) is ir.Phi:
            replaced |= _equal([i for i in block.instructions if isinstance(i, ir.Phi)])
    if not replaced:
        return function
    return with_equal_phis(with_others(function, replaced))


def _equal(phis: Sequence[ir.Phi]) -> dict[str, llvm.Value]:
    """The replacements of phis of a block, none of which is replaced itself."""
    lacking = [one for one in phis if _has_nothing(one)]
    if not lacking:
        return {}  # as most
    found: dict[str, llvm.Value] = {}
    whole = [one for one in phis if not _has_nothing(one)]
    for one in lacking:
        if one.result is not None:
            other = next((other for other in whole if _agree(one, other)), None)
            if other is not None and other.result is not None:
                found[one.result] = llvm.Local(other.result, other.type)
    return found


def _has_nothing(phi: ir.Phi) -> bool:
    return not _NOTHING.isdisjoint([type(value) for value, _ in phi.incoming])


def _agree(one: ir.Phi, other: ir.Phi) -> bool:
    """Whether `one` has the values of `other`, or none."""
    theirs = {block: value for value, block in other.incoming}
    return one.type == other.type and all(
        type(value) in _NOTHING or value == theirs[block] for value, block in one.incoming
    )
