"""Rules about what a warpgroup executes together: wgmma and setmaxnreg.

Layer: isel.verifier.function.  A warpgroup is four warps, the first of which has a number that is a
multiple of four.  Conditions that are unknown here are checked in
`isel.verifier.ordering.judgement.warpgroups`.  PTX ISA, wgmma: Warpgroup; setmaxnreg.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.mir import MachineInstr, Op
from intrinsics.row import IssueScope
from isel.verifier.function.participants.registers import CHANGES
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

WARPGROUP = VerifierRule(
    "{op}/warpgroup",
    "{op} is executed by a part of a warpgroup",
    expected="all four warps of a warpgroup, at the same instruction",
    hint="branch on the warpgroup, as with tid.x / 128, not on a warp",
    misses=False,
)
IN_PIECES = (
    "what there is of the warpgroup executes the same, as some kernels do; one setmaxnreg "
    "in front of all branches, in a block of whole warpgroups, is what the manual asks for"
)
"""FlashAttention-4 and FlashInfer have such kernels."""

RULES = (WARPGROUP,)


def check(report: Report) -> None:
    """Report wgmma and setmaxnreg that a part of a warpgroup may skip."""
    if not report.analysis.block:
        return
    sites = {
        index: {warp for warp, _ in found}
        for index, found in report.analysis.sites.items()
        if found[0][1].mi.row.effects.scope is IssueScope.WARPGROUP
    }
    there = {walker.flow.warp.number for walker in report.analysis.walkers}
    changes: dict[_Change, set[int]] = {}  # the warps that may execute the same setmaxnreg
    for index, here in sites.items():
        if (known := change(report.record(index))) is not None:
            changes.setdefault(known, set()).update(here)
    for index, here in sites.items():
        if any(event.threads.perhaps for _, event in report.analysis.sites[index]):
            continue
        known = change(report.record(index))
        alike = changes[known] if known is not None else set()
        _check(report, index, here, there - alike)


_Change = tuple[str, Op]


def change(mi: MachineInstr) -> _Change | None:
    """The direction and count of a setmaxnreg; None for other records."""
    return (mi.row.id, mi["count"]) if mi.row.id in CHANGES else None


def _check(report: Report, index: int, here: set[int], missing: set[int]) -> None:
    """Report a record; `missing` are the warps of the group that execute no equivalent one."""
    for group in sorted({warp // WARPGROUP_WARPS for warp in here}):
        members = range(group * WARPGROUP_WARPS, (group + 1) * WARPGROUP_WARPS)
        come = [warp for warp in members if warp in here]
        if len(come) < WARPGROUP_WARPS:
            all_come = missing.isdisjoint(members)
            report.add(
                WARPGROUP,
                index,
                got=f"{_warps(come)} of warps {members[0]} to {members[-1]}",
                severity=Severity.WARNING if all_come else Severity.ERROR,
                hint=IN_PIECES if all_come else "",
            )


def _warps(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"warp {numbers[0]}"
    return "warps " + ", ".join(map(str, numbers))
