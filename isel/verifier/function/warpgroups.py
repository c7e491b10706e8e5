"""Rules about what a warpgroup executes together: wgmma and setmaxnreg.

Layer: isel.verifier.function.  A warpgroup is four warps, of which the first has a number that is a
multiple of four.  Conditions that nobody knows here are a matter of
`isel.verifier.ordering.warpgroups`.  PTX ISA, wgmma: Warpgroup; setmaxnreg.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.mir import Op
from intrinsics.row import IssueScope
from isel.verifier.function.registers import CHANGES
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

_WARPGROUP = 4

WARPGROUP = VerifierRule(
    "{op}/warpgroup",
    "{op} is executed by a part of a warpgroup",
    expected="all four warps of a warpgroup, at the same instruction",
    hint="branch on the warpgroup, as with tid.x / 128, not on a warp",
    misses=False,
)
_IN_PIECES = (
    "what there is of the warpgroup executes the same, as some kernels do; one setmaxnreg "
    "in front of all branches, in a block of whole warpgroups, is what the manual asks for"
)
"""FlashAttention-4 and FlashInfer have such kernels."""

RULES = (WARPGROUP,)


def check(report: Report) -> None:
    """Report wgmma and setmaxnreg that a part of a warpgroup may pass by."""
    if not report.analysis.block:
        return
    sites = {
        index: {warp for warp, _ in found}
        for index, found in report.analysis.sites.items()
        if found[0][1].mi.row.effects.scope is IssueScope.WARPGROUP
        and not any(e.threads.perhaps for _, e in found)
    }
    there = {walker.flow.warp.number for walker in report.analysis.walkers}
    changes: dict[tuple[str, Op], set[int]] = {}  # the warps that execute the same setmaxnreg
    for index, here in sites.items():
        mi = report.record(index)
        if mi.row.id in CHANGES:
            changes.setdefault((mi.row.id, mi["count"]), set()).update(here)
    for index, here in sites.items():
        mi = report.record(index)
        alike = changes[mi.row.id, mi["count"]] if mi.row.id in CHANGES else set()
        _check(report, index, here, there - alike)


def _check(report: Report, index: int, here: set[int], missing: set[int]) -> None:
    """`missing` are the warps that do not execute the same anywhere."""
    for group in sorted({warp // _WARPGROUP for warp in here}):
        members = range(group * _WARPGROUP, (group + 1) * _WARPGROUP)
        come = [warp for warp in members if warp in here]
        if len(come) < _WARPGROUP:
            all_come = missing.isdisjoint(members)
            report.add(
                WARPGROUP,
                index,
                got=f"{_warps(come)} of warps {members[0]} to {members[-1]}",
                severity=Severity.WARNING if all_come else Severity.ERROR,
                hint=_IN_PIECES if all_come else "",
            )


def _warps(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"warp {numbers[0]}"
    return "warps " + ", ".join(map(str, numbers))
