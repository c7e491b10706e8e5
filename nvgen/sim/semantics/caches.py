"""Prefetches, which change nothing, and questions about generic addresses.

Layer: nvgen.sim.semantics.  PTX ISA, prefetch, prefetchu; isspacep.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.compile import Compiler, Maker
from nvgen.sim.faults import not_simulated
from nvgen.sim.machine import Fragment, Outcome, Step
from nvgen.sim.memory import window_of

_SHARED = (Space.SHARED, Space.SHARED_CTA, Space.SHARED_CLUSTER)
_WINDOWS = {
    Space.GLOBAL: Space.GLOBAL,
    Space.LOCAL: Space.LOCAL,
    Space.PARAM: Space.PARAM,
    Space.PARAM_ENTRY: Space.PARAM,
    **dict.fromkeys(_SHARED, Space.SHARED),
}


def prefetch(c: Compiler, mi: MachineInstr) -> Step:
    """A prefetch may reach anything: it never faults."""
    c.address(mi["a"])

    def run(fragment: Fragment) -> Outcome:
        return None

    return run


def in_window(c: Compiler, mi: MachineInstr) -> Step:
    """Whether a generic address lies in a state space."""
    space, result = mi.form.facts["space"], mi["p"]
    window = _WINDOWS.get(space) if isinstance(space, Space) else None
    if window is None:
        raise not_simulated("the window of constant memory")
    assert type(result) is int
    get, write = c.get(mi["a"], ScalarType.U64), c.set(result)

    def run(fragment: Fragment) -> Outcome:
        addresses = get(fragment.warp)
        write(fragment, np.array([window_of(int(a)) is window for a in addresses]))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "prefetch": prefetch,
    "prefetch.tensormap": prefetch,
    "prefetchu": prefetch,
    "isspacep": in_window,
}
