"""Tensor memory of one CTA: cells, allocations, and accesses to them.

Layer: nvgen.sim.  128 lanes by 512 columns of 32-bit cells.  PTX ISA, Tensor Memory; Tensor Memory
Allocation and Management Instructions.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, LANES
from nvgen.sim.actors.parts import StrandPart
from nvgen.sim.actors.vector_clock import Clock, join
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.collectors import Collectors
from nvgen.sim.races.shadow import Shadow

Cells = NDArray[np.uint32]

_MOST_COLUMNS = 576
"""Columns of sm_107, for exclusive allocations only."""


def _no_flags() -> NDArray[np.bool_]:
    return np.zeros((LANES, COLUMNS), np.bool_)


@dataclass(slots=True)
class TensorMemory:
    """Cells with their flags, and the allocations (first column to number of columns).

    `places` has the source location of each allocation.
    """

    written: NDArray[np.bool_] = field(default_factory=_no_flags)
    allocations: dict[int, int] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    exclusive: bool = False  # whether the only allocation is exclusive
    permit: bool = True
    last: int = COLUMNS  # number of columns of the latest allocation
    collectors: Collectors = field(default_factory=Collectors)
    shadow: Shadow | None = None  # where races are looked for
    freed: Clock | None = None  # what happens before deallocations
    _cells: Cells | None = None

    @property
    def cells(self) -> Cells:
        """The cells, created on first use."""
        if self._cells is None:
            self._cells = np.full((LANES, COLUMNS), 0xCDCDCDCD, np.uint32)
        return self._cells

    def allocate(
        self, columns: int, *others: TensorMemory, from_top: bool, exclusive: bool = False
    ) -> int | None:
        """The first column of a new allocation, or None while there is no room.

        It is made at the same columns of the `others`, those of the CTA's pair.  An exclusive one
        waits until there is no other.

        Raises: Fault when the number of columns is not a power of 2 in 32..512 (for an exclusive
        one a multiple of 32), or more than the last time, or the CTA has given up the right to
        allocate; NotSimulatedError for another allocation beside an exclusive one, and more than
        512 columns.
        """
        memories = (self, *others)
        for memory in memories:
            memory._check_allocation(columns, exclusive=exclusive)
        if exclusive and any(memory.allocations for memory in memories):
            return None
        starts = range(0, COLUMNS - columns + 1, 32 if exclusive else columns)
        for start in reversed(starts) if from_top else starts:
            wanted = range(start, start + columns)
            if all(memory._free(column) for memory in memories for column in wanted):
                for memory in memories:
                    memory.allocations[start] = memory.last = columns
                    memory.exclusive = exclusive
                    memory.written[:, start : start + columns] = False
                    memory._clear_accesses(start, columns)
                return start
        return None

    def _check_allocation(self, columns: int, *, exclusive: bool) -> None:
        _check_columns(columns, "tcgen05.alloc", exclusive=exclusive)
        if self.exclusive and not exclusive:
            raise not_simulated("tcgen05.alloc while the CTA has an exclusive allocation")
        if not self.permit:
            raise fault(
                "alloc-after-relinquish",
                "the CTA has relinquished the right to allocate",
                section="tcgen05.alloc",
            )
        if columns > self.last:
            raise fault(
                "alloc-increasing",
                "tcgen05.alloc of more columns than the allocation before",
                got=str(columns),
                expected=f"at most {self.last}",
                hint="make the largest allocation first",
                section="tcgen05.alloc",
            )

    def _free(self, column: int) -> bool:
        return all(not start <= column < start + n for start, n in self.allocations.items())

    def release(self, address: int, columns: int, *, exclusive: bool = False) -> None:
        """Free an allocation.

        Raises: Fault when there is none at the address, it has another size, or only one of the
        allocation and the deallocation is exclusive.
        """
        _check_columns(columns, "tcgen05.dealloc", exclusive=exclusive)
        where = TensorAddress.decode(address)
        known = not where.lane and self.allocations.get(where.column) == columns
        if not known or self.exclusive is not exclusive:
            live = ", ".join(f"{n} columns at {c}" for c, n in self.allocations.items()) or "none"
            raise fault(
                "dealloc",
                "tcgen05.dealloc of what was not allocated so",
                got=f"{columns} columns at {where}{_EXCLUSIVE[exclusive]}",
                expected=f"an allocation: {live}{_EXCLUSIVE[self.exclusive]}",
                section="tcgen05.dealloc",
            )
        del self.allocations[where.column]
        self.exclusive = False

    def check(self, lanes: NDArray[np.int64], columns: NDArray[np.int64], agent: str) -> None:
        """Check that cells exist and are allocated.

        Raises: Fault otherwise.
        """
        outside = lanes[(lanes < 0) | (lanes >= LANES)]
        if outside.size:
            raise fault(
                "tensor-memory-bounds",
                f"{agent} leaves the lanes of tensor memory",
                got=f"lane {outside[0]}",
                expected="0..127",
                section="Tensor Memory Addressing",
            )
        allocated = np.zeros(columns.shape, np.bool_)
        for start, count in self.allocations.items():
            allocated |= (columns >= start) & (columns < start + count)
        if not allocated.all():
            live = ", ".join(f"{c}..{c + n - 1}" for c, n in sorted(self.allocations.items()))
            raise fault(
                "tensor-memory-bounds",
                f"{agent} touches a column that is not allocated",
                got=f"column {int(np.min(columns[~allocated]))}",
                expected=f"columns {live}" if live else "no column is allocated",
                section="Tensor Memory Allocation",
            )

    def read(self, lanes: NDArray[np.int64], columns: NDArray[np.int64], agent: str) -> Cells:
        """The cells at (lanes, columns), which broadcast against each other.

        Raises: Fault when one was never written.
        """
        self.check(lanes, columns, agent)
        self._touch(lanes, columns, agent, writes=False)
        known = self.written[lanes, columns]
        if not known.all():
            count = int((~known).sum())
            raise fault(
                "uninitialized",
                f"{agent} reads tensor memory that nobody has written",
                got=f"{count} unwritten cells",
                expected="written cells",
                hint="is the wait for the MMA's commit missing?",
                section="Memory Consistency Model for 5th generation of TensorCore operations",
            )
        found: Cells = self.cells[lanes, columns]
        return found

    def write(
        self, lanes: NDArray[np.int64], columns: NDArray[np.int64], data: Cells, agent: str
    ) -> None:
        """Write the cells at (lanes, columns)."""
        self.check(lanes, columns, agent)
        self._touch(lanes, columns, agent, writes=True)
        self.cells[lanes, columns] = data
        self.written[lanes, columns] = True

    # ---- races -----------------------------------------------------------------------------------

    def _touch(
        self, lanes: NDArray[np.int64], columns: NDArray[np.int64], agent: str, *, writes: bool
    ) -> None:
        if self.shadow is not None:
            self.shadow.touch(lanes * COLUMNS + columns, 1, agent, writes=writes)

    def record_deallocation(self, address: int, columns: int, agent: str) -> None:
        """Record a deallocation by the current actor, as a write to all cells of the columns.

        Raises: Fault when that races with a use of them.
        """
        start = TensorAddress.decode(address).column
        if self.shadow is not None and start + columns <= COLUMNS:
            cells = np.arange(start, start + columns)
            self._touch(np.arange(LANES)[:, None], cells[None, :], agent, writes=True)
            self.freed = join(self.freed, self.shadow.clocks.release_of_actor())

    def record_allocation(self, by: StrandPart) -> None:
        """Record an allocation: earlier deallocations happen before it."""
        if self.shadow is not None:
            self.shadow.clocks.acquire(by.warp, by.mask, self.freed)

    def _clear_accesses(self, start: int, columns: int) -> None:
        """Clear the accesses to columns, which are allocated anew."""
        if self.shadow is not None:
            cells = np.arange(LANES)[:, None] * COLUMNS + np.arange(start, start + columns)
            self.shadow.clear(cells)


_EXCLUSIVE = {False: "", True: ", exclusive"}


def _check_columns(columns: int, op: str, *, exclusive: bool) -> None:
    if exclusive and columns % 32 == 0 and COLUMNS < columns <= _MOST_COLUMNS:
        raise not_simulated(f"{op}.exclusive of {columns} columns")
    if exclusive and columns in range(32, COLUMNS + 1, 32):
        return
    if exclusive or columns not in (32, 64, 128, 256, 512):
        kind = "multiple of 32" if exclusive else "power of 2"
        raise fault(
            "columns",
            f"{op}: no such number of columns",
            got=str(columns),
            expected=f"a {kind} in 32..512",
            section=op,
        )
