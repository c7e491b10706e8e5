"""Race detection for a launch: attaches shadows to memories, and clocks to the engine.

Layer: nvgen.sim.  Input: a machine that has not begun to run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from intrinsics.findings import SimulationError
from intrinsics.limits import COLUMNS, LANES
from nvgen.sim.async_ops.schedule import Mode
from nvgen.sim.memory.regions import Region
from nvgen.sim.races.earlier import Earlier
from nvgen.sim.races.happens_before import Clocks
from nvgen.sim.races.scopes import Clusters
from nvgen.sim.races.shadow import CELLS, Shadow
from nvgen.sim.threads.machine import Code, Machine

MOST_BYTES = 1 << 26
"""The most bytes of an allocation of global memory that is watched."""

_EARLY_SIGNS = ("sim/uninitialized", "sim/exit-pending")
"""Faults under a late schedule that may be due to a race."""


def watch(machine: Machine, names: Mapping[int, str]) -> None:
    """Detect races from here on; `names` are those of what begins at an offset of shared memory."""
    homes = np.array([cta.cluster.number for cta in machine.ctas], np.int64)
    clocks = Clocks(max(len(cta.warps) for cta in machine.ctas), Clusters(homes))
    machine.engine.clocks = clocks
    alone = len(machine.ctas) == 1
    for region in machine.memory.allocations:
        watch_allocation(machine, region)
    together = machine.cluster == (1, 1, 1)
    has_tensors = any(_has_tensors(code) for code in machine.functions.values())
    for cta in machine.ctas:
        home = cta.number if together else -1
        name = "shared memory" if alone else f"shared memory of CTA {cta.number}"
        size = cta.shared.data.size
        shadow = Shadow.of(clocks, name, size, home=home, owner=cta.number, names=names)
        _attach(machine, cta.shared, shadow)
        if has_tensors:
            name = "tensor memory" if alone else f"tensor memory of CTA {cta.number}"
            cta.tensor.shadow = Shadow.of(clocks, name, LANES * COLUMNS, home=home, unit=CELLS)


def watch_allocation(machine: Machine, region: Region) -> None:
    """Detect races in an allocation of global memory, if they are detected at all."""
    clocks, size = machine.engine.clocks, region.data.size
    if clocks is not None and size <= MOST_BYTES:
        home = 0 if len(machine.ctas) == 1 else -1
        _attach(machine, region, Shadow.of(clocks, region.name, size, home=home))


def _attach(machine: Machine, region: Region, shadow: Shadow) -> None:
    """Watch a memory; under a random schedule strong loads may find earlier values in it."""
    region.shadow = shadow
    if machine.engine.schedule.mode is Mode.RANDOM:
        region.earlier = Earlier(shadow, machine.engine.dice)


def _has_tensors(code: Code) -> bool:
    """Whether a function uses tensor memory."""
    return any(i.mi.row.id.startswith("tcgen05.") for b in code.blocks for i in b.instructions)


def explained(machine: Machine, error: SimulationError) -> SimulationError:
    """The race behind a fault, or the fault itself.

    Where an operation is late, an access finds uninitialised memory, or the kernel ends before it;
    once the operation takes effect, it races with the access.
    """
    clocks = machine.engine.clocks
    if clocks is None or error.findings[0].rule not in _EARLY_SIGNS:
        return error
    for op in [*machine.engine.in_flight]:
        if op.hopeless:
            continue
        try:
            machine.engine.finish(op)
        except SimulationError as other:
            if other.findings[0].rule == "sim/race":
                return other
    return error
