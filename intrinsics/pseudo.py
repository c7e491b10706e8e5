"""What is said of a pseudo record where only the machine's own can stand.

Layer: intrinsics.  A pseudo record (`Row.pseudo`) has no PTX; MIR shows it between selection and
the pass that expands it.
"""

from __future__ import annotations

from intrinsics.findings import Finding, Severity
from intrinsics.mir import MachineInstr


def unexpanded(mi: MachineInstr) -> Finding:
    """The error that a pseudo record is still there."""
    return Finding(
        f"{mi.row.head}/pseudo",
        Severity.ERROR,
        f"{mi.opcode} is no instruction of the machine",
        op=mi.opcode,
        got="a record that was not expanded",
        expected="the records that the pass expand-walkthrough makes of it",
        hint="compile the LLVM IR; MIR as it was after an earlier pass can be looked at only",
        section=f"PTX ISA, {mi.row.section}",
    )
