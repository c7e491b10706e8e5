"""Where the shared variables of a kernel and the local ones of a function lie.

Layer: nvgen.sim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from intrinsics.findings import input_error
from intrinsics.limits import MOST_SHARED
from intrinsics.mir import MachineFunction, Module, Variable
from intrinsics.modifiers import Space
from isel.variables import lay_out, round_up


def shared_layout(module: Module, function: MachineFunction) -> tuple[dict[str, int], int]:
    """Offsets of the shared variables of a module and of one of its kernels, static ones first, and
    the size of the static part.

    Dynamic shared memory (unsized external arrays) begins after them, at the alignment it asks for.
    """
    known = (*module.variables, *function.variables)
    variables = [v for v in known if v.space is Space.SHARED]
    offsets, at = lay_out(v for v in variables if v.size)
    dynamic = [v for v in variables if not v.size]
    at = round_up(at, max((v.align for v in dynamic), default=1)) if dynamic else at
    offsets.update((v.name, at) for v in dynamic)
    return offsets, at


def check_size(static: int, dynamic: int) -> None:
    """Whether the simulator makes a CTA's shared memory so large, in bytes.

    What the target has is judged before, by the rules of launch level, and of variables that are
    named; here all of them take room, and a caller may not have asked those rules.

    Raises: InputError.
    """
    if dynamic < 0 or static + dynamic > MOST_SHARED:
        raise input_error(
            "run/shared-memory",
            "no CTA can have this much shared memory",
            got=f"{static} static and {dynamic} dynamic bytes",
            expected=f"0 to {MOST_SHARED} in all",
        )


@dataclass(frozen=True, slots=True)
class LocalLayout:
    """Where local variables lie, from an address that is a multiple of `align`: bytes each."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    size: int = 0
    align: int = 1


def local_layout(variables: Iterable[Variable]) -> LocalLayout:
    """The local ones of some variables, one behind the other."""
    local = [v for v in variables if v.space is Space.LOCAL]
    offsets, at = lay_out(local)
    widest = max((v.align for v in local), default=1)
    return LocalLayout(offsets, round_up(at, widest), widest)
