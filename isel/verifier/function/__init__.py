"""The function level of the backend verifier: roles, what they do, and the rules about it.

Warps whose number decides which way they go have each a flow of their own: integers are evaluated
with the known thread numbers, so that a branch on the role folds.  Rules walk these flows, and ask
what travels between them through barriers and mbarriers.
"""

from __future__ import annotations

from intrinsics.mir import MachineFunction

_SUBJECTS = ("tcgen05.", "mbarrier.", "cp.async.bulk")


def concerns(function: MachineFunction) -> bool:
    """Whether a function has instructions that the rules are about."""
    return any(mi.row.head.startswith(_SUBJECTS) for mi in function.instructions())
