"""Events of barriers of warps, CTAs and clusters, and of mbarriers: arrivals, transactions, waits.

Layer: isel.verifier.ordering.events.  PTX ISA, barrier; barrier.cluster; mbarrier.
"""

from __future__ import annotations

import functools

from intrinsics.mir import Form
from intrinsics.modifiers import Scope, Sem
from isel.verifier.function.barriers.phases import TOO_MANY
from isel.verifier.function.events import BARRIERS
from isel.verifier.function.flow.evaluate import WAITS
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering.events import regions, warp_order
from isel.verifier.ordering.events.execution import WGMMA, Event, Execution
from isel.verifier.ordering.integers.numbers import lanes_of
from isel.verifier.ordering.integers.windows import rank_of
from isel.verifier.ordering.lifetimes import (
    COMPLETES,
    COUNTS,
    INITIALISED_AGAIN,
    INVALIDATED,
    PUBLISHED,
    TWICE,
)
from isel.verifier.ordering.run.clocks import (
    RELEASES,
    Clock,
    Release,
    joined,
    parted,
    source_of,
    zero,
)
from isel.verifier.ordering.run.log import Remote
from isel.verifier.ordering.run.strand import warpgroup_of
from isel.verifier.ordering.run.synchronisation import Barrier, Delivery, Mbarrier, Waiter


def _barrier(e: Execution) -> bool:
    of_all = e.mi.get("count") is None
    count = e.run.launch.threads
    if not of_all:
        known = e.number("count")
        if known is None:
            e.is_unknown("barrier count")
        count = known or -(-count // LANES) * LANES
    number = 0 if e.mi.get("barrier") is None else e.number("barrier")
    if number is None:
        return e.is_unknown("barrier number")
    barrier = e.machine.barrier(e.strand.rank, number, count, of_all=of_all)
    if not (of_all or barrier.of_all) and barrier.arrived and barrier.wanted != count:
        got = f"{count} threads, for barrier {number} that others wait at for {barrier.wanted}"
        e.run.log.breach(COUNTS, e.index, got)
    waits, aligned = "arrive" not in e.mi.form.row.id, _is_aligned(e.mi.form)
    if waits and aligned and not e.run.gather(e.strand, e.index):
        return False
    threads = e.mask.bit_count()
    if aligned or not e.run.others(e.strand):
        threads = e.run.lanes_of(e.strand) if of_all else LANES
    e.mask = e.strand.mask
    warp_order.synchronised(e.machine, e.strand.actor)
    generation = barrier.generation
    if not of_all and aligned:
        _note_twice(e, barrier, waits=waits)
    barrier.arrive(threads, e.release(arrives=True))
    e.forget()
    return not waits or _wait(e, barrier, generation, f"barrier {number} of {count} threads")


@functools.cache
def _is_aligned(form: Form) -> bool:
    """Whether all threads of a warp execute a barrier together: its other form counts threads."""
    return form.row.id.startswith("bar.") or form.attributes.get("aligned") is not None


def _note_twice(e: Execution, barrier: Barrier, *, waits: bool) -> None:
    """Log an arrival that may belong to the phase of the warp's last one, which did not wait.

    It does not if all who completed that phase are known to have arrived.  A warp that arrives for
    the one which goes first, and then waits, does so in the same phase, and means it.
    """
    actor = e.strand.actor
    last = barrier.unwaited.pop(actor, None)
    others = (point for other, point in barrier.before.items() if other != actor)
    if last == barrier.generation - 1 and not all(map(e.knows, others)):
        got = f"{e} has arrived before, and does not know that this phase is over"
        e.run.log.breach(TWICE, e.index, got)
    if not waits:
        barrier.unwaited[actor] = barrier.generation
    e.counters.next("warp")
    barrier.points[actor] = e.here()


def _wait(e: Execution, barrier: Barrier, generation: int, what: str) -> bool:
    """Wait until the barrier's phase `generation` is over."""

    def resume() -> bool:
        e.strand.clocks.acquire(barrier.completed)
        e.run.log.waited(e.strand.actor, e.index)
        return True

    return e.wait(lambda: barrier.generation > generation, resume, what)


def _cluster_arrive(e: Execution) -> bool:
    barrier = _cluster_barrier(e)
    e.strand.generation = barrier.generation
    warp_order.synchronised(e.machine, e.strand.actor)
    release = e.release(arrives=True)
    if e.mi.form.attributes.get("sem") is Sem.RELAXED:
        release = _with_inits(e, e.relaxed_release())
    barrier.arrive(e.mask.bit_count(), release)
    return True


def _with_inits(e: Execution, release: Release) -> Release:
    """A release with the mbarriers that fence.mbarrier_init makes known in the cluster."""
    return release.and_(Release(e.strand.clocks.initialised))


def _init_fence(e: Execution) -> bool:
    clocks = e.strand.clocks
    clocks.initialised = joined(clocks.initialised, e.release().known)
    return True


def _cluster_wait(e: Execution) -> bool:
    barrier = _cluster_barrier(e)

    def resume() -> bool:
        e.strand.clocks.acquire(barrier.completed)
        e.run.log.waited(e.strand.actor, e.index)
        if barrier.short:
            e.run.log.doubt()
        return True

    generation = e.strand.generation
    return e.wait(lambda: barrier.generation > generation, resume, "the cluster's barrier")


def _cluster_barrier(e: Execution) -> Barrier:
    launch = e.run.launch
    return e.machine.barrier(0, -1, launch.threads * launch.ctas, of_all=True)


def _warp_sync(e: Execution) -> bool:
    members = e.number("membermask")
    whole = members is not None and members & ~e.strand.mask & (1 << LANES) - 1 == 0
    if not whole and not e.run.gather(e.strand, e.index):
        return _meet_elsewhere(e, members)
    return _warp_met(e, -1 if members is None else members)


def _warp_met(e: Execution, members: int = -1) -> bool:
    e.run.log.synchronised[e.strand.actor] = len(e.run.log.accesses)
    warp_order.synchronised(e.machine, e.strand.actor, members)
    return True


def _meet_elsewhere(e: Execution, members: int | None) -> bool:
    """Wait for the other threads of the warp here, or at other records with the same mask."""
    strand, here, apart = e.strand, e.strand.waiting, False
    strand.members = (e.index, members)

    def over() -> bool:
        nonlocal apart
        if here is not None and here():
            apart = False
            return True
        apart = members is not None and all(
            s.waiting is not None and s.members == (s.at, members) for s in e.run.others(strand)
        )
        return apart

    def resume() -> bool:
        if not apart:
            return _warp_sync(e)
        for other in e.run.others(strand):
            strand.clocks.unite(other.clocks)
        return _warp_met(e)

    strand.waiting, strand.resume = over, resume
    return False


# ---- mbarriers ---------------------------------------------------------------------------------


def _init(e: Execution) -> bool:
    counts = lanes_of(e.slot("count"))
    for lane, at in enumerate(lanes_of(e.slot("mbar"))):
        if not e.mask >> lane & 1:
            continue
        count = counts[lane]
        if at is None or count is None:
            e.is_unknown("mbarrier.init")
        else:
            e.counters.next("warp")
            _note_valid(e, at)
            e.machine.mbarriers[at] = Mbarrier(count, at, e.here(), e.index)
            for index, who in e.machine.uninitialised.pop(at, ()):
                got = f"{who} can come to it without a barrier after {{line}}"
                e.run.log.breach(PUBLISHED, index, got, e.index)
    return True


def _note_valid(e: Execution, address: int) -> None:
    """Log an initialisation of an mbarrier that is in use, and was not invalidated."""
    old = e.machine.mbarriers.get(address)
    if old is not None and (old.has_arrivals or old.phase or old.made_by != e.index):
        got = f"{e}: {{line}} has made it"
        e.run.log.breach(INITIALISED_AGAIN, e.index, got, old.made_by)


def _inval(e: Execution) -> bool:
    for at in regions.union_lanes(e.slot("mbar"), e.mask):
        found = e.machine.mbarriers.pop(at, None)
        for index, who, point in found.users.values() if found is not None else ():
            if not e.knows(point):
                got = f"{e}; {who} may come to {{line}} later"
                e.run.log.breach(INVALIDATED, e.index, got, index)
                break
    return True


def _arrive(e: Execution) -> bool:
    count = (e.number("count") or 1) if e.mi.get("count") is not None else 1
    relaxed = e.mi.form.attributes.get("sem") is Sem.RELAXED
    _far(e)
    warp_order.arrived(e.machine, e.strand.actor, e.mask, e.index)
    release = e.release(arrives=True)
    release = e.relaxed_release() if relaxed else release
    for mbarrier, threads in e.mbarriers():
        lacking = _too_many(e, mbarrier, count * threads)
        if lacking:
            got = f"{count * threads} arrivals come here, and {lacking}"
            e.run.log.breach(TOO_MANY, e.index, f"{got}, as {{line}} says", mbarrier.made_by)
        if e.mi.get("tx_count") is not None:
            _expect_bytes(e, mbarrier, threads)
        e.write("state", mbarrier.phase)
        if e.mi.form.attributes.get("no_complete") and mbarrier.pending <= count * threads:
            got = f"{mbarrier.pending} arrivals are missing, and {count * threads} come here"
            e.run.log.breach(COMPLETES, e.index, got)
        e.signals(mbarrier)
        if "drop" in e.mi.row.id:
            mbarrier.expected -= threads
        mbarrier.arrive(count * threads, *_for(e, mbarrier, release))
        e.machine.changed = True
    return True


def _too_many(e: Execution, mbarrier: Mbarrier, count: int) -> str:
    """What is wrong with `count` arrivals, more than a phase has, or than it still lacks.

    A warp that arrives again before its bytes have come has not waited: other rules tell that.
    """
    if count > mbarrier.expected:
        return f"a phase has {mbarrier.expected}"
    if count <= mbarrier.pending or e.strand.actor in mbarrier.came:
        return ""
    return f"the phase, whose bytes have not come yet, lacks {max(mbarrier.pending, 0)}"


def _for(e: Execution, mbarrier: Mbarrier, release: Release) -> tuple[Release, Clock]:
    """What an arrival releases to all waits, and beside it to those of .cluster.

    Threads of another CTA have to name that scope, here and there.
    """
    if rank_of(mbarrier.at) == e.strand.rank:
        return release, zero()
    near, wide = parted(release)
    return near, wide if e.mi.form.attributes.get("scope") is Scope.CLUSTER else zero()


def _far(e: Execution) -> None:
    """Log arrivals at mbarriers of other CTAs, which must not have exited."""
    for rank in {rank_of(at) for at in e.named()} - {e.strand.rank}:
        e.counters.next("warp")
        e.run.log.remote.append(Remote(e.index, e.strand.actor, rank, e.here()))


def _expect(e: Execution) -> bool:
    for mbarrier, threads in e.mbarriers():
        _expect_bytes(e, mbarrier, threads)
    return True


def _bytes(e: Execution, threads: int) -> int | None:
    """The bytes that so many threads expect or complete together."""
    one = e.number("tx_count")
    return None if one is None else one * threads


def _expect_bytes(e: Execution, mbarrier: Mbarrier, threads: int) -> None:
    e.signals(mbarrier)
    mbarrier.expect(_bytes(e, threads))
    e.run.log.expected[mbarrier.at, mbarrier.phase] = mbarrier.expected_bytes


def _complete(e: Execution) -> bool:
    for mbarrier, threads in e.mbarriers():
        e.deliver(mbarrier, Delivery(e.release(), _bytes(e, threads)))
    return True


def _ask(e: Execution) -> bool:
    found = e.mbarriers()
    has_parity = e.mi.get("phase") is not None
    phase = e.number("phase" if has_parity else "state")
    if len(found) != 1 or phase is None:
        if found or phase is None:
            e.is_unknown("wait")
        e.write("done", 1)
        return True
    ((mbarrier, _),) = found
    return _wait_for_phase(e, mbarrier, phase, has_parity=has_parity)


def _wait_for_phase(e: Execution, mbarrier: Mbarrier, phase: int, *, has_parity: bool) -> bool:
    strand = e.strand
    e.machine.polls.add(e.index)
    address = next(iter(regions.union_lanes(e.slot("mbar"), e.mask)))

    def is_over() -> bool:
        return mbarrier.has_parity_over(phase) if has_parity else mbarrier.is_over(phase)

    def resume() -> bool:
        if strand.failed and not is_over():
            e.write("done", 0)
            return True
        strand.failed = False
        warp_order.met(e.machine, strand.actor)
        e.run.log.waited(strand.actor, e.index, mbarrier)
        strand.clocks.acquire(
            mbarrier.released(e.mi.form.attributes.get("scope")),
            relaxed=e.mi.form.attributes.get("sem") is Sem.RELAXED,
        )
        if has_parity:
            mbarrier.waiters.append(_waiter(e, mbarrier))
        e.uses(mbarrier)
        e.write("done", 1)
        return True

    if e.run.late and e.index in e.run.program.unread:
        return True  # it may return at once, and nobody asks what it found
    if is_over():
        return resume()
    if e.run.late and strand.asked.get(e.index) != (address, phase):
        strand.asked[e.index] = address, phase  # it may return before the phase is over
        e.write("done", 0)
        return True
    name = f"mbarrier {e.run.name_of(address)}, parity {phase & 1}"
    return e.wait(is_over, resume, name, address)


def _waiter(e: Execution, mbarrier: Mbarrier) -> Waiter:
    """The threads of an execution, as a waiter that observes the last phase complete."""
    counters, group = e.counters, warpgroup_of(e.strand.actor)
    multiply = source_of(WGMMA, group), counters.get(WGMMA) + 1
    phase = mbarrier.phase - 1
    return Waiter(e.index, e.strand.actor, phase, multiply, counters, counters.get(RELEASES))


EVENTS: dict[str, Event] = {
    **dict.fromkeys((*BARRIERS, "bar.arrive", "barrier.arrive"), _barrier),
    "barrier.cluster.arrive": _cluster_arrive,
    "barrier.cluster.wait": _cluster_wait,
    "fence.mbarrier_init": _init_fence,
    "bar.warp.sync": _warp_sync,
    "mbarrier.init": _init,
    "mbarrier.inval": _inval,
    **dict.fromkeys(
        (
            "mbarrier.arrive",
            "mbarrier.arrive_drop",
            "mbarrier.arrive.expect_tx",
            "mbarrier.arrive_drop.expect_tx",
        ),
        _arrive,
    ),
    "mbarrier.expect_tx": _expect,
    "mbarrier.complete_tx": _complete,
    **dict.fromkeys(WAITS, _ask),
}
"""By row."""
