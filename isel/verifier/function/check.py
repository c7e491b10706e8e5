"""The backend verifier at function level: what the warps of a kernel do together.

Layer: isel.verifier.function.  Input: a module.  Output: findings.  Functions that neither use
tensor memory nor mbarriers are skipped.  Where the size of the block is not known, only what holds
for a thread of any number is checked, and a finding says so.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.findings import Finding, Place, Severity
from intrinsics.mir import MachineFunction, Module
from isel.verifier.function import (
    completion,
    concerns,
    convergence,
    copies,
    mbarriers,
    proxies,
    tensor_memory,
)
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis

RULES: tuple[Callable[[Report], None], ...] = (
    convergence.check,
    tensor_memory.check,
    completion.check,
    copies.check,
    proxies.check,
    mbarriers.check,
)


def verify_functions(module: Module, block: tuple[int, ...] = ()) -> list[Finding]:
    """Judge every function of `module` as a whole.

    `block` is the size of the thread block where a function does not say it itself.
    """
    found: list[Finding] = []
    for function in module.functions:
        if concerns(function):
            found += _verify(module, function, function.launch.reqntid or block)
    return found


def _verify(module: Module, function: MachineFunction, block: tuple[int, ...]) -> list[Finding]:
    report = Report(module, Analysis(function, block))
    for rule in RULES:
        rule(report)
    found = sorted(report.findings.values(), key=lambda f: (f.place.line, f.place.column))
    return [*_not_judged(function, report, block), *found]


def _not_judged(function: MachineFunction, report: Report, block: tuple[int, ...]) -> list[Finding]:
    place = Place(function=function.name)
    found = []
    if not block:
        found.append(
            Finding(
                "verify/block",
                Severity.NOTE,
                "the size of the block is not known: what warps do together is not checked",
                place,
                expected="nvvm.reqntid (.reqntid in PTX), or --block",
                incomplete=True,
            )
        )
    if report.analysis.graph.has_opaque:
        found.append(
            Finding(
                "verify/opaque",
                Severity.NOTE,
                "some statements were not understood: what seems to be missing may be among them",
                place,
                incomplete=True,
            )
        )
    return found
