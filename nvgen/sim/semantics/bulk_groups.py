"""Async-groups: commits of a thread, those of cp.async too, and its waits for bulk groups.

Layer: nvgen.sim.semantics.  PTX ISA, cp.async.bulk.commit_group; cp.async.bulk.wait_group;
cp.async.commit_group.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.mir import Imm, MachineInstr
from nvgen.sim.async_ops.groups import BulkGroups, Groups, Member
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, Warp, lane_numbers


def groups(warp: Warp, lane: int) -> BulkGroups:
    """The groups of one thread."""
    return warp.cta.bulk.setdefault((warp.number, lane), BulkGroups())


def commits(groups_of: Callable[[Warp, int], Groups[Member]]) -> Maker:
    """A commit: each thread makes a group of what it has issued since the last one."""

    def commit_group(c: Compiler, mi: MachineInstr) -> Step:
        def run(strand: Strand) -> Outcome:
            for lane in lane_numbers(strand.mask):
                groups_of(strand.warp, lane).commit()
            return None

        return run

    return commit_group


def count_of(mi: MachineInstr) -> int:
    """How many of the latest groups a wait leaves out."""
    n = mi["n"]
    assert isinstance(n, Imm)
    return n.value & 0xFFFF_FFFF


def wait_group(c: Compiler, mi: MachineInstr) -> Step:
    """Let each thread's groups take effect, all but the latest ones."""
    count = count_of(mi)
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
    "cp.async.bulk.commit_group": commits(groups),
    "cp.async.bulk.wait_group": wait_group,
}
