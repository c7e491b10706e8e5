"""The local memories of a warp's threads: for each frame of calls a place of its own.

Layer: nvgen.sim.  Addresses are those of one thread, from 0 to its last byte, and the same for all
threads; the bytes of the warp lie in one region, thread by thread.  PTX ISA, Local State Space.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isel.variables import round_up
from nvgen.sim.faults import fault
from nvgen.sim.memory import Region
from nvgen.sim.shared import LocalLayout

LIMIT = 512 * 1024
"""Bytes of local memory that a thread can have.  CUDA C++ Programming Guide, Technical
Specifications per Compute Capability."""

_FIRST = 16
"""No variable is at address 0."""


class LocalMemory:
    """Local memory that grows as calls go deeper; `size` are the bytes of a thread so far."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.size = 0
        self.stride = 0  # from one thread's bytes to the next one's
        self.region = Region.local(0)
        self._align = 1

    def place(self, layout: LocalLayout) -> int:
        """The address of a new frame's variables, which are zeros.

        Raises: Fault when a thread cannot have so much.
        """
        if not layout.size:
            return 0
        self._align = max(self._align, layout.align)
        at = round_up(max(self.size, _FIRST), layout.align)
        end = at + layout.size
        if end > LIMIT:
            raise fault(
                "local-memory",
                "a thread needs more local memory than it can have",
                got=f"{end} bytes, {layout.size} of them for one more call",
                expected=f"at most {LIMIT}",
                hint="each call under way has local variables of its own: does the recursion end?",
                section="Local State Space",
            )
        self.size = end
        if end > self.stride:
            self._widen(round_up(max(end, 2 * self.stride), self._align))
        return at

    def _widen(self, stride: int) -> None:
        wider = Region.local(self.threads * stride)
        wider.data.reshape(self.threads, stride)[:, : self.stride] = self._rows
        self.region, self.stride = wider, stride

    @property
    def _rows(self) -> NDArray[np.uint8]:
        return self.region.data.reshape(self.threads, self.stride)

    def clear(self, lanes: NDArray[np.bool_], at: int, size: int) -> None:
        """Zeros again, for the threads of a call to a place where another call was."""
        self._rows[lanes, at : at + size] = 0


def first_places(layout: LocalLayout) -> dict[str, int]:
    """The addresses of variables that find their place before any others."""
    at = LocalMemory(1).place(layout)
    return {name: at + offset for name, offset in layout.offsets.items()}
