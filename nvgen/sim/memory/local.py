"""The local memories of a warp's threads: for each frame of calls a place of its own, and a stack.

Layer: nvgen.sim.  Addresses are those of one thread, from 0 to its last byte; the bytes of the warp
lie in one region, thread by thread.  Frames lie at the same addresses for all threads, from the
bottom up; what a thread takes while it runs comes from the top down, for each as much as it wants.
PTX ISA, Local State Space; Stack Manipulation Instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isel.variables import round_up
from nvgen.sim.faults import fault
from nvgen.sim.memory.layout import LocalLayout
from nvgen.sim.memory.regions import Region

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
        self.top = np.full(threads, LIMIT, np.int64)  # where each thread's stack begins

    def place(self, layout: LocalLayout) -> int:
        """The address of a new frame's variables, which are zeros.

        Raises: Fault when a thread cannot have so much.
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
        """The addresses of so many bytes of these threads' stacks, which are zeros.

        Raises: Fault when a thread cannot have so much.
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
        """The stacks of these threads begin at addresses that were saved.

        Raises: Fault for an address that the stack has not begun at.
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
        """Which of the threads' accesses touch neither their frames nor their stack."""
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
        """Zeros again, for the threads of a call to a place where another call was."""
        self._rows[lanes, at : at + size] = 0

    def fill(self, lanes: NDArray[np.bool_], at: int, rows: NDArray[np.uint8]) -> None:
        """A parameter that was passed, for the threads of a call."""
        self._rows[lanes, at : at + rows.shape[1]] = rows[lanes]

    def rows(self, at: int, size: int) -> NDArray[np.uint8]:
        """Bytes of every thread."""
        return self._rows[:, at : at + size]


def check_passed(size: int) -> None:
    """Raise a Fault where the parameters of a function and of its calls need `size` bytes, more
    than any thread has."""
    if size > LIMIT:
        raise fault(
            "local-memory",
            "a thread cannot hold the parameters of this function and of its calls",
            got=f"{size} bytes",
            expected=f"at most {LIMIT}",
            hint="pass a pointer to what is so large",
            section="Parameter State Space",
        )


def first_places(layout: LocalLayout) -> dict[str, int]:
    """The addresses of variables that find their place before any others."""
    at = LocalMemory(1).place(layout)
    return {name: at + offset for name, offset in layout.offsets.items()}
