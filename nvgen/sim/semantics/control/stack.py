"""The stack of a thread: alloca, stacksave, stackrestore.

Layer: nvgen.sim.semantics.  What a function has allocated is freed when it returns.  PTX ISA,
alloca; stacksave; stackrestore.
"""

from __future__ import annotations

import numpy as np

from intrinsics.mir import Imm, MachineInstr, Reg
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand

_ALIGNED = 8
"""The alignment where none is given.  PTX ISA, alloca."""


def _result(mi: MachineInstr) -> Reg:
    found = mi["d"]
    assert type(found) is int
    return found


def alloca(c: Compiler, mi: MachineInstr) -> Step:
    """Allocate bytes on the stack; their address in local memory."""
    write = c.set(_result(mi))
    size = c.get(mi["size"], mi.scalar_type())
    stated = mi.get("align")
    align = stated.value if isinstance(stated, Imm) else _ALIGNED

    def run(strand: Strand) -> Outcome:
        lanes = np.flatnonzero(strand.lanes)
        found = np.zeros(WARP, np.int64)
        wanted = size(strand.warp)[lanes].astype(np.uint64)
        found[lanes] = strand.warp.local.take(lanes, wanted, align)
        write(strand, found)
        return None

    return run


def stacksave(c: Compiler, mi: MachineInstr) -> Step:
    """The stack pointer."""
    write = c.set(_result(mi))

    def run(strand: Strand) -> Outcome:
        write(strand, strand.warp.local.top.copy())
        return None

    return run


def stackrestore(c: Compiler, mi: MachineInstr) -> Step:
    """Free what was allocated since the stack pointer was saved."""
    saved = c.get(mi["a"], mi.scalar_type())

    def run(strand: Strand) -> Outcome:
        lanes = np.flatnonzero(strand.lanes)
        strand.warp.local.give_back(lanes, saved(strand.warp)[lanes].astype(np.uint64))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "alloca": alloca,
    "stacksave": stacksave,
    "stackrestore": stackrestore,
}
