"""The tensors that tensor maps describe, as copies reach them.

Layer: nvgen.sim.  A copy names rows of a tensor by their coordinates in the outer dimensions, and a
stretch of elements in them.  The tensor of a map that the host made is an array of the launch; that
of a map which the kernel has changed is memory at an address.  PTX ISA, Tensors.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from nvgen.launching.tensor_map import TensorMap
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Flags, Memory, Proxy, Region, gather, scatter

Elements = NDArray[np.generic]
Rows = NDArray[np.int64]
"""Coordinates in the outer dimensions (rows x rank - 1), innermost first."""


@dataclass(frozen=True, slots=True)
class BoundMap:
    """A tensor map of a launch: the array that the kernel sees, and which of its bytes are written.

    `written` has the array's shape and the bytes of an element; None if nothing else writes it.
    `region` is the memory of both, whose bytes lie in the order of the array's elements.
    """

    map: TensorMap
    array: Elements
    written: Flags | None = None
    region: Region | None = None

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of an element."""
        return self.array.dtype

    def read(self, rows: Rows, inner: slice, agent: str, *, order: Order = Order.WEAK) -> Elements:
        """Elements `inner` of rows of the tensor: rows x elements.

        Raises: Fault when some of them are uninitialised, or the access races with another.
        """
        index = self._index(rows, inner)
        if self.written is not None:
            _check_written(self.written[index], agent)
        self._touch(rows, inner, agent, writes=False, order=order)
        return self.array[index]

    def write(
        self, rows: Rows, inner: slice, elements: Elements, agent: str, *, order: Order = Order.WEAK
    ) -> None:
        """Put rows x elements into the tensor.

        Raises: Fault when that races with another access.
        """
        assert self.written is not None
        index = self._index(rows, inner)
        self._touch(rows, inner, agent, writes=True, order=order)
        self.array[index] = elements
        self.written[index] = True

    def _index(self, rows: Rows, inner: slice) -> tuple[NDArray[np.int64] | slice, ...]:
        """The elements as an index of the array, outermost dimension first."""
        return (*rows.T[::-1], inner)

    def _touch(self, rows: Rows, inner: slice, agent: str, *, writes: bool, order: Order) -> None:
        if self.region is None or self.region.shadow is None:
            return
        sizes = self.array.shape[::-1]
        first, step = np.zeros(len(rows), np.int64), sizes[0]
        for coordinates, size in zip(rows.T, sizes[1:], strict=True):
            first += coordinates * step
            step *= size
        numbers = first[:, None] + np.arange(inner.start, inner.stop)
        item = self.array.itemsize
        self.region.shadow.touch(numbers * item, item, agent, writes=writes, order=order)


@dataclass(frozen=True, slots=True)
class PlacedMap:
    """A tensor map that a kernel has made: its tensor begins at an address of global memory."""

    map: TensorMap
    address: int
    memory: Memory

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of an element, as a number without a sign; of a slice, as bytes."""
        return np.dtype(f"{'u' if self._size <= 8 else 'V'}{self._size}")

    @property
    def _size(self) -> int:
        return max(self.map.unit_bits, 8) // 8

    def read(self, rows: Rows, inner: slice, agent: str, *, order: Order = Order.WEAK) -> Elements:
        """Elements `inner` of rows of the tensor: rows x elements.

        Raises: Fault as `Memory.access` does.
        """
        starts, size = self._stretches(rows, inner)
        found = np.empty((len(rows), size), np.uint8)
        for region, chosen in self.memory.regions_at(starts, agent, Access.READ):
            offsets = self.memory.access(
                region, starts[chosen], size, Access.READ, Proxy.ASYNC, agent, order=order
            )
            found[chosen] = gather(region, offsets, size)
        return found.view(self.dtype)

    def write(
        self, rows: Rows, inner: slice, elements: Elements, agent: str, *, order: Order = Order.WEAK
    ) -> None:
        """Put rows x elements into the tensor.

        Raises: Fault as `Memory.access` does.
        """
        starts, size = self._stretches(rows, inner)
        data = np.ascontiguousarray(elements).view(np.uint8).reshape(len(rows), size)
        for region, chosen in self.memory.regions_at(starts, agent, Access.WRITE):
            offsets = self.memory.access(
                region, starts[chosen], size, Access.WRITE, Proxy.ASYNC, agent, order=order
            )
            scatter(region, offsets, data[chosen])

    def _stretches(self, rows: Rows, inner: slice) -> tuple[NDArray[np.int64], int]:
        """Where the elements of each row begin, and their bytes."""
        strides = np.array(self.map.strides, np.int64)
        starts = self.address + rows @ strides + inner.start * self._size
        return starts.astype(np.int64), (inner.stop - inner.start) * self._size


AnyMap: TypeAlias = BoundMap | PlacedMap
"""A tensor map that a copy may use."""


def _check_written(written: Flags, agent: str) -> None:
    if not written.all():
        raise fault(
            "uninitialized",
            f"{agent} reads global memory that nobody has written (async proxy)",
            got=f"{int((~written).sum())} unwritten bytes",
            expected="written memory",
            hint="is a wait for the operation that writes it missing?",
        )
