"""Branches through a table of labels: brx.idx.

Layer: nvgen.sim.semantics.  A branch diverges by index, as an indirect call does by target; the
remaining threads execute it again.  PTX ISA, brx.idx; .branchtargets.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType
from nvgen.sim.faults import Fault, fault
from nvgen.sim.semantics.control.branches import idle
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags
from nvgen.sim.threads.machine import Outcome, Step, Strand, first_lane, mask_of


def brx(c: Compiler, mi: MachineInstr) -> Step:
    """A branch to the label of a table at an index."""
    index = c.get(mi["index"], ScalarType.U32)
    labels = mi["targets"]
    assert isinstance(labels, tuple)
    targets = [c.target(label) for label in labels]
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(strand: Strand) -> Outcome:
        warp, taken = strand.warp, strand.mask
        if predicate is not None:
            taken &= mask_of(flags(predicate(warp)))
        if not taken:
            return None
        values = index(warp)
        first = int(values[first_lane(taken)])
        if first >= len(targets):
            raise _outside(first, len(targets))
        target, same = targets[first], taken & mask_of(values == first)
        if target <= strand.block and (wait := idle(strand)) is not None:
            return wait
        for others, at in ((taken & ~same, strand.at), (strand.mask & ~taken, strand.at + 1)):
            if others:
                strand.fork(others, at)
        strand.mask = same
        return strand.goto(target)

    return run


def _outside(index: int, count: int) -> Fault:
    return fault(
        "branch-index",
        "a branch through a table with an index that the table does not have",
        got=str(index),
        expected=f"0 to {count - 1}",
        hint="compare the index with the table's length before, as compilers do",
        section="brx.idx",
    )


SEMANTICS: dict[str, Maker] = {"brx.idx": brx}
