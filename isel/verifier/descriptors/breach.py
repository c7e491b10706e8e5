"""A breach of a rule about the contents of an operand.

Layer: isel.verifier.descriptors.
"""

from __future__ import annotations

from intrinsics.findings import NOWHERE, Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from isel.verifier.rule import VerifierRule


@dataclass(frozen=True, slots=True)
class Breach:
    """A breach; `severity` and texts are the rule's own unless they are given."""

    rule: VerifierRule
    got: str
    expected: str = ""
    severity: Severity | None = None
    text: str = ""
    hint: str = ""
    section: str = ""

    def finding(self, mi: MachineInstr, subject: str) -> Finding:
        """The finding about operand `subject` of a record; the caller adds the source location."""
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
