"""tcgen05: fence and commit.

Layer: nvgen.sim.semantics.  A multicast commit is one arrival for each CTA of its mask, each at a
moment of its own.  PTX ISA, TensorCore 5th Generation Specialized Synchronization Operations;
tcgen05.commit.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Space, ThreadSync
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.faults import not_simulated
from nvgen.sim.semantics.mbarrier_operand import signalled, to_shared
from nvgen.sim.semantics.tma.targets import mask_type
from nvgen.sim.threads.clusters import check_runs, members, owner_of, participants
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, lane_numbers


def fence(c: Compiler, mi: MachineInstr) -> Step:
    """tcgen05.fence: releases operations on tensor memory to other threads, or acquires theirs.

    With relaxed accesses to a flag it orders threads, as a memory fence does.
    """
    before = mi.form.attributes["side"] is ThreadSync.BEFORE

    def run(strand: Strand) -> Outcome:
        clocks = strand.warp.cta.machine.engine.clocks
        if clocks is not None and before:
            clocks.fence_before(strand)
        elif clocks is not None:
            clocks.fence_after(strand)
        return None

    return run


def commit(c: Compiler, mi: MachineInstr) -> Step:
    """Arrive on an mbarrier once all earlier operations of each thread are complete."""
    if mi.form.attributes.get("restrict") is not None:
        raise not_simulated(f"{mi.opcode}")
    address, group = c.address(mi["mbar"]), mi.form.attributes["cta_group"]
    mask_op = mi.get("cta_mask")
    mask = c.get(mask_op, mask_type(mi)) if mask_op is not None else None
    space = mi.form.attributes["space"]
    assert space is None or isinstance(space, Space)
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        engine = cta.machine.engine
        participants(cta, group, _COMMIT)
        for lane in lane_numbers(strand.mask):
            thread = (cta.number, warp.number, lane)
            where = to_shared(int(address(warp)[lane]), space)
            owner, offset = owner_of(cta, where, Space.SHARED_CLUSTER, _COMMIT)
            targets = [owner]
            if mask is not None:
                targets = members(cta, int(mask(warp)[lane]), _COMMIT)
                if not targets:
                    raise not_simulated(f"{_COMMIT}: a multicast to no CTA")
            tracked = tuple(op for op in engine.tracked if op.kind == "mma" and op.thread == thread)
            for target in targets:
                name = _COMMIT if target is cta else f"{_COMMIT} to CTA {target.number}"
                arrival = _Arrival(target, offset)
                engine.issue(AsyncOp(name, thread, "commit", arrival, place, tracked))
        return None

    return run


_COMMIT = "tcgen05.commit"


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The one arrival that a commit makes in a CTA."""

    cta: Cta
    offset: int

    def __call__(self) -> None:
        """Arrive.

        Raises: Fault when the CTA has exited, or has no mbarrier there.
        """
        check_runs(self.cta, _COMMIT)
        found = signalled(self.cta, self.offset, _COMMIT, f"{_COMMIT} on", "tcgen05.commit")
        found.arrive(1)
        self.cta.machine.changed()


SEMANTICS: dict[str, Maker] = {"tcgen05.fence": fence, "tcgen05.commit": commit}
