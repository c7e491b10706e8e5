"""`nvgen draw fragment`: options become a fragment.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse

from intrinsics.findings import InputError, input_error
from intrinsics.layouts.register_elements import RegisterFragment
from intrinsics.limits import COLUMNS
from intrinsics.modifiers import LdStShape
from nvgen.commands.layouts.fragment_name import fragment_of
from nvgen.commands.layouts.values import number
from nvgen.drawing.fragment import fragment_picture
from nvgen.drawing.picture import Picture
from nvgen.drawing.registers import registers_picture


def draw_fragment(arguments: argparse.Namespace) -> Picture:
    """The picture that the options ask for.

    Raises: InputError.
    """
    found = fragment_of(arguments.name, arguments, "draw")
    if isinstance(found, RegisterFragment):
        if arguments.half_split is not None:
            raise _no_halves(arguments.name)
        return registers_picture(found)
    shape, num, pack = found.shape, found.num, found.pack
    split = num.times * (2 if pack else 1)
    if arguments.half_split is not None:
        if shape is not LdStShape.S16X32BX2:
            raise _no_halves(shape.value)
        split = number("half-split", arguments.half_split, 0, COLUMNS - 1)
    half_split = split if shape is LdStShape.S16X32BX2 else 0
    return fragment_picture(shape, num, pack=pack, half_split=half_split)


def _no_halves(got: str) -> InputError:
    return input_error(
        "draw/half-split", "only .16x32bx2 has two halves", got=got,
        expected=LdStShape.S16X32BX2.value,
    )  # fmt: skip
