"""`nvgen draw fragment`: options become a fragment.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse

from intrinsics.findings import input_error
from intrinsics.modifiers import LdStNum, LdStShape
from intrinsics.tensor_address import COLUMNS
from nvgen.commands.draw_values import choice, number
from nvgen.drawing.fragment import MOST_REGISTERS, REGISTERS, fragment_picture
from nvgen.drawing.picture import Picture


def draw_fragment(arguments: argparse.Namespace) -> Picture:
    """The picture that the options ask for.

    Raises: InputError.
    """
    shape = choice("shape", arguments.shape.lstrip("."), {s.value: s for s in LdStShape})
    num = choice("num", arguments.num.lstrip("."), {n.value: n for n in LdStNum})
    most = MOST_REGISTERS // REGISTERS[shape]
    if num.times > most:
        raise input_error(
            "draw/num", f".{shape.value} has no .{num.value}", got=num.value,
            expected=f"x1 to x{most}", hint=f"a thread has {MOST_REGISTERS} registers for it",
        )  # fmt: skip
    split = num.times * (2 if arguments.pack else 1)
    if arguments.half_split is not None:
        if shape is not LdStShape.S16X32BX2:
            raise input_error(
                "draw/half-split", "only .16x32bx2 has two halves", got=shape.value,
                expected=LdStShape.S16X32BX2.value,
            )  # fmt: skip
        split = number("half-split", arguments.half_split, 0, COLUMNS - 1)
    half_split = split if shape is LdStShape.S16X32BX2 else 0
    return fragment_picture(shape, num, pack=arguments.pack, half_split=half_split)
