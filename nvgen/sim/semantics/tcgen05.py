"""tcgen05: allocation of tensor memory, fence, commit.

Layer: nvgen.sim.semantics.  PTX ISA, Tensor Memory Allocation and Management Instructions;
TensorCore 5th Generation Specialized Synchronization Operations; tcgen05.commit.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CtaGroup, ScalarType, Space
from nvgen.sim.compile import Compiler, Maker, uniform
from nvgen.sim.engine import AsyncOp, Mode
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Cta, Fragment, Outcome, Step, Wait, lane_numbers
from nvgen.sim.memory import Access, Proxy, scatter
from nvgen.sim.semantics.mbarrier import to_shared
from nvgen.sim.semantics.memory import find

_ONE = (CtaGroup.ONE, None)


def one_cta(mi: MachineInstr) -> None:
    """CTA pairs are not simulated.

    Raises: NotSimulatedError.
    """
    if mi.form.facts.get("cta_group") not in _ONE:
        raise not_simulated(f"{mi.row.head} with .cta_group::2")


def alloc(c: Compiler, mi: MachineInstr) -> Step:
    """Allocate columns, and write their address to shared memory."""
    one_cta(mi)
    count = c.get(mi["ncols"], ScalarType.U32)
    address = c.address(mi["dst"])
    space = Space.SHARED if mi.form.facts["space"] is Space.SHARED_CTA else None
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        cta = warp.cta
        columns = uniform(count(warp), fragment, "nCols")
        late = cta.machine.engine.schedule.mode is not Mode.EARLY
        start = cta.tensor.allocate(columns, from_top=late)
        if start is None:
            return Wait(f"{columns} free columns of tensor memory")
        cta.tensor.places[start] = place
        chosen = address(warp)[fragment.lanes][:1]
        agent = f"tcgen05.alloc of warp {warp.number}"
        region, where, _ = next(find(cta, chosen, space, agent, Access.WRITE))
        offsets = cta.machine.memory.access(
            region, where, 4, Access.WRITE, Proxy.GENERIC, agent, align=4
        )
        scatter(region, offsets, np.array([[start]], np.uint32).view(np.uint8))
        return None

    return run


def dealloc(c: Compiler, mi: MachineInstr) -> Step:
    """Give columns back."""
    one_cta(mi)
    count, taddr = c.get(mi["ncols"], ScalarType.U32), c.get(mi["taddr"], ScalarType.U32)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        columns = uniform(count(warp), fragment, "nCols")
        start = uniform(taddr(warp), fragment, "taddr")
        busy = [op for op in warp.cta.machine.engine.pending if op.thread[0] == warp.cta.number]
        for op in busy:
            if op.kind in ("mma", "ld", "st"):
                raise fault(
                    "dealloc-busy",
                    f"tcgen05.dealloc while {op} is under way",
                    expected="a wait for its completion",
                    section="tcgen05.dealloc",
                )
        warp.cta.tensor.release(start, columns)
        warp.cta.machine.changed()
        return None

    return run


def relinquish(c: Compiler, mi: MachineInstr) -> Step:
    """Give up the right to allocate."""
    one_cta(mi)

    def run(fragment: Fragment) -> Outcome:
        fragment.warp.cta.tensor.permit = False
        return None

    return run


def fence(c: Compiler, mi: MachineInstr) -> Step:
    """Orders what the simulator orders anyway: an operation is never moved before its issue."""
    return lambda fragment: None


def commit(c: Compiler, mi: MachineInstr) -> Step:
    """Arrive on an mbarrier once all earlier operations of each thread are complete."""
    one_cta(mi)
    if mi.form.facts.get("multicast") is not None or mi.form.facts.get("restrict") is not None:
        raise not_simulated(f"{mi.opcode}")
    address = c.address(mi["mbar"])
    space = mi.form.facts["space"]
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        cta = warp.cta
        engine = cta.machine.engine
        for lane in lane_numbers(fragment.mask):
            thread = (cta.number, warp.number, lane)
            where = to_shared(int(address(warp)[lane]), space)
            tracked = tuple(op for op in engine.pending if op.kind == "mma" and op.thread == thread)
            arrival = _Arrival(cta, where)
            engine.issue(AsyncOp("tcgen05.commit", thread, "commit", arrival, place, tracked))
        return None

    return run


class _Arrival:
    """The one arrival that a commit makes."""

    def __init__(self, cta: Cta, address: int) -> None:
        self.cta = cta
        self.address = address

    def __call__(self) -> None:
        found = self.cta.mbarriers.get(self.address)
        if found is None:
            raise fault(
                "mbarrier-uninitialized",
                "tcgen05.commit on what is no mbarrier",
                got=f"shared address {self.address:#x}",
                section="tcgen05.commit",
            )
        found.arrive(1)
        self.cta.machine.changed()


SEMANTICS: dict[str, Maker] = {
    "tcgen05.alloc": alloc,
    "tcgen05.dealloc": dealloc,
    "tcgen05.relinquish_alloc_permit": relinquish,
    "tcgen05.fence": fence,
    "tcgen05.commit": commit,
}
