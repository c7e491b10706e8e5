"""Rules about order: findings for the races, deadlocks and missing commits of a kernel.

Layer: isel.verifier.ordering.  Input: a kernel whose block is known.  Output: findings, each with
the two accesses, the warps that make them, and what is missing between them.  PTX ISA, tcgen05:
Memory Consistency Model, Canonical synchronization patterns; Memory Consistency Model, Proxies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from intrinsics.findings import Severity
from isel.verifier.function.boxes import bytes_of_stores
from isel.verifier.function.events import Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.report import Report
from isel.verifier.function.tensor_memory import lanes
from isel.verifier.ordering import lifetimes
from isel.verifier.ordering.events.lane_order import LANE_RACE
from isel.verifier.ordering.judgement import (
    ends,
    halts,
    not_judged,
    sums,
    unfilled,
    unwritten_bytes,
    warpgroups,
)
from isel.verifier.ordering.judgement.history import TENSOR_OPS
from isel.verifier.ordering.judgement.race_rules import COPIES, Name, name_of
from isel.verifier.ordering.judgement.race_words import remedy_between, words_of
from isel.verifier.ordering.judgement.races import Finder, Missing, Race
from isel.verifier.ordering.judgement.rows import (
    BEFORE_COMPLETION,
    BEFORE_COPY,
    COPY_WAITS,
    GROUP_WAITS,
    MODIFIED,
    NO_COMMIT,
    ORDER_RULES,
    OTHER_THREADS,
    SHARED_RACE,
    WARPGROUP_WAITS,
)
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.run.log import Access, Breach, Log
from isel.verifier.ordering.run.strand import place_of
from isel.verifier.ordering.runs import Runs

RULES = (*ORDER_RULES, *lifetimes.RULES, LANE_RACE)

_Case: TypeAlias = tuple[bool, tuple[Log, Race, Name]]
"""A race with its rule, and whether it is in doubt."""

_NOT_OVER = (Missing.COMPLETION, Missing.ORDER)


def check(report: Report) -> None:
    """Execute the kernel and report its races, deadlocks, and operations without a commit."""
    if not report.analysis.block or not report.analysis.function.is_kernel:
        return
    program = Program.of(report.analysis.graph)
    if program.calls or not program.events:
        return
    program.boxes = bytes_of_stores(report)
    program.flows = [walker.flow for walker in report.analysis.walkers]
    runs = Runs(report, program)
    logs = runs.logs
    _doubts_about_threads(report, logs)
    broken = [breach for log in logs for breach in log.breaches.values()]
    ends.breaches(report, (breach for breach in broken if breach.rule is not LANE_RACE))
    ends.misaligned(report, logs)
    ends.outside(report, logs)
    ends.uninitialised(report, logs)
    lanes.strayed(report, (access for log in logs for access in log.lanes.values()))
    ends.left(report, logs)
    ends.copies_in_flight(report, logs)
    sums.check(report, logs)
    unfilled.check(report, program, runs.logs, runs.with_least_work)
    unwritten_bytes.check(report, logs)
    warpgroups.check(report, logs)
    found = _races(report, runs.finders())
    unfenced = {race.first.index for _, race in found if race.missing not in _NOT_OVER}
    loose = set().union(*(_uncommitted(report, log, unfenced) for log in logs))
    _name_and_report(
        report,
        [
            (log, race)
            for log, race in found
            if race.missing is not Missing.COMPLETION or race.first.index not in loose
        ],
        runs,
    )
    _lanes(report, runs, [breach for breach in broken if breach.rule is LANE_RACE])
    halts.halts(report, logs)
    halts.missed(report, logs)
    not_judged.check(report, program, logs)


def _lanes(report: Report, runs: Runs, found: list[Breach]) -> None:
    """Report lanes that race, but where warps do, as the barrier that is missing orders lanes, too,
    and where contents of memory decide whether lanes meet, which they may never do.
    """
    pairs = {(breach.other, breach.index) for breach in found}
    as_warps = {
        pair[1] for pair in pairs if any((SHARED_RACE.id, one) in report.findings for one in pair)
    }
    decided = runs.lanes_by_contents({pair for pair in pairs if pair[1] not in as_warps})
    ends.breaches(
        report,
        (
            breach
            for breach in found
            if breach.index not in as_warps and (breach.other, breach.index) not in decided
        ),
    )


def _races(report: Report, finders: list[Finder]) -> list[tuple[Log, Race]]:
    """The races of all runs, but for those between loop iterations that another race explains."""
    found = [(finder.log, race) for finder in finders for race in finder.races()]
    for finder in finders:
        _other_threads(report, finder)
    not_judged.stopped(report, {f.stopped for f in finders if f.stopped is not None})
    victims = {r.second.index for _, r in found if r.first.index <= r.second.index}
    return [
        (log, race)
        for log, race in found
        if race.first.index <= race.second.index or race.first.index not in victims
    ]


def _other_threads(report: Report, finder: Finder) -> None:
    """Report arrivals that release accesses of other threads of their warp, unsynchronised."""
    for first, second in finder.alone.values():
        verb = "writes" if first.kind in (Kind.SHARED_STORE, Kind.TENSOR_STORE) else "reads"
        got = (
            f"not all threads of {first} arrive; {report.line(first.index)} {verb} in all of them, "
            f"and {report.line(second.index)} relies on it"
        )
        report.add(OTHER_THREADS, first.by, got=got)


def _name_and_report(report: Report, races: list[tuple[Log, Race]], runs: Runs) -> None:
    """Report races, the certain ones first; one missing fence or wait is reported once."""
    named = [
        (log, race, name) for log, race in races if (name := name_of(report, log, race)) is not None
    ]
    certain = [race for log, race, name in named if not _is_doubtful(log, race, name)]
    others = (
        runs.only_for_other_sizes(certain)
        | runs.only_for_sizes_of_zero(certain)
        | runs.only_for_no_bytes(certain)
        | runs.by_contents(certain)
        | runs.by_arguments(certain)
    )
    cases = [(_is_doubtful(*case) or case[1].records in others, case) for case in named]
    follow = _follow(cases)
    cases.sort(key=lambda case: (case[0], case[1][1].second.index))
    seen: set[tuple[object, ...]] = set()
    for doubt, (log, race, name) in cases:
        what, second = (name.rule.id, race.first.index), race.second
        alike, behind = (*what, second.kind), (*what, second.warp)
        reported = behind in seen if second.kind is Kind.DEALLOC else alike in seen
        if name.index == race.first.index or not reported:
            follows = race.first.index == second.index and second.index in follow
            _report(report, log, race, name, doubt=doubt, follows=follows)
        seen |= {alike, behind}


def _follow(cases: list[_Case]) -> set[int]:
    """The copies that race with themselves, a turn later, for want of what another race is about.

    Where what reads the bytes is ordered behind a copy and before the next, the copies are; so if
    either order is missing, that is the mistake.
    """
    read: set[int] = set()
    for _, (_, race, _) in cases:
        copies = [a.index for a in (race.first, race.second) if a.kind is Kind.COPY_IN]
        read |= set(copies) if len(copies) == 1 else set()
    return {
        race.first.index
        for _, (_, race, _) in cases
        if race.first.index == race.second.index and race.first.index in read
    }


def _is_doubtful(log: Log, race: Race, name: Name) -> bool:
    """Whether a race may be on a path that is never taken, or on bytes that are not accessed."""
    # What follows from an address that is read too early is certain.
    turn = (race.first if name.rule is lifetimes.SLOT_PUBLISHED else race.second).turn
    return log.is_doubtful(turn) or name.doubt or not race.is_certain


def _report(
    report: Report, log: Log, race: Race, name: Name, *, doubt: bool, follows: bool
) -> None:
    severity = Severity.REVIEW if doubt and name.rule.severity is Severity.ERROR else None
    if name.rule.severity is Severity.REVIEW and not doubt and race.is_relaxed:
        severity = Severity.ERROR  # only the fence is missing
    expected, hint = _way_out(report, log, race, name) or (_expected(log, race, name), "")
    report.add(
        name.rule, name.index, got=words_of(report, log, race), expected=expected,
        severity=severity, hint=hint, follows=follows,
    )  # fmt: skip


def _way_out(report: Report, log: Log, race: Race, name: Name) -> tuple[str, str] | None:
    """The `expected` and `hint` for what the first access is; None for the rule's own."""
    first = race.first
    if name.rule is MODIFIED and first.kind is Kind.WARPGROUP_MULTIPLY:
        return WARPGROUP_WAITS
    if name.rule is MODIFIED and first.kind is Kind.COPY_IN:
        return COPY_WAITS
    by_group = report.record(first.index).row.id in COPIES and race.missing is Missing.COMPLETION
    if name.rule is not SHARED_RACE:
        return None
    return GROUP_WAITS if by_group else remedy_between(report, log, race)


def _expected(log: Log, race: Race, name: Name) -> str:
    """The `expected` of a finding, with the mbarrier that tracks the completion.

    "" for the rule's own.
    """
    mbarrier = log.tracker_of(race.first)
    if mbarrier is None or name.rule not in (BEFORE_COMPLETION, BEFORE_COPY):
        return ""
    tells = "the copy signals" if name.rule is BEFORE_COPY else "the first is committed to"
    return f"a wait on mbarrier {mbarrier.name}, which {tells}"


# ---- threads -----------------------------------------------------------------------------------


def _doubts_about_threads(report: Report, logs: list[Log]) -> None:
    """Withdraw reviews about which threads execute a record, and about unmatched arrivals.

    They are refuted where one thread, or whole warps, executed it in every run, and where every
    arrival was waited for.
    """
    guessed = any(log.guessed or log.assumed or log.unknown for log in logs)
    in_vain = any(log.stuck or log.truncated for log in logs)
    for rule, index in list(report.findings):
        if report.findings[rule, index].severity is not Severity.REVIEW:
            continue
        runs = [log.threads[index] for log in logs if index in log.threads]
        match rule.rpartition("/")[2]:
            case "threads":
                settled = bool(runs) and all(map(_is_one_thread, runs))
            case "aligned":
                settled = bool(runs) and not guessed and all(map(_are_whole_warps, runs))
            case "arrivals":
                settled = not guessed and not in_vain
            case _:
                settled = False
        if settled:
            del report.findings[rule, index]


def _is_one_thread(executed: set[tuple[int, int]]) -> bool:
    """Whether one thread of each CTA executed a record."""
    ctas = [place_of(actor)[0] for actor, _ in executed]
    return len(ctas) == len(set(ctas)) and all(mask.bit_count() == 1 for _, mask in executed)


def _are_whole_warps(executed: set[tuple[int, int]]) -> bool:
    """Whether all or none of the threads of each warp executed a record."""
    return all(mask == (1 << LANES) - 1 for _, mask in executed)


# ---- commits -------------------------------------------------------------------------------------


def _uncommitted(report: Report, log: Log, but: set[int]) -> set[int]:
    """Operations that no commit tracks, in a run that was not cut short.

    `but` are those that a commit of another thread would track, were there a fence.
    """
    if log.truncated or log.unknown:
        return set()
    found = {access.index for access in _last_ones(log)} - but
    for index in found:
        report.add(
            NO_COMMIT,
            index,
            severity=Severity.REVIEW if log.is_in_doubt else None,
            got="a way on which no tcgen05.commit follows in the thread that issues it",
        )
    return found


def _last_ones(log: Log) -> Iterator[Access]:
    for access in log.accesses:
        source, number = access.done
        tracked = access.kind is Kind.MULTIPLY or (access.kind in TENSOR_OPS and not log.stuck)
        if tracked and log.committed.get(source, 0) < number:
            yield access


__all__ = ["RULES", "check"]
