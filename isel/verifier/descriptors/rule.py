"""A rule about what stands in an operand, as a row; and what breaks it.

Layer: isel.verifier.descriptors.  The modules that check rules hold their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Finding, Severity
from intrinsics.mir import MachineInstr


@dataclass(frozen=True, slots=True)
class DescriptorRule:
    """One rule.  In `id` and `text`, `{op}` stands for the instruction that is blamed.

    `section` is the manual's, "" the instruction's own.
    """

    id: str
    text: str
    section: str = ""
    severity: Severity = Severity.ERROR
    expected: str = ""
    hint: str = ""
    ptxas: str = "accepts"


@dataclass(frozen=True, slots=True)
class Breach:
    """Something that breaks a rule; `severity` is the rule's own unless it is given."""

    rule: DescriptorRule
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
