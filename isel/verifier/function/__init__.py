"""The function level of the backend verifier: the roles of warps, their flows, and the rules on
them.

Warps whose number decides which branches they take have a flow each: integers are evaluated with
the known thread numbers, so that a branch on the role folds.  Rules walk these flows, and query
what synchronises them: barriers and mbarriers.

    flow           what one warp's registers hold, and the branches that it takes
    walks          automata that walk over a flow
    tensor_memory  rules: allocation, addresses, columns and lanes, collector buffers, scales
    barriers       rules: mbarriers and their phases, bytes and arrivals; clusters; scopes
    participants   rules: who executes an instruction together
    wgmma          rules: what wgmma reads and writes while it is in flight
"""

from __future__ import annotations

from isel.verifier.function.flow.callees import concerns, synchronises

__all__ = ["concerns", "synchronises"]
