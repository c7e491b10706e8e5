"""How far verification goes, and what a level promises that this version does not check.

Layer: isel.verifier.  Input: a level's name.  Output: findings that keep the verdict from being
better than what was looked at.
"""

from __future__ import annotations

from intrinsics.findings import Finding, Severity

LEVELS = ("record", "function", "launch", "all")
"""Verification levels; each includes those before it.  Only record level has rules yet."""

_WITHOUT_RULES = {
    "function": "function",
    "launch": "function and launch",
    "all": "function and launch",
}


def not_checked(level: str) -> list[Finding]:
    """A note on the rules that `level` asks for and that are not there."""
    what = _WITHOUT_RULES.get(level)
    if what is None:
        return []
    return [
        Finding(
            "verify/level",
            Severity.NOTE,
            f"not checked: rules of {what} level",
            hint="this version has rules of record level only",
            incomplete=True,
        )
    ]
