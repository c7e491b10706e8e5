"""The layout of the shared variables of a kernel, and of the local ones of a function.

Layer: nvgen.sim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import MOST_SHARED
from intrinsics.mir import MachineFunction, Module, Variable
from intrinsics.modifiers import Space
from isel.variables import aligned_offsets, round_up


def shared_layout(module: Module, function: MachineFunction) -> tuple[dict[str, int], int]:
    """Offsets of the shared variables of a module and of one of its kernels, static ones first, and
    the size of the static part.

    Dynamic shared memory (unsized external arrays) begins after them, at the alignment it asks for.
    """
    known = (*module.variables, *function.variables)
    variables = [v for v in known if v.space is Space.SHARED]
    offsets, at = aligned_offsets(v for v in variables if v.size)
    dynamic = [v for v in variables if not v.size]
    at = round_up(at, max((v.align for v in dynamic), default=1)) if dynamic else at
    offsets.update((v.name, at) for v in dynamic)
    return offsets, at


def names_in_shared(
    offsets: Mapping[str, int], dynamic: int, parts: Iterable[tuple[str, int]]
) -> dict[int, str]:
    """What begins where in shared memory: variables, and named `parts` of what is `dynamic`."""
    return {at: name for name, at in offsets.items()} | {dynamic + at: name for name, at in parts}


def check_size(static: int, dynamic: int) -> None:
    """Check that the shared memory of a CTA, in bytes, can be simulated.

    The limits of the target are checked at launch level, for variables that are referred to; here
    all variables count, and a caller may not have asked those rules.
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
    """Offsets of local variables from an address that is a multiple of `align`, in bytes."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    size: int = 0
    align: int = 1


def local_layout(variables: Iterable[Variable]) -> LocalLayout:
    """The layout of the local variables among these, in order."""
    local = [v for v in variables if v.space is Space.LOCAL]
    offsets, at = aligned_offsets(local)
    widest = max((v.align for v in local), default=1)
    return LocalLayout(offsets, round_up(at, widest), widest)
