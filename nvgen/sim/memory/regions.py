"""Global, shared, parameter and local memory, and the checks of every access.

Layer: nvgen.sim.  Every byte of shared and global memory has a flag for "written"; local memory is
zeroed.  Every access goes through `Memory.access`, which checks bounds, alignment, initialisation
and races.  PTX ISA, State Spaces.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from enum import Enum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Space
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import Fault, fault
from nvgen.sim.races.earlier import Earlier
from nvgen.sim.races.scopes import Reach
from nvgen.sim.races.shadow import Shadow

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Addresses = NDArray[np.int64]
Item = TypeVar("Item", bound=np.generic)

# Windows of the generic address space.  Shared addresses are offsets in the CTA's own memory; the
# same offset plus (rank + 1) << 24 names the memory of a CTA of the cluster.  The low 32 bits of a
# generic address are no shared address: cvta makes that.
SHARED_WINDOW = 0x0100_8000_0000
PARAM_WINDOW = 0x0200_0000_0000
LOCAL_WINDOW = 0x0300_0000_0000
GLOBAL_BASE = 0x7F00_0000_0000
_WINDOW = 0x0001_0000_0000
_SHARED = 0x8000_0000
_GAP = 4096
"""Bytes after an allocation that belong to none."""

RANK_SHIFT = 24
"""The bit of a shared address at which the rank of the CTA begins."""

OFFSETS = (1 << RANK_SHIFT) - 1
"""The bits of a shared address that are an offset in the memory of one CTA."""


class Access(Enum):
    """The kind of an access."""

    READ = "read"
    WRITE = "write"


class Proxy(Enum):
    """The path by which memory is reached.  PTX ISA, Memory Consistency Model: Proxies."""

    GENERIC = "generic"
    ASYNC = "async"


@dataclass(slots=True)
class Region:
    """A stretch of bytes: an allocation of global memory, shared memory, or parameters."""

    name: str
    base: int
    data: Bytes
    written: Flags
    unfenced: Flags | None = None  # written by threads, and not fenced since (shared memory)
    private: bool = False  # no other thread, or no thread at all, writes it
    shadow: Shadow | None = None  # where races are looked for
    earlier: Earlier | None = None  # where loads may find what was there before
    freed: int = 0  # the bytes that it had, if it was freed

    @classmethod
    def blank(cls, name: str, base: int, size: int) -> Region:
        """Uninitialised memory; its bytes have a conspicuous pattern."""
        return cls(name, base, np.full(size, 0xCD, np.uint8), np.zeros(size, np.bool_))

    @classmethod
    def of(cls, name: str, base: int, data: Bytes) -> Region:
        """Memory with contents."""
        return cls(name, base, data, np.ones(data.size, np.bool_))

    @classmethod
    def params(cls, data: Bytes) -> Region:
        """A kernel's parameters."""
        found = cls.of("kernel parameters", 0, data)
        found.private = True
        return found

    @classmethod
    def shared(cls, size: int) -> Region:
        """The shared memory of a CTA, which both proxies access."""
        found = cls.blank("shared memory", 0, size)
        found.unfenced = np.zeros(size, np.bool_)
        return found

    @classmethod
    def local(cls, size: int) -> Region:
        """The local memories of a warp's threads, one after the other, zeroed.

        Unwritten bytes may be read, since compilers copy structs with their padding.
        """
        found = cls.of("local memory", 0, np.zeros(size, np.uint8))
        found.private = True
        return found

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + (self.freed or self.data.size)

    def end_life(self) -> None:
        """Free it: no access is inside of it any longer."""
        self.freed = self.data.size
        self.data, self.written, self.shadow = self.data[:0], self.written[:0], None

    def fence(self) -> None:
        """A proxy fence: makes earlier writes of threads visible to the async proxy."""
        if self.unfenced is not None:
            self.unfenced[:] = False


class Memory:
    """Global memory as a list of allocations.

    Shared memory and parameters are those of each CTA.
    """

    def __init__(self) -> None:
        self.allocations: list[Region] = []
        self._next = GLOBAL_BASE
        self.version = 0  # counts changes: waiting threads poll again after one

    def allocate(self, name: str, size: int, data: Bytes | None = None) -> Region:
        """A new allocation, 256-byte aligned, followed by a gap that no access may touch."""
        base = self._next
        self._next += (size + 511) // 256 * 256 + _GAP
        region = Region.blank(name, base, size) if data is None else Region.of(name, base, data)
        self.allocations.append(region)
        return region

    def access(
        self,
        region: Region,
        addresses: Addresses,
        size: int,
        kind: Access,
        proxy: Proxy,
        agent: str,
        *,
        align: int = 1,
        order: Order = Order.WEAK,
        reach: Reach = Reach.LAUNCH,
        lanes: NDArray[np.intp] | None = None,
        data: Bytes | None = None,
        vector: bool = True,
    ) -> NDArray[np.int64]:
        """Check accesses of `size` bytes at `addresses`; returns their offsets in the region.

        `lanes` are the threads that make them, where these are not all threads of the strand, and
        `data` is what they write, where a write of the same value is no race; without `vector` each
        accesses one number.

        Raises: Fault when one is misaligned, out of bounds, or reads uninitialised memory.
        """
        offsets = addresses - region.base
        _check_alignment(addresses, align, agent, lanes)
        _check_bounds(region, offsets, size, kind, agent, lanes)
        if region.shadow is not None:
            region.shadow.touch(
                offsets, size, agent, writes=kind is Access.WRITE, order=order, reach=reach,
                lanes=lanes, change=None if data is None else (region.data, data), vector=vector,
            )  # fmt: skip
        if kind is Access.READ:
            _check_written(region, offsets, size, agent, proxy, lanes)
        else:
            self.version += 1
        if region.unfenced is not None:
            _cross_proxies(region.unfenced, offsets, size, kind, proxy, agent)
            if kind is Access.READ and proxy is Proxy.ASYNC and region.shadow is not None:
                late = region.shadow.unseen(offsets, size)
                if late:
                    raise _unfenced(agent, f"{late} bytes, whose fence nothing orders before this")
        return offsets

    def check_fenced(self, region: Region, addresses: Addresses, size: int, agent: str) -> None:
        """Check that the async proxy may read `size` bytes at `addresses` from now on.

        Bytes outside of the region are left to `access`.
        Raises: Fault when threads wrote some of them, with no proxy fence since.
        """
        if region.unfenced is None or not region.unfenced.any():
            return
        offsets = (addresses - region.base).reshape(-1)
        inside = (offsets >= 0) & (offsets + size <= region.data.size)
        _cross_proxies(region.unfenced, offsets[inside], size, Access.READ, Proxy.ASYNC, agent)

    def regions_at(
        self, addresses: Addresses, agent: str, kind: Access
    ) -> Iterator[tuple[Region, NDArray[np.intp]]]:
        """The allocations of global memory that contain or precede `addresses`, with indices.

        Raises: Fault when one of them is near no allocation.
        """
        left = np.arange(addresses.size)
        while left.size:
            there = addresses[left]
            region = self._region_at(int(there[0]), agent, kind)
            inside = (there >= region.base) & (there < region.end + _GAP)
            if inside.all():
                yield region, left
                return
            yield region, left[inside]
            left = left[~inside]

    def _region_at(self, first: int, agent: str, kind: Access) -> Region:
        at = bisect.bisect_right(self.allocations, first, key=lambda region: region.base) - 1
        if at >= 0 and first < self.allocations[at].end + _GAP:
            return self.allocations[at]
        near = min(
            self.allocations,
            key=lambda r: min(abs(first - r.base), abs(first - r.end)),
            default=None,
        )
        known = (
            f"nearest: {near.name}, {near.base:#x} to {near.end:#x}" if near else "no allocation"
        )
        raise fault(
            "out-of-bounds",
            f"{agent} {kind.value}s no memory of this launch",
            got=f"{first:#x}",
            expected=known,
        )


def _by(lanes: NDArray[np.intp] | None, wrong: Flags) -> str:
    """The first lane whose access is wrong, where there is a lane for each."""
    if lanes is None or lanes.size != wrong.size:
        return ""
    return f", by lane {int(lanes[np.flatnonzero(wrong)[0]])}"


def _check_bounds(
    region: Region, offsets: Addresses, size: int, kind: Access, agent: str,
    lanes: NDArray[np.intp] | None,
) -> None:  # fmt: skip
    outside = (offsets < 0) | (offsets > region.data.size - size)
    if outside.any():
        address = int(offsets[outside][0]) + region.base
        what = f"{size} bytes at {address:#x}{_by(lanes, outside)}"
        if region.freed:
            raise fault(
                "freed",
                f"{agent} {kind.value}s memory that was freed",
                got=f"{what}, in {region.name}",
                expected="accesses that happen before free",
            )
        raise fault(
            "out-of-bounds",
            f"{agent} {kind.value}s outside of {region.name}",
            got=what,
            expected=f"{region.base:#x} to {region.end:#x} ({region.data.size} bytes)",
        )


def _check_alignment(
    addresses: Addresses, align: int, agent: str, lanes: NDArray[np.intp] | None
) -> None:
    wrong = addresses % align != 0
    if wrong.any():
        raise fault(
            "misaligned",
            f"{agent} has a misaligned address",
            got=f"{int(addresses[wrong][0]):#x}{_by(lanes, wrong)}",
            expected=f"a multiple of {align}",
        )


def _check_written(
    region: Region, offsets: NDArray[np.int64], size: int, agent: str, proxy: Proxy,
    lanes: NDArray[np.intp] | None,
) -> None:  # fmt: skip
    written = parts_of(region.written, offsets, size)
    if not written.all():
        unwritten = ~written
        offset = int((offsets[..., None] + np.arange(size))[unwritten][0])
        raise fault(
            "uninitialized",
            f"{agent} reads {region.name} that nobody has written ({proxy.value} proxy)",
            got=f"{int(unwritten.sum())} unwritten bytes, the first at offset {offset}"
            + _by(lanes, np.asarray(unwritten.any(axis=-1))),
            expected="written memory",
            hint="is a wait for the operation that writes it missing?",
        )


def _cross_proxies(
    unfenced: Flags,
    offsets: NDArray[np.int64],
    size: int,
    kind: Access,
    proxy: Proxy,
    agent: str,
) -> None:
    """Mark bytes that threads write; the async proxy may read them only after a proxy fence.

    Any fence of the CTA counts for all earlier writes; whether these happen before it is checked by
    the shadow memory.
    """
    if kind is Access.WRITE:
        put_parts(unfenced, offsets, size, proxy is Proxy.GENERIC)
        return
    if proxy is Proxy.GENERIC or not unfenced.any():
        return
    stale = parts_of(unfenced, offsets, size)
    if stale.any():
        index = offsets[..., None] + np.arange(size)
        first = int(index[stale][0])
        raise _unfenced(agent, f"{int(stale.sum())} bytes, the first at offset {first}")


def _unfenced(agent: str, got: str) -> Fault:
    return fault(
        "proxy-fence",
        f"{agent} reads what threads wrote, with no proxy fence in between",
        got=got,
        expected="fence.proxy.async between the stores and the copy",
        hint="the threads that wrote execute fence.proxy.async, then they meet at a barrier",
        section="Memory Consistency Model, Proxies",
    )


def gather(region: Region, offsets: NDArray[np.int64], size: int) -> Bytes:
    """`size` bytes from each offset: an array of shape offsets.shape + (size,)."""
    return parts_of(region.data, offsets, size)


def parts_of(array: NDArray[Item], offsets: NDArray[np.int64], size: int) -> NDArray[Item]:
    """`size` items from each offset: an array of shape offsets.shape + (size,).

    Where all offsets are multiples of the size it indexes rows of a table, which is faster.
    """
    if size > 1 and not (offsets % size).any():
        table = array[: array.size // size * size].reshape(-1, size)
        found: NDArray[Item] = table[offsets // size]
    else:
        found = array[offsets[..., None] + np.arange(size)]
    return found


def scatter(region: Region, offsets: NDArray[np.int64], data: Bytes) -> None:
    """Write `data` (shape offsets.shape + (size,)) at the offsets, in order."""
    size = data.shape[-1]
    put_parts(region.data, offsets, size, data)
    put_parts(region.written, offsets, size, True)


def put_parts(
    array: NDArray[Item], offsets: NDArray[np.int64], size: int, values: NDArray[Item] | bool
) -> None:
    """Write `size` items at each offset, in order: all of them, or the same for each."""
    if size > 1 and not (offsets % size).any():
        array[: array.size // size * size].reshape(-1, size)[offsets // size] = values
    else:
        array[offsets[..., None] + np.arange(size)] = values


def window_of(address: int) -> Space:
    """The state space that a generic address lies in."""
    if SHARED_WINDOW <= address < SHARED_WINDOW + _SHARED:
        return Space.SHARED
    if LOCAL_WINDOW <= address < LOCAL_WINDOW + _WINDOW:
        return Space.LOCAL
    if PARAM_WINDOW <= address < PARAM_WINDOW + _WINDOW:
        return Space.PARAM
    return Space.GLOBAL
