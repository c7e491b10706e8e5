"""The stack of a thread: memory that is taken and given back while a function runs.

PTX ISA, Stack Manipulation Instructions.
"""

from __future__ import annotations

from intrinsics.modifiers import ScalarType
from intrinsics.row import Effect, Effects, Numbers, Row, number, register, result, value
from intrinsics.targets import since

_SIZES = (ScalarType.U32, ScalarType.U64)
_STACK = Effects(Effect.BARRIER)
_NEEDS = since("7.3")

# fmt: off
ALLOCA = Row(
    "alloca", ".type", "d, size {, align}",
    qualifiers={"type": _SIZES},
    operands=(
        result("d", "type"), value("size", "type"),
        number("align", Numbers(1, 1 << 23, power_of_two=True, rule="alignment")),
    ),
    section="alloca", needs=_NEEDS, effects=_STACK,
)
"""Bytes of local memory, until the function returns or gives them back: an address in .local."""

STACKSAVE = Row(
    "stacksave", ".type", "d",
    qualifiers={"type": _SIZES}, operands=(result("d", "type"),),
    section="stacksave", needs=_NEEDS, effects=_STACK,
)

STACKRESTORE = Row(
    "stackrestore", ".type", "a",
    qualifiers={"type": _SIZES}, operands=(register("a", "type"),),
    section="stackrestore", needs=_NEEDS, effects=_STACK,
)
# fmt: on

ROWS = (ALLOCA, STACKSAVE, STACKRESTORE)
