"""Findings of a function's rules, each once, at the place of a record.

Layer: isel.verifier.function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from intrinsics.findings import Finding, Severity
from intrinsics.mir import MachineInstr, Module
from isel.verifier.function.roles import Analysis
from isel.verifier.record import place_of


@dataclass(slots=True)
class Report:
    """What the rules found in a function.

    A rule that misses something says so with `absent`: where statements were not understood, what
    it misses may be among them, and the finding is no error.
    """

    module: Module
    analysis: Analysis
    findings: dict[tuple[str, int], Finding] = field(default_factory=dict)

    def add(
        self,
        rule: str,
        index: int,
        message: str,
        *,
        severity: Severity = Severity.ERROR,
        got: str = "",
        expected: str = "",
        hint: str = "",
        section: str = "",
        absent: bool = True,
    ) -> None:
        """Report something about a record; a second finding of the same rule on it says no more."""
        if (rule, index) in self.findings:
            return
        mi = self.record(index)
        if absent and severity is Severity.ERROR and self.analysis.graph.has_opaque:
            severity = Severity.REVIEW
        place = place_of(self.module.locations[mi.loc], self.analysis.function.name)
        self.findings[rule, index] = Finding(
            rule,
            severity,
            message,
            place,
            op=mi.row.spell(mi.facts()),
            got=got,
            expected=expected,
            hint=hint,
            section=f"PTX ISA, {section}" if section else "",
        )

    def record(self, index: int) -> MachineInstr:
        """The record of that number."""
        return self.analysis.graph.records[index]

    def line(self, index: int) -> str:
        """How to name the place of a record in a text."""
        mi = self.record(index)
        line = self.module.locations[mi.loc].line
        return f"{mi.row.head} in line {line}" if line else mi.row.head
