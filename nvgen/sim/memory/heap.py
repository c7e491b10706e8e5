"""The heap of the device: what malloc gives to threads, and free takes back.

Layer: nvgen.sim.  CUDA C++ Programming Guide, Dynamic Global Memory Allocation and Operations.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Memory, Region

SIZE = 8 << 20
"""The bytes of the heap, if the host does not change that; malloc returns null beyond it."""


@dataclass(slots=True)
class Heap:
    """The allocations of malloc by address: those in use, and those that were freed."""

    live: dict[int, Region] = field(default_factory=dict)
    freed: dict[int, Region] = field(default_factory=dict)
    used: int = 0

    def allocate(self, memory: Memory, size: int, thread: str) -> Region | None:
        """Memory for a thread, uninitialised; None where the heap has no room, or for no bytes."""
        if not 0 < size <= SIZE - self.used:
            return None
        region = memory.allocate(f"the {size} bytes that malloc gave {thread}", size)
        self.live[region.base] = region
        self.used += size
        return region

    def find(self, address: int, thread: str) -> Region:
        """The allocation at an address that a thread frees.

        Raises: Fault for what malloc did not give, and for what was freed before.
        """
        region = self.live.get(address)
        if region is not None:
            return region
        before = self.freed.get(address)
        raise fault(
            "free",
            f"{thread} frees {'memory that was freed before' if before else 'no memory of malloc'}",
            got=f"{address:#x}" + (f", {before.name}" if before else ""),
            expected="an address that malloc returned, once; or null",
            section="",
        )

    def free(self, region: Region) -> None:
        """Take an allocation back: every access to it is a fault from now on."""
        del self.live[region.base]
        self.freed[region.base] = region
        self.used -= region.data.size
        region.end_life()
