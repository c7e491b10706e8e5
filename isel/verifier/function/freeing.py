"""Rules about tensor memory that is freed: every warp is through with it.

Layer: isel.verifier.function.  The warp that frees was told, by a barrier or an mbarrier, that the
others' loads and stores are complete, and that the MMAs are.  PTX ISA, tcgen05.dealloc.
"""

from __future__ import annotations

from isel.verifier.function.completion import FREED_BEFORE_COMPLETION
from isel.verifier.function.events import MOVES, Event, Kind
from isel.verifier.function.pending import RUNS, Operation, Pending, Status
from isel.verifier.function.report import Report
from isel.verifier.function.values import Loaded, Place
from isel.verifier.rule import VerifierRule

_MOST = 16
"""Groups of MMAs that are looked at one by one."""

IN_USE = VerifierRule(
    "tcgen05.dealloc/in-use",
    "tensor memory is freed while another warp may still use it",
    "tcgen05.dealloc",
    expected="a barrier or an mbarrier that all warps arrive at when they are through",
    hint="tcgen05.wait::ld; tcgen05.fence::before_thread_sync; bar.sync; tcgen05.dealloc",
)
RULES = (IN_USE,)


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    bases = {e.place.base for e in report.analysis.events(Kind.DEALLOC) if e.place is not None}
    for base in sorted((b for b in bases if isinstance(b, Loaded)), key=str):
        moves = _on(report, base, *MOVES)
        if moves:
            _moved(report, base, moves)
        for group in _runs(report, _on(report, base, Kind.MULTIPLY)):
            _multiplied(report, base, group)


def _on(report: Report, base: Place, *kinds: Kind) -> list[Event]:
    found = {e.index: e for e in report.analysis.events(*kinds)}.values()
    return [e for e in found if e.place is not None and e.place.base == base]


def _frees(event: Event, base: Place) -> bool:
    return event.kind is Kind.DEALLOC and event.place is not None and event.place.base == base


def _moved(report: Report, base: Place, moves: list[Event]) -> None:
    """Loads and stores of other warps."""
    issues = {e.index for e in moves}
    warps = {warp for index in issues for warp, _ in report.analysis.sites[index]}
    operation = Operation(
        lambda e: e.index in issues and e.kind in MOVES, lambda e: e.kind in MOVES.values()
    )
    pending = Pending(report.analysis, operation)
    for role, event, state in pending.met(lambda e: _frees(e, base)):
        if state.news is not Status.NOTHING or warps <= set(role.warps):
            continue
        if (
            FREED_BEFORE_COMPLETION.id.format(op=event.mi.row.head),
            event.index,
        ) in report.findings:
            continue
        others = ", ".join(str(warp) for warp in sorted(warps - set(role.warps)))
        report.add(
            IN_USE,
            event.index,
            got=f"{role} can come here before {report.line(moves[0].index)} has ended in warp"
            f"{'s' if len(warps - set(role.warps)) > 1 else ''} {others}",
        )


def _runs(report: Report, events: list[Event]) -> list[list[Event]]:
    """MMAs by the block that they stand in; all at once where there are too many."""
    groups: dict[int, list[Event]] = {}
    starts = sorted(node.first for node in report.analysis.graph.nodes)
    for event in events:
        groups.setdefault(max(s for s in starts if s <= event.index), []).append(event)
    return list(groups.values()) if len(groups) <= _MOST else [events]


def _multiplied(report: Report, base: Place, group: list[Event]) -> None:
    """MMAs whose commit nobody waited for, unless that was found already where they are read."""
    if any(name.endswith(("/before-completion", "/no-commit")) for name, _ in report.findings):
        return
    issues = {e.index for e in group}
    operation = Operation(
        lambda e: e.index in issues and e.kind is Kind.MULTIPLY, lambda _: False, commits=True
    )
    pending = Pending(report.analysis, operation)
    for role, event, state in pending.met(lambda e: _frees(e, base)):
        if state.own in RUNS or state.news in RUNS:
            report.add(
                FREED_BEFORE_COMPLETION,
                event.index,
                got=f"{role} can come here while {report.line(group[0].index)} runs",
                expected="a wait for the commit behind it",
            )
