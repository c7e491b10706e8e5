"""Rules about the phases of mbarriers: each completes once, by the arrivals that it expects.

Layer: isel.verifier.function.  A phase is complete when as many arrivals came as mbarrier.init said
and as many bytes as were expected.  Only constant counts are checked; a wait is assumed to end
where anything may end it.  PTX ISA, mbarrier: Phase of the mbarrier object.
"""

from __future__ import annotations

from collections import Counter

from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from isel.verifier.function.events import ARRIVING, Event, Kind, signalled
from isel.verifier.function.flow.values import MemoryLocation, Spread, Symbol
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

_SECTION = "mbarrier, Phase of the mbarrier object"

TOO_MANY = VerifierRule(
    "mbarrier/too-many-arrivals",
    "more threads arrive on an mbarrier than it expects",
    _SECTION,
    hint="the phase ends before all of them have arrived, and the others count for the next one",
    misses=False,
)
ENDS_EARLY = VerifierRule(
    "mbarrier/ends-early",
    "a phase ends before all that it is waited for has arrived",
    _SECTION,
    hint="mbarrier.init counts every arrival and every commit of a phase",
)
NO_BYTES = VerifierRule(
    "mbarrier/no-bytes",
    "an mbarrier expects bytes, and no copy brings any",
    _SECTION,
    expected="a bulk copy, st.async or red.async that names the mbarrier",
    hint="an arrival that waits for no bytes is mbarrier.arrive",
)
NOT_EXPECTED = VerifierRule(
    "mbarrier/not-expected",
    "a copy signals an mbarrier that expects no bytes",
    _SECTION,
    expected="mbarrier.arrive.expect_tx with the bytes of the copies",
)
RULES = (TOO_MANY, ENDS_EARLY, NO_BYTES, NOT_EXPECTED)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if not report.analysis.block or not report.analysis.events(Kind.INIT):
        return
    _bytes(report)
    for init in report.analysis.events(Kind.INIT):
        if init.place is not None and init.count is not None and init.place.offset is not None:
            _too_many(report, init, init.place, init.count)
            _ends_early(report, init, init.place, init.count)


# ---- counts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Record:
    """A record that arrives: how many threads at once, and whether all of them at one mbarrier."""

    threads: int
    together: bool


def _too_many(report: Report, init: Event, place: MemoryLocation, count: int) -> None:
    """A record at which more threads arrive than a phase expects."""
    for index, found in report.analysis.sites.items():
        event = found[0][1]
        if event.kind not in ARRIVING or event.place is None or not event.place.meets(place):
            continue
        there = [(w, e) for w, e in found if e.place is not None and e.place.meets(place)]
        record = _arriving(there)
        if record is None or record.threads <= count or not record.together:
            continue
        if (f"{event.mi.row.head}/threads", index) in report.findings:
            continue  # reported by a rule about the number of threads
        if _expects_more(report, event.place, record.threads):
            continue  # may be another mbarrier of the same array
        report.add(
            TOO_MANY,
            init.index,
            got=f"{place} expects {count}; {record.threads} threads at {report.line(index)}",
            expected=f"mbarrier.init with {record.threads}, or an arrival by {count} only",
        )


def _arriving(found: list[tuple[int, Event]]) -> _Record | None:
    """The threads that arrive, by the warps that do; where only a run knows at which mbarrier of a
    ring, those of one warpgroup, as warpgroups may take turns at its buffers.
    """
    threads: Counter[int] = Counter()
    same = True
    for warp, event in found:
        count, value = event.threads.count, event.value("mbar")
        if count is None or event.count is None or event.threads.perhaps:
            return None
        known = value is not None and value.offset is not None
        threads[0 if known else warp // WARPGROUP_WARPS] += count * event.count
        same &= known or (value is not None and value.spread is Spread.CTA)
    return _Record(max(threads.values(), default=0), same or len(found) == 1)


def _expects_more(report: Report, place: MemoryLocation, threads: int) -> bool:
    """Whether some mbarrier that may be meant expects so many arrivals."""
    return any(
        init.count is None or init.count >= threads
        for init in report.analysis.events(Kind.INIT)
        if init.place is None or init.place.meets(place)
    )


def _ends_early(report: Report, init: Event, place: MemoryLocation, count: int) -> None:
    """Every thread arrives once and waits for the first phase only, and more arrive than
    expected.
    """
    asks = [e for e in report.analysis.events(Kind.ASK) if _may_be(e.place, place)]
    if not asks or any(e.place != place or e.count != 0 for e in asks):
        return
    if (TOO_MANY.id, init.index) in report.findings:
        return
    total = 0
    for walker in report.analysis.walkers:
        most = _most(report, walker.flow.warp.number, place)
        if most is None:
            return
        total += most
    if total > count:
        report.add(
            ENDS_EARLY,
            init.index,
            got=f"{place} expects {count}, waits are for its first phase only, and {total} arrive",
            expected=f"mbarrier.init with {total}",
        )


def _most(report: Report, warp: int, place: MemoryLocation) -> int | None:
    """The most arrivals on a CFG path of a warp; None where they are unknown, or repeated."""
    walker = report.analysis.walkers[warp]
    concerned = [e for e in walker.each() if e.kind in ARRIVING and _may_be(e.place, place)]
    for event in concerned:
        known = event.place == place and event.threads.count is not None
        known &= (f"{event.mi.row.head}/threads", event.index) not in report.findings
        if not known or event.count is None or event.index in report.analysis.repeated[warp]:
            return None
    if not concerned:
        return 0

    def step(arrived: tuple[int, ...], event: Event) -> tuple[int, ...]:
        if event.kind in ARRIVING and event.place == place:
            return (*arrived, (event.threads.count or 0) * (event.count or 0))
        return arrived

    nothing: tuple[int, ...] = ()
    counts = [state for _, state in walker.walk(nothing, step).at_exit()]
    if any(len(arrived) > 1 for arrived in counts):
        return None
    return max(map(sum, counts), default=0)


def _may_be(one: MemoryLocation | None, place: MemoryLocation) -> bool:
    return one is None or one.meets(place)


# ---- bytes -----------------------------------------------------------------------------------


def _bytes(report: Report) -> None:
    """Bytes are expected where copies complete on an mbarrier, and only there."""
    expects = [e for e in report.analysis.events(Kind.ARRIVE) if e.mi.get("tx_count") is not None]
    copies = report.analysis.events(Kind.COPY_IN)
    signals = [signalled(e) for e in copies]
    brought = [*signals, *(e.place for e in report.analysis.events(Kind.TRANSACTION))]
    for event in expects:
        if _is_own(event.place) and not _is_met_by(event.place, brought):
            report.add(NO_BYTES, event.index, got=f"nothing signals {event.place}")
    if _may_be_expected_elsewhere(report):
        return
    for event, place in zip(copies, signals, strict=True):
        if _is_own(place) and not _is_met_by(place, [e.place for e in expects]):
            report.add(NOT_EXPECTED, event.index, got=f"nobody expects bytes on {place}")


def _is_own(place: MemoryLocation | None) -> bool:
    return place is not None and isinstance(place.base, Symbol)


def _is_met_by(place: MemoryLocation | None, others: list[MemoryLocation | None]) -> bool:
    return place is None or any(other is None or other.meets(place) for other in others)


def _may_be_expected_elsewhere(report: Report) -> bool:
    """Whether bytes may be expected by an instruction that does not arrive."""
    return any(mi.row.id.startswith("mbarrier.expect_tx") for mi in report.analysis.graph.records)
