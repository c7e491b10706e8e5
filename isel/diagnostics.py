"""Findings about LLVM IR that cannot be selected, at the LLVM instruction.

Layer: isel.  Selection reports and goes on, so that all that is wrong is told at once.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import Unpack

from intrinsics.findings import Details, Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass

Names = Callable[[], Iterable[str]]
"""Gives the names that there are, computed when they are asked for."""

_LIKELY = 30
"""Names that are compared letter by letter with a wrong one."""

_ASKED = 20
"""Wrong names of a module for which neighbours are looked up."""


class Unselectable(Exception):  # noqa: N818 - a reason, not an error of the program
    """Why one instruction was not selected; becomes a finding at the instruction's place."""

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        names: Names | None = None,
        **details: Unpack[Details],
    ) -> None:
        self.names = names  # of which those most like `op` are the hint
        self.finding = Finding("select/" + rule, Severity.ERROR, message, **details)
        super().__init__(message)


class NoValue(Unselectable):
    """An operand's definition was not selected, of which there is a finding as a rule."""


def not_yet(what: str, hint: str = "") -> Unselectable:
    """The answer to what nvgen does not select yet."""
    return Unselectable("unsupported-instruction", f"{what} is not selectable", op=what, hint=hint)


@dataclass(slots=True)
class Diagnostics:
    """Findings of a selection, in program order."""

    findings: list[Finding] = field(default_factory=list)
    _nearest: dict[str, str] = field(default_factory=dict)

    def report(self, reason: Unselectable, place: Place) -> None:
        """Keep `reason`, standing at `place`; what only follows from another finding is none."""
        if isinstance(reason, NoValue) and self.findings:
            return
        finding = reason.finding.at(place)
        if reason.names is not None:
            finding = replace(finding, hint=self.nearest(finding.op, reason.names))
        self.findings.append(finding)

    def nearest(self, name: str, names: Names) -> str:
        """What `nearest` says, asked once for each name, and for the first wrong names only."""
        if name not in self._nearest:
            asked = len(self._nearest) < _ASKED
            self._nearest[name] = nearest(name, names()) if asked else ""
        return self._nearest[name]


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint with the names that look most like `name`, or "".

    difflib compares those only that share most triples of letters with it.
    """
    wanted = _triples(name)
    likely = heapq.nlargest(_LIKELY, names, key=lambda other: len(wanted & _triples(other)))
    found = difflib.get_close_matches(name, likely, n=3, cutoff=0.6)
    return "the nearest names are " + ", ".join(found) if found else ""


def _triples(name: str) -> set[str]:
    return {name[at : at + 3] for at in range(len(name) - 2)}
