"""Rules about which threads execute an instruction: whole warps, or single threads.

Layer: isel.verifier.function.  PTX ISA, tcgen05: Issue Granularity.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.row import Effect
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.leaving import others_left
from isel.verifier.function.flow.values import Spread, Value
from isel.verifier.function.report import Report
from isel.verifier.function.walks.paths import Walker
from isel.verifier.rule import VerifierRule

_SINGLE = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT, Kind.COMMIT)
"""Operations that one thread issues for the CTA."""

ALIGNED = VerifierRule(
    "{op}/aligned",
    "an .aligned instruction is executed by a part of the warp",
    expected="all threads of the warp",
    hint="branch on a condition that all threads of the warp agree on, as tid.x / 32 == 0",
    misses=False,
)
THREADS = VerifierRule(
    "{op}/threads",
    "{op} is issued by more than one thread",
    "tcgen05, Issue Granularity",
    expected="one thread, which issues it for the CTA",
    hint="put it under elect.sync, or under a comparison of tid.x with one number",
    misses=False,
)
RULES = (ALIGNED, THREADS)

_LEFT_HINT = (
    "the manual has all threads of the warp execute the same aligned barrier, and does not say "
    "whether that includes those which have exited; keep all threads until behind the barrier, and "
    "branch around what they have no work in"
)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    _aligned(report)
    _single_thread(report)
    if report.analysis.block:
        _several_warps(report)


def _aligned(report: Report) -> None:
    """An `.aligned` instruction is executed by the whole warp or not at all.

    A block's barrier waits for threads that have not exited, so what the manual says of the whole
    warp may be meant of these: where the others have left, it is a review.
    """
    left, doubtful = [], []
    for walker in report.analysis.walkers:
        everyone = walker.flow.warp.lanes
        for event in walker.each():
            if not event.mi.row.effects.effect & Effect.ALIGNED:
                continue
            threads = event.threads
            got = f"warp {walker.flow.warp.number}: {threads}"
            if threads.one or threads.lanes != everyone:
                if _is_after_exits(report, walker, event):
                    left.append((event.index, f"{got}; the others have exited"))
                else:
                    report.add(ALIGNED, event.index, got=got)
            elif threads.part and not report.analysis.graph.has_opaque:
                doubtful.append((event.index, got))
    for index, got in left:
        report.add(ALIGNED, index, severity=Severity.REVIEW, got=got, hint=_LEFT_HINT)
    for index, got in doubtful:
        report.add(ALIGNED, index, severity=Severity.REVIEW, got=got)


def _is_after_exits(report: Report, walker: Walker, event: Event) -> bool:
    """Whether a block's barrier is executed by all threads of the warp that have not exited."""
    if event.kind not in (Kind.BARRIER, Kind.BARRIER_ARRIVE):
        return False
    node = report.analysis.graph.node_of(event.index)
    return others_left(walker.flow, node, event.threads)


def _single_thread(report: Report) -> None:
    """An MMA that a whole warp executes is issued once by each of its threads."""
    for event in report.analysis.events(*_SINGLE):
        count = event.threads.count
        if count == 1 or (count is None and report.analysis.graph.has_opaque):
            continue
        severity = Severity.REVIEW if count is None else Severity.ERROR
        report.add(THREADS, event.index, severity=severity, got=str(event.threads))


def _several_warps(report: Report) -> None:
    """The same MMA, issued by a thread of each of several warps."""
    for index, found in report.analysis.sites.items():
        certain = [(warp, event) for warp, event in found if not event.threads.perhaps]
        warps = {warp for warp, _ in certain}
        events = [event for _, event in certain]
        if not events or events[0].kind not in _SINGLE or len(warps) < 2 or not _all_same(events):
            continue
        if events[0].kind is Kind.COMMIT and _expects(report, events[0], len(warps)):
            continue
        report.add(
            THREADS,
            index,
            got=f"a thread in each of {len(warps)} warps, with the same operands",
            hint="branch to it in one warp only, as with tid.x / 32 == 0",
        )


def _expects(report: Report, commit: Event, warps: int) -> bool:
    """Whether the mbarrier may expect as many commits as there are warps."""
    inits = report.analysis.events(Kind.INIT)
    counts = [
        init.count
        for init in inits
        if init.place is None or commit.place is None or init.place.meets(commit.place)
    ]
    return any(count is None or count >= warps for count in counts)


def _all_same(events: list[Event]) -> bool:
    first = events[0].values
    return all(e.values == first for e in events) and all(_shared(v) for _, v in first)


def _shared(value: Value) -> bool:
    """Whether a value is the same in all threads of the CTA."""
    return isinstance(value.offset, int) or value.spread is Spread.CTA
