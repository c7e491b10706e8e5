"""The semantics of every simulated row, by the row's id.

Layer: nvgen.sim.semantics.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from nvgen.sim.semantics import bulk_groups
from nvgen.sim.semantics.arithmetic import (
    float_comparisons,
    float_conversions,
    floats,
    integers,
    logic,
    moves,
    scalar,
)
from nvgen.sim.semantics.control import branches, calls, stack, tables
from nvgen.sim.semantics.copies import async_stores, bulk, bulk_reduce, small
from nvgen.sim.semantics.memory import accesses, atomic, bulk_store, caches
from nvgen.sim.semantics.synchronization import (
    cluster,
    launch_control,
    mbarrier,
    mbarrier_arrive,
    sync,
)
from nvgen.sim.semantics.tcgen05 import alloc, commit, copy, mma, reduce, registers
from nvgen.sim.semantics.tma import tensor_copies, tensor_maps
from nvgen.sim.semantics.warp import matrix, mma_sync, shuffles, wmma
from nvgen.sim.semantics.wgmma import multiply
from nvgen.sim.threads.compile import Maker

CHAPTERS = (
    *(branches, stack, tables),
    *(moves, scalar, logic, integers, floats, float_comparisons, float_conversions),
    *(accesses, bulk_store, atomic, caches),
    *(sync, cluster, mbarrier, mbarrier_arrive, launch_control),
    *(small, bulk, bulk_groups, bulk_reduce, async_stores),
    *(tensor_copies, tensor_maps),
    *(shuffles, matrix, mma_sync, wmma),
    multiply,
    *(alloc, commit, copy, mma, reduce, registers),
    calls,
)
"""The modules with functions for rows; `calls` is the last, as it replaces `ld` and `st`."""


@functools.cache
def makers() -> Mapping[str, Maker]:
    """The function that compiles the records of each row to a closure."""
    found: dict[str, Maker] = {}
    for chapter in CHAPTERS:
        found.update(chapter.SEMANTICS)
    found["ld"] = calls.or_passed(found["ld"], calls.load)
    found["st"] = calls.or_passed(found["st"], calls.store)
    return found
