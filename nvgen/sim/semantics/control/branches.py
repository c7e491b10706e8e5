"""Branches and exits.

Layer: nvgen.sim.semantics.  A backward branch of a loop that changed neither registers nor memory
suspends its strand until something changes; one of a loop that only counts failed tests of an
mbarrier suspends it until nothing else can proceed.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr
from nvgen.sim.faults import fault
from nvgen.sim.races.exits import check_exit
from nvgen.sim.semantics.control.calls import return_to_caller
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags
from nvgen.sim.threads.machine import JUMPED, Outcome, Step, Strand, Wait, mask_of


def bra(c: Compiler, mi: MachineInstr) -> Step:
    """A branch, taken by the threads whose guard holds."""
    target = c.target(mi.ops[0])
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        taken = strand.mask
        if predicate is not None:
            taken &= mask_of(flags(predicate(warp)))
        if not taken:
            return None
        if target <= strand.block and (wait := idle(strand)) is not None:
            return wait
        if taken == strand.mask:
            return strand.goto(target)
        strand.fork(strand.mask & ~taken, strand.at + 1)
        strand.mask = taken
        return strand.goto(target)

    return run


def idle(strand: Strand) -> Wait | None:
    """A wait where this iteration of a loop has changed neither registers nor memory: the strand
    polls, and need not run before something changes.
    """
    warp = strand.warp
    version = warp.cta.machine.memory.version
    now = warp.state.tobytes()
    before = strand.loops.get(strand.block)
    strand.loops[strand.block] = (version, now)
    if strand.nudged:
        strand.nudged = False
        return None
    if before == (version, now):
        polled = strand.polled
        return Wait(polled.what if polled else "a loop that changes nothing any more")
    if strand.polled is not None and before is not None and before[0] == version:
        return Wait(strand.polled.what, patient=True)
    return None


def ret(c: Compiler, mi: MachineInstr) -> Step:
    """The exit of a kernel, or the return from a function."""
    return leave(c, mi) if c.function.is_kernel else return_to_caller(c, mi)


def leave(c: Compiler, mi: MachineInstr) -> Step:
    """The exit of the threads of the strand whose guard holds."""
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        leaving = strand.mask
        if predicate is not None:
            leaving &= mask_of(flags(predicate(warp)))
        if not leaving:
            return None
        warp.alive &= ~leaving
        for barrier in warp.cta.barriers.values():
            barrier.settle(warp.cta.threads_alive)
        warp.cta.cluster.settle()
        shadow = warp.cta.shared.shadow
        if shadow is not None and shadow.home < 0 and not warp.cta.threads_alive:
            check_exit(shadow, warp.cta.warps)
        warp.cta.machine.changed()
        strand.mask &= ~leaving
        if strand.mask:
            return None
        warp.strands.remove(strand)
        return JUMPED

    return run


def trap(c: Compiler, mi: MachineInstr) -> Step:
    """An abort."""

    def run(strand: Strand) -> Outcome:
        raise fault("trap", "the kernel executes a trap", section="trap")

    return run


def breakpoint(c: Compiler, mi: MachineInstr) -> Step:
    """No effect: there is no debugger."""
    return lambda strand: None


SEMANTICS: dict[str, Maker] = {
    "bra": bra,
    "ret": ret,
    "exit": leave,
    "trap": trap,
    "brkpt": breakpoint,
}
