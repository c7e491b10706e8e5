"""Findings of the PTX reader, and source locations of its records.

Layer: asmprinter.  Input: offsets in a PTX text.  Output: findings and locations with lines and
columns, and with the lines of the user's source where the text has debug information.  PTX ISA,
Debugging Directives.
"""

from __future__ import annotations

import dataclasses
from typing import Unpack

from asmprinter.ptx.source import Source
from intrinsics.findings import Details, Finding, Place, Severity, error_of
from intrinsics.mir import Location, MachineFunction, Module
from intrinsics.targets import TARGETS


class Reporter:
    """A PTX text, the module that is read from it, and the findings so far."""

    def __init__(self, text: str, file: str) -> None:
        self.source = Source(text)
        self.text = self.source.text
        self.file = file
        self.findings: list[Finding] = []
        self.module = Module(TARGETS["sm_75"], source=file)
        self.function: MachineFunction | None = None
        self.above: list[str] = []  # directives about the next record
        self.files: dict[int, str] = {}  # of .file
        self.debug: tuple[int, int] | None = None  # file and line of the last .loc
        self.located: list[tuple[Location, tuple[int, int]]] = []
        self.reported: list[tuple[int, tuple[int, int]]] = []

    def settle_lines(self) -> None:
        """Say where the user's source is: .file may stand behind its .loc."""
        for location, (file, line) in self.located:
            location.python_file, location.python_line = self.files.get(file, ""), line
        for at, (file, line) in self.reported:
            place = dataclasses.replace(
                self.findings[at].place, python_file=self.files.get(file, ""), python_line=line
            )
            self.findings[at] = self.findings[at].at(place)

    def location_at(self, start: int) -> int:
        """The number of a new location, of a record that begins at `start`."""
        line, column = self.source.line_column(start)
        location = Location(self.file, line, column)
        if self.above:
            location.directives, self.above = "\n".join(self.above), []
        if self.debug is not None:
            self.located.append((location, self.debug))
        self.module.locations.append(location)
        return len(self.module.locations) - 1

    def report(self, finding: Finding, start: int) -> None:
        """Add a finding about what stands at `start`."""
        line, column = self.source.line_column(start)
        function = self.function.name if self.function else ""
        if self.debug is not None:
            self.reported.append((len(self.findings), self.debug))
        self.findings.append(finding.at(Place(self.file, line, column, function)))

    def error(self, rule: str, text: str, start: int, *, got: str = "", expected: str = "") -> None:
        """Add an error."""
        self.report(error_of(rule, text, got=got, expected=expected), start)

    def not_understood(
        self, rule: str, what: str, start: int, op: str = "", *, kept: bool = True
    ) -> None:
        """Add a finding that says what is kept, or left out, without being judged."""
        text = "kept as it stands, not judged" if kept else "left out"
        self.report(
            Finding(
                rule,
                Severity.REVIEW,
                f"{what} is not known to nvgen: {text}",
                op=op,
                incomplete=True,
            ),
            start,
        )


class BadStatementError(Exception):
    """A statement that cannot be read; the reader reports it and goes on after the next `;`."""

    def __init__(self, rule: str, message: str, **details: Unpack[Details]) -> None:
        self.finding = error_of(rule, message, **details)
        super().__init__(message)
