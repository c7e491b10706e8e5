"""Verification by level: records alone, functions as a whole, and what is not checked yet.

Layer: isel.verifier.  Input: a module and a level's name.  Output: the findings of that level, with
those that keep the verdict from being better than what was looked at.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.findings import Finding, Severity
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target
from isel.verifier.function import concerns
from isel.verifier.record import verify_records

LEVELS = ("record", "function", "launch", "all")
"""Verification levels; each includes those before it.  Launch level has no rules yet."""

_WITHOUT_RULES = ("launch", "all")


def verify(
    module: Module, target: Target, ptx: Ptx, level: str, block: tuple[int, ...] = ()
) -> list[Finding]:
    """What the rules of `level` say of a module.

    `block` is the size of the thread block where a kernel does not say it itself.
    """
    found = verify_records(module, target, ptx)
    if level != "record":
        found += _verify_functions(module, block)
    return [*found, *_not_checked(level)]


def advice(module: Module, level: str) -> list[Finding]:
    """What rules beyond `level` say of a module: they stop nobody who did not ask for them.

    Errors are warnings; notes on what could not be checked are left out.
    """
    if level != "record":
        return []
    return [
        replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f
        for f in _verify_functions(module)
        if f.severity is not Severity.NOTE
    ]


def _verify_functions(module: Module, block: tuple[int, ...] = ()) -> list[Finding]:
    """The function level; its rules are imported where there is something for them to look at."""
    if not any(concerns(function) for function in module.functions):
        return []
    from isel.verifier.function.check import verify_functions

    return verify_functions(module, block)


def _not_checked(level: str) -> list[Finding]:
    """A note on the rules that `level` asks for and that are not there."""
    if level not in _WITHOUT_RULES:
        return []
    return [
        Finding(
            "verify/level",
            Severity.NOTE,
            "not checked: rules of launch level",
            hint="this version has rules of record and function level",
            incomplete=True,
        )
    ]
