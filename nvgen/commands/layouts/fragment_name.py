"""The names of register fragments, which `nvgen draw fragment` and `nvgen explain fragment` share.

Layer: nvgen.commands.  A fragment of tcgen05.ld and .st is called by its shape and number,
`16x64b.x2.pack::16b`, in one word or by the options --shape, --num and --pack; others are called
as `intrinsics.layouts.register_fragment` has it.
"""

from __future__ import annotations

import argparse
import re

from intrinsics.findings import InputError, input_error
from intrinsics.layouts.register_elements import RegisterFragment
from intrinsics.layouts.register_fragment import EXAMPLES, named_fragment
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import LdStNum, LdStShape
from nvgen.commands.layouts.fragment_options import FRAGMENT_OPTIONS
from nvgen.commands.layouts.values import choice
from nvgen.drawing.fragment import MOST_REGISTERS, REGISTERS

_TENSOR = re.compile(r"\.?(\w+?)(?:\.(x\d+))?(\.(?:un)?pack::16b)?")


@dataclass(frozen=True, slots=True)
class TensorFragment:
    """Registers of tcgen05.ld and .st."""

    shape: LdStShape
    num: LdStNum
    pack: bool

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return REGISTERS[self.shape] * self.num.times


def spelled(arguments: argparse.Namespace) -> str:
    """The name that the options spell."""
    parts = [arguments.shape.lstrip("."), (arguments.num or "x1").lstrip(".")]
    return ".".join(parts) + ".pack::16b" * bool(arguments.pack)


def fragment_of(
    name: str | None, arguments: argparse.Namespace, command: str
) -> TensorFragment | RegisterFragment:
    """The fragment that a name or options mean.

    Raises: InputError.
    """
    if name is None:
        return _by_options(arguments, command)
    match = _TENSOR.fullmatch(name)
    shapes = {shape.value: shape for shape in LdStShape}
    nums = {num.value: num for num in LdStNum}
    if match is None or match[1] not in shapes or (match[2] or "x1") not in nums:
        found = named_fragment(name)
        if found is None:
            raise no_fragment(name, command)
        _no_options(arguments, name, command)
        return found
    num = nums[match[2]] if match[2] else None
    if num is not None and arguments.num is not None:
        raise _twice("--num", name, command)
    if num is None:
        num = _num(arguments.num, command)
    pack = match[3] is not None or bool(arguments.pack)
    made = TensorFragment(shapes[match[1]], num, pack)
    if made.registers > MOST_REGISTERS:
        raise no_fragment(name, command)
    return made


def _by_options(arguments: argparse.Namespace, command: str) -> TensorFragment:
    known = {s.value: s for s in LdStShape}
    shape = choice("shape", arguments.shape.lstrip("."), known, command)
    made = TensorFragment(shape, _num(arguments.num, command), bool(arguments.pack))
    if made.registers > MOST_REGISTERS:
        most = MOST_REGISTERS // REGISTERS[shape]
        raise input_error(
            f"{command}/num", f".{shape.value} has no .{made.num.value}", got=made.num.value,
            expected=f"x1 to x{most}", hint=f"a thread has {MOST_REGISTERS} registers for it",
        )  # fmt: skip
    return made


def _num(text: str | None, command: str) -> LdStNum:
    return choice("num", (text or "x1").lstrip("."), {n.value: n for n in LdStNum}, command)


def _no_options(arguments: argparse.Namespace, name: str, command: str) -> None:
    for option in FRAGMENT_OPTIONS[1:]:
        if getattr(arguments, option) is not None:
            raise _twice(f"--{option}", name, command)


def _twice(option: str, name: str, command: str) -> InputError:
    return input_error(
        f"{command}/option", f"{option} and a name that says all", got=f"{name} {option}",
        expected="the name alone, or --shape, --num and --pack",
    )  # fmt: skip


def no_fragment(text: str, command: str) -> InputError:
    """The error about a name that no fragment has."""
    return input_error(
        f"{command}/fragment", "no fragment is called so", got=text,
        expected="SHAPE[.xN][.pack::16b], as 16x64b.x2, where SHAPE is "
        + ", ".join(shape.value for shape in LdStShape) + f"; or as {EXAMPLES}",
        hint=f"of tcgen05.ld a thread has at most {MOST_REGISTERS} registers",
    )  # fmt: skip
