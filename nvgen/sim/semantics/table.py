"""The semantics of every simulated row, by the row's id.

Layer: nvgen.sim.semantics.
"""

from __future__ import annotations

from nvgen.sim.semantics import (
    async_stores,
    atomic,
    bulk,
    bulk_groups,
    bulk_reduce,
    caches,
    calls,
    cluster,
    control,
    copies,
    float_conversions,
    floats,
    integers,
    matrix,
    mbarrier,
    mbarrier_arrive,
    memory,
    mma,
    mma_sync,
    scalar,
    stack,
    sync,
    tcgen05,
    tcgen05_copy,
    tcgen05_reduce,
    tensor_alloc,
    tensor_maps,
    tensor_registers,
    tma,
    warp,
    wgmma,
    wmma,
)
from nvgen.sim.threads.compile import Maker


def makers() -> dict[str, Maker]:
    """What makes the closure of each row's records."""
    found: dict[str, Maker] = {}
    chapters = (
        *(control, scalar, integers, floats, float_conversions, memory, stack, atomic),
        caches,
        *(
            sync,
            cluster,
            warp,
            mbarrier,
            mbarrier_arrive,
            bulk_groups,
            tma,
            tensor_maps,
            copies,
            bulk,
            bulk_reduce,
            async_stores,
            matrix,
            tensor_alloc,
            tcgen05,
            tensor_registers,
        ),
        *(tcgen05_copy, tcgen05_reduce, mma, mma_sync, wgmma, wmma),
    )
    for chapter in chapters:
        found.update(chapter.SEMANTICS)
    found.update(calls.SEMANTICS)
    found["ld"] = calls.or_passed(found["ld"], calls.load)
    found["st"] = calls.or_passed(found["st"], calls.store)
    return found
