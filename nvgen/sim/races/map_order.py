"""What tensor maps in global memory need before a copy uses them: a release, and an acquire.

Layer: nvgen.sim.  Copies read tensor maps through a proxy of its own.  What threads (or other
copies) have written to one is seen there behind a proxy release that comes after the writes, and an
acquire of these 128 bytes that comes after the release and before the copy.  Who comes after whom
is known where races are looked for; where they are not, this is not looked at either.

What is not looked at: scopes (every one counts as wide enough).  PTX ISA, membar / fence:
fence.proxy.tensormap::generic; tensormap.cp_fenceproxy; Memory Consistency Model: Proxies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nvgen.sim.async_ops.operation import AsyncOp
from nvgen.sim.faults import Fault, fault
from nvgen.sim.memory.regions import Region
from nvgen.sim.races.epochs import Party, Stamps, unknown
from nvgen.sim.races.happens_before import Clocks, lane_indices
from nvgen.sim.races.vector_clock import Clock, join
from nvgen.sim.threads.parts import FragmentPart, WarpPart
from nvgen.tensor_map import SIZE


@dataclass(frozen=True, slots=True, eq=False)
class _Fence:
    """A proxy fence: the threads that execute it, when, and what it hands on."""

    warp: WarpPart
    mask: int
    tick: int
    handed: Clock

    def is_known(self, clock: Clock, who: FragmentPart, local: int) -> bool:
        """Whether it comes before what threads do that have this clock.

        `local` is the column of its warp's first lane in its CTA.
        """
        if who.warp is self.warp and who.mask & self.mask:
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

    def release(self, clocks: Clocks | None, fragment: FragmentPart) -> None:
        """Threads release what was written to tensor maps, so far as they know of it."""
        if clocks is not None:
            tick = clocks.now
            handed = clocks.release(fragment, fragment.mask)
            self.released.append(_Fence(fragment.warp, fragment.mask, tick, handed))

    def acquire(self, clocks: Clocks | None, fragment: FragmentPart, address: int) -> None:
        """Threads acquire the tensor map at an address: what releases handed on that they know."""
        if clocks is None:
            return
        handed = _handed(self.released, clocks, fragment)
        tick = clocks.now
        clocks.release(fragment, fragment.mask)
        fence = _Fence(fragment.warp, fragment.mask, tick, handed)
        self.acquired.setdefault(address, []).append(fence)

    def check(self, clocks: Clocks | None, region: Region, address: int) -> None:
        """Whether the threads that run may use the tensor map at an address of global memory.

        Raises: Fault when it was written in this launch, and not handed on to them.
        """
        who = None if clocks is None else clocks.who
        if clocks is None or region.shadow is None or who is None or isinstance(who, AsyncOp):
            return
        offset = address - region.base
        stamps = region.shadow.writes.at(slice(offset, offset + SIZE))
        written = np.unique(stamps[stamps != 0])
        if not written.size:
            return
        acquired = _handed(self.acquired.get(address, []), clocks, who)
        if _knows_all(acquired, written, clocks):
            return
        released = [f for f in self.released if _knows_all(f.handed, written, clocks)]
        site = clocks.sites.all[int(region.shadow.writes.sites[offset + _last(stamps)])]
        raise _unseen(site.what, str(site.place), released=bool(released))


def _handed(fences: list[_Fence], clocks: Clocks, who: FragmentPart) -> Clock:
    """What fences hand on to threads that come after them."""
    mine = clocks.of(who.warp).knowledge(who.mask)
    found = Clock()
    for fence in fences:
        if fence.is_known(mine, who, clocks.of(fence.warp).local):
            found = join(found, fence.handed)
    return found


def _knows_all(clock: Clock, stamps: Stamps, clocks: Clocks) -> bool:
    nobody = Party(np.zeros((1, 1), np.int64), -1, ((clock, None),), -1)
    return not unknown(stamps[:, None], nobody, clocks.stride, strong=False).any()


def _last(stamps: Stamps) -> int:
    """The byte that was written last."""
    return int(np.argmax(stamps))


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
