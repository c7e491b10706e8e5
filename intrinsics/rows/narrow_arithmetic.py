"""Arithmetic on four FP8, FP6 or FP4 numbers at once.

PTX ISA 9.4, add, sub, mul and fma with alternate floating-point formats.  Which types, modifiers,
registers and targets they take is what ptxas 13.5 says.
"""

from __future__ import annotations

from intrinsics.modifiers import Rounding, SatFinite, ScalarType
from intrinsics.row import Row, register, result
from intrinsics.targets import named, since

T = ScalarType

_RESULTS = (T.E4M3X4, T.E5M2X4)
_SOURCES = (*_RESULTS, T.E2M3X4, T.E3M2X4, T.E2M1X4, T.E2M1P4X4, T.UE8M0X4)
_NEEDS = since("9.4", named("100a 103a"))


# fmt: off
def _sum(head: str) -> Row:
    """add and sub, whose second operand has the type of the result."""
    return Row(
        head, "{.rnd}{.satfinite}.dtype.atype", "d, a, b", name=f"{head}.narrow",
        qualifiers={"rnd": (Rounding.RN,), "satfinite": SatFinite, "dtype": _RESULTS,
                    "atype": _SOURCES},
        operands=(result("d", "dtype"), register("a", "atype"), register("b", "dtype")),
        section=f"{head}, alternate floating-point formats", needs=_NEEDS, simulated=False,
    )


def _product(head: str, names: str) -> Row:
    """mul, and fma, whose addend has the type of the result."""
    return Row(
        head, "{.rnd}{.satfinite}.dtype.atype.btype", names, name=f"{head}.narrow",
        qualifiers={"rnd": (Rounding.RN,), "satfinite": SatFinite, "dtype": _RESULTS,
                    "atype": _SOURCES, "btype": _SOURCES},
        operands=(
            result("d", "dtype"), register("a", "atype"), register("b", "btype"),
            *([register("c", "dtype")] if head == "fma" else ()),
        ),
        section=f"{head}, alternate floating-point formats", needs=_NEEDS, simulated=False,
    )
# fmt: on


ADD, SUB = _sum("add"), _sum("sub")
MUL, FMA = _product("mul", "d, a, b"), _product("fma", "d, a, b, c")

ROWS = (ADD, SUB, MUL, FMA)
