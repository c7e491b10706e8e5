"""Variables of a module: which shared ones functions name, and where variables lie in a row.

Layer: isel.  Input: records.  Output: variables; offsets and sizes in bytes.  PTX ISA, Shared State
Space, Variable Declarations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intrinsics.mir import MachineFunction, Mem, Module, Sym, Variable
from intrinsics.modifiers import Space


def named_shared(module: Module, functions: Sequence[MachineFunction]) -> list[Variable]:
    """The shared variables of a module and of some of its functions that those functions name.

    ptxas drops the others.
    """
    names: set[str] = set()
    for function in functions:
        for mi in function.instructions():
            for op in mi.ops:
                place = op.base if isinstance(op, Mem) else op
                if isinstance(place, Sym):
                    names.add(place.name)
    known = (*module.variables, *(v for f in functions for v in f.variables))
    return [v for v in known if v.space is Space.SHARED and v.name in names]


def aligned_offsets(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Offsets by name of variables one behind the other, each aligned, and where the last ends."""
    offsets: dict[str, int] = {}
    at = 0
    for variable in variables:
        at = offsets[variable.name] = round_up(at, variable.align)
        at += variable.size
    return offsets, at


def round_up(n: int, align: int) -> int:
    """`n`, or the next multiple of `align` after it."""
    return (n + align - 1) // align * align
