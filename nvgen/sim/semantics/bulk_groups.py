"""Bulk async-groups: committed by a thread, and waited for by it.

Layer: nvgen.sim.semantics.  PTX ISA, cp.async.bulk.commit_group; cp.async.bulk.wait_group.
"""

from __future__ import annotations

from intrinsics.mir import Imm, MachineInstr
from nvgen.sim.async_ops.groups import BulkGroups
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, Warp, lane_numbers


def groups(warp: Warp, lane: int) -> BulkGroups:
    """The groups of one thread."""
    return warp.cta.bulk.setdefault((warp.number, lane), BulkGroups())


def commit_group(c: Compiler, mi: MachineInstr) -> Step:
    """Each thread commits its stores since the last commit to a group."""

    def run(strand: Strand) -> Outcome:
        for lane in lane_numbers(strand.mask):
            groups(strand.warp, lane).commit()
        return None

    return run


def wait_group(c: Compiler, mi: MachineInstr) -> Step:
    """Let each thread's groups take effect, all but the latest ones."""
    n = mi["n"]
    assert isinstance(n, Imm)
    count = n.value & 0xFFFF_FFFF
    reads = mi.form.attributes["read"] is not None

    def run(strand: Strand) -> Outcome:
        engine = strand.warp.cta.machine.engine
        for lane in lane_numbers(strand.mask):
            known = groups(strand.warp, lane)
            engine.wait(strand.warp, 1 << lane, known.but_the_last(count, reads=reads))
            if not reads:
                known.keep(count)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "cp.async.bulk.commit_group": commit_group,
    "cp.async.bulk.wait_group": wait_group,
}
