"""The vector clocks of a warp's threads, kept once where they are alike.

Layer: nvgen.sim.  What a thread knows is a clock; most threads of a warp know the same.
"""

from __future__ import annotations

import functools
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.parts import WarpPart
from nvgen.sim.actors.vector_clock import LANES, NOTHING, Clock, Ticks, common, join
from nvgen.sim.races.scopes import UNRELEASED, Observed, Released
from nvgen.sim.races.tensor_fences import TensorOrder


@functools.cache
def lane_indices(mask: int) -> NDArray[np.intp]:
    """The lanes of a mask, in order."""
    found = np.array([lane for lane in range(LANES) if mask >> lane & 1], np.intp)
    found.setflags(write=False)
    return found


@dataclass(slots=True, eq=False)
class WarpClocks:
    """The clocks of the threads of a warp.

    `seen` is what relaxed reads have read and no fence has acquired; `released` is what the latest
    fences of a thread release with its next relaxed write.  `multiplied` are the warpgroup's
    multiplies that the warp has waited for, with the operations ordered before them: their reads
    are complete, so that an arrival need not release them.  `met` are the threads of the latest
    shuffle or vote with what they had done; `exchanged` are these until the next access to memory.
    """

    warp: WarpPart
    cta: int
    base: int  # the column of lane 0, counted over the launch
    local: int  # and in its CTA
    blank: Ticks  # the row of a clock that none of the CTA's threads happens before
    lanes: list[Clock] = field(default_factory=lambda: [NOTHING] * LANES)
    alike: bool = True  # whether all threads share one clock
    seen: list[Observed | None] = field(default_factory=lambda: [None] * LANES)
    released: list[Released] = field(default_factory=lambda: [UNRELEASED] * LANES)
    multiplied: Clock = NOTHING
    exchanged: int = 0
    met: tuple[int, Clock] = (0, NOTHING)
    tensor: TensorOrder = field(default_factory=TensorOrder)

    def joined(self, mask: int) -> Clock:
        """The join of the clocks of the threads of a mask."""
        if self.alike:
            return self.lanes[0]
        found: Clock = NOTHING
        for clock in {id(c): c for c in self.some(mask)}.values():
            found = join(found, clock)
        return found

    def common(self, mask: int) -> Clock:
        """The meet of the clocks of the threads of a mask."""
        if self.alike:
            return self.lanes[0]
        first, *others = {id(c): c for c in self.some(mask)}.values()
        for other in others:
            first = common(first, other)
        return first

    def some(self, mask: int) -> list[Clock]:
        """The clocks of the threads of a mask, in order."""
        return [self.lanes[lane] for lane in range(LANES) if mask >> lane & 1]

    def acquire(self, mask: int, clock: Clock | None) -> None:
        """Join a clock to those of the threads of a mask."""
        if clock is None or clock is NOTHING:
            return
        running = self.warp.launched
        if self.alike and mask & running == running:
            self.lanes = [join(self.lanes[0], clock)] * LANES
            return
        known: dict[int, Clock] = {}
        for lane in range(LANES):
            if mask >> lane & 1:
                old = self.lanes[lane]
                if id(old) not in known:
                    known[id(old)] = join(old, clock)
                self.lanes[lane] = known[id(old)]
        self._compare()

    def adopt(self, mask: int, clock: Clock) -> None:
        """Replace the clocks of the threads of a mask by a later one."""
        running = self.warp.launched
        if mask & running == running:
            self.lanes, self.alike = [clock] * LANES, True
            return
        for lane in lane_indices(mask):
            self.lanes[lane] = clock
        self._compare()

    def _compare(self) -> None:
        """Update `alike`."""
        running = self.warp.launched
        first = self.lanes[(running & -running).bit_length() - 1]
        self.alike = all(
            clock is first for lane, clock in enumerate(self.lanes) if running >> lane & 1
        )
        if self.alike:
            self.lanes = [first] * LANES
