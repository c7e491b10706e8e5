"""Rules about order: what the races of a kernel are called, and what mends them.

Layer: isel.verifier.ordering.  Input: a kernel whose block is known.  Output: findings, each with
the two accesses, who makes them, and what is missing between them.  PTX ISA, tcgen05: Memory
Consistency Model, Canonical synchronization patterns; Memory Consistency Model, Proxies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from intrinsics.findings import Severity, errors
from isel.verifier.function.clusters import cluster_size
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering.execute import Run
from isel.verifier.ordering.log import Access, Log, Memory, Region
from isel.verifier.ordering.machine import Launch
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.races import Finder, Missing, Race
from isel.verifier.ordering.regions import WINDOW
from isel.verifier.rule import VerifierRule

_PATTERNS = "tcgen05, Canonical synchronization patterns"
_WAIT = (
    "tcgen05.commit behind it, mbarrier.try_wait.parity until it succeeds, then "
    "tcgen05.fence::after_thread_sync"
)

NO_COMMIT = VerifierRule(
    "{op}/no-commit",
    "{op} is not committed on every way to the end",
    _PATTERNS,
    expected="tcgen05.commit in the same thread, and a wait on its mbarrier",
)
BEFORE_COMPLETION = VerifierRule(
    "{op}/before-completion",
    "columns are accessed before what uses them is known to be complete",
    _PATTERNS,
    expected="a wait for the commit behind it",
    hint=_WAIT,
)
NOT_PIPELINED = VerifierRule(
    "{op}/not-pipelined",
    "an operation on the same columns may still run, and is not pipelined with this one",
    "tcgen05, Pipelined tcgen05 Instructions",
    expected="a commit behind the first, a wait for it, and tcgen05.fence::after_thread_sync",
    hint="pipelined are mma behind mma with the same accumulator and shape, mma behind cp or "
    "shift, shift behind mma, and cp.4x256b behind shift",
)
UNORDERED = VerifierRule(
    "{op}/unordered",
    "two threads access the same columns, and nothing orders them",
    _PATTERNS,
    expected="tcgen05.fence::before_thread_sync and an arrival after the first, a wait and "
    "tcgen05.fence::after_thread_sync before the second",
)
LOAD_RUNNING = VerifierRule(
    "tcgen05.ld/no-wait",
    "columns are handed on while a load may still read them",
    _PATTERNS,
    expected="tcgen05.wait::ld between the load and what hands its columns on",
    hint="the loaded registers may be used at once, but that orders nothing else: "
    "tcgen05.wait::ld comes before an arrival, and before an access that overwrites the columns",
)
STORE_RUNNING = VerifierRule(
    "tcgen05.st/no-wait",
    "columns are handed on while a store may still write them",
    _PATTERNS,
    expected="tcgen05.wait::st between the store and what hands its columns on",
    hint="tcgen05.wait::st comes before an arrival, and before an access to the columns",
)
BEFORE_SYNC = VerifierRule(
    "tcgen05/fence-before",
    "columns are handed to another thread without a fence before the arrival",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::before_thread_sync between the access and the arrival",
    hint="tcgen05.wait::ld or ::st; tcgen05.fence::before_thread_sync; the arrival",
)
AFTER_SYNC = VerifierRule(
    "tcgen05/fence-after",
    "columns of another thread are used without a fence after the wait",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the wait and the access",
    hint="the wait; tcgen05.fence::after_thread_sync; the access",
)
BEFORE_FENCE = VerifierRule(
    "{op}/before-fence",
    "the wait for the MMA is not followed by tcgen05.fence::after_thread_sync",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the wait and the access",
    hint=_WAIT,
)
PROXY_FENCE = VerifierRule(
    "shared/proxy-fence",
    "shared memory is written by threads and read through the async proxy without a fence",
    "tcgen05, Shared Memory Accesses",
    expected="fence.proxy.async.shared::cta between the stores and what orders them with the read",
    hint="fence.proxy.async.shared::cta; the barrier; the read",
)
BARRIER = VerifierRule(
    "shared/barrier",
    "a multiply reads shared memory before the stores of the other warps are known to be done",
    "tcgen05, Shared Memory Accesses",
    expected="fence.proxy.async.shared::cta behind the stores, and a barrier before the multiply",
    hint="fence.proxy.async.shared::cta; bar.sync; the multiply",
)
BEFORE_COPY = VerifierRule(
    "{op}/before-copy",
    "shared memory is read that a copy may not have filled yet",
    "cp.async.bulk.tensor",
    expected="a wait on the copy's mbarrier",
    hint="mbarrier.try_wait.parity until it succeeds, before the read",
)
MODIFIED = VerifierRule(
    "{op}/operand-modified",
    "shared memory is overwritten while an operation may still read it",
    "tcgen05, Matrix Multiply and Accumulate Operations",
    expected="a commit behind the operation, and a wait on its mbarrier before the write",
    hint="the mbarrier that says that a stage is empty is told by tcgen05.commit; whatever the "
    "collector buffer holds, the matrix is not modified before that",
)
SOURCE_MODIFIED = VerifierRule(
    "{op}/source-modified",
    "shared memory is overwritten while a bulk copy may still read it",
    "cp.async.bulk.wait_group",
    expected="cp.async.bulk.commit_group and cp.async.bulk.wait_group.read in the thread that "
    "copies, and a barrier before the write",
    hint="cp.async.bulk.wait_group.read 0 in the thread that copies; bar.sync; the store",
)
IN_USE = VerifierRule(
    "tcgen05.dealloc/in-use",
    "tensor memory is freed while another warp may still use it",
    "tcgen05.dealloc",
    expected="a barrier or an mbarrier that all warps arrive at when they are through",
    hint="tcgen05.wait::ld; tcgen05.fence::before_thread_sync; bar.sync; tcgen05.dealloc",
)
SHARED_RACE = VerifierRule(
    "shared/race",
    "two warps access the same bytes of shared memory, and nothing orders them",
    "Memory Consistency Model",
    expected="a barrier or an mbarrier between the two",
    hint="bar.sync between the two accesses",
)
DEADLOCK = VerifierRule(
    "sync/deadlock",
    "threads wait for ever",
    "mbarrier, Phase of the mbarrier object",
    expected="an arrival that completes what is waited for",
)
RULES = (
    *(NO_COMMIT, BEFORE_COMPLETION, NOT_PIPELINED, UNORDERED, LOAD_RUNNING, STORE_RUNNING),
    *(
        BEFORE_SYNC,
        AFTER_SYNC,
        BEFORE_FENCE,
        PROXY_FENCE,
        BARRIER,
        BEFORE_COPY,
        MODIFIED,
        SOURCE_MODIFIED,
    ),
    *(IN_USE, SHARED_RACE, DEADLOCK),
)

_TENSOR_OPS = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT)
_ROUNDS = 2
"""How often a run may execute each record, for each warp, on the average."""
_LEAST, _MOST = 6_000, 30_000
_MOST_CTAS = 4
_NOT_OVER = (Missing.COMPLETION, Missing.ORDER)
_RUNS = ((5, False), (4, True), (512, False), (0, False))
"""What integer arguments are in each run, a count of rounds or a size, and whether it is late."""


def check(report: Report) -> None:
    """Execute the kernel and report its races."""
    graph = report.analysis.graph
    if not report.analysis.block or not report.analysis.function.is_kernel:
        return
    program = Program.of(graph)
    if program.calls or not any(s.is_event for steps in program.steps for s in steps):
        return
    logs = [_run(report, program, number, late=late) for number, late in _RUNS]
    found = [(log, race) for log in logs for race in Finder(log, graph.records).races()]
    _doubts_about_threads(report, logs)
    victims = {r.second.index for _, r in found if r.first.index <= r.second.index}
    found = [
        (log, race)
        for log, race in found
        if race.first.index <= race.second.index or race.first.index not in victims
    ]
    unfenced = {race.first.index for _, race in found if race.missing not in _NOT_OVER}
    loose = set().union(*(_uncommitted(report, log, unfenced) for log in logs))
    named = [
        (log, race, name)
        for log, race in found
        if race.missing is not Missing.COMPLETION or race.first.index not in loose
        if (name := _name(report, log, race)) is not None
    ]
    named.sort(key=lambda case: (_is_doubtful(*case), case[1].second.index))
    seen: set[tuple[object, ...]] = set()
    for log, race, name in named:
        what, second = (name.rule.id, race.first.index), race.second
        alike, behind = (*what, second.kind), (*what, second.warp)
        told = behind in seen if second.kind is Kind.DEALLOC else alike in seen
        if name.index == race.first.index or not told:
            _report(report, log, race, name)  # what is missing here is so for all that follow
        seen |= {alike, behind}
    if not errors(list(report.findings.values())):
        for log in logs:
            _deadlock(report, log)


def _run(report: Report, program: Program, number: int, *, late: bool) -> Log:
    function = report.analysis.function
    x, y, z = (*report.analysis.block, 1, 1)[:3]
    size = tuple(function.launch.cluster) or report.cluster or (1,)
    cluster = (*size, 1, 1)[:3]
    if cluster[0] * cluster[1] * cluster[2] > _MOST_CTAS:
        cluster = (2, 1, 1)
    elif cluster == (1, 1, 1) and cluster_size(function, report.cluster) is None:
        cluster = (2, 1, 1) if _is_paired(report) else cluster
    cx, cy, cz = cluster
    launch = Launch((x, y, z), (cx, cy, cz), number)
    steps = sum(map(len, program.steps)) * len(report.analysis.walkers) * launch.ctas
    budget = min(max(steps * _ROUNDS, _LEAST), _MOST)
    log = Run(report.module, function, program, launch, budget, late=late).run()
    if launch.ctas < math.prod(size):
        log.unknown.append("a cluster of more CTAs")
    return log


def _is_paired(report: Report) -> bool:
    return any(
        getattr(mi.form.facts.get("cta_group"), "name", "") == "TWO"
        for mi in report.analysis.graph.records
    )


# ---- what a race is called -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Name:
    """A rule, the record that it blames, and whether that is in doubt."""

    rule: VerifierRule
    index: int
    doubt: bool = False


def _is_doubtful(log: Log, race: Race, name: _Name) -> bool:
    """Whether a race may be one of a way that nobody takes, or of places that are not touched."""
    return log.guessed or bool(log.unknown) or name.doubt or not race.is_certain


def _report(report: Report, log: Log, race: Race, name: _Name) -> None:
    doubt = _is_doubtful(log, race, name)
    severity = Severity.REVIEW if doubt and name.rule.severity is Severity.ERROR else None
    if name.rule.severity is Severity.REVIEW and not doubt and race.is_relaxed:
        severity = Severity.ERROR  # nothing but the fence would order the two
    expected = _expected(log, race, name)
    report.add(
        name.rule, name.index, got=_told(report, race), expected=expected, severity=severity
    )  # fmt: skip


def _expected(log: Log, race: Race, name: _Name) -> str:
    """What would mend it, with the mbarrier that tells of the end; "" for what the rule says."""
    mbarrier = log.told_at(race.first)
    if not mbarrier or name.rule not in (BEFORE_COMPLETION, BEFORE_COPY):
        return ""
    tells = "the copy signals" if name.rule is BEFORE_COPY else "the first is committed to"
    return f"a wait on mbarrier {mbarrier}, which {tells}"


def _name(report: Report, log: Log, race: Race) -> _Name | None:
    if race.one.memory is Memory.TENSOR:
        return _in_tensor_memory(report, log, race)
    return _in_shared_memory(log, race)


def _in_tensor_memory(report: Report, log: Log, race: Race) -> _Name | None:
    first, second, missing = race.first, race.second, race.missing
    match missing:
        case Missing.FENCE_AFTER:
            moves = second.kind in (Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
            by_commit = first.kind in _TENSOR_OPS and moves
            return _Name(BEFORE_FENCE if by_commit else AFTER_SYNC, second.index)
        case Missing.FENCE_BEFORE:
            arrival = log.arrival_behind(first)
            return _Name(BEFORE_SYNC, first.index if arrival is None else arrival)
        case Missing.PROXY_FENCE:
            return None
    if first.kind is Kind.DEALLOC:
        return _Name(IN_USE, first.index)
    if first.kind in (Kind.TENSOR_LOAD, Kind.TENSOR_STORE):
        if missing is Missing.ORDER:
            return _Name(IN_USE if second.kind is Kind.DEALLOC else UNORDERED, second.index)
        load = first.kind is Kind.TENSOR_LOAD
        used = load and _is_used(report, first.index, log.arrival_behind(first) or second.index)
        return _Name(LOAD_RUNNING if load else STORE_RUNNING, first.index, used)
    if first.kind in _TENSOR_OPS and second.kind in _TENSOR_OPS:
        if missing is Missing.ORDER:
            return _Name(UNORDERED, second.index)
        return _Name(NOT_PIPELINED, second.index, race.refills)
    return _Name(BEFORE_COMPLETION, second.index)


def _in_shared_memory(log: Log, race: Race) -> _Name | None:
    first, second = race.first, race.second
    if "slot" in (race.one.name, race.other.name):
        return None  # the address of an allocation: rules about its publication
    if race.missing is Missing.PROXY_FENCE:
        return _Name(PROXY_FENCE, first.index)
    reads = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.WARPGROUP_MULTIPLY)
    match first.kind, second.kind:
        case Kind.COPY_IN, kind if kind in reads or kind is Kind.SHARED_LOAD:
            beyond = kind in reads and not race.one.first <= race.other.first < race.one.last
            return _Name(BEFORE_COPY, second.index, beyond)
        case kind, (Kind.COPY_IN | Kind.SHARED_STORE) if kind in reads:
            copied = second.kind is Kind.COPY_IN
            beyond = copied and not race.other.first <= race.one.first < race.other.last
            return _Name(MODIFIED, second.index, beyond)
        case Kind.COPY_OUT, (Kind.SHARED_STORE | Kind.COPY_IN):
            return _Name(SOURCE_MODIFIED, second.index)
        case Kind.SHARED_STORE, kind if kind in reads:
            together = race.first.warp // 4 == race.second.warp // 4 and race.other.name == "A"
            met = log.met.get(race.first.warp, -1) > race.first.turn
            return _Name(BARRIER, second.index, together and met)
        case Kind.SHARED_STORE, Kind.COPY_OUT:
            return _Name(SHARED_RACE, second.index)
        case ((Kind.SHARED_STORE | Kind.SHARED_LOAD), (Kind.SHARED_STORE | Kind.SHARED_LOAD)):
            return _Name(SHARED_RACE, second.index)
        case Kind.COPY_IN, Kind.COPY_IN:
            return _Name(MODIFIED, second.index)
        case _, Kind.COPY_IN:
            return _Name(SHARED_RACE, second.index, True)
    return None


def _is_used(report: Report, load: int, before: int) -> bool:
    """Whether all that a load gives is used before a record, as the text of the kernel runs."""
    records = report.analysis.graph.records
    results = set(records[load].defs())
    for mi in records[load + 1 : before if before > load else len(records)]:
        results.difference_update(mi.uses())
    return not results


# ---- words -------------------------------------------------------------------------------------


def _told(report: Report, race: Race) -> str:
    """The two accesses and what is between them."""
    first, second = race.first, race.second
    missing = {
        Missing.ORDER: "nothing orders the two",
        Missing.COMPLETION: "nobody has waited for its end",
        Missing.FENCE_BEFORE: "no tcgen05.fence::before_thread_sync stands behind it",
        Missing.FENCE_AFTER: "no tcgen05.fence::after_thread_sync stands before this",
        Missing.PROXY_FENCE: "no fence.proxy.async stands between the two",
    }[race.missing]
    return (
        f"{_who(second)} {_does(race.other)}; {report.line(first.index)} by {_who(first)} "
        f"{_does(race.one)}, and {missing}"
    )


def _who(access: Access) -> str:
    cta = f" of CTA {access.rank}" if access.rank else ""
    return f"warp {access.warp % 64}{cta}"


def _does(region: Region) -> str:
    verb = "writes" if region.writes else "reads"
    if region.memory is Memory.TENSOR:
        last = region.last - 1
        columns = f"column {last}" if region.first == last else f"columns {region.first} to {last}"
        return f"{verb} {columns}"
    first = region.first & (1 << WINDOW) - 1
    what = f"matrix {region.name} at " if region.name in ("A", "B") else ""
    return f"{verb} {what}bytes {first} to {first + region.last - region.first - 1}"


def _doubts_about_threads(report: Report, logs: list[Log]) -> None:
    """Take back reviews about how many threads issue what one thread did in every run."""
    if any(log.guessed or log.unknown for log in logs):
        return
    for rule, index in list(report.findings):
        if not rule.endswith("/threads") or report.findings[rule, index].severity is Severity.ERROR:
            continue
        runs = [log.threads[index] for log in logs if index in log.threads]
        if runs and all(_is_one_thread(run) for run in runs):
            del report.findings[rule, index]


def _is_one_thread(executed: set[tuple[int, int]]) -> bool:
    """Whether those of each CTA that executed a record are one thread."""
    ctas = [actor // 64 for actor, _ in executed]
    return len(ctas) == len(set(ctas)) and all(mask.bit_count() == 1 for _, mask in executed)


# ---- deadlocks ---------------------------------------------------------------------------------


def _deadlock(report: Report, log: Log) -> None:
    """A run that came to a halt before its end; where it cannot be for the sake of made-up data."""
    if log.cut or log.unknown or report.analysis.graph.has_opaque:
        return
    told = {s.index: s for s in log.stuck if s.index >= 0}
    for index, stuck in told.items():
        report.add(
            DEADLOCK,
            index,
            severity=Severity.REVIEW if log.guessed else None,
            got=f"warp {stuck.warp} waits here for {stuck.waits_for}",
        )


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
        tracked = access.kind is Kind.MULTIPLY or (access.kind in _TENSOR_OPS and not log.stuck)
        if tracked and log.committed.get(source, 0) < number:
            yield access


__all__ = ["RULES", "check"]
