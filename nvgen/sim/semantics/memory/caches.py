"""Caches: prefetches and policies, which change nothing, lines that are discarded, isspacep.

Layer: nvgen.sim.semantics.  The bits of a cache policy are not documented, and no result of a
kernel may depend on them: here all of them are 0.  PTX ISA, prefetch, prefetchu; createpolicy;
discard; applypriority; isspacep.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import Imm, MachineInstr, Mem
from intrinsics.modifiers import SHARED_SPACES, ScalarType, Space
from nvgen.sim.faults import not_simulated
from nvgen.sim.memory.regions import Access, Proxy, window_of
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand

_WINDOWS = {
    Space.GLOBAL: Space.GLOBAL,
    Space.LOCAL: Space.LOCAL,
    Space.PARAM: Space.PARAM,
    Space.PARAM_ENTRY: Space.PARAM,
    **dict.fromkeys(SHARED_SPACES, Space.SHARED),
}


def prefetch(c: Compiler, mi: MachineInstr) -> Step:
    """A prefetch may reach anything: it never faults."""
    c.address(mi["a"])

    def run(strand: Strand) -> Outcome:
        return None

    return run


def discard(c: Compiler, mi: MachineInstr) -> Step:
    """Lines of global memory hold nothing from here on that a read may see."""
    address, size = c.address(mi["a"]), mi["size"]
    space = mi.form.attributes["space"]
    assert isinstance(size, Imm)
    assert space is None or isinstance(space, Space)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        agent = f"{mi.row.head} of warp {warp.number}"
        chosen = address(warp)[strand.lanes]
        lanes = np.flatnonzero(strand.lanes)
        for region, where, part in find(warp.cta, chosen, space, agent, Access.WRITE):
            offsets = warp.cta.machine.memory.access(
                region, where, size.value, Access.WRITE, Proxy.GENERIC, agent, align=size.value,
                lanes=lanes[part],
            )  # fmt: skip
            region.written[offsets[..., None] + np.arange(size.value)] = False
        return None

    return run


def policy(c: Compiler, mi: MachineInstr) -> Step:
    """A cache policy: its operands are read, and it has no effect."""
    types = {"fraction": ScalarType.F32, "primary_size": ScalarType.U32}
    types |= {"total_size": ScalarType.U32, "a": ScalarType.U64}
    for name, type_ in types.items():
        op = mi.get(name)
        if isinstance(op, Mem):
            c.address(op)
        elif op is not None:
            c.get(op, type_)
    result = mi["d"]
    assert type(result) is int
    write = c.set(result)

    def run(strand: Strand) -> Outcome:
        write(strand, np.zeros(WARP, np.uint64))
        return None

    return run


def in_window(c: Compiler, mi: MachineInstr) -> Step:
    """Whether a generic address lies in a state space."""
    space, result = mi.form.attributes["space"], mi["p"]
    window = _WINDOWS.get(space) if isinstance(space, Space) else None
    if window is None:
        raise not_simulated("the window of constant memory")
    assert type(result) is int
    get, write = c.get(mi["a"], ScalarType.U64), c.set(result)

    def run(strand: Strand) -> Outcome:
        addresses = get(strand.warp)
        write(strand, np.array([window_of(int(a)) is window for a in addresses]))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "prefetch": prefetch,
    "prefetch.tensormap": prefetch,
    "prefetchu": prefetch,
    "applypriority": prefetch,
    "discard": discard,
    "isspacep": in_window,
    **dict.fromkeys(("createpolicy.fractional", "createpolicy.range", "createpolicy.cvt"), policy),
}
