"""Rules about columns that are handed on: tcgen05.ld and tcgen05.st have ended, and are fenced.

Layer: isel.verifier.function.  Both are asynchronous: tcgen05.wait in the same thread says that
they are complete, and until then nobody may overwrite what is loaded, nor read what is stored.  A
register that a load writes may be used at once; that orders nothing else.  PTX ISA, tcgen05: Memory
Consistency Model, Canonical synchronization patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from intrinsics.findings import Severity
from intrinsics.modifiers import Sem
from isel.verifier.function.events import MOVES, Event, Kind, sets_flag
from isel.verifier.function.order import may_be_before
from isel.verifier.function.pending import RUNS, Operation, Pending, State, Status
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.touches import same_lanes, spans, touch
from isel.verifier.rule import VerifierRule

_PATTERNS = "tcgen05, Canonical synchronization patterns"
_TOUCHES = (*MOVES, Kind.MULTIPLY, Kind.DEALLOC)
_ARRIVALS = (Kind.ARRIVE, Kind.COMMIT, Kind.BARRIER, Kind.BARRIER_ARRIVE)

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
UNORDERED = VerifierRule(
    "{op}/unordered",
    "columns that other warps load or store are used, and nothing orders the threads",
    _PATTERNS,
    expected="a barrier or an mbarrier that the other warps arrive at, with fences around it",
    hint="tcgen05.wait::ld or ::st; tcgen05.fence::before_thread_sync; the arrival; the wait; "
    "tcgen05.fence::after_thread_sync; the access",
)
RULES = (LOAD_RUNNING, STORE_RUNNING, BEFORE_SYNC, AFTER_SYNC, UNORDERED)


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    issued = {e.index: e for e in report.analysis.events(*MOVES)}
    if not issued:
        return
    handed_on = _own(report, issued)
    for group in _together(handed_on):
        _told_too_early(report, [issued[index] for index in group])
    for kind in MOVES:
        events = [e for e in issued.values() if e.kind is kind]
        if events:
            _fenced(report, events)


# ---- in the thread that issues ---------------------------------------------------------------


def _own(report: Report, issued: dict[int, Event]) -> dict[int, set[int]]:
    """What a thread does itself while its load or store runs; by record, where it arrives then."""
    arrived: dict[int, set[int]] = {}

    def step(running: frozenset[int], event: Event) -> frozenset[int]:
        if event.kind in _ARRIVALS or sets_flag(event):
            for index in running:
                arrived.setdefault(index, set()).add(event.index)
        if event.kind in _TOUCHES:
            for index in running:
                if touch(issued[index], event):
                    _running(report, issued[index], event)
        match event.kind:
            case Kind.TENSOR_LOAD | Kind.TENSOR_STORE:
                return running | {event.index}
            case Kind.WAIT_LOADS | Kind.WAIT_STORES if running:
                ended = (i for i in running if MOVES[issued[i].kind] is event.kind)
                return running.difference(ended)
        return running

    for role in report.analysis.roles:
        role.walker.gather(step)
    return arrived


def _running(
    report: Report, event: Event, taken: Event, *, at: int = -1, certain: bool = True
) -> None:
    """Report that `taken` comes while `event` may be running, handed on by the record `at`."""
    load = event.kind is Kind.TENSOR_LOAD
    doubt = load and _is_used(report, event, at if at >= 0 else taken.index)
    by = f", told by {report.line(at)}" if at >= 0 else ""
    rule = LOAD_RUNNING if load else STORE_RUNNING
    if certain and not doubt:
        report.findings.pop((rule.id, event.index), None)  # a doubt about it, as it may be
    report.add(
        rule,
        event.index,
        severity=Severity.REVIEW if doubt or not certain else Severity.ERROR,
        got=f"{report.line(taken.index)} can come before it has ended{by}"
        + ("; all its results were used by then" if doubt else ""),
    )


def _is_used(report: Report, load: Event, before: int) -> bool:
    """Whether all that a load gives is used before a record, as the text of the kernel runs."""
    results = set(load.mi.defs())
    records = report.analysis.graph.records
    for mi in records[load.index + 1 : before if before > load.index else len(records)]:
        results.difference_update(mi.uses())
    return not results


# ---- between threads -------------------------------------------------------------------------


def _together(arrived: dict[int, set[int]]) -> list[list[int]]:
    """The records that run while their threads arrive at the same places."""
    groups: dict[frozenset[int], list[int]] = {}
    for index, places in arrived.items():
        groups.setdefault(frozenset(places), []).append(index)
    return list(groups.values())


def _operation(events: list[Event]) -> Operation:
    issues, waits = {e.index for e in events}, {MOVES[e.kind] for e in events}
    return Operation(
        starts=lambda e: e.index in issues and e.kind in MOVES,
        ends=lambda e: e.kind in waits,
    )


def _told_too_early(report: Report, events: list[Event]) -> None:
    """Who comes to the columns was told of an arrival, and not of the end."""
    pending = Pending(report.analysis, _operation(events))
    for role, taken, state in pending.met(_concerns(report, events)):
        if state.news not in RUNS or state.source < 0:
            continue
        for event, sure in _met(report, events, taken, role):
            certain = sure or _is_repeated(report, role, taken)
            _running(report, event, taken, at=state.source, certain=certain)


def _concerns(report: Report, events: list[Event]) -> Callable[[Event], bool]:
    """Whether an event has to do with the columns of one of the others."""
    different = _different(report, events)
    concerned = {
        e.index
        for e in report.analysis.events(*_TOUCHES)
        if any(touch(one, e) is not None for one in different)
    }
    return lambda e: e.index in concerned and e.kind in _TOUCHES


def _different(report: Report, events: list[Event]) -> list[Event]:
    """One of each kind of events that touch the same columns in the same warps."""
    found: dict[object, Event] = {}
    for event in events:
        where = tuple((warp, *spans(own)) for warp, own in report.analysis.sites[event.index])
        found.setdefault((event.kind, where), event)
    return list(found.values())


def _met(
    report: Report, events: list[Event], taken: Event, role: Role
) -> Iterator[tuple[Event, bool]]:
    """Those of the events that an access has to do with, and that are another warp's too; and
    whether they surely have columns in common.

    Warps of one role may have columns of their own, so that each warp is asked for its own.
    """
    sites = report.analysis.sites
    mine = [site for site in sites[taken.index] if site[0] in role.warps]
    by_lanes = taken.kind in MOVES
    for event in events:
        found = {
            touch(one, other)
            for a, one in sites[event.index]
            for b, other in mine
            if (same_lanes([a], [b]) if by_lanes else a != b)
        }
        if found - {None}:
            yield event, True in found


def _fenced(report: Report, events: list[Event]) -> None:
    """Who comes to columns of another thread does so between two fences."""
    different = _different(report, events)
    issues = {e.index for e in events}
    pending = Pending(report.analysis, _operation(events))
    untold: list[_Untold] = []
    for role, taken, state in pending.met(_concerns(report, events)):
        met = tuple(_met(report, different, taken, role))
        if not met or taken.kind is Kind.DEALLOC:
            continue  # dealloc is no asynchronous operation; and its order is a rule of its own
        if state.news is Status.NOTHING and not state.old and not _is_known(report, taken, met):
            certain = frozenset(e.index for e, sure in met if sure)
            untold.append(_Untold(role, taken, certain, state.own))
        first = state.own is Status.NOTHING and any(e.index in issues for e in role.events())
        if state.source >= 0 and not state.old:
            _between_fences(report, role, taken, state, first)
    _unordered(report, pending, untold)


def _between_fences(report: Report, role: Role, taken: Event, state: State, first: bool) -> None:
    """`first`: the thread has not come to its own such operation; what it heard may be of later."""
    if state.news is Status.ENDED:
        add_before_sync(report, taken, state, certain=is_relaxed(report, state.source))
    elif state.news is Status.HANDED_ON and not state.fenced:
        relaxed = is_relaxed(report, state.told)
        if not first or relaxed:
            add_after_sync(report, role, taken, state, certain=relaxed)


def add_before_sync(report: Report, taken: Event, state: State, *, certain: bool) -> None:
    """Report that no fence stands before the arrival that `taken` relies on."""
    report.add(
        BEFORE_SYNC,
        state.source,
        severity=Severity.ERROR if certain else None,
        got=f"{report.line(taken.index)} uses the columns, and relies on this",
    )


def add_after_sync(
    report: Report, role: Role, taken: Event, state: State, *, certain: bool
) -> None:
    """Report that no fence stands between the wait that told a role and `taken`."""
    report.add(
        AFTER_SYNC,
        taken.index,
        severity=Severity.ERROR if certain else None,
        got=f"{role} heard of it at {report.line(state.told)}, and no fence follows",
    )


@dataclass(frozen=True, slots=True)
class _Untold:
    """An access by a thread that was told nothing of those who touch the same columns.

    `certain` are the records that certainly do.
    """

    role: Role
    taken: Event
    certain: frozenset[int]
    own: Status


def _unordered(report: Report, pending: Pending, untold: list[_Untold]) -> None:
    """Nobody told who comes to the columns that the other warps are through."""
    groups: dict[tuple[int, frozenset[int]], list[_Untold]] = {}
    for case in untold:
        groups.setdefault((case.role.warps[0], case.certain), []).append(case)
    for (_, certain), cases in groups.items():
        before = _before(report, certain, cases)
        for case in cases:
            if case.taken.index not in before:
                got = f"{case.role} can come here at any time; {report.line(min(certain))} touches"
                report.add(UNORDERED, case.taken.index, got=f"{got} them too")
            elif _is_repeated(report, case.role, case.taken) or (
                certain and case.own is not Status.NOTHING
            ):
                for unheard in pending.never_heard(case.role, case.taken)[:1]:
                    got = f"nobody waits for mbarrier {unheard}, where the others say that they"
                    report.add(UNORDERED, case.taken.index, got=f"{got} are through")


def _before(report: Report, certain: frozenset[int], cases: list[_Untold]) -> set[int]:
    """Those that may come before what certainly touches the same columns, if anything does."""
    taken = {case.taken.index for case in cases}
    if not certain:
        return taken
    return may_be_before(
        report.analysis, taken, lambda e: e.index in certain and e.kind in MOVES,
        mine=cases[0].role,
    )  # fmt: skip


def _is_known(report: Report, taken: Event, met: tuple[tuple[Event, bool], ...]) -> bool:
    """Whether what is wrong was found where the MMA is to be complete."""
    indices = {taken.index, *(e.index for e, _ in met)}
    return any(
        index in indices and name.endswith(("/before-completion", "/no-commit"))
        for name, index in report.findings
    )


def _is_repeated(report: Report, role: Role, event: Event) -> bool:
    """Whether a role may come to an event again, and so to every stage of a ring."""
    return event.index in report.analysis.repeated[role.warps[0]]


def is_relaxed(report: Report, index: int) -> bool:
    """Whether an arrival or a wait orders nothing by itself."""
    return report.record(index).form.facts.get("sem") in (Sem.RELAXED, Sem.VOLATILE)
