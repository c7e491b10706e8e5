"""What an arrival hands on that other threads of its warp have accessed.

Layer: isel.verifier.ordering.  Accesses of threads of a warp that execute together are ordered by
bar.warp.sync, or by a barrier of more threads: elect.sync and what is .aligned order none.
PTX ISA, bar.warp.sync; elect.sync; Memory Consistency Model, Causality Order.
"""

from __future__ import annotations

from isel.verifier.function.events import Kind
from isel.verifier.ordering.log import Access
from isel.verifier.ordering.machine import Machine

_OF_THREADS = (Kind.SHARED_LOAD, Kind.SHARED_STORE, Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
"""What each thread of a warp does by itself."""

_MOST = 64
"""The last accesses of a warp for which the threads that have arrived since are tracked."""


def accessed(machine: Machine, access: Access, mask: int) -> None:
    """Note an access of the threads of a mask."""
    if access.kind in _OF_THREADS:
        access.alone = mask
        machine.apart.setdefault(access.warp, []).append(access)


def arrived(machine: Machine, actor: int, mask: int, index: int) -> None:
    """Threads of a warp arrive, by a record: it hands on what the others have accessed."""
    here = machine.apart.get(actor)
    if not here:
        return
    whole = machine.counters[actor].next("warp")
    for access in here:
        access.alone &= ~mask
        if not access.alone:
            access.met = whole
        elif access.by < 0:
            access.by = index
    machine.apart[actor] = [access for access in here if access.alone][-_MOST:]


def met(machine: Machine, actor: int) -> None:
    """All threads of a warp have synchronised: what they accessed is handed on whole from now."""
    here = machine.apart.pop(actor, None)
    if here:
        whole = machine.counters[actor].next("warp")
        for access in here:
            access.met = whole
