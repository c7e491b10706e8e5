"""The barrier of a cluster, and addresses in the shared memory of its CTAs.

Layer: nvgen.sim.semantics.  PTX ISA, barrier.cluster; mapa; getctarank.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Sem, Space
from nvgen.sim.actors.vector_clock import join
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import OFFSETS, RANK_SHIFT, SHARED_WINDOW, window_of
from nvgen.sim.threads.clusters import cta_of_rank
from nvgen.sim.threads.compile import Compiler, Maker, Setter
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand, Wait, lane_numbers
from nvgen.sim.threads.remote import deliver
from nvgen.sim.threads.steps import whole_warp

# ---- the barrier -----------------------------------------------------------------------------


def arrive(c: Compiler, mi: MachineInstr) -> Step:
    """The threads arrive; the last ones of the cluster open the barrier."""
    relaxed = mi.form.attributes.get("sem") is Sem.RELAXED

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        if not relaxed:
            deliver(cta)
        barrier, clocks = cta.cluster.barrier, cta.machine.engine.clocks
        barrier.arrive(cta.rank, warp.number, strand.mask, relaxed=relaxed)
        if clocks is not None:
            release = clocks.fenced_by(strand) if relaxed else clocks.release_of_actor()
            barrier.gathered = join(barrier.gathered, release)
        cta.cluster.settle()
        cta.machine.changed()
        return None

    return _aligned(run, mi)


def wait(c: Compiler, mi: MachineInstr) -> Step:
    """Wait until every thread of the cluster that has not exited has arrived."""

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cluster = warp.cta.cluster
        if cluster.barrier.holds(warp.cta.rank, warp.number, strand.mask):
            return Wait(
                f"the barrier of cluster {cluster.number}: missing are threads of "
                + cluster.missing()
            )
        clocks = warp.cta.machine.engine.clocks
        if clocks is not None:
            clocks.acquire(warp, strand.mask, cluster.barrier.released)
        return None

    return _aligned(run, mi)


def _aligned(run: Step, mi: MachineInstr) -> Step:
    return whole_warp(run, mi) if mi.form.attributes.get("aligned") is not None else run


# ---- addresses -------------------------------------------------------------------------------


def mapa(c: Compiler, mi: MachineInstr) -> Step:
    """The address, in the shared memory of another CTA of the cluster, at the same offset."""
    type_, write = mi.scalar_type(), _result(c, mi)
    address, ranks_of = c.get(mi["a"], type_), c.get(mi["b"], ScalarType.U32)
    generic = mi.form.attributes.get("space") is None

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        given, ranks = address(warp), ranks_of(warp)
        found = np.zeros(WARP, np.uint64)
        for lane in lane_numbers(strand.mask):
            place = _place(int(given[lane]), generic, mi)
            cta_of_rank(warp.cta, place >> RANK_SHIFT, mi.row.head)
            rank_there = cta_of_rank(warp.cta, int(ranks[lane]), mi.row.head).rank
            moved = place & OFFSETS | rank_there << RANK_SHIFT
            found[lane] = moved + SHARED_WINDOW if generic else moved
        write(strand, found)
        return None

    return run


def getctarank(c: Compiler, mi: MachineInstr) -> Step:
    """The rank of the CTA in whose shared memory an address is."""
    type_, write = mi.scalar_type(), _result(c, mi)
    address = c.get(mi["a"], type_)
    generic = mi.form.attributes.get("space") is None

    def run(strand: Strand) -> Outcome:
        given = address(strand.warp)
        found = np.zeros(WARP, np.uint32)
        for lane in lane_numbers(strand.mask):
            rank = _place(int(given[lane]), generic, mi) >> RANK_SHIFT
            found[lane] = cta_of_rank(strand.warp.cta, rank, mi.row.head).rank
        write(strand, found)
        return None

    return run


def _result(c: Compiler, mi: MachineInstr) -> Setter:
    reg = mi["d"]
    assert type(reg) is int
    return c.set(reg)


def _place(address: int, generic: bool, mi: MachineInstr) -> int:
    """A shared address from one of the form's state space.

    Raises: Fault when a generic address is not one of shared memory.
    """
    if not generic:
        return address
    if window_of(address) is not Space.SHARED:
        raise fault(
            "shared-window",
            f"{mi.row.head} of an address that is not in shared memory",
            got=f"{address:#x}",
            expected="a generic address of shared memory",
            section=mi.row.section,
        )
    return address - SHARED_WINDOW


SEMANTICS: dict[str, Maker] = {
    "barrier.cluster.arrive": arrive,
    "barrier.cluster.wait": wait,
    "mapa": mapa,
    "getctarank": getctarank,
}
