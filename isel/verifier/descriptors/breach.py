"""What breaks a rule about what stands in an operand.

Layer: isel.verifier.descriptors.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Finding, Severity
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
        rule = self.rule
        return Finding(
            rule.id.format(op=mi.row.head),
            self.severity or rule.severity,
            self.text or rule.text.format(op=mi.row.head, name=subject),
            op=mi.row.spell(mi.facts()),
            got=self.got,
            expected=self.expected or rule.expected,
            hint=self.hint or rule.hint,
            section=f"PTX ISA, {self.section or rule.section or mi.row.section}",
            subject=subject,
        )
