"""Events: the effect of each row on accesses, arrivals, waits and fences.

Layer: isel.verifier.ordering.events.
"""

from __future__ import annotations

import functools

from intrinsics.row import Row
from isel.verifier.ordering.events import (
    allocation,
    barriers,
    copies,
    memory,
    registers,
    tensor,
    warpgroups,
)
from isel.verifier.ordering.events.execution import Event, nothing

_EVENTS: dict[str, Event] = {
    **memory.EVENTS,
    **barriers.EVENTS,
    **copies.EVENTS,
    **tensor.EVENTS,
    **allocation.EVENTS,
    **warpgroups.EVENTS,
    **registers.EVENTS,
    **dict.fromkeys(
        (
            "fence.sync_restrict",
            "fence.proxy.alias",
            "wgmma.fence",
            "fence.proxy.tensormap.release",
            "fence.proxy.tensormap.acquire",
            "mbarrier.pending_count",
            "mbarrier.check_layout",
            "cp.async.bulk.prefetch",
            "cp.async.bulk.prefetch.tensor",
            "cp.async.bulk.prefetch.tensor.im2col",
            "st.async.release",
            "red.async.release",
        ),
        nothing,
    ),
}


@functools.cache
def event_of(row: Row) -> Event | None:
    """The event of a row, None where it has none."""
    if row.id.startswith("wgmma.mma_async"):
        return warpgroups.multiply
    return _EVENTS.get(row.id)
