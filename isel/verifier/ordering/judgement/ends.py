"""Findings about the end of a run: tensor memory that is not freed, CTAs that exited.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from intrinsics.findings import Severity
from isel.verifier.function.barriers.clusters import cluster_size
from isel.verifier.function.barriers.mbarriers import UNINITIALIZED
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering import lifetimes
from isel.verifier.ordering.judgement.rows import OTHER_THREADS
from isel.verifier.ordering.run.log import Breach, Log, Remote
from isel.verifier.ordering.run.strand import named


def breaches(report: Report, found: Iterable[Breach]) -> None:
    """Report the rules about single records that some run broke, the certain ones first."""
    for breach in sorted(found, key=lambda b: b.doubtful):
        line = report.line(breach.other) if breach.other >= 0 else ""
        doubt = breach.doubtful and breach.rule.severity is Severity.ERROR
        report.add(
            breach.rule,
            breach.index,
            got=breach.got.format(line=line),
            severity=Severity.REVIEW if doubt else None,
        )


def misaligned(report: Report, logs: list[Log]) -> None:
    """Report addresses that are not aligned in any run that has work to do and comes there.

    Elsewhere the made-up arguments may be at fault.
    """
    for index in dict.fromkeys(index for log in logs for index in log.misaligned):
        there = [log for log in logs if log.executes((index,))]
        if there and all(index in log.misaligned for log in there):
            doubt = any(log.is_in_doubt for log in there)
            severity = Severity.REVIEW if doubt else None
            got = there[0].misaligned[index]
            report.add(lifetimes.MISALIGNED, index, got=got, severity=severity)


def outside(report: Report, logs: list[Log]) -> None:
    """Report accesses beyond shared memory, and to CTAs that are not there.

    Only where every run that comes there has it, and it does not hang on made-up arguments: one of
    the runs has zeros for them, or none reads any.
    """
    size = cluster_size(report.analysis.function, report.cluster)
    for index in dict.fromkeys(index for log in logs for index in (*log.outside, *log.elsewhere)):
        there = [log for log in logs if index in log.threads]
        independent = not any(log.reads_arguments or log.assumed for log in there)
        if any(log.is_in_doubt for log in there) or not (
            independent or any(not log.number for log in there)
        ):
            continue
        if all(index in log.outside for log in there):
            report.add(lifetimes.OUTSIDE, index, got=there[0].outside[index])
        elif size is not None and all(index in log.elsewhere for log in there):
            got = f"CTA {there[0].elsewhere[index]}"
            report.add(lifetimes.ELSEWHERE, index, got=got, expected=f"0 to {size - 1}")


def uninitialised(report: Report, logs: list[Log]) -> None:
    """Report uses of mbarriers that nobody initialises in the whole run.

    An error where every run with work to do has it; otherwise an argument may be too large.
    """
    runs = [log for log in logs if not log.is_in_doubt]
    known = {index for rule, index in report.findings if rule == UNINITIALIZED.id}
    for index in dict.fromkeys(index for log in runs for index in log.uninitialised):
        there = [log for log in runs if log.executes((index,))]
        got = next(log.uninitialised[index] for log in runs if index in log.uninitialised)
        certain = there and all(index in log.uninitialised for log in there)
        if index not in known:
            severity = None if certain else Severity.REVIEW
            report.add(UNINITIALIZED, index, got=got, severity=severity)


# ---- CTAs that left ----------------------------------------------------------------------------


def left(report: Report, logs: list[Log]) -> None:
    """Report accesses to the memory of a CTA that may have exited."""
    for log in logs:
        if not log.stuck and not log.truncated:
            _left(report, log)
            _left_by_others(report, log)


def _left(report: Report, log: Log) -> None:
    reported: set[int] = set()
    for remote, relaxed in _remote(log):
        source, count = remote.done
        ends = log.ends.get(remote.rank, ())
        known = [end.relaxed if relaxed else end.known for end in ends]
        if not ends or any(clock.get(source, 0) >= count for clock in known):
            continue
        row = report.record(remote.index).row.id
        multiplies = row.startswith("tcgen05.mma")
        if multiplies and reported:
            continue  # one finding for each record
        reported |= {remote.index} if multiplies else set()
        commits = lifetimes.COMMIT_EXIT if row == lifetimes.COMMIT else lifetimes.REMOTE_EXIT
        rule = lifetimes.PEER_EXIT if multiplies else commits
        report.add(
            rule,
            remote.index,
            severity=Severity.REVIEW if log.is_in_doubt else None,
            got=f"{named(remote.actor)}; no thread of CTA {remote.rank} waits for that to be over",
        )


def _left_by_others(report: Report, log: Log) -> None:
    """Report arrivals that let a CTA exit whose memory other threads of the warp may access."""
    for access in log.accesses:
        if access.kind not in (Kind.SHARED_LOAD, Kind.SHARED_STORE) or access.by < 0:
            continue
        source, count = access.done
        for rank in sorted({region.rank for region in access.regions} - {access.rank}):
            told = [e.relaxed for e in log.ends.get(rank, ()) if e.relaxed.get(source, 0) >= count]
            whole = access.synchronised or math.inf
            if told and all(clock.get(source, 0) < whole for clock in told):
                got = (
                    f"not all threads of {access} arrive; {report.line(access.index)} reaches "
                    f"CTA {rank} in all of them, whose exit relies on it"
                )
                report.add(OTHER_THREADS, access.by, got=got)


_REACHING = (Kind.MULTIPLY, Kind.COPY_IN, Kind.SHARED_LOAD, Kind.SHARED_STORE)
"""What reaches the shared memory of other CTAs."""


def _remote(log: Log) -> Iterator[tuple[Remote, bool]]:
    """Accesses to memory of other CTAs, and whether a relaxed wait shows that they are complete.

    A phase is complete when all have arrived, whatever memory order their arrivals have: a load has
    its data when its thread arrives, and an asynchronous operation is over when somebody has waited
    for it.  A store may come later than a relaxed arrival behind it.
    """
    yield from ((remote, True) for remote in log.remote)
    for access in log.accesses:
        if access.kind in _REACHING:
            for rank in sorted({r.rank for r in access.regions} - {access.rank}):
                is_over = access.kind is not Kind.SHARED_STORE
                yield Remote(access.index, access.warp, rank, access.done), is_over


def copies_in_flight(report: Report, logs: list[Log]) -> None:
    """Report copies that may still read shared memory when their CTA ends."""
    for log in logs:
        if log.stuck or log.truncated or log.unknown:
            continue
        for access in log.accesses:
            if access.kind is not Kind.COPY_OUT:
                continue
            source, count = access.done
            ends = log.ends.get(access.rank, ())
            if not any(end.known.get(source, 0) >= count for end in ends):
                got = f"{named(access.warp)}; no thread waits for that before its CTA ends"
                report.add(lifetimes.PENDING, access.index, got=got)
