"""Values of `nvgen draw`'s and `nvgen explain`'s options: numbers and names, or why they are none.

Layer: nvgen.commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from intrinsics.descriptors.idesc import INPUT_CODES
from intrinsics.element import ElementType
from intrinsics.findings import input_error
from intrinsics.modifiers import MmaKind

T = TypeVar("T")

KINDS = {k.value.removeprefix("kind::"): k for k in MmaKind}


def choice(option: str, text: str, known: Mapping[str, T], command: str = "draw") -> T:
    """The value of an option of `nvgen COMMAND` that `text` names.

    Raises: InputError.
    """
    found = known.get(text)
    if found is None:
        raise input_error(
            f"{command}/{option}", f"no such --{option}", got=text, expected=", ".join(known)
        )
    return found


def number(
    option: str, text: str, low: int, high: int, *, step: int = 1, command: str = "draw"
) -> int:
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
        f"{command}/{option}", f"no --{option} can be this", got=text,
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


def input_type(name: str, rule: str = "draw/type") -> ElementType:
    """The type of A and B called `name`.

    Raises: InputError.
    """
    known = {type_.value: type_ for codes in INPUT_CODES.values() for type_ in codes.values()}
    found = known.get(name)
    if found is None:
        raise input_error(rule, "no type of an MMA's A and B", got=name, expected=", ".join(known))
    return found


def kind_with(name: str | None, type_: ElementType, command: str = "draw") -> MmaKind:
    """The kind called `name`, else the first one that multiplies `type_`.

    Raises: InputError when it does not.
    """
    fitting = [kind for kind, codes in INPUT_CODES.items() if type_ in codes.values()]
    if name is None:
        return fitting[0]
    kind = kind_of(name, f"{command}/kind")
    if kind in fitting:
        return kind
    raise input_error(
        f"{command}/kind", f"{kind.value} has no {type_.value}", got=kind.value,
        expected=", ".join(k.value for k in fitting),
    )  # fmt: skip
