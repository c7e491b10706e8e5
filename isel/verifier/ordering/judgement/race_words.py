"""The message of a race: both accesses, what is missing, and what stands between them.

Layer: isel.verifier.ordering.  Input: a race and the log that it is in.  Output: words.  Between
accesses of two warps stand the arrival behind the first and the wait before the second: where these
are of another mbarrier, another phase or relaxed, the mistake is there.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Sem
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering.judgement.history import TENSOR_OPS
from isel.verifier.ordering.judgement.names import region_in_words
from isel.verifier.ordering.judgement.races import Missing, Race
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.log import Log, Tracked, Waited
from isel.verifier.ordering.run.strand import named
from isel.verifier.ordering.run.synchronisation import Mbarrier

_MISSING = {
    Missing.ORDER: "nothing orders the two",
    Missing.COMPLETION: "nobody has waited for its end",
    Missing.FENCE_BEFORE: "no tcgen05.fence::before_thread_sync stands behind it",
    Missing.FENCE_AFTER: "no tcgen05.fence::after_thread_sync stands before this",
    Missing.PROXY_FENCE: "no fence.proxy.async of its threads is ordered before this",
    Missing.SCOPE: "the arrival or the wait between the two has the scope .cta",
}
_RELAXED = (
    ".release in the arrival and .acquire in the wait",
    "what is .relaxed orders only the accesses before a fence of its thread",
)
_OF_ONE_MBARRIER = (
    "an arrival behind the first, and a wait before the second, for one phase of one mbarrier",
    "compare the two: the stage of a ring that they name, the parity that is waited for, and the "
    "arrivals that mbarrier.init counts",
)


def words_of(report: Report, log: Log, race: Race) -> str:
    """The message of a race: both accesses, what is missing, and what partly orders them."""
    first, second = race.first, race.second
    turn = " in an earlier turn" if first.index == second.index and _is_one_warp(race) else ""
    return (
        f"{second} {_does(report, race.other)}; {report.line(first.index)} by {first}{turn} "
        f"{_does(report, race.one)}, and {_MISSING[race.missing]}{_between(report, log, race)}"
    )


def remedy_between(report: Report, log: Log, race: Race) -> tuple[str, str] | None:
    """The `expected` and `hint` where threads arrive and wait at mbarriers between the two."""
    arrival, wait = _signals(log, race)
    if arrival is None or wait is None:
        return None
    if any(_is_relaxed(report.record(index)) for index in (arrival, wait.record)):
        return _RELAXED
    return _OF_ONE_MBARRIER if wait.mbarrier is not None else None


def _is_one_warp(race: Race) -> bool:
    return race.first.warp == race.second.warp


def _does(report: Report, region: Region) -> str:
    verb = "writes" if region.writes else "reads"
    return f"{verb} {region_in_words(report, region)}"


def _between(report: Report, log: Log, race: Race) -> str:
    """The signal behind the first access and the wait before the second, in words."""
    arrival, wait = _signals(log, race)
    told = []
    tracker = log.tracker_of(race.first)
    if race.first.kind is Kind.COPY_IN and tracker is not None:
        told.append(f"it completes on mbarrier {tracker.name}")
    elif arrival is not None:
        told.append(f"the first arrival behind it is {_named(report, arrival)}")
    if wait is not None:
        told.append(f"the last wait before this is {_named(report, wait.record)}")
        told += _early(wait, tracker) or _signalled(report, wait.mbarrier)
    if race.first.kind is race.second.kind and tracker is not None:
        told += _stale(report, log, tracker)
    return "".join(f"; {one}" for one in told)


def _early(wait: Waited, tracker: Tracked | None) -> list[str]:
    """What a wait for an mbarrier found complete, if that was a phase before the operation's."""
    if tracker is None or wait.mbarrier is None or tracker.at != wait.mbarrier.at:
        return []
    if wait.phase >= tracker.phase:
        return []
    over = f"since phase {wait.phase}" if wait.phase >= 0 else "before phase 0"
    asked = f"it asks for parity {wait.phase & 1}, which passes {over} is over"
    return [f"{asked}; the first is of phase {tracker.phase} of the same mbarrier"]


def _stale(report: Report, log: Log, tracker: Tracked) -> list[str]:
    """The warp that has waited twice for one phase of an mbarrier, where none waits for the next.

    Its waits are all that would order what reads a copy behind it, and before the next one.
    """
    there = [
        (actor, wait) for actor, waits in log.waits.items() for wait in waits
        if wait.mbarrier is not None and wait.mbarrier.at == tracker.at
    ]  # fmt: skip
    if any(wait.phase == tracker.phase for _, wait in there):
        return []
    seen: set[tuple[int, int]] = set()
    for actor, wait in there:
        if (actor, wait.phase) in seen:
            asks = f"asks {tracker.name} for parity {wait.phase & 1} again"
            return [f"{report.line(wait.record)} by {named(actor)} {asks}, and does not wait"]
        seen.add((actor, wait.phase))
    return []


def _signalled(report: Report, mbarrier: Mbarrier | None) -> list[str]:
    """The initialisation of an mbarrier that was waited for, and the records that signal it."""
    if mbarrier is None:
        return []
    made = f"its mbarrier counts {mbarrier.expected} by {report.line(mbarrier.made_by)}"
    return [f"{made}, and is told by {report.lines(mbarrier.signals)}"]


def _signals(log: Log, race: Race) -> tuple[int | None, Waited | None]:
    """The first arrival behind the first access, and the last wait before the second.

    Neither where a fence is missing; no arrival for what a commit tracks.
    """
    if not _is_open(race):
        return None, None
    tracked = race.first.kind in TENSOR_OPS
    return None if tracked else log.arrival_behind(race.first), log.wait_before(race.second)


def _is_open(race: Race) -> bool:
    """Whether an order between threads is missing, or its scope, and not a fence."""
    apart = race.first.kind is Kind.COPY_IN or not _is_one_warp(race)
    return apart and race.missing in (Missing.ORDER, Missing.COMPLETION, Missing.SCOPE)


def _named(report: Report, index: int) -> str:
    relaxed = ", which is .relaxed" if _is_relaxed(report.record(index)) else ""
    return f"{report.line(index)}{relaxed}"


def _is_relaxed(mi: MachineInstr) -> bool:
    return mi.form.attributes.get("sem") is Sem.RELAXED
