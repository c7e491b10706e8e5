"""Earlier values: what strong loads may still find behind a store.

Layer: nvgen.sim.  Strong accesses of two threads do not race, but their order is open: unless the
store happens before the load, the load may find what was there before, whatever else its thread has
seen.  Under a random schedule it does, some of the time.  Once a thread has found the new value
nobody finds the old one; atomic operations always find the newest.  PTX ISA, Memory Consistency
Model: Observation, Coherence, Causality.
"""

from __future__ import annotations

import random
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.races.scopes import LocationReleases
from nvgen.sim.races.shadow import Shadow

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Threads = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The old value of a location, with the epoch of the store that replaced it and the clocks
    released there.
    """

    data: Bytes
    epoch: int
    flag: LocationReleases | None


@dataclass(slots=True, eq=False)
class Earlier:
    """The earlier values of one memory, by offset."""

    shadow: Shadow
    dice: random.Random
    _kept: dict[int, Before] = field(default_factory=dict)

    def keep(self, offsets: Places, size: int, held: Bytes) -> None:
        """Keep what strong stores, which the shadow has recorded, are about to overwrite."""
        flags, epochs = self.shadow.flags, self.shadow.writes.epochs
        for offset in offsets.reshape(-1).tolist():
            flag = flags.get(offset)
            before = LocationReleases(dict(flag.releases)) if flag is not None else None
            data = held[offset : offset + size].copy()
            self._kept[offset] = Before(data, int(epochs[offset]), before)

    def put(
        self, found: Bytes, offsets: Places, lanes: Threads
    ) -> dict[int, LocationReleases | None]:
        """Put earlier values in the place of some that loads by these lanes have `found`, a row
        for each.

        What had been released where they were, by the number of the load.
        """
        late: dict[int, LocationReleases | None] = {}
        chosen: dict[int, Before | None] = {}
        places = offsets.reshape(-1)
        for number, offset in enumerate(places.tolist() if self._kept else ()):
            if offset not in chosen:
                chosen[offset] = self._choose(offset, lanes[places == offset], found.shape[1])
            before = chosen[offset]
            if before is not None:
                found[number], late[number] = before.data, before.flag
        return late

    def _choose(self, offset: int, lanes: Threads, size: int) -> Before | None:
        """What loads of one place find, if it is an earlier value."""
        before = self._kept.get(offset)
        if before is None:
            return None
        is_newest = before.epoch == int(self.shadow.writes.epochs[offset])
        fits = before.data.size == size
        if is_newest and fits and self.shadow.is_open(offset, lanes) and self.dice.random() < 0.5:
            return before
        del self._kept[offset]
        return None
