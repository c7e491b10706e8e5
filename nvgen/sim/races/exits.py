"""The exit of a CTA of a cluster: others are done with its shared memory before that.

Layer: nvgen.sim.  Input: the shadow of the shared memory, and the clocks of the threads that have
exited.  The memory is there until the last thread exits, so it is enough that an access happens
before the exit of one of them, whatever the scope, and that a thread which saw an mbarrier's phase
end did so by a relaxed wait.  Kept are the last write of each byte and two reads, as for races.
PTX ISA, Shared State Space; Cluster of Cooperative Thread Arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from nvgen.sim.actors.parts import WarpPart
from nvgen.sim.actors.vector_clock import NOTHING, Clock, join, whole
from nvgen.sim.faults import Fault, fault
from nvgen.sim.races.epochs import ACTOR, OPERATION, Epochs, Site, is_known, tick_of
from nvgen.sim.races.happens_before import Clocks
from nvgen.sim.races.scopes import Reach, within
from nvgen.sim.races.shadow import Shadow


def check_exit(shadow: Shadow, warps: Sequence[WarpPart]) -> None:
    """Check what other CTAs do in the memory of a CTA whose threads have all exited.

    Raises: Fault for an access that happens before the exit of none of them: the latest one.
    """
    known = _known(shadow.clocks, warps)
    found = [each for each in _by_others(shadow) if not _happens_before(each[0], known, shadow)]
    if found:
        epoch, verb, site = max(found, key=lambda each: tick_of(each[0]))
        raise _early(shadow, site, verb, _cta_of(epoch, site, shadow.clocks))


def _known(clocks: Clocks, warps: Sequence[WarpPart]) -> Clock:
    """What happens before the exit of some thread, or was seen by one without an acquire."""
    mine = [clocks.of(warp) for warp in warps]
    known = [each.joined(each.warp.launched) for each in mine]
    seen = {id(one): one for each in mine for one in each.seen if one is not None}
    observed = [within(each, Reach.LAUNCH) for each in seen.values()]
    return whole(functools.reduce(join, [*known, *observed], NOTHING))


def _by_others(shadow: Shadow) -> Iterator[tuple[int, str, Site]]:
    """The accesses by other CTAs: epoch, what they did, and site, each once."""
    clocks = shadow.clocks
    for kept, verb in (
        (shadow.writes, "writes"),
        (shadow.reads, "reads"),
        (shadow.others, "reads"),
    ):
        if not kept.top:
            continue
        ctas = (kept.epochs & ACTOR) // clocks.stride
        afar = (kept.epochs >= OPERATION) | ((kept.epochs != 0) & (ctas != shadow.owner))
        there = np.flatnonzero(afar)
        epochs, first = np.unique(kept.epochs[there], return_index=True)
        for epoch, at in zip(epochs.tolist(), there[first].tolist(), strict=True):
            site = clocks.sites.all[int(kept.sites[at])]
            if _cta_of(epoch, site, clocks) != shadow.owner:
                yield epoch, verb, site


def _cta_of(epoch: int, site: Site, clocks: Clocks) -> int:
    """The CTA that made an access, or issued the operation that did."""
    return site.cta if epoch >= OPERATION else (epoch & ACTOR) // clocks.stride


def _happens_before(epoch: int, clock: Clock, shadow: Shadow) -> bool:
    alone: Epochs = np.array([[epoch]], np.int64)
    return is_known(alone, clock, shadow.clocks.stride)


def _early(shadow: Shadow, site: Site, verb: str, cta: int) -> Fault:
    return fault(
        "exited-cta",
        f"a CTA may exit before {site.what} of another CTA {verb} its shared memory: nothing "
        "orders the two",
        got=f"{shadow.name}; the access: {site.what} of CTA {cta} at {site.place}",
        expected="a wait for it, or a barrier of the cluster behind it, before the exit",
        hint="a CTA waits for what is under way in its memory before it exits (of a ring of "
        "buffers: producer.drain()); those of a cluster meet at barrier.cluster.arrive and .wait, "
        "without .relaxed",
        section="Shared State Space",
    )
