"""Pipelined tcgen05 operations: which the machine executes in the order of their issue.

Layer: nvgen.sim.semantics.  Input: the operations in flight; output: those ordered before the next
one.  PTX ISA, Pipelined tcgen05 Instructions: multiplies follow copies and shifts, shifts follow
multiplies, a copy of .4x256b follows shifts, all of one .cta_group; no other pair is ordered (two
multiplies of one accumulator and shape are: see `mma`).

The pairs hold within a thread, and between threads that synchronise with the fences of tcgen05.
Here operations take effect in this order for all threads of the CTAs concerned; missing
synchronisation is found by the clocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.engine import Engine
from nvgen.sim.threads.machine import Cta


class TensorOp(Enum):
    """Operations that are pipelined."""

    MMA = "tcgen05.mma"
    COPY = "tcgen05.cp"
    COPY_4X256B = "tcgen05.cp.4x256b"
    SHIFT = "tcgen05.shift"


_FOLLOWS = {
    TensorOp.MMA: ("tcgen05.cp", "tcgen05.shift"),
    TensorOp.COPY: (),
    TensorOp.COPY_4X256B: ("tcgen05.shift",),
    TensorOp.SHIFT: ("tcgen05.mma",),
}
"""First words of the names of operations that come first."""


def earlier(engine: Engine, op: TensorOp, ctas: Iterable[Cta]) -> tuple[AsyncOp, ...]:
    """The operations in flight, issued by threads of `ctas`, that `op` is pipelined after."""
    numbers = {cta.number for cta in ctas}
    return tuple(
        other
        for other in engine.tracked
        if other.thread[0] in numbers and other.name.startswith(_FOLLOWS[op])
    )
