"""Rules about shared memory that threads write and the async proxy reads.

Layer: isel.verifier.function.  tcgen05.mma, wgmma and bulk copies read shared memory through the
async proxy; what threads stored there is visible to it after fence.proxy.async only, which stands
after the stores, or after the barrier that follows them.  PTX ISA, tcgen05: Shared Memory Accesses;
wgmma.fence.
"""

from __future__ import annotations

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
RULES = (PROXY_FENCE,)


def check(report: Report) -> None:
    """Run the rule."""
    if not report.analysis.block:
        return
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
        assert store.place is not None
        certain = overlap(report, store.place, read)
        if certain is None:
            continue
        report.add(
            PROXY_FENCE,
            store.index,
            severity=Severity.ERROR if certain and not shared else Severity.REVIEW,
            got=f"{store.place}, which {report.line(reader.index)} reads",
        )
