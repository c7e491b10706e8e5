"""Rules about what a warpgroup executes together: wgmma and setmaxnreg.

Layer: isel.verifier.function.  A warpgroup is four warps, of which the first has a number that is a
multiple of four.  Conditions that nobody knows here are a matter of
`isel.verifier.ordering.warpgroups`.  PTX ISA, wgmma: Warpgroup; setmaxnreg.
"""

from __future__ import annotations

from intrinsics.row import IssueScope
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
RULES = (WARPGROUP,)


def check(report: Report) -> None:
    """Report wgmma and setmaxnreg that a part of a warpgroup may pass by."""
    if not report.analysis.block:
        return
    for index, found in report.analysis.sites.items():
        scope = found[0][1].mi.row.effects.scope
        if scope is IssueScope.WARPGROUP and not any(e.threads.perhaps for _, e in found):
            _check(report, index, {warp for warp, _ in found})


def _check(report: Report, index: int, here: set[int]) -> None:
    for group in sorted({warp // _WARPGROUP for warp in here}):
        members = range(group * _WARPGROUP, (group + 1) * _WARPGROUP)
        come = [warp for warp in members if warp in here]
        if len(come) < _WARPGROUP:
            got = f"{_warps(come)} of warps {members[0]} to {members[-1]}"
            report.add(WARPGROUP, index, got=got)


def _warps(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"warp {numbers[0]}"
    return "warps " + ", ".join(map(str, numbers))
