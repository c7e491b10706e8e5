"""Matrices in shared memory that a multiply reads and nothing writes.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a warning where M, N, a
stride or a step along K leads beyond what copies and stores write, or beyond the variable.  It is
sought only where every write is known: not in a run that guessed, after writes to unknown
addresses, or while some record that may write was not executed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeAlias

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import MmaKind
from isel.verifier.function.report import Report
from isel.verifier.ordering.integers.windows import offset_of, rank_of
from isel.verifier.ordering.judgement.rows import BEYOND_VARIABLE, NOT_FILLED
from isel.verifier.ordering.judgement.sizes import ends_of_copies, reach_of_copies
from isel.verifier.ordering.matrices import Matrix
from isel.verifier.ordering.program import MEMORY, Program, is_event
from isel.verifier.ordering.run.log import Log, Memory, Operands
from isel.verifier.ordering.run.machine import SharedVariable, shared_variables
from isel.verifier.ordering.runs import Runs
from isel.verifier.rule import VerifierRule

_GRAIN = 16
"""Bytes of one bit of a mask of written memory: no layout splits them."""
_PADDED = (MmaKind.F8F6F4, MmaKind.MXF8F6F4)
_WRITE = ("st", "atom", "red", "cp.")
"""The first words of rows that may write shared memory."""

_Wrong: TypeAlias = tuple[tuple[object, ...], str]
"""A cause, by which findings are grouped, and the message."""
_Found: TypeAlias = dict[int, _Wrong]
"""Causes and messages by record."""


def check(report: Report, program: Program, runs: Runs) -> None:
    """Report matrices that extend beyond their variable, or beyond what is written."""
    logs = [log for log in runs.logs if log.multiplied]
    if not logs or report.analysis.graph.has_opaque or any(log.guessed for log in logs):
        return
    variables = shared_variables(report.module, report.analysis.function)
    beyond = _judged(program, logs, lambda matrix: _beyond(matrix, variables))
    if any(beyond):  # rows beyond a variable are hardly written: one mistake, one finding
        least = _least(runs, logs)
        beyond += _judged(program, least, lambda matrix: _beyond(matrix, variables))
        _report(report, BEYOND_VARIABLE, [*logs, *least], beyond)
        return
    written = _written(report, program, runs.logs, variables)
    if written is None:
        return
    unfilled = _judged(program, logs, lambda matrix: _unfilled(matrix, written, variables))
    if any(unfilled):
        least = _least(runs, logs)
        unfilled += _judged(program, least, lambda matrix: _unfilled(matrix, written, variables))
        _report(report, NOT_FILLED, [*logs, *least], unfilled)


def _least(runs: Runs, logs: list[Log]) -> list[Log]:
    """The run with the least work, where that depends on arguments.

    A loop over a tile goes as far as an argument says, which is made up: a multiply that is right
    in the only iteration of this run is right.
    """
    if not any(log.reads_arguments for log in logs):
        return []
    least = runs.with_least_work()
    return [] if least.guessed else [least]


def _report(report: Report, rule: VerifierRule, runs: list[Log], found: list[_Found]) -> None:
    """Report what holds in every run that comes to a record: made-up arguments may be
    inconsistent.
    """
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
                here.setdefault(_index_of(key), what)
        found.append(here)
    return found


def _index_of(operands: Operands) -> int:
    """The record of a multiply."""
    index = operands[0]
    assert isinstance(index, int)
    return index


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


def _unfilled(
    matrix: Matrix, written: Mapping[int, int], variables: list[SharedVariable]
) -> _Wrong | None:
    """The breach of a matrix with a row of which no byte is written."""
    here = written.get(matrix.rank, 0)
    for begin, spans, size in matrix.atoms():
        missing = ~here >> begin // _GRAIN & (1 << spans * size // _GRAIN) - 1
        every = (1 << size // _GRAIN) - 1
        for span in range(spans if missing else 0):
            if missing >> span * size // _GRAIN & every == every:
                first = begin + span * size
                return (
                    (matrix.name, first),
                    f"matrix {matrix.name.upper()} of {matrix.rows} rows at "
                    f"{_said(matrix.descriptor.address, variables)}; nothing writes the {size} "
                    f"bytes at {_said(first, variables)}",
                )
    return None


def _said(offset: int, variables: list[SharedVariable]) -> str:
    """An address in shared memory, in words."""
    found = next((v for v in variables if v.first <= offset < v.last), None)
    return f"byte {offset - found.first} of {found.name}" if found else f"byte {offset}"


def _written(
    report: Report, program: Program, logs: list[Log], variables: list[SharedVariable]
) -> dict[int, int] | None:
    """A mask of the grains that some run writes, for each CTA; None where it may be incomplete."""
    if any(log.guessed or log.unknown or log.unknown_writes for log in logs):
        return None
    executed = set[int]().union(*(log.threads for log in logs))
    if any(
        _may_write(mi) and index not in executed
        for index, mi in enumerate(report.analysis.graph.records)
    ):
        return None
    written: dict[int, int] = defaultdict(int)
    for first, last in set[tuple[int, int]]().union(*map(_stored, logs)):
        _add(written, first, last)
    multiplies = {_index_of(key) for log in logs for key in log.multiplied}
    padded = any(_is_padded(report.record(index)) for index in multiplies)
    for log in logs:
        reach = reach_of_copies(log)
        if reach is None:
            return None
        ends = {} if padded else ends_of_copies(log)
        for first, most in reach.items():
            end = _end_of_copy(first, most << padded, variables)
            _add(written, first, ends.get(first, end))
    return written


def _is_padded(mi: MachineInstr) -> bool:
    """Whether a multiply may read elements of 4 or 6 bits that are padded to 16 bytes.

    Copies then write up to twice as many bytes as their mbarrier counts.
    """
    return mi.attributes().get("kind") in _PADDED


def _may_write(mi: MachineInstr) -> bool:
    return mi.row.id.startswith(_WRITE) and (is_event(mi) or mi.row.id not in MEMORY)


def _stored(log: Log) -> set[tuple[int, int]]:
    """The begins and ends of stores and copies of known size, in the windows of the CTAs."""
    found = {(at, at + _GRAIN) for at in log.strong}
    distinct = {id(access.regions): access.regions for access in log.accesses}  # warps repeat them
    for regions in distinct.values():
        for region in regions:
            if region.writes and region.memory is Memory.SHARED and region.first < region.last:
                found.add((region.first, region.last))
    return found


def _end_of_copy(first: int, most: int, variables: list[SharedVariable]) -> int:
    """The largest end of a copy: it has at most `most` bytes, and stays in its variable."""
    at = offset_of(first)
    ends = [v.last - at for v in variables if v.first <= at < v.last]
    return first + min([most, *ends])


def _add(written: dict[int, int], first: int, last: int) -> None:
    """Add the bytes from `first` to `last` to the mask of their CTA."""
    begin, end = offset_of(first) // _GRAIN, offset_of(last - 1) // _GRAIN + 1
    written[rank_of(first)] |= (1 << end) - (1 << begin)
