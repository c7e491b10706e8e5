"""The local memories of a warp's threads: frames of calls, and a stack.

Layer: nvgen.sim.  Addresses are those of one thread, from 0 to its last byte; the bytes of the warp
are one region, thread by thread.  Frames have the same addresses in all threads, from the bottom
up; `alloca` allocates from the top down, for each thread as much as it asks for. PTX ISA, Local
State Space; Stack Manipulation Instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isel.variables import round_up
from nvgen.sim.faults import fault
from nvgen.sim.memory.layout import LocalLayout
from nvgen.sim.memory.regions import Region

LIMIT = 512 * 1024
"""The most local memory of a thread, in bytes.

CUDA C++ Programming Guide, Technical Specifications per Compute Capability.
"""

_FIRST = 16
"""No variable is at address 0."""


class LocalMemory:
    """Local memory that grows with the depth of calls.

    `size` is that of a thread so far, in bytes.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.size = 0
        self.stride = 0  # from one thread's bytes to the next one's
        self.region = Region.local(0)
        self._align = 1
        self.top = np.full(threads, LIMIT, np.int64)  # where each thread's stack begins

    def new_frame(self, layout: LocalLayout) -> int:
        """The address of a new frame's variables, which are zeroed.

        Raises: Fault when that exceeds a thread's local memory.
        """
        if not layout.size:
            return 0
        self._align = max(self._align, layout.align)
        at = round_up(max(self.size, _FIRST), layout.align)
        end = at + layout.size
        most = int(self.top.min())
        if end > most:
            raise fault(
                "local-memory",
                "a thread needs more local memory than it can have",
                got=f"{end} bytes, {layout.size} of them for one more call",
                expected=f"at most {most}" + (" below its stack" if most < LIMIT else ""),
                hint="each call under way has local variables of its own: does the recursion end?",
                section="Local State Space",
            )
        self.size = end
        if end > self.stride:
            self._widen(round_up(max(end, 2 * self.stride), self._align))
        return at

    def take(
        self, lanes: NDArray[np.intp], sizes: NDArray[np.uint64], align: int
    ) -> NDArray[np.int64]:
        """Allocate bytes on these threads' stacks, zeroed; their addresses.

        Raises: Fault when that exceeds a thread's local memory.
        """
        free = self.top[lanes] - max(self.size, _FIRST)
        tops = np.array(
            [
                (int(t) - int(s)) // align * align
                for t, s in zip(self.top[lanes], sizes, strict=True)
            ]
        )
        lacks = (sizes > free) | (tops < max(self.size, _FIRST))
        if lacks.any():
            raise fault(
                "local-memory",
                "a thread takes more of the stack than there is",
                got=f"{int(sizes[lacks][0])} bytes",
                expected=f"at most {int(free[lacks][0])} bytes, with the alignment",
                hint="is what a loop takes given back? see stacksave and stackrestore",
                section="alloca",
            )
        if self.stride < LIMIT:
            self._widen(round_up(LIMIT, self._align))
        for lane, start, end in zip(lanes, tops, self.top[lanes], strict=True):
            self._rows[lane, start:end] = 0
        self.top[lanes] = tops
        return tops

    def give_back(self, lanes: NDArray[np.intp], tops: NDArray[np.uint64]) -> None:
        """Restore the stack pointers of these threads.

        Raises: Fault for an address at which the stack never began.
        """
        wrong = (tops > LIMIT) | (tops < self.top[lanes])
        if wrong.any():
            raise fault(
                "stack-restore",
                "the stack is restored to where it has not been, or to what is given back already",
                got=f"{int(tops[wrong][0]):#x}",
                expected=f"{int(self.top[lanes][wrong][0]):#x} to {LIMIT:#x}",
                section="stackrestore",
            )
        self.top[lanes] = tops

    def is_outside(
        self, lanes: NDArray[np.intp], addresses: NDArray[np.int64], size: int
    ) -> NDArray[np.bool_]:
        """Which of the threads' accesses are outside of their frames and their stack."""
        in_frames = (addresses >= 0) & (addresses + size <= self.size)
        in_stack = (addresses >= self.top[lanes]) & (addresses + size <= LIMIT)
        return np.logical_not(in_frames | in_stack)

    def _widen(self, stride: int) -> None:
        wider = Region.local(self.threads * stride)
        wider.data.reshape(self.threads, stride)[:, : self.stride] = self._rows
        self.region, self.stride = wider, stride

    @property
    def _rows(self) -> NDArray[np.uint8]:
        return self.region.data.reshape(self.threads, self.stride)

    def clear(self, lanes: NDArray[np.bool_], at: int, size: int) -> None:
        """Zero the bytes of a new frame, for the threads of a call."""
        self._rows[lanes, at : at + size] = 0

    def fill(self, lanes: NDArray[np.bool_], at: int, rows: NDArray[np.uint8]) -> None:
        """Write a parameter that is passed, for the threads of a call."""
        self._rows[lanes, at : at + rows.shape[1]] = rows[lanes]

    def rows(self, at: int, size: int) -> NDArray[np.uint8]:
        """Bytes of every thread."""
        return self._rows[:, at : at + size]


def check_passed(size: int) -> None:
    """Check the size of parameters, in bytes.

    Raises: Fault where parameters of a function and of its calls exceed a thread's local memory.
    """
    if size > LIMIT:
        raise fault(
            "local-memory",
            "a thread cannot hold the parameters of this function and of its calls",
            got=f"{size} bytes",
            expected=f"at most {LIMIT}",
            hint="pass a pointer to what is so large",
            section="Parameter State Space",
        )


def first_addresses(layout: LocalLayout) -> dict[str, int]:
    """The addresses of variables that are laid out before any others."""
    at = LocalMemory(1).new_frame(layout)
    return {name: at + offset for name, offset in layout.offsets.items()}
