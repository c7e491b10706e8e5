"""clusterlaunchcontrol: all CTAs of a grid run here, so that every request to cancel one fails.

Layer: nvgen.sim.semantics.  The response, 16 bytes of undocumented content, is zeros: nothing was
cancelled.  It is written through the async proxy at some moment, and completes on an mbarrier.  PTX
ISA, clusterlaunchcontrol.try_cancel; clusterlaunchcontrol.query_cancel.
"""

from __future__ import annotations

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Space
from intrinsics.rows.launch_control import IS_CANCELED, QUERIES
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, scatter
from nvgen.sim.semantics.copies.bulk_memory import count_bytes
from nvgen.sim.semantics.mbarrier_operand import to_shared
from nvgen.sim.threads.clusters import check_runs, owner_of
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import words_of
from nvgen.sim.threads.machine import WARP, Cta, Outcome, Step, Strand, Warp, lane_numbers

_ANSWER = np.zeros((1, 16), np.uint8)


def try_cancel(c: Compiler, mi: MachineInstr) -> Step:
    """Request to cancel a launch; the response is for the own CTA, or for all of the cluster."""
    space, name, place = mi.form.attributes["space"], mi.row.head, c.place(mi)
    assert space is None or isinstance(space, Space)
    address, mbar = c.address(mi["a"]), c.address(mi["mbar"])
    everywhere = mi.form.attributes["multicast"] is not None

    def offset(warp: Warp, given: int) -> int:
        return owner_of(warp.cta, to_shared(given, space), Space.SHARED_CTA, name)[1]

    def run(strand: Strand) -> Outcome:
        warp, cta = strand.warp, strand.warp.cta
        for lane in lane_numbers(strand.mask):
            to = offset(warp, int(address(warp)[lane])), offset(warp, int(mbar(warp)[lane]))
            for target in cta.cluster.ctas if everywhere else (cta,):
                answer = _Answer(target, *to, name)
                thread = (cta.number, warp.number, lane)
                cta.machine.engine.issue(AsyncOp(name, thread, "tma", answer, place))
        cta.machine.changed()
        return None

    return run


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response in flight to a CTA's shared memory, and its mbarrier there."""

    cta: Cta
    at: int
    barrier: int
    name: str

    def __call__(self) -> None:
        """Write, and count.

        Raises: Fault when the CTA has exited, or has no mbarrier there.
        """
        check_runs(self.cta, self.name)
        size = _ANSWER.size
        offsets = self.cta.machine.memory.access(
            self.cta.shared, np.array([self.at]), size, Access.WRITE, Proxy.ASYNC, self.name,
            align=size,
        )  # fmt: skip
        scatter(self.cta.shared, offsets, _ANSWER)
        count_bytes(self.cta, self.barrier, size, self.name)


def query(c: Compiler, mi: MachineInstr) -> Step:
    """Whether a response says that a launch was cancelled: none does; and of which CTA.

    PTX ISA, clusterlaunchcontrol.query_cancel: otherwise the CTA is undefined; here it is 0.
    """
    answer = c.get_whole(mi["response"], ScalarType.B128)
    found = mi["p"] if mi.row is IS_CANCELED else mi["d"]
    results = found if isinstance(found, tuple) else (found,)
    writers = [c.set(reg) for reg in results if type(reg) is int]

    def run(strand: Strand) -> Outcome:
        low, high = words_of(answer(strand.warp)[strand.lanes])
        if low.any() or high.any():
            raise fault(
                "launch-answer", "this is no answer of clusterlaunchcontrol.try_cancel",
                got="bytes that are not zero", expected="the 16 bytes that it has written",
                section="clusterlaunchcontrol.query_cancel",
            )  # fmt: skip
        for write in writers:
            write(strand, np.zeros(WARP, np.uint64))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "clusterlaunchcontrol.try_cancel.async": try_cancel,
    **dict.fromkeys((row.id for row in QUERIES), query),
}
