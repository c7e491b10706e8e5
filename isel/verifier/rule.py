"""A rule beyond those of single instructions, as a row: its id, what it says, and where the manual
says so.

Layer: isel.verifier.  The modules that check rules, about descriptors, functions and launches, hold
their rows; the reference page of rules is made from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Finding, Place, Severity
from intrinsics.mir import MachineInstr


@dataclass(frozen=True, slots=True)
class VerifierRule:
    """One rule.  In `id` and `text`, `{op}` stands for the instruction that is blamed.

    `section` is the manual's section, "" the instruction's own.  A rule that `misses` something is
    no error where statements were not understood: what it misses may be among them.
    """

    id: str
    text: str
    section: str = ""
    severity: Severity = Severity.ERROR
    expected: str = ""
    hint: str = ""
    misses: bool = True
    ptxas: str = "accepts"

    def finding(
        self,
        place: Place,
        mi: MachineInstr | None = None,
        *,
        got: str,
        text: str = "",
        expected: str = "",
        hint: str = "",
        section: str = "",
        severity: Severity | None = None,
        subject: str = "",
    ) -> Finding:
        """A breach of the rule, by a record or by a kernel as a whole.

        What is given replaces what the rule says itself; `subject` is the operand that is blamed.
        """
        head = mi.row.head if mi is not None else ""
        section = section or self.section or (mi.row.section if mi is not None else "")
        return Finding(
            self.id.format(op=head),
            severity or self.severity,
            text or self.text.format(op=head, name=subject),
            place,
            op=mi.row.spell(mi.attributes()) if mi is not None else "",
            got=got,
            expected=expected or self.expected,
            hint=hint or self.hint,
            section=f"PTX ISA, {section}",
            subject=subject,
        )
