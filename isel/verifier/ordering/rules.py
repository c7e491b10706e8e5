"""Rules about order: what the races of a kernel are called, and what mends them.

Layer: isel.verifier.ordering.  Input: a kernel whose block is known.  Output: findings, each with
the two accesses, who makes them, and what is missing between them.  PTX ISA, tcgen05: Memory
Consistency Model, Canonical synchronization patterns; Memory Consistency Model, Proxies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.limits import MOST_CLUSTER, PORTABLE_CLUSTER
from isel.verifier.function import lanes, registers
from isel.verifier.function.clusters import cluster_size, pair_records
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.function.values import LANES
from isel.verifier.ordering import ends, life, sums, unfilled, warpgroups
from isel.verifier.ordering.execute import Run
from isel.verifier.ordering.history import TENSOR_OPS
from isel.verifier.ordering.log import Access, Log
from isel.verifier.ordering.machine import Launch
from isel.verifier.ordering.names import Name, name_of, words_of
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.races import Finder, Missing, Race
from isel.verifier.ordering.rows import (
    BEFORE_COMPLETION,
    BEFORE_COPY,
    MODIFIED,
    NO_COMMIT,
    ORDER_RULES,
    OTHER_THREADS,
    WARPGROUP_WAITS,
)
from isel.verifier.ordering.strand import place_of

RULES = (*ORDER_RULES, *life.RULES)

_ROUNDS, _FEWER = 6, 3
"""How often a run may execute each record that a warp comes to, on the average; fewer times where
integers are a size, and loops do not end."""
_SIZE = 512
_LEAST, _MOST = 8_000, 30_000
_SMALL = 3_000
"""Records of all warps of a kernel that has more runs."""
_NOT_OVER = (Missing.COMPLETION, Missing.ORDER)
_RUNS = ((5, False), (4, True), (_SIZE, False), (0, False))
"""What integer arguments are in each run, a count of rounds or a size, and whether it is late."""
_MORE_RUNS = 4
"""Runs of small kernels with other arguments, which branches ask for."""


def check(report: Report) -> None:
    """Execute the kernel and report its races, deadlocks, and operations without a commit."""
    if not report.analysis.block or not report.analysis.function.is_kernel:
        return
    program = Program.of(report.analysis.graph)
    if program.calls or not any(s.is_event for steps in program.steps for s in steps):
        return
    logs = _logs(report, program)
    _doubts_about_threads(report, logs)
    ends.breaches(report, logs)
    lanes.strayed(report, (access for log in logs for access in log.lanes.values()))
    ends.left(report, logs)
    sums.check(report, logs)
    unfilled.check(report, program, logs)
    warpgroups.check(report, logs)
    found = _races(report, logs)
    unfenced = {race.first.index for _, race in found if race.missing not in _NOT_OVER}
    loose = set().union(*(_uncommitted(report, log, unfenced) for log in logs))
    _name_and_report(
        report,
        [
            (log, race)
            for log, race in found
            if race.missing is not Missing.COMPLETION or race.first.index not in loose
        ],
    )
    ends.halts(report, logs)
    ends.missed(report, logs)
    ends.unreached(report, logs, [s.index for steps in program.steps for s in steps if s.is_event])


def _logs(report: Report, program: Program) -> list[Log]:
    """The logs of all runs; in a cluster where the kernel is for one that nobody gave the size of.

    That it names mbarriers of other CTAs tells how many there are.  How they lie, along x and y, it
    does not tell: the first shape is taken in which nothing goes wrong, or else the least does.
    """
    logs = _of_cluster(report, program, ())
    last = max(log.furthest for log in logs)
    if not last or cluster_size(report.analysis.function, report.cluster) is not None:
        return logs
    steps, least = last.bit_length(), math.inf
    for n in range(steps + 1) if 1 << steps <= PORTABLE_CLUSTER else ():
        found = _of_cluster(report, program, (1 << steps - n, 1 << n, 1))
        wrong = sum(len(log.stuck) + _races_of(report, log) for log in found)
        if wrong < least:
            logs, least = found, wrong
        if not wrong:
            break
    for log in logs:
        log.cannot_follow("a cluster whose size nobody gave")
        log.certain = 0
    return logs


def _races_of(report: Report, log: Log) -> int:
    return sum(1 for _ in Finder(log, report.analysis.graph.records).races())


def _of_cluster(report: Report, program: Program, cluster: tuple[int, ...]) -> list[Log]:
    """The logs of all runs in a cluster of some shape; () is what the kernel and its user say."""
    logs: list[Log] = []
    for number, late in _runs(report, program):
        if late or not logs or logs[0].argued:  # else it would be the first run again
            logs.append(_run(report, program, number, cluster, late=late))
    return logs


def _races(report: Report, logs: list[Log]) -> list[tuple[Log, Race]]:
    """The races of all runs; but for those across the rounds of a loop that another explains."""
    records = report.analysis.graph.records
    finders = [Finder(log, records) for log in _apart(logs)]
    found = [(finder.log, race) for finder in finders for race in finder.races()]
    for finder in finders:
        _other_threads(report, finder)
    ends.stopped(report, {f.stopped for f in finders if f.stopped is not None})
    victims = {r.second.index for _, r in found if r.first.index <= r.second.index}
    return [
        (log, race)
        for log, race in found
        if race.first.index <= race.second.index or race.first.index not in victims
    ]


def _apart(logs: list[Log]) -> list[Log]:
    """The logs in which races are looked for: what a run does that ends as another did is known."""
    found: list[Log] = []
    for log in logs:
        if log not in found:
            found.append(log)
    return found


def _other_threads(report: Report, finder: Finder) -> None:
    """Report arrivals that hand on what other threads of their warp have accessed."""
    for first, second in finder.alone.values():
        verb = "writes" if first.kind in (Kind.SHARED_STORE, Kind.TENSOR_STORE) else "reads"
        got = (
            f"not all threads of {first} arrive; {report.line(first.index)} {verb} in all of them, "
            f"and {report.line(second.index)} relies on it"
        )
        report.add(OTHER_THREADS, first.by, got=got)


def _name_and_report(report: Report, races: list[tuple[Log, Race]]) -> None:
    """Report races, the certain ones first; what is missing at one is so for all that follow."""
    named = [
        (log, race, name) for log, race in races if (name := name_of(report, log, race)) is not None
    ]
    named.sort(key=lambda case: (_is_doubtful(*case), case[1].second.index))
    seen: set[tuple[object, ...]] = set()
    for log, race, name in named:
        what, second = (name.rule.id, race.first.index), race.second
        alike, behind = (*what, second.kind), (*what, second.warp)
        reported = behind in seen if second.kind is Kind.DEALLOC else alike in seen
        if name.index == race.first.index or not reported:
            _report(report, log, race, name)
        seen |= {alike, behind}


def _runs(report: Report, program: Program) -> list[tuple[int, bool]]:
    """The runs of a kernel; a small one also has those that decide its branches otherwise."""
    if sum(map(len, program.steps)) * len(report.analysis.walkers) > _SMALL:
        return [*_RUNS]
    usual = {number for number, _ in _RUNS}
    more = [number for number in program.numbers if number not in usual]
    return [*_RUNS, *((number, False) for number in more[:_MORE_RUNS])]


def _steps(report: Report, program: Program) -> int:
    """How many records all warps of a CTA come to together."""
    sizes = [*map(len, program.steps)]
    return sum(sizes[n] for walker in report.analysis.walkers for n in walker.flow.reached())


def _is_too_large(ctas: int, steps: int) -> bool:
    """Whether a cluster is executed as a pair: no GPU has it, or the run of all would be cut."""
    return ctas > MOST_CLUSTER or (ctas > PORTABLE_CLUSTER and ctas * steps > _MOST)


def _run(
    report: Report, program: Program, number: int, cluster: tuple[int, ...], *, late: bool
) -> Log:
    function = report.analysis.function
    x, y, z = (*report.analysis.block, 1, 1)[:3]
    size = cluster or tuple(function.launch.cluster) or report.cluster or (1,)
    cluster = (*size, 1, 1)[:3]
    if _is_too_large(math.prod(cluster), _steps(report, program)):
        cluster = (2, 1, 1)
    elif cluster == (1, 1, 1) and cluster_size(function, report.cluster) is None:
        cluster = (2, 1, 1) if any(pair_records(function)) else cluster
    cx, cy, cz = cluster
    held = 0 if report.bounded else registers.at_first(report)
    launch = Launch((x, y, z), (cx, cy, cz), number, held)
    steps = _steps(report, program) * launch.ctas
    rounds = _FEWER if number == _SIZE else _ROUNDS
    budget = min(max(steps * rounds, _LEAST), _MOST)
    log = Run(report.module, function, program, launch, budget, late=late).run()
    if launch.ctas < math.prod(size):
        log.unknown.append("a cluster of more CTAs")
        log.certain = 0
    return log


def _is_doubtful(log: Log, race: Race, name: Name) -> bool:
    """Whether a race may be one of a way that nobody takes, or of places that are not touched."""
    # What an address that is read too early leads to is no guess.
    turn = (race.first if name.rule is life.SLOT_PUBLISHED else race.second).turn
    return log.is_doubtful(turn) or name.doubt or not race.is_certain


def _report(report: Report, log: Log, race: Race, name: Name) -> None:
    doubt = _is_doubtful(log, race, name)
    severity = Severity.REVIEW if doubt and name.rule.severity is Severity.ERROR else None
    if name.rule.severity is Severity.REVIEW and not doubt and race.is_relaxed:
        severity = Severity.ERROR  # nothing but the fence would order the two
    expected = _expected(log, race, name)
    hint = ""
    if name.rule is MODIFIED and race.first.kind is Kind.WARPGROUP_MULTIPLY:
        expected, hint = WARPGROUP_WAITS
    report.add(
        name.rule, name.index, got=words_of(report, race), expected=expected, severity=severity,
        hint=hint,
    )  # fmt: skip


def _expected(log: Log, race: Race, name: Name) -> str:
    """What would mend it, with the mbarrier that tracks the end; "" for what the rule says."""
    mbarrier = log.tracker_of(race.first)
    if not mbarrier or name.rule not in (BEFORE_COMPLETION, BEFORE_COPY):
        return ""
    tells = "the copy signals" if name.rule is BEFORE_COPY else "the first is committed to"
    return f"a wait on mbarrier {mbarrier}, which {tells}"


# ---- threads -----------------------------------------------------------------------------------


def _doubts_about_threads(report: Report, logs: list[Log]) -> None:
    """Take back reviews about who executes what one thread, or whole warps, did in every run, and
    about arrivals that nobody waited for in vain."""
    guessed = any(log.guessed or log.made_up or log.unknown for log in logs)
    in_vain = any(log.stuck or log.cut for log in logs)
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
    """Whether those of each CTA that executed a record are one thread."""
    ctas = [place_of(actor)[0] for actor, _ in executed]
    return len(ctas) == len(set(ctas)) and all(mask.bit_count() == 1 for _, mask in executed)


def _are_whole_warps(executed: set[tuple[int, int]]) -> bool:
    """Whether all threads of a warp executed a record, or none."""
    return all(mask == (1 << LANES) - 1 for _, mask in executed)


# ---- commits -------------------------------------------------------------------------------------


def _uncommitted(report: Report, log: Log, but: set[int]) -> set[int]:
    """Operations that no commit tracks, in a run that was not cut short; `but` those that would be
    tracked by another thread's, were there a fence."""
    if log.cut or log.unknown:
        return set()
    found = {access.index for access in _last_ones(log)} - but
    for index in found:
        report.add(
            NO_COMMIT,
            index,
            severity=Severity.REVIEW if log.guessed else None,
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
