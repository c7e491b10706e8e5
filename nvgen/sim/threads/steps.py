"""What surrounds the step of a record: convergence, and registers of operations in flight.

Layer: nvgen.sim.  `.aligned` records wait for their warp, those of a warpgroup are compared, and
records that use registers of a load from tensor memory, or of a wgmma, are checked against these.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr, Reg, registers_of
from nvgen.sim.faults import fault
from nvgen.sim.threads.machine import FULL, Outcome, Step, Strand, Values, Wait, lanes_of
from nvgen.sim.threads.warpgroups import Aligned


def after_loads(run: Step, registers: tuple[Reg, ...]) -> Step:
    """A step that first completes the loads from tensor memory whose registers it uses."""

    def settled(strand: Strand) -> Outcome:
        if strand.warp.loads:
            strand.warp.settle(registers)
        return run(strand)

    return settled


def owned_registers(mi: MachineInstr) -> tuple[Reg, ...]:
    """The registers that a wgmma owns until a wait for it: D, and A if it is in registers.

    Descriptors, predicates and metadata are read at the issue.
    """
    a = mi["a"]
    return (*registers_of(mi["d"]), *(registers_of(a) if isinstance(a, tuple) else ()))


def beside_multiplies(run: Step, registers: frozenset[Reg]) -> Step:
    """A step that is a fault where it uses registers that a wgmma in flight owns."""

    def owned(strand: Strand) -> Outcome:
        strand.frame.multiplies.touch(registers, strand.warp.multiplies)
        return run(strand)

    return owned


HINTS = ("setmaxnreg.inc", "setmaxnreg.dec")
"""Rows for a warpgroup that have no effect here."""


def by_warpgroup(run: Step, here: Aligned) -> Step:
    """A step that all warps of a warpgroup execute, each at its own time."""

    def together(strand: Strand) -> Outcome:
        group = strand.warp.cta.warpgroup(strand.warp.number)
        group.come(strand.warp, here)
        outcome = run(strand)
        if not isinstance(outcome, Wait):
            group.go_on(strand.warp)
        return outcome

    return together


def whole_warp(run: Step, mi: MachineInstr) -> Step:
    """A step for whole warps: the strands of a warp wait for each other."""
    head = mi.row.head

    def aligned(strand: Strand) -> Outcome:
        warp = strand.warp
        if strand.mask == warp.launched:
            return run(strand)
        if warp.alive != warp.launched:
            raise fault(
                "aligned-exited",
                f"{head} after threads of the warp have exited",
                got=f"lanes {strand.mask:#010x}",
                expected="all threads of the warp",
                section=mi.row.section,
            )
        missing = warp.launched & ~strand.mask
        return Wait(
            f"the rest of its warp at {head} (.aligned): lanes {missing:#010x} are elsewhere"
        )

    return aligned


def one_lane(strand: Strand, what: str) -> int:
    """The lane of an operation that one thread issues.

    Raises: Fault when several threads of the strand issue it.
    """
    mask = strand.mask
    if mask & (mask - 1):
        raise fault(
            "single-thread",
            f"{what} is issued by {mask.bit_count()} threads",
            got=f"lanes {mask:#010x}",
            expected="one thread",
            hint="elect one with elect.sync",
            section="Issue Granularity",
        )
    return mask.bit_length() - 1


def uniform(values: Values, strand: Strand, what: str) -> int:
    """The value that all threads of a strand have.

    Raises: Fault when they do not have the same.
    """
    chosen = values if strand.mask == FULL else values[lanes_of(strand.mask)]
    first = chosen[0]
    if not (chosen == first).all():
        raise fault(
            "not-uniform",
            f"the threads of a warp give different values of {what}",
            got=", ".join(str(v) for v in np.unique(chosen)[:4]),
            expected="one value",
        )
    return int(first)
