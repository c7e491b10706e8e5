"""What selection cannot select: findings with the place of the LLVM instruction.

Layer: isel.select.  Selection reports and goes on, so that all that is wrong is told at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from intrinsics.findings import Finding, Place, Severity


class Unselectable(Exception):  # noqa: N818 - a reason, not an error of the program
    """Why one instruction was not selected; becomes a finding at the instruction's place."""

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        op: str = "",
        got: str = "",
        expected: str = "",
        hint: str = "",
        section: str = "",
        subject: str = "",
    ) -> None:
        self.finding = Finding(
            "select/" + rule,
            Severity.ERROR,
            message,
            op=op,
            got=got,
            expected=expected,
            hint=hint,
            section=section,
            subject=subject,
        )
        super().__init__(message)


def not_yet(what: str, hint: str = "") -> Unselectable:
    """The answer to what nvgen does not select yet."""
    return Unselectable("unsupported-instruction", f"{what} is not selectable", op=what, hint=hint)


@dataclass(slots=True)
class Diagnostics:
    """Findings of a selection, in program order."""

    findings: list[Finding] = field(default_factory=list)

    def report(self, reason: Unselectable, place: Place) -> None:
        """Keep `reason`, standing at `place`."""
        self.findings.append(reason.finding.at(place))


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint with the names that look most like `name`, or ""."""
    found = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return "the nearest names are " + ", ".join(found) if found else ""
