"""Findings about waits: those that never end, and those whose phase may pass unseen.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: findings at the waits,
with the initialisation of the mbarrier that is waited for, and the arrivals and copies that signal
it.
"""

from __future__ import annotations

from intrinsics.findings import Severity, errors
from intrinsics.mir import MachineInstr
from intrinsics.row import Completion
from isel.verifier.function.barriers.clusters import PAIR
from isel.verifier.function.participants import registers
from isel.verifier.function.report import Report
from isel.verifier.ordering import lifetimes
from isel.verifier.ordering.judgement.rows import BOXES_COUNT, DEADLOCK, MISSED
from isel.verifier.ordering.run.log import Log, Stuck
from isel.verifier.ordering.run.strand import named
from isel.verifier.ordering.run.synchronisation import Progress
from isel.verifier.rule import VerifierRule


def halts(report: Report, logs: list[Log]) -> None:
    """Report deadlocks: the waits that never end.

    An error where every run deadlocks that comes there and has work to do: otherwise the made-up
    arguments, or the assumed contents of global memory, may not be consistent.  A deadlock that may
    follow from another error is not reported.
    """
    alone = not errors(list(report.findings.values()))
    for log in logs:
        if log.truncated or log.unknown or report.analysis.graph.has_opaque:
            continue
        causes = {s.index: (s, rule) for s in log.stuck if (rule := _cause(report, log, s))}
        others = {
            s.index: (s, lifetimes.DEADLOCK if s.at_mbarrier else DEADLOCK)
            for s in reversed(_roots(report, log.stuck)) if s.index >= 0 and alone
        }  # fmt: skip
        for index, (stuck, rule) in (causes or others).items():
            there = [
                run for run in logs if run.executes((index,)) or (run.number and run.truncated)
            ]
            runs = [log] if causes and not stuck.without_arrivals else there
            certain = all(run.stuck and not (run.guessed or run.assumed) for run in runs)
            with_what = "" if certain else _with_what(log)
            _report(report, stuck, rule, None if certain else Severity.REVIEW, with_what)


def _roots(report: Report, stuck: list[Stuck]) -> list[Stuck]:
    """The waits that others follow from; all where that is not known.

    Of those for one mbarrier, at which something has arrived, the first stands for all.
    """
    roots = [one for one in stuck if one.alone]
    first = {one.waits_for: one for one in reversed(roots)}
    return [r for r in roots if not _has_arrivals(r) or first[r.waits_for] is r] or _first(
        report, stuck
    )


def _first(report: Report, stuck: list[Stuck]) -> list[Stuck]:
    """Of waits in a circle, those that have to end first; all where that is not known.

    Where nothing has come at any of their mbarriers, a ring has not started.  Of those that wait
    for theirs for the first time, who brings bytes goes first, and then who multiplies.
    """
    waits = [one for one in stuck if one.progress is not None]
    if any(s.progress.phase or s.progress.come for s in waits if s.progress):
        return stuck
    for kind in (_expects_or_completes, _commits):
        found = [s for s in waits if any(kind(report.record(index)) for index in s.behind)]
        if found:
            return found
    return stuck


def _expects_or_completes(mi: MachineInstr) -> bool:
    return mi.row.effects.completion is Completion.TRANSACTION or mi.row.id.endswith("expect_tx")


def _commits(mi: MachineInstr) -> bool:
    return mi.row.id == lifetimes.COMMIT


def _has_arrivals(stuck: Stuck) -> bool:
    return stuck.progress is not None and bool(stuck.progress.signals)


def _cause(report: Report, log: Log, stuck: Stuck) -> VerifierRule | None:
    """The rule that a wait without end breaks; None where it may follow from another wait."""
    reported = {rule for rule, _ in report.findings}
    if stuck.waits_for.startswith(lifetimes.ROOM):
        return lifetimes.CAPACITY
    if stuck.waits_for == registers.WAITS:
        return None if registers.BUDGET.id in reported else registers.ORDER
    others = (s for s in log.stuck if s.at_mbarrier and s.index != stuck.index)
    follows = not all(other.without_arrivals for other in others)
    return (
        lifetimes.WITHOUT_ARRIVALS
        if stuck.without_arrivals and not follows and PAIR.id not in reported
        else None
    )


def missed(report: Report, logs: list[Log]) -> None:
    """Report waits by parity whose phase may be overwritten by the next, under any schedule."""
    for log in logs:
        doubt = log.is_in_doubt or report.analysis.graph.has_opaque
        for name, waiter in log.late:
            got = (
                f"{named(waiter.actor)} waits here for phase {waiter.phase} of {name}; nothing "
                f"that completes phase {waiter.phase + 1} is behind that"
            )
            severity = Severity.REVIEW if doubt else None
            report.add(MISSED, waiter.index, severity=severity, got=got)


# ---- words -------------------------------------------------------------------------------------


def _with_what(log: Log) -> str:
    """The arguments of a run, where it reads any: another launch may not come to the same."""
    if not log.reads_arguments:
        return ""
    others = f" (those that others are divided by: {log.divisor})" if log.divisor else ""
    return f" where each integer argument is {log.number}{others}"


def _report(
    report: Report, stuck: Stuck, rule: VerifierRule, severity: Severity | None, with_what: str
) -> None:
    waits = f"{named(stuck.actor)} waits here for {stuck.waits_for}{with_what}"
    progress = stuck.progress
    if progress is None:
        report.add(rule, stuck.index, severity=severity, got=waits)
        return
    expected, hint = _way_out(progress) if rule is lifetimes.DEADLOCK else ("", "")
    report.add(
        rule, stuck.index, severity=severity, expected=expected, hint=hint,
        got=f"{waits}; {_come(progress)}; {_signals(report, stuck, progress)}",
    )  # fmt: skip


def _come(progress: Progress) -> str:
    """The arrivals of a phase, and its bytes where these are not all."""
    arrivals = f"phase {progress.phase} has {progress.come} of {progress.arrivals} arrivals"
    if progress.brought == progress.bytes:
        return arrivals
    return f"{arrivals} and {progress.brought} of {progress.bytes} expected bytes"


def _signals(report: Report, stuck: Stuck, progress: Progress) -> str:
    """The mbarrier.init of an mbarrier, and the arrivals and copies that signal it, in words."""
    made = f"it is made by {report.line(progress.made_by)}"
    if not progress.signals:
        afar = stuck.elsewhere
        others = f"; at others of its variable: {report.lines(afar)}" if afar else ""
        return f"{made}, and nothing arrives there{others}"
    return f"{made}; what arrives or brings bytes: {report.lines(progress.signals)}"


def _way_out(progress: Progress) -> tuple[str, str]:
    """What would complete a phase, and a hint, by what it lacks; "" for the rule's own."""
    brought, expected = progress.brought, progress.bytes
    if brought == expected:
        if 0 < progress.come < progress.arrivals:
            return f"{progress.arrivals} arrivals, or mbarrier.init with as many as come", ""
        return "", ""
    if not brought:
        return f"a copy of {expected} bytes that completes on this mbarrier", BOXES_COUNT
    return f"an expect-tx of {brought} bytes, or copies of {expected}", BOXES_COUNT
