"""The order of writes to a tensor map in global memory and copies that use it.

Layer: nvgen.sim.  Copies read tensor maps through the tensormap proxy.  A write of threads (or of
other copies) is visible there after a proxy release that follows the write, and an acquire of these
128 bytes that follows the release and precedes the copy.  It is checked only where races are
sought. Scopes are not checked: every one counts as wide enough.  PTX ISA, membar / fence:
fence.proxy.tensormap::generic; tensormap.cp_fenceproxy; Memory Consistency Model: Proxies.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from nvgen.launching.tensor_map import SIZE
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.parts import StrandPart, WarpPart
from nvgen.sim.actors.vector_clock import Clock, join
from nvgen.sim.faults import Fault, fault
from nvgen.sim.memory.regions import Region
from nvgen.sim.races.epochs import Accessor, Epochs, unordered
from nvgen.sim.races.happens_before import Clocks
from nvgen.sim.races.warp_clocks import lane_indices


@dataclass(frozen=True, slots=True, eq=False)
class _Fence:
    """A proxy fence: the threads that execute it, its tick, and the clock that it releases."""

    warp: WarpPart
    mask: int
    tick: int
    release: Clock

    def is_known(self, clock: Clock, actor: StrandPart, local: int) -> bool:
        """Whether the fence happens before threads that have this clock.

        `local` is the column of its warp's first lane in its CTA.
        """
        if actor.warp is self.warp and actor.mask & self.mask:
            return True
        cta = self.warp.cta.number
        if clock.floor(cta) >= self.tick:
            return True
        row = clock.rows.get(cta)
        return row is not None and int(row[local + lane_indices(self.mask)].max()) >= self.tick


@dataclass(slots=True, eq=False)
class MapOrder:
    """The proxy releases of a launch, and its acquires by address."""

    released: list[_Fence] = field(default_factory=list)
    acquired: dict[int, list[_Fence]] = field(default_factory=dict)

    def release(self, clocks: Clocks | None, strand: StrandPart) -> None:
        """A proxy release: it releases writes to tensor maps that happen before it."""
        if clocks is not None:
            tick = clocks.now
            release = clocks.release(strand, strand.mask)
            self.released.append(_Fence(strand.warp, strand.mask, tick, release))

    def acquire(self, clocks: Clocks | None, strand: StrandPart, address: int) -> None:
        """A proxy acquire of the tensor map at an address, from the releases that happen before
        it.
        """
        if clocks is None:
            return
        release = _releases_before(self.released, clocks, strand)
        tick = clocks.now
        clocks.release(strand, strand.mask)
        fence = _Fence(strand.warp, strand.mask, tick, release)
        self.acquired.setdefault(address, []).append(fence)

    def check(self, clocks: Clocks | None, region: Region, address: int) -> None:
        """Check that the current threads may use the tensor map at an address of global memory.

        Raises: Fault when it was written in this launch, and not released and acquired since.
        """
        actor = None if clocks is None else clocks.actor
        if clocks is None or region.shadow is None or actor is None or isinstance(actor, AsyncOp):
            return
        offset = address - region.base
        epochs = region.shadow.writes.at(slice(offset, offset + SIZE))
        written = np.unique(epochs[epochs != 0])
        if not written.size:
            return
        acquired = _releases_before(self.acquired.get(address, []), clocks, actor)
        if _all_ordered(acquired, written, clocks):
            return
        released = [f for f in self.released if _all_ordered(f.release, written, clocks)]
        site = clocks.sites.all[int(region.shadow.writes.sites[offset + _last(epochs)])]
        raise _unseen(site.what, str(site.place), released=bool(released))


def _releases_before(fences: list[_Fence], clocks: Clocks, actor: StrandPart) -> Clock:
    """The join of what these fences release, of those that happen before the current threads."""
    mine = clocks.of(actor.warp).joined(actor.mask)
    found = Clock()
    for fence in fences:
        if fence.is_known(mine, actor, clocks.of(fence.warp).local):
            found = join(found, fence.release)
    return found


def _all_ordered(clock: Clock, epochs: Epochs, clocks: Clocks) -> bool:
    none = Accessor(np.zeros((1, 1), np.int64), -1, ((clock, None),), -1)
    return not unordered(epochs[:, None], none, clocks.stride, clocks.clusters).any()


def _last(epochs: Epochs) -> int:
    """The index of the byte with the latest write."""
    return int(np.argmax(epochs))


def _unseen(what: str, place: str, *, released: bool) -> Fault:
    expected = (
        "fence.proxy.tensormap::generic.acquire of the map between the release and the copy"
        if released
        else "tensormap.cp_fenceproxy, or fence.proxy.tensormap::generic.release behind the write"
    )
    return fault(
        "tensor-map-proxy",
        f"a copy uses a tensor map that {what} wrote, with no proxy "
        f"{'acquire' if released else 'release'} in between",
        got=f"written at {place}",
        expected=expected,
        hint="the thread that copies acquires the 128 bytes, behind a release by who wrote them",
        section="membar / fence",
    )
