"""The findings of a function, each once, with the source location of its record.

Layer: isel.verifier.function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import PurePath

from intrinsics.findings import Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Module
from isel.verifier.function.roles import Analysis
from isel.verifier.locations import place_of
from isel.verifier.rule import VerifierRule

_MOST_NAMED = 4
"""The most records of a list that a finding names."""


@dataclass(slots=True)
class Report:
    """The findings of the rules for one function, and what the rules read.

    `cluster` is the size of the cluster that it is launched with, where that is known, and `boxes`
    has the bytes of a box of each tensor map that is known, by parameter; `parts` are where the
    named parts of dynamic shared memory begin.  `bounded` says that the
    block is the largest one that the kernel allows, and that it may be smaller.  Where statements
    were not parsed, the missing synchronisation may be among them: such a rule reports a review
    then.
    """

    module: Module
    analysis: Analysis
    cluster: tuple[int, ...] = ()
    boxes: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[tuple[str, int], ...] = ()
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
        follows: bool = False,
    ) -> None:
        """Report a breach at a record; further ones of the same rule there are dropped.

        `expected`, `hint` and `severity` are the rule's own unless they are given; `follows` as in
        `Finding`.
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
            place, mi, got=got, expected=expected, hint=hint, severity=severity, follows=follows
        )

    def record(self, index: int) -> MachineInstr:
        """The record of that number."""
        return self.analysis.graph.records[index]

    def lines(self, indexes: Iterable[int]) -> str:
        """The names of some records, one for each line of Python; of many only the first."""
        named: dict[object, str] = {}
        for index in indexes:
            mi = self.record(index)
            at = self.module.locations[mi.loc]
            line = (mi.row.head, at.python_file, at.python_line) if at.python_file else index
            named.setdefault(line, self.line(index))
        told = list(named.values())
        more = len(told) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        return ", ".join(told[:_MOST_NAMED]) + rest

    def line(self, index: int) -> str:
        """The name of a record in messages: its head and source line, and that of Python."""
        mi = self.record(index)
        at = self.module.locations[mi.loc]
        if not at.line:
            return mi.row.head
        python = f" ({PurePath(at.python_file).name}:{at.python_line})" if at.python_file else ""
        return f"{mi.row.head} in line {at.line}{python}"
