"""The error about a pseudo record that was not expanded.

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
        expected=f"the records that the pass {_pass_of(mi)} makes of it",
        hint="nvgen compile runs the passes that are missing, of LLVM IR and of MIR",
        section=f"PTX ISA, {mi.row.section}" if mi.row.section else "",
    )


def _pass_of(mi: MachineInstr) -> str:
    return "destruct-ssa" if mi.row.id == "phi" else "expand-walkthrough"
