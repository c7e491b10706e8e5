"""What breaks a rule about what stands in an operand.

Layer: isel.verifier.descriptors.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import NOWHERE, Finding, Severity
from intrinsics.mir import MachineInstr
from isel.verifier.rule import VerifierRule


@dataclass(frozen=True, slots=True)
class Breach:
    """Something that breaks a rule; `severity` is the rule's own unless it is given."""

    rule: VerifierRule
    got: str
    expected: str = ""
    severity: Severity | None = None
    text: str = ""
    hint: str = ""
    section: str = ""

    def finding(self, mi: MachineInstr, subject: str) -> Finding:
        """The finding about operand `subject` of a record; its place is left to the caller."""
        return self.rule.finding(
            NOWHERE,
            mi,
            got=self.got,
            text=self.text,
            expected=self.expected,
            hint=self.hint,
            section=self.section,
            severity=self.severity,
            subject=subject,
        )
