"""Branches and ends.

Layer: nvgen.sim.semantics.  A backward branch whose loop changes nothing any more, neither
registers nor memory, lets its fragment wait until something changes.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr
from nvgen.sim.compile import Compiler, Maker, flags
from nvgen.sim.faults import fault
from nvgen.sim.machine import JUMPED, Fragment, Outcome, Step, Wait, mask_of


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
        if target <= fragment.block and (wait := _idle(fragment)) is not None:
            return wait
        if taken == fragment.mask:
            return fragment.goto(target)
        others = Fragment(warp, fragment.mask & ~taken, fragment.block, fragment.at + 1)
        fragment.mask = taken
        warp.fragments.append(others)
        return fragment.goto(target)

    return run


def _idle(fragment: Fragment) -> Wait | None:
    """Whether this turn of the loop left everything as the last one did."""
    warp = fragment.warp
    version = warp.cta.machine.memory.version
    now = hash(b"".join(register.tobytes() for register in warp.registers))
    before = fragment.loops.get(fragment.block)
    fragment.loops[fragment.block] = (version, now)
    if before != (version, now):
        return None
    return Wait(fragment.polled.what if fragment.polled else "a loop that changes nothing any more")


def ret(c: Compiler, mi: MachineInstr) -> Step:
    """The end of a kernel for the threads of the fragment."""

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        warp.alive &= ~fragment.mask
        warp.fragments.remove(fragment)
        warp.cta.machine.changed()
        return JUMPED

    return run


def trap(c: Compiler, mi: MachineInstr) -> Step:
    """An abort."""

    def run(fragment: Fragment) -> Outcome:
        raise fault("trap", "the kernel executes a trap", section="trap")

    return run


SEMANTICS: dict[str, Maker] = {"bra": bra, "ret": ret, "exit": ret, "trap": trap}
