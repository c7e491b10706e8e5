"""Fences, barriers, and the election of a thread.

Layer: nvgen.sim.semantics.  The simulator's generic-proxy accesses take effect at once and in
order, so a fence has nothing left to do; a proxy fence lets the async proxy see them.  PTX ISA,
membar / fence; barrier; elect.sync.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ReduceOp, ScalarType, Space
from nvgen.sim.actors.vector_clock import join
from nvgen.sim.faults import fault
from nvgen.sim.races.scopes import reach_of
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.lane_values import flags
from nvgen.sim.threads.machine import WARP, Lanes, Outcome, Step, Strand, Wait, lanes_of
from nvgen.sim.threads.remote import deliver
from nvgen.sim.threads.steps import uniform


def fence(c: Compiler, mi: MachineInstr) -> Step:
    """A memory fence: completes remote operations of the CTA."""

    reach = reach_of(mi)

    def run(strand: Strand) -> Outcome:
        deliver(strand.warp.cta)
        clocks = strand.warp.cta.machine.engine.clocks
        if clocks is not None:
            clocks.fence(strand, reach)
        return None

    return run


def fence_inits(c: Compiler, mi: MachineInstr) -> Step:
    """fence.mbarrier_init: of what the threads have done it releases mbarrier.init alone."""

    def run(strand: Strand) -> Outcome:
        deliver(strand.warp.cta)
        clocks = strand.warp.cta.machine.engine.clocks
        if clocks is not None:
            clocks.fence_inits(strand)
        return None

    return run


def fence_proxy_async(c: Compiler, mi: MachineInstr) -> Step:
    """A proxy fence: earlier writes to shared memory become visible to the async proxy."""
    space = mi.form.attributes.get("space")
    if space is Space.GLOBAL:
        return lambda strand: None
    own = space is Space.SHARED_CTA

    def run(strand: Strand) -> Outcome:
        cta = strand.warp.cta
        deliver(cta)
        for fenced in (cta,) if own else cta.cluster.ctas:
            fenced.shared.fence()
        clocks = cta.machine.engine.clocks
        if clocks is not None:
            clocks.fence_proxies(strand)
        return None

    return run


def _needed(c: Compiler, mi: MachineInstr) -> Getter | None:
    op = mi.get("count")
    return None if op is None else c.get(op, ScalarType.U32)


def _threads(strand: Strand, count: Getter | None) -> int | None:
    if count is None:
        return None
    needed = uniform(count(strand.warp), strand, "the count of a barrier")
    if needed % WARP or needed <= 0:
        raise fault(
            "barrier-count",
            "the count of a barrier is a positive multiple of the warp size",
            got=str(needed),
            expected="32, 64, …",
            section="barrier",
        )
    return needed


def barrier(c: Compiler, mi: MachineInstr) -> Step:
    """Arrive, then wait until as many threads have come as the barrier needs."""
    number = c.get(mi["barrier"], ScalarType.U32)
    count = _needed(c, mi)
    waits = mi.row.id.endswith("sync") or mi.row.id.endswith("red")
    reduce = _reduction(c, mi) if mi.row.id.endswith("red") else None

    def run(strand: Strand) -> Outcome:
        cta, mask = strand.warp.cta, strand.mask
        clocks = cta.machine.engine.clocks
        which = uniform(number(strand.warp), strand, "the number of a barrier")
        state = cta.barrier(which)
        came = state.join(strand.warp.number, mask)
        if came:
            if reduce is not None:
                reduce.contribute(strand, lanes_of(came), state.reduced)
            deliver(cta)
            if clocks is not None:
                state.gathered = join(state.gathered, clocks.release(strand, came))
            state.arrive(came.bit_count(), _threads(strand, count), cta.threads_alive)
            cta.machine.changed()
        if waits and state.holds(strand.warp.number, mask):
            needed = state.needed or cta.threads_alive
            return Wait(f"barrier {which}: {state.arrived} of {needed} threads have come")
        state.leave(strand.warp.number, mask)
        if clocks is not None and waits:
            if state.whole:
                state.released, state.whole = clocks.flat(state.released, cta.number), False
            clocks.adopt(strand.warp, mask, state.released)
        if reduce is not None:
            reduce.deliver(strand, state.result)
        return None

    return run


class _reduction:  # noqa: N801 - used like a function
    """The value that bar.red gives every thread."""

    def __init__(self, c: Compiler, mi: MachineInstr) -> None:
        self.predicate = c.get(mi["c"], ScalarType.PRED)
        op = mi.form.attributes["op"]
        assert isinstance(op, ReduceOp)
        self.op = op
        result = mi["d"]
        assert type(result) is int
        self.write = c.set(result)

    def contribute(self, strand: Strand, lanes: Lanes, values: list[bool]) -> None:
        values.extend(flags(self.predicate(strand.warp))[lanes].tolist())

    def deliver(self, strand: Strand, values: list[bool]) -> None:
        match self.op:
            case ReduceOp.POPC:
                self.write(strand, np.full(WARP, sum(values), np.uint32))
            case ReduceOp.AND:
                self.write(strand, np.full(WARP, all(values), np.bool_))
            case ReduceOp.OR:
                self.write(strand, np.full(WARP, any(values), np.bool_))


def warp_sync(c: Compiler, mi: MachineInstr) -> Step:
    """Wait until all threads of the mask have arrived."""
    members = c.get(mi["membermask"], ScalarType.B32)

    def run(strand: Strand) -> Outcome:
        mask = uniform(members(strand.warp), strand, "a member mask")
        waiting = gathered(strand, mask, mi)
        clocks = strand.warp.cta.machine.engine.clocks
        if waiting is None and clocks is not None:
            clocks.meet(strand)
        return waiting

    return run


def gathered(
    strand: Strand, members: int, mi: MachineInstr, *, who_left: bool = True
) -> Wait | None:
    """Wait until all threads of the mask are at this record; of those that have exited only where
    `who_left` says so, as of barriers and elections.

    Raises: Fault for a thread that the mask does not name.
    """
    strangers = strand.mask & ~members
    if strangers:
        raise fault(
            "member-mask",
            f"{mi.row.head} by threads that its mask does not name",
            got=f"lanes {strangers:#010x}",
            expected=f"lanes of {members:#010x} only",
            section=mi.row.section,
        )
    expected = strand.warp.launched if who_left else strand.warp.alive
    missing = members & expected & ~strand.mask
    if not missing:
        return None
    return Wait(f"threads of the mask at {mi.row.head}: lanes {missing:#010x} are elsewhere")


def elect(c: Compiler, mi: MachineInstr) -> Step:
    """One thread of the mask is elected, always the same for the same mask."""
    members = c.get(mi["membermask"], ScalarType.U32)
    lane, elected = mi.get("lane"), mi["elected"]
    write_lane = c.set(lane) if type(lane) is int else None
    assert type(elected) is int
    write = c.set(elected)

    def run(strand: Strand) -> Outcome:
        mask = uniform(members(strand.warp), strand, "a member mask")
        waiting = gathered(strand, mask, mi)
        if waiting is not None:
            return waiting
        leader = strand.warp.cta.machine.leader(mask & strand.mask)
        chosen = np.arange(WARP) == leader
        write(strand, chosen)
        if write_lane is not None:
            write_lane(strand, np.full(WARP, leader, np.uint32))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "fence": fence,
    "membar": fence,
    "fence.proxy.async": fence_proxy_async,
    "fence.mbarrier_init": fence_inits,
    "fence.sync_restrict": fence,
    "fence.proxy.alias": fence,
    "fence.proxy.async::generic": fence_proxy_async,
    "elect.sync": elect,
    "bar.sync": barrier,
    "barrier.sync": barrier,
    "bar.arrive": barrier,
    "barrier.arrive": barrier,
    "bar.red": barrier,
    "barrier.red": barrier,
    "bar.warp.sync": warp_sync,
}
