"""Findings of rules beyond the level that was asked for: warnings, and errors that are certain.

Layer: nvgen.  Input: findings of rules beyond the level that was asked for.  Output: Python
warnings at the user's line, or an exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from intrinsics.findings import Finding, Severity, VerificationError, told_once
from nvgen.calling.callers import stack_level

CERTAIN = ("mbarrier/deadlock",)
"""Rules beyond record level whose errors stop a compilation at every level.

The first wait on an mbarrier never ends: no thread comes to an arrival before some such wait has
ended.  The rule speaks where the block's size is known and the kernel calls nothing.  The other
ones are not certain enough: of right kernels that others wrote some are called wrong.
"""


class FindingWarning(UserWarning):
    """A finding of a rule beyond the level that was asked for."""


def check_certain(findings: Iterable[Finding]) -> None:
    """Whether nothing is certainly wrong.

    Raises: VerificationError with the errors of `CERTAIN` rules.
    """
    wrong = [f for f in findings if f.rule in CERTAIN and f.severity is Severity.ERROR]
    if wrong:
        raise VerificationError(wrong)


def warn(findings: Iterable[Finding]) -> None:
    """Warn of errors and warnings, at the line of Python that called nvgen."""
    said = [f for f in findings if f.severity in (Severity.ERROR, Severity.WARNING)]
    level = stack_level() if said else 1
    for finding in told_once(said):
        warnings.warn(str(finding), FindingWarning, stacklevel=level)
