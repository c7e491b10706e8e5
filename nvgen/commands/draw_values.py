"""Values of `nvgen draw`'s and `nvgen explain`'s options: numbers and names, or why they are none.

Layer: nvgen.commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from intrinsics.findings import input_error
from intrinsics.modifiers import MmaKind

T = TypeVar("T")

KINDS = {k.value.removeprefix("kind::"): k for k in MmaKind}


def choice(option: str, text: str, known: Mapping[str, T]) -> T:
    """What `text` stands for among the known names of an option.

    Raises: InputError.
    """
    found = known.get(text)
    if found is None:
        raise input_error(
            f"draw/{option}", f"no such --{option}", got=text, expected=", ".join(known)
        )
    return found


def number(option: str, text: str, low: int, high: int, *, step: int = 1) -> int:
    """An option's number: decimal, 0x… or 0b….

    Raises: InputError when it is none, is out of bounds or no multiple of `step`.
    """
    try:
        value = int(text, 0)
    except ValueError:
        value = low - 1
    if low <= value <= high and value % step == 0:
        return value
    bounds = f"a multiple of {step}" if step > 1 else "a number"
    raise input_error(
        f"draw/{option}", f"no --{option} can be this", got=text,
        expected=f"{bounds} from {low} to {high}",
    )  # fmt: skip


def kind_of(name: str, rule: str = "draw/kind") -> MmaKind:
    """The MMA kind called `name`, with or without `kind::`.

    Raises: InputError.
    """
    found = KINDS.get(name.removeprefix("kind::"))
    if found is None:
        raise input_error(rule, f"no MMA kind '{name}'", got=name, expected=", ".join(KINDS))
    return found
