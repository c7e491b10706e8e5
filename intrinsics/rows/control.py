"""Control flow, and the statement that nvgen keeps without understanding it.

PTX ISA, Control Flow Instructions.
"""

from __future__ import annotations

from intrinsics.modifiers import ScalarType, Uniform
from intrinsics.row import Effect, Effects, Kind, Operand, Row, label, labels, result, value

_ENDS = Effects(Effect.TERMINATOR)

# fmt: off
BRA = Row(
    "bra", "{.uni}", "target",
    qualifiers={"uni": Uniform}, operands=(label("target"),), section="bra", effects=_ENDS,
)

BRX_IDX = Row(
    "brx.idx", "{.uni}", "index, targets",
    qualifiers={"uni": Uniform},
    operands=(value("index", ScalarType.U32, symbols=False), labels("targets")),
    section="brx.idx", effects=_ENDS,
)
"""A branch to the target of a table that has the number `index`; PTX gives the table a name."""

RET = Row("ret", "{.uni}", qualifiers={"uni": Uniform}, section="ret", effects=_ENDS)

EXIT = Row("exit", section="exit", effects=_ENDS)

TRAP = Row("trap", section="trap", effects=Effects(Effect.BARRIER))

BRKPT = Row("brkpt", section="brkpt", effects=Effects(Effect.BARRIER))

OPAQUE = Row(
    "?", "", "text{, registers}", name="opaque", opcode="OPAQUE",
    operands=(Operand("text", Kind.TEXT), Operand("registers", Kind.TEXT)),
    effects=Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT
                    | Effect.BARRIER), simulated=False,
)
"""A statement of PTX that was read but not understood: its text, and the registers named in it."""

PHI = Row(
    "phi", ".type", "d, values, blocks",
    qualifiers={"type": (ScalarType.PRED, ScalarType.B16, ScalarType.B32, ScalarType.B64)},
    operands=(
        result("d", "type"),
        Operand("values", Kind.PHI, "type"),
        Operand("blocks", Kind.PHI, "type"),
    ),
    opcode="PHI", simulated=False, pseudo=True,
)
"""The value that came along the edge from each block; only before SSA form is left."""
# fmt: on

ROWS = (BRA, BRX_IDX, RET, EXIT, TRAP, BRKPT, OPAQUE, PHI)
