"""Accesses that an arrival releases although another thread of the warp made them.

Layer: isel.verifier.ordering.  Accesses of different threads of a warp are ordered by
bar.warp.sync, or by a barrier of more threads; elect.sync and .aligned instructions order none. PTX
ISA, bar.warp.sync; elect.sync; Memory Consistency Model, Causality Order.
"""

from __future__ import annotations

from isel.verifier.function.events import Kind
from isel.verifier.ordering.run.log import Access
from isel.verifier.ordering.run.machine import Machine

_OF_THREADS = (Kind.SHARED_LOAD, Kind.SHARED_STORE, Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
"""Accesses that each thread of a warp makes for itself."""

_MOST = 64
"""The last accesses of a warp for which the threads without a later arrival are tracked."""


def accessed(machine: Machine, access: Access, mask: int) -> None:
    """Track an access of the threads of a mask."""
    if access.kind in _OF_THREADS:
        access.alone = mask
        machine.unsynchronised.setdefault(access.warp, []).append(access)


def arrived(machine: Machine, actor: int, mask: int, index: int) -> None:
    """Note that threads of a warp arrive at the record `index`: it releases what the others
    accessed.
    """
    left = _without(machine, actor, mask)
    for access in left:
        if access.by < 0:
            access.by = index
    machine.unsynchronised[actor] = left[-_MOST:]


def synchronised(machine: Machine, actor: int, members: int = -1) -> None:
    """Note that threads of a warp have synchronised: their earlier accesses are ordered."""
    machine.unsynchronised[actor] = _without(machine, actor, members)
    met(machine, actor, members)


def met(machine: Machine, actor: int, members: int = -1) -> None:
    """Note that threads of a warp see what they have accessed, where all that did are members."""
    pending = machine.unordered.get(actor)
    if pending is not None:
        pending.met(members)


def _without(machine: Machine, actor: int, mask: int) -> list[Access]:
    """The accesses of a warp that threads outside of a mask made, too: the others are ordered."""
    here = machine.unsynchronised.get(actor)
    if not here:
        return []
    whole = machine.counters[actor].next("warp")
    for access in here:
        access.alone &= ~mask
        if not access.alone:
            access.synchronised = whole
    return [access for access in here if access.alone]
