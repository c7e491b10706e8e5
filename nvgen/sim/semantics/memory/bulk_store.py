"""Zeros stored in bulk to shared memory, by one thread each.

Layer: nvgen.sim.semantics.  PTX ISA, st.bulk.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, scatter
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, lane_numbers

_UNIT = 8
"""Sizes and addresses are multiples of so many bytes."""


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Each thread zeroes as many bytes of shared memory as it says."""
    space = mi.form.attributes["space"]
    assert space is None or isinstance(space, Space)
    address = c.address(mi["a"])
    size = c.get(mi["size"], ScalarType.U64 if mi.row.id == "st.bulk" else ScalarType.U32)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        agent = f"{mi.row.head} of warp {warp.number}"
        for lane in lane_numbers(strand.mask):
            count = int(size(warp)[lane])
            if count % _UNIT:
                raise fault(
                    "bulk-size", f"{agent} stores no whole number of 8 bytes", got=str(count),
                    expected="a multiple of 8", section="st.bulk",
                )  # fmt: skip
            if not count:
                continue
            first = address(warp)[lane : lane + 1]
            for region, where, _ in find(warp.cta, first, space, agent, Access.WRITE):
                if region is not warp.cta.shared:
                    raise fault(
                        "bulk-space", f"{agent} stores to {region.name}",
                        expected="shared memory of its own CTA", section="st.bulk",
                    )  # fmt: skip
                zeros = np.zeros((1, count), np.uint8)
                offsets = warp.cta.machine.memory.access(
                    region, where, count, Access.WRITE, Proxy.GENERIC, agent, align=_UNIT,
                    lanes=np.array([lane]), data=zeros,
                )  # fmt: skip
                scatter(region, offsets, zeros)
        return None

    return run


SEMANTICS: dict[str, Maker] = {"st.bulk": store, "st.bulk.size32": store}
