"""The function level of the backend verifier: the roles of warps, their flows, and the rules on
them.

Warps whose number decides which branches they take have a flow each: integers are evaluated with
the known thread numbers, so that a branch on the role folds.  Rules walk these flows, and query
what synchronises them: barriers and mbarriers.
"""

from __future__ import annotations

from isel.verifier.function.callees import concerns, synchronises

__all__ = ["concerns", "synchronises"]
