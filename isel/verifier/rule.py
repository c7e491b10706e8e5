"""The row of a verifier rule: its id, message, severity and section of the manual.

Layer: isel.verifier.  Rules of single instructions are in their rows (`intrinsics.row`); the
modules that check descriptors, functions and launches hold these, and the reference page is made
from them.
"""

from __future__ import annotations

from intrinsics.findings import Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr


@dataclass(frozen=True, slots=True)
class VerifierRule:
    """One rule.  In `id` and `text`, `{op}` stands for the instruction that is blamed.

    `section` is the manual's section, "" the instruction's own.  A rule that `misses` something (a
    fence, a wait) is no error where statements were not parsed: it may be among them.  One that
    `follows` is about threads that wait in vain or too long, mostly because of a mistake elsewhere.
    """

    id: str
    text: str
    section: str = ""
    severity: Severity = Severity.ERROR
    expected: str = ""
    hint: str = ""
    misses: bool = True
    ptxas: str = "accepts"
    follows: bool = False

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
        follows: bool = False,
    ) -> Finding:
        """A breach of the rule, by a record or by a kernel as a whole.

        Arguments replace the rule's own fields; `subject` is the operand that is blamed.
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
            follows=follows or self.follows,
        )
