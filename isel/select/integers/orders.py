"""What two comparisons of the same integers say together.

Layer: isel.select.  Of two numbers one is less, equal or greater: a comparison holds for some of
these three, and so does what holds where one comparison does and another does not.
"""

from __future__ import annotations

from intrinsics.mir import Reg
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.select.state import FunctionState, form

_LESS, _EQUAL, _GREATER = "less", "equal", "greater"
_OUTCOMES = {
    Cmp.EQ: frozenset((_EQUAL,)),
    Cmp.NE: frozenset((_LESS, _GREATER)),
    Cmp.LT: frozenset((_LESS,)),
    Cmp.LE: frozenset((_LESS, _EQUAL)),
    Cmp.GT: frozenset((_GREATER,)),
    Cmp.GE: frozenset((_GREATER, _EQUAL)),
}
_COMPARISONS = {outcomes: cmp for cmp, outcomes in _OUTCOMES.items()}
_SWAPPED = {_LESS: _GREATER, _GREATER: _LESS, _EQUAL: _EQUAL}
_SIGNLESS = (Cmp.EQ, Cmp.NE)


def without(state: FunctionState, kept: Reg, excluded: Reg) -> Reg | None:
    """A comparison that holds where `kept` does and `excluded` does not; None if none is known."""
    one, other = state.compared.get(kept), state.compared.get(excluded)
    if one is None or other is None or {one.left, one.right} != {other.left, other.right}:
        return None
    if one.type is not other.type and not {one.cmp, other.cmp}.intersection(_SIGNLESS):
        return None
    outcomes = _OUTCOMES[other.cmp]
    if one.left != other.left:
        outcomes = frozenset([_SWAPPED[each] for each in outcomes])
    cmp = _COMPARISONS.get(_OUTCOMES[one.cmp] - outcomes)
    if cmp is None:
        return None
    ordered = other if one.cmp in _SIGNLESS else one
    chosen = form("setp.int", p=True, cmp=cmp, type=ordered.type)
    return state.computed(chosen, one.left, one.right, cls=ScalarType.PRED)
