"""Contiguous bytes that a bulk operation accesses, in shared or in global memory.

Layer: nvgen.sim.semantics.  Bulk operations access memory through the async proxy and complete
bytes on an mbarrier of a CTA that has not exited.  PTX ISA, cp.async.bulk; cp.reduce.async.bulk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Space
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Addresses, Bytes, Flags, Proxy, Region, gather, scatter
from nvgen.sim.semantics.mbarrier_operand import signalled
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.clusters import check_runs
from nvgen.sim.threads.machine import Cta

PIECE = 16
"""Bytes that a bulk operation moves at once: addresses and sizes are multiples of it."""

Parts = Iterator[tuple[Region, NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """`size` bytes at an offset of a CTA's shared memory, or at an address of global memory."""

    cta: Cta  # whose shared memory it is; for global memory, the CTA that issues
    space: Space
    at: int
    size: int
    agent: str

    def check(self) -> None:
        """Check that a bulk operation may access it.

        An empty one is allowed, and has no effect (so it is on an H100).
        Raises: Fault when its size or its address is no multiple of 16.
        """
        for what, number in (("size", self.size), ("address", self.at)):
            if number % PIECE:
                raise fault(
                    "bulk-alignment",
                    f"{self.agent}: {'a size' if what == 'size' else 'an address'} that is no "
                    f"multiple of {PIECE}",
                    got=f"{number:#x}" if what == "address" else str(number),
                    expected=f"a multiple of {PIECE}",
                    hint="the manual leaves open what such an operation does",
                    section="cp.async.bulk",
                )

    @property
    def whole(self) -> Flags:
        """All of its bytes, to read or to write."""
        return np.ones(self.size, np.bool_)

    def read(self, chosen: Flags, order: Order = Order.WEAK) -> Bytes:
        """The chosen bytes, and zeros in place of the others."""
        found = np.zeros(self.size, np.uint8)
        starts, unit = self._units(chosen)
        for region, offsets, index in self._reach(starts, unit, Access.READ, order):
            found[index] = gather(region, offsets, unit)
        return found

    def write(self, data: Bytes, chosen: Flags, order: Order = Order.WEAK) -> None:
        """Write the chosen bytes of `data`, which is as long as the stretch."""
        starts, unit = self._units(chosen)
        for region, offsets, index in self._reach(starts, unit, Access.WRITE, order):
            scatter(region, offsets, data[index])

    def combine(self, data: Bytes, size: int, combination: Callable[[int, int], int]) -> None:
        """Combine each element of `size` bytes with that of `data`."""
        unit = f"<u{size}"
        there = self.read(self.whole, Order.RELAXED).view(unit)
        found = [combination(int(a), int(b)) for a, b in zip(there, data.view(unit), strict=True)]
        self.write(np.array(found, unit).view(np.uint8), self.whole, Order.RELAXED)

    def spoil(self, chosen: Flags) -> None:
        """Write bytes of undefined value: a later read of them is a fault."""
        starts = np.flatnonzero(chosen)
        for region, offsets, _ in self._reach(starts, 1, Access.WRITE, Order.WEAK):
            region.data[offsets] = 0xCD
            region.written[offsets] = False

    def _units(self, chosen: Flags) -> tuple[NDArray[np.int64], int]:
        """Where the chosen bytes begin, in pieces of so many."""
        if chosen.all():
            return np.arange(0, self.size, PIECE, dtype=np.int64), PIECE
        return np.flatnonzero(chosen), 1

    def _reach(self, starts: NDArray[np.int64], unit: int, kind: Access, order: Order) -> Parts:
        """Regions, offsets in them, and which bytes of the stretch these are, a row for each."""
        memory = self.cta.machine.memory
        if not starts.size:
            return
        for region, addresses, part in self._regions(self.at + starts, kind):
            offsets = memory.access(
                region, addresses, unit, kind, Proxy.ASYNC, self.agent, order=order
            )
            yield region, offsets, starts[part][:, None] + np.arange(unit)

    def _regions(
        self, addresses: Addresses, kind: Access
    ) -> Iterator[tuple[Region, Addresses, NDArray[np.intp]]]:
        if self.space is Space.GLOBAL:
            yield from find(self.cta, addresses, Space.GLOBAL, self.agent, kind)
            return
        check_runs(self.cta, self.agent)
        yield self.cta.shared, addresses, np.arange(addresses.size)


def count_bytes(cta: Cta, offset: int, size: int, agent: str) -> None:
    """Complete bytes on the mbarrier at an offset of a CTA's shared memory.

    Raises: Fault when the CTA has exited, or there is no mbarrier.
    """
    check_runs(cta, agent)
    found = signalled(cta, offset, agent, f"{agent} completes on", "mbarrier.init")
    found.complete(size)
    cta.machine.changed()
