"""The last signals between warps: ordered writes, arrivals, and the reads and waits that saw them.

Layer: nvgen.sim.  The report of a race names the signal behind its first access and the one before
its second: where these do not order the two, one of them is wrong, or missing.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.parts import InstructionPart, WarpPart

Warp = tuple[int, int]
"""The number of a CTA, and that of a warp in it."""


@dataclass(slots=True, eq=False)
class Signals:
    """The instructions by which each warp has signalled, with their ticks, and its last acquiring
    one.

    Of signals by one instruction in direct succession, as in a loop, the last is kept.
    """

    sent: dict[Warp, list[tuple[int, InstructionPart]]] = field(default_factory=dict)
    observed: dict[Warp, InstructionPart] = field(default_factory=dict)

    def send(self, warp: WarpPart, at: InstructionPart | None, tick: int) -> None:
        """Record that a warp signals: an ordered write, or an arrival at an mbarrier."""
        if at is None:
            return
        mine = self.sent.setdefault((warp.cta.number, warp.number), [])
        if mine and mine[-1][1] is at:
            mine.pop()
        mine.append((tick, at))

    def observe(self, warp: WarpPart, at: InstructionPart | None) -> None:
        """Record that a warp has acquired what another one released."""
        if at is not None:
            self.observed[warp.cta.number, warp.number] = at

    def behind(self, warp: Warp, tick: int) -> Place | None:
        """The place of a warp's first signal after a tick."""
        return next((at.place for sent, at in self.sent.get(warp, ()) if sent > tick), None)

    def before(self, warp: Warp) -> Place | None:
        """The place of a warp's last acquiring read or wait."""
        found = self.observed.get(warp)
        return None if found is None else found.place
