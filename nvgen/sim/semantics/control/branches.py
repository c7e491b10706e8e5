"""Branches and exits.

Layer: nvgen.sim.semantics.  A backward branch of a loop that changed neither registers nor memory
suspends its fragment until something changes; one of a loop that only counts failed tests of an
mbarrier suspends it until nothing else can proceed.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr
from nvgen.sim.faults import fault
from nvgen.sim.semantics.control.calls import return_to_caller
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags
from nvgen.sim.threads.machine import JUMPED, Fragment, Outcome, Step, Wait, mask_of


def bra(c: Compiler, mi: MachineInstr) -> Step:
    """A branch, taken by the threads whose guard holds."""
    target = c.target(mi.ops[0])
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        taken = fragment.mask
        if predicate is not None:
            taken &= mask_of(flags(predicate(warp)))
        if not taken:
            return None
        if target <= fragment.block and (wait := idle(fragment)) is not None:
            return wait
        if taken == fragment.mask:
            return fragment.goto(target)
        fragment.fork(fragment.mask & ~taken, fragment.at + 1)
        fragment.mask = taken
        return fragment.goto(target)

    return run


def idle(fragment: Fragment) -> Wait | None:
    """A wait, if this iteration of the loop left everything as the last one did."""
    warp = fragment.warp
    version = warp.cta.machine.memory.version
    now = warp.state.tobytes()
    before = fragment.loops.get(fragment.block)
    fragment.loops[fragment.block] = (version, now)
    if fragment.nudged:
        fragment.nudged = False
        return None
    if before == (version, now):
        polled = fragment.polled
        return Wait(polled.what if polled else "a loop that changes nothing any more")
    if fragment.polled is not None and before is not None and before[0] == version:
        return Wait(fragment.polled.what, patient=True)
    return None


def ret(c: Compiler, mi: MachineInstr) -> Step:
    """The exit of a kernel, or the return from a function."""
    return leave(c, mi) if c.function.is_kernel else return_to_caller(c, mi)


def leave(c: Compiler, mi: MachineInstr) -> Step:
    """The exit of the threads of the fragment whose guard holds."""
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        leaving = fragment.mask
        if predicate is not None:
            leaving &= mask_of(flags(predicate(warp)))
        if not leaving:
            return None
        warp.alive &= ~leaving
        for barrier in warp.cta.barriers.values():
            barrier.settle(warp.cta.threads_alive)
        warp.cta.cluster.settle()
        warp.cta.machine.changed()
        fragment.mask &= ~leaving
        if fragment.mask:
            return None
        warp.fragments.remove(fragment)
        return JUMPED

    return run


def trap(c: Compiler, mi: MachineInstr) -> Step:
    """An abort."""

    def run(fragment: Fragment) -> Outcome:
        raise fault("trap", "the kernel executes a trap", section="trap")

    return run


def breakpoint(c: Compiler, mi: MachineInstr) -> Step:
    """No effect: there is no debugger."""
    return lambda fragment: None


SEMANTICS: dict[str, Maker] = {
    "bra": bra,
    "ret": ret,
    "exit": leave,
    "trap": trap,
    "brkpt": breakpoint,
}
