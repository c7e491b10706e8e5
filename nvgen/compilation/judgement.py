"""Findings of rules beyond the level that was asked for: warnings, and errors that are certain.

Layer: nvgen.  Input: findings of rules beyond the level that was asked for.  Output: Python
warnings at the user's line, or an exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from intrinsics.findings import Finding, Severity, VerificationError, without_copies
from nvgen.calling.callers import stack_level

DOUBTED = frozenset(
    (
        *("lane-quarter", "uniform-address", "beyond-allocation", "peer"),  # of tcgen05
        "not-pipelined",
        *("warpgroup", "fence", "operand-modified"),  # of setmaxnreg, wgmma, cp.async
        "a-in-flight",  # of wgmma
        *("phase-missed", "race"),  # of mbarriers and of shared memory
    )
)
"""Rules, by the second word of their ids, whose errors beyond the level are only warned of.

Kernels that are in use break them, the last of tcgen05 those of the CTA-wide multiplies alone: the
manual confirms each such error, but the kernel may run all the same.  No other rule says an error
of any of those kernels; where one does, it stops the compilation.
"""

PARTIAL = frozenset(("threads", "unallocated", "collector-fill", "no-commit"))
"""Rules, by the second word of their ids, that a kernel of a single instruction breaks.

Such kernels are compiled to look at their PTX: a multiply that all threads issue, into columns that
nobody has allocated, from a collector that nobody has filled, and in no group.
"""

ALWAYS = frozenset(("deadlock", "cta-groups"))
"""Rules, by the second word of their ids, whose errors are raised of such kernels, too: a wait that
never ends, and what ptxas refuses.
"""


class FindingWarning(UserWarning):
    """A finding of a rule beyond the level that was asked for."""


def eased(findings: Iterable[Finding], allowed: Sequence[str]) -> list[Finding]:
    """Findings, of which errors of the rules that are allowed to be broken become warnings."""
    return [
        replace(f, severity=Severity.WARNING)
        if f.severity is Severity.ERROR and matches(f.rule, allowed)
        else f
        for f in findings
    ]


def matches(rule: str, patterns: Sequence[str]) -> bool:
    """Whether one of these patterns, in which `*` is any text, matches a rule's id."""
    if not patterns:
        return False
    from fnmatch import fnmatchcase

    return any(fnmatchcase(rule, pattern) for pattern in patterns)


def check_certain(findings: Iterable[Finding]) -> None:
    """Whether nothing is certainly wrong.

    Of kernels that are no more than a part of one, only `ALWAYS` is certain.
    Raises: VerificationError with the errors that are certain.
    """
    errors = [f for f in findings if f.severity is Severity.ERROR]
    parts = {f.place.function for f in errors if _word(f) in PARTIAL}
    wrong = [f for f in errors if _is_certain(f, parts)]
    if wrong:
        raise VerificationError(wrong)


def _is_certain(finding: Finding, parts: Set[str]) -> bool:
    """Whether an error is raised; `parts` are the functions that are parts of kernels."""
    word = _word(finding)
    return word in ALWAYS or (word not in DOUBTED and finding.place.function not in parts)


def _word(finding: Finding) -> str:
    return finding.rule.partition("/")[2]


def warn(findings: Iterable[Finding]) -> None:
    """Warn of errors and warnings, at the line of Python that called nvgen."""
    said = [f for f in findings if f.severity in (Severity.ERROR, Severity.WARNING)]
    level = stack_level() if said else 1
    for finding in without_copies(said):
        warnings.warn(str(finding), FindingWarning, stacklevel=level)
