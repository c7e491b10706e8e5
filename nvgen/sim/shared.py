"""Where the shared and the local variables of a kernel lie.

Layer: nvgen.sim.
"""

from __future__ import annotations

from intrinsics.mir import MachineFunction, Module
from intrinsics.modifiers import Space


def shared_layout(module: Module, function: MachineFunction) -> tuple[dict[str, int], int]:
    """Offsets of the shared variables of a module and of one of its kernels, static ones first, and
    the size of the static part.

    Dynamic shared memory (unsized external arrays) begins after them, at the alignment it asks for.
    """
    offsets: dict[str, int] = {}
    at = 0
    known = (*module.variables, *function.variables)
    variables = [v for v in known if v.space is Space.SHARED]
    for variable in variables:
        if variable.size:
            at = round_up(at, variable.align)
            offsets[variable.name] = at
            at += variable.size
    dynamic = [v for v in variables if not v.size]
    at = round_up(at, max((v.align for v in dynamic), default=1)) if dynamic else at
    offsets.update((v.name, at) for v in dynamic)
    return offsets, at


def local_layout(module: Module) -> tuple[dict[str, int], int]:
    """Offsets of local variables, and the bytes of local memory that each thread has.

    Every function has its own place, whatever calls it.  No variable is at address 0.
    """
    offsets: dict[str, int] = {}
    own = [v for f in module.functions for v in f.variables]
    variables = [v for v in (*module.variables, *own) if v.space is Space.LOCAL]
    at = _FIRST if variables else 0
    for variable in variables:
        at = round_up(at, variable.align)
        offsets[variable.name] = at
        at += variable.size
    return offsets, round_up(at, max((v.align for v in variables), default=1))


_FIRST = 16


def round_up(n: int, align: int) -> int:
    """`n`, or the next multiple of `align` after it."""
    return (n + align - 1) // align * align
