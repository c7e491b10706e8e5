"""A rule beyond those of single instructions, as a row: its id, what it says, and where the manual
says so.

Layer: isel.verifier.  The modules that check rules, about descriptors, functions and launches, hold
their rows; the reference page of rules is made from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Severity


@dataclass(frozen=True, slots=True)
class VerifierRule:
    """One rule.  In `id` and `text`, `{op}` stands for the instruction that is blamed.

    `section` is the manual's section, "" the instruction's own.  A rule that `misses` something is
    no error where statements were not understood: what it misses may be among them.
    """

    id: str
    text: str
    section: str = ""
    severity: Severity = Severity.ERROR
    expected: str = ""
    hint: str = ""
    misses: bool = True
    ptxas: str = "accepts"
