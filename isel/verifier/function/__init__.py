"""The function level of the backend verifier: roles, what they do, and the rules about it.

Warps whose number decides which way they go have each a flow of their own: integers are evaluated
with the known thread numbers, so that a branch on the role folds.  Rules walk these flows, and ask
what travels between them through barriers and mbarriers.
"""

from __future__ import annotations

from isel.verifier.function.callees import concerns, synchronises

__all__ = ["concerns", "synchronises"]
