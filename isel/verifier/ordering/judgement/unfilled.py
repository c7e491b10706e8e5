"""Matrices in shared memory that a multiply reads and nothing writes.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a warning where M, N, a
stride or a step along K leads beyond what copies and stores write, or beyond the variable.  It is
sought only where every write is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from isel.verifier.function.report import Report
from isel.verifier.ordering.judgement.names import byte_in_words
from isel.verifier.ordering.judgement.rows import BEYOND_VARIABLE, NOT_FILLED
from isel.verifier.ordering.judgement.written import GRAIN, record_of, written
from isel.verifier.ordering.matrices import Matrix
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import SharedVariable, shared_variables
from isel.verifier.rule import VerifierRule

_Wrong: TypeAlias = tuple[tuple[object, ...], str]
"""A cause, by which findings are grouped, and the message."""
_Found: TypeAlias = dict[int, _Wrong]
"""Causes and messages by record."""


def check(
    report: Report, program: Program, runs: list[Log], with_least_work: Callable[[], Log]
) -> None:
    """Report matrices that extend beyond their variable, or beyond what is written.

    `with_least_work` makes a run whose arguments are all 1.
    """
    logs = [log for log in runs if log.multiplied]
    if not logs or report.analysis.graph.has_opaque or any(log.guessed for log in logs):
        return
    variables = shared_variables(report.module, report.analysis.function)
    beyond = _judged(program, logs, lambda matrix: _beyond(matrix, variables))
    if any(beyond):  # rows beyond a variable are hardly written: one mistake, one finding
        least = _least(with_least_work, logs)
        beyond += _judged(program, least, lambda matrix: _beyond(matrix, variables))
        _report(report, BEYOND_VARIABLE, [*logs, *least], beyond)
        return
    there = written(report, runs, variables)
    if there is None:
        return
    unfilled = _judged(program, logs, lambda matrix: _unfilled(matrix, there, report))
    if any(unfilled):
        least = _least(with_least_work, logs)
        unfilled += _judged(program, least, lambda matrix: _unfilled(matrix, there, report))
        _report(report, NOT_FILLED, [*logs, *least], unfilled)


def _least(with_least_work: Callable[[], Log], logs: list[Log]) -> list[Log]:
    """The run with the least work, where that depends on arguments.

    A loop over a tile goes as far as an argument says, which is made up: a multiply that is right
    in the only iteration of this run is right.
    """
    if not any(log.reads_arguments for log in logs):
        return []
    least = with_least_work()
    return [] if least.guessed else [least]


def _report(report: Report, rule: VerifierRule, runs: list[Log], found: list[_Found]) -> None:
    """Report what holds in every run that reaches a record: made-up arguments may contradict."""
    reported: set[tuple[object, ...]] = set()
    for index in dict.fromkeys(index for run in found for index in run):
        there = [run for log, run in zip(runs, found, strict=True) if index in log.threads]
        if all(index in run for run in there):
            cause, words = there[0][index]
            if cause not in reported:
                report.add(rule, index, got=words)
            reported.add(cause)


def _judged(
    program: Program, runs: list[Log], judge: Callable[[Matrix], _Wrong | None]
) -> list[_Found]:
    """What is wrong with each record in each run; repeated operands are judged once."""
    wrong = {
        key: next(filter(None, map(judge, program.touched[key].matrices)), None)
        for key in dict.fromkeys(key for log in runs for key in log.multiplied)
    }
    found: list[_Found] = []
    for log in runs:
        here: _Found = {}
        for key in log.multiplied:
            if (what := wrong[key]) is not None:
                here.setdefault(record_of(key), what)
        found.append(here)
    return found


# ---- beyond a variable ---------------------------------------------------------------------------


def _beyond(matrix: Matrix, variables: list[SharedVariable]) -> _Wrong | None:
    """The breach of a matrix that extends beyond its variable."""
    at = matrix.descriptor.address
    variable = next((v for v in variables if v.first <= at < v.last and v.sized), None)
    if variable is None:
        return None
    last = max((first + spans * size for first, spans, size in matrix.atoms()), default=0)
    if last <= variable.last:
        return None
    begin, end, size = (n - variable.first for n in (at, last, variable.last))
    return (
        (matrix.name, variable.name, last),
        f"matrix {matrix.name.upper()} from byte {begin} of {variable.name} to byte "
        f"{end - 1}, of {size} bytes",
    )


# ---- what is written -----------------------------------------------------------------------------


def _unfilled(matrix: Matrix, there: Mapping[int, int], report: Report) -> _Wrong | None:
    """The breach of a matrix with a row of which no byte is written."""
    here = there.get(matrix.rank, 0)
    for begin, spans, size in matrix.atoms():
        missing = ~here >> begin // GRAIN & (1 << spans * size // GRAIN) - 1
        every = (1 << size // GRAIN) - 1
        for span in range(spans if missing else 0):
            if missing >> span * size // GRAIN & every == every:
                first = begin + span * size
                where = byte_in_words(report, matrix.descriptor.address)
                missed = f"nothing writes the {size} bytes at {byte_in_words(report, first)}"
                what = f"matrix {matrix.name.upper()} of {matrix.rows} rows at {where}; {missed}"
                return (matrix.name, first), what
    return None
