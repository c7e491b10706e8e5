"""Findings of a function's rules, each once, at the place of a record.

Layer: isel.verifier.function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from intrinsics.findings import Finding, Severity
from intrinsics.mir import MachineInstr, Module
from isel.verifier.function.roles import Analysis
from isel.verifier.record import place_of
from isel.verifier.rule import VerifierRule


@dataclass(slots=True)
class Report:
    """What the rules found in a function.

    `cluster` is the size of the cluster that it is launched with, where that is known, and `boxes`
    has the bytes of a box of each tensor map that is known, by parameter.  `bounded` says that the
    block is the largest one that the kernel allows, and that it may be smaller.
    Where statements were not understood, what a rule misses may be among them: it reports a review
    instead of an error.
    """

    module: Module
    analysis: Analysis
    cluster: tuple[int, ...] = ()
    boxes: Mapping[str, int] = field(default_factory=dict)
    bounded: bool = False
    findings: dict[tuple[str, int], Finding] = field(default_factory=dict)

    def add(
        self,
        rule: VerifierRule,
        index: int,
        *,
        got: str,
        expected: str = "",
        hint: str = "",
        severity: Severity | None = None,
    ) -> None:
        """Report something about a record; a second finding of the same rule on it says no more.

        `expected`, `hint` and `severity` are the rule's own unless they are given.
        """
        mi = self.record(index)
        name = rule.id.format(op=mi.row.head)
        if (name, index) in self.findings:
            return
        severity = severity or rule.severity
        if rule.misses and severity is Severity.ERROR and self.analysis.graph.has_opaque:
            severity = Severity.REVIEW
        place = place_of(self.module.locations[mi.loc], self.analysis.function.name)
        self.findings[name, index] = rule.finding(
            place, mi, got=got, expected=expected, hint=hint, severity=severity
        )

    def record(self, index: int) -> MachineInstr:
        """The record of that number."""
        return self.analysis.graph.records[index]

    def line(self, index: int) -> str:
        """How to name the place of a record in a text."""
        mi = self.record(index)
        line = self.module.locations[mi.loc].line
        return f"{mi.row.head} in line {line}" if line else mi.row.head
