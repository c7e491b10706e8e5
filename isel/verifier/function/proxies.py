"""Rules about shared memory that threads write and the async proxy reads.

Layer: isel.verifier.function.  tcgen05.mma, wgmma and bulk copies read shared memory through the
async proxy; what threads stored there is visible to it after fence.proxy.async only, which stands
after the stores, or after the barrier that follows them.  PTX ISA, tcgen05: Shared Memory Accesses;
wgmma.fence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from intrinsics.findings import Severity
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.regions import holds_other_things, overlap, variable_of
from isel.verifier.function.report import Report
from isel.verifier.function.values import Where
from isel.verifier.rule import VerifierRule

_READERS = (Kind.MULTIPLY, Kind.WARPGROUP_MULTIPLY, Kind.COPY_OUT)
_SYNCS = (Kind.BARRIER, Kind.BARRIER_ARRIVE, Kind.ARRIVE, Kind.DONE, Kind.WARP_SYNC)


PROXY_FENCE = VerifierRule(
    "shared/proxy-fence",
    "shared memory is written by threads and read through the async proxy without a fence",
    "tcgen05, Shared Memory Accesses",
    expected="fence.proxy.async between the store and the read",
    hint="fence.proxy.async.shared::cta after the stores, before the barrier or the arrival that "
    "tells the reader",
)
BARRIER = VerifierRule(
    "shared/barrier",
    "a multiply reads shared memory before the stores of the other warps are known to be done",
    "tcgen05, Shared Memory Accesses",
    expected="a barrier between the stores and the multiply",
    hint="fence.proxy.async.shared::cta after the stores, then bar.sync or an mbarrier that all "
    "who stored arrive on",
)
RULES = (PROXY_FENCE, BARRIER)

_MEETS = (Kind.BARRIER, Kind.DONE)
"""What a thread waits for other warps at."""


def check(report: Report) -> None:
    """Report stores that the async proxy reads without a proxy fence, or without a barrier."""
    if not report.analysis.block:
        return
    _check_barriers(report)
    stores = _unfenced_stores(report)
    for role in report.analysis.roles:
        unfenced: dict[int, Event] = {}

        def step(fenced: bool, event: Event, unfenced: dict[int, Event] = unfenced) -> bool:
            if event.kind in _READERS and not fenced:
                unfenced[event.index] = event
            return _fences(fenced, event)

        role.walker.walk(False, step)
        for reader in unfenced.values():
            for read in reader.reads:
                _report(report, reader, read, stores)


def _fences(fenced: bool, event: Event) -> bool:
    """Whether the thread has put the fence after it last met the others."""
    if event.kind is Kind.PROXY_FENCE:
        return True
    return fenced and event.kind not in _SYNCS


def _unfenced_stores(report: Report) -> list[Event]:
    """Stores that a thread hands on without a fence."""
    handed_on: dict[int, Event] = {}
    events = {e.index: e for e in report.analysis.events(Kind.SHARED_STORE)}

    def step(pending: frozenset[int], event: Event) -> frozenset[int]:
        if event.kind is Kind.SHARED_STORE and event.place is not None:
            return pending | {event.index}
        if event.kind is Kind.PROXY_FENCE:
            return frozenset()
        if event.kind in _SYNCS or event.kind in _READERS:
            handed_on.update((index, events[index]) for index in pending)
        return pending

    for role in report.analysis.roles:
        role.walker.gather(step)
    return list(handed_on.values())


def _report(report: Report, reader: Event, read: Where | None, stores: list[Event]) -> None:
    if read is None:
        return
    # how far a matrix goes is not known, and who lays out shared memory gives bytes to one thing
    # after another: what is stored may be no part of the matrix, or not any more
    name = variable_of(read)
    shared = name is not None and holds_other_things(report, name)
    for store in stores:
        if store.place is None:
            continue
        certain = overlap(report, store.place, read)
        if certain is None:
            continue
        report.add(
            PROXY_FENCE,
            store.index,
            severity=Severity.ERROR if certain and not shared else Severity.REVIEW,
            got=f"{store.place}, which {report.line(reader.index)} reads",
        )


# ---- barriers between the stores of several warps and a multiply -------------------------------


@dataclass(frozen=True, slots=True)
class _Pending:
    """A store behind which no barrier has come yet; `by_warp` after bar.warp.sync."""

    index: int
    by_warp: bool = False


def _check_barriers(report: Report) -> None:
    """Report multiplies of a warpgroup that follow stores of its own warps without a barrier.

    The four warps read the matrices together.  That each of them reads no other rows of A than the
    16 of its own fragment is what kernels rely on that only meet within a warp (bar.warp.sync); the
    manual does not say it, and such a read of A is for review.
    """
    sites = report.analysis.sites
    several = {
        e.index: e
        for e in report.analysis.events(Kind.SHARED_STORE)
        if e.place is not None and len({warp for warp, _ in sites[e.index]}) > 1
    }
    if not several:
        return
    found: dict[tuple[int, _Pending], Event] = {}

    def step(pending: frozenset[_Pending], event: Event) -> frozenset[_Pending]:
        if event.index in several and event.kind is Kind.SHARED_STORE:
            return pending | {_Pending(event.index)}
        if event.kind in _MEETS:
            return frozenset()
        if event.kind is Kind.WARP_SYNC:
            return frozenset(replace(store, by_warp=True) for store in pending)
        if event.kind is Kind.WARPGROUP_MULTIPLY:
            found.update(((event.index, store), event) for store in pending)
        return pending

    for role in report.analysis.roles:
        role.walker.gather(step)
    breaches = [
        (severity, reader, got)
        for (_, pending), reader in found.items()
        for severity, got in _unordered(report, reader, several[pending.index], pending.by_warp)
    ]
    for severity, reader, got in sorted(breaches, key=lambda found: found[0] is Severity.REVIEW):
        report.add(BARRIER, reader.index, severity=severity, got=got)


def _unordered(
    report: Report, reader: Event, store: Event, by_warp: bool
) -> Iterator[tuple[Severity, str]]:
    """What is certain to be stored to a matrix of `reader`, and how much that weighs."""
    assert store.place is not None
    for (operand, _), read in zip(reader.values, reader.reads, strict=True):
        name = variable_of(read) if read is not None else None
        if read is None or name is None or holds_other_things(report, name):
            continue
        if overlap(report, store.place, read):
            severity = Severity.REVIEW if by_warp and operand == "a" else Severity.ERROR
            yield severity, f"{store.place}, stored by several warps at {report.line(store.index)}"
