"""The event of setmaxnreg: registers that a warp releases to, or waits for from, its CTA's pool.

Layer: isel.verifier.ordering.events.  PTX ISA, setmaxnreg.
"""

from __future__ import annotations

from intrinsics.mir import Imm
from isel.verifier.function.participants.registers import WAITS
from isel.verifier.ordering.events.execution import Event, Execution


def _change(e: Execution) -> bool:
    """Move registers between a warp and its CTA's `pool`; they are counted for one lane."""
    count, first = e.mi.get("count"), e.run.launch.registers
    if not isinstance(count, Imm) or not first:
        return True
    held, pool, rank = e.machine.registers, e.machine.pool, e.strand.rank
    more = count.value - held.get(e.strand.actor, first)

    def has_room() -> bool:
        return pool.get(rank, 0) >= more

    def resume() -> bool:
        held[e.strand.actor] = count.value
        pool[rank] = pool.get(rank, 0) - more
        e.machine.changed = True
        return True

    return resume() if more <= 0 or has_room() else e.wait(has_room, resume, WAITS)


EVENTS: dict[str, Event] = dict.fromkeys(("setmaxnreg.inc", "setmaxnreg.dec"), _change)
"""By row."""
