"""Calls of functions.

PTX ISA, Control Flow Instructions: call; Abstracting the ABI.  A call's parameters and result are
variables in the parameter space that the caller declares; stores fill them before it, loads read
them behind it.
"""

from __future__ import annotations

from intrinsics.modifiers import Uniform
from intrinsics.row import Effect, Effects, Kind, Operand, Row

# fmt: off
CALL = Row(
    "call", "{.uni}", "callee {, results} {, params} {, prototype}",
    qualifiers={"uni": Uniform},
    operands=(
        Operand("callee", Kind.TEXT), Operand("results", Kind.TEXT),
        Operand("params", Kind.TEXT), Operand("prototype", Kind.TEXT),
    ),
    section="call",
    effects=Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT
                    | Effect.BARRIER),
)
"""`callee` is the function, or a register with its address, which goes with the prototype.

`results` and `params` are tuples of the variables' names; PTX writes them in other places.
"""
# fmt: on

ROWS = (CALL,)
