"""Reads of tensor memory that nothing has written, by accumulating multiplies and by loads.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a review for each
multiply that accumulates on such columns, and whose result is read, in every run that comes to it;
an error for each load none of whose columns is written in any run. PTX ISA, tcgen05.mma:
enable-input-d; tcgen05.ld.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering.judgement.history import TENSOR_OPS
from isel.verifier.ordering.judgement.rows import NOT_WRITTEN, UNWRITTEN
from isel.verifier.ordering.matrices import Operands
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.log import Access, Log


def check(report: Report, logs: list[Log]) -> None:
    """Report uninitialised accumulators and loads, where the runs have executed every write."""
    unsure = any(log.guessed or log.unknown for log in logs)
    if unsure or report.analysis.graph.has_opaque:
        return
    runs = [(log, _unwritten(log)) for log in logs]
    for index in dict.fromkeys(index for _, run in runs for index in run):
        columns = [run.get(index, 0) for log, run in runs if index in log.threads]
        if all(columns):
            report.add(NOT_WRITTEN, index, got=f"nothing has written {_said(columns[0])}")
    if _all_writes_seen(report, logs):
        _loads(report, logs)


@dataclass(slots=True)
class _Columns:
    """Sets of columns for each CTA and mask of lanes, as bit masks."""

    sets: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, region: Region) -> None:
        """Add the columns of a region."""
        self.sets[region.rank, region.lanes] |= (1 << region.last) - (1 << region.first)

    def among(self, region: Region) -> int:
        """The columns of a region that are in the set in at least one of its lanes."""
        here = 0
        for (rank, lanes), columns in self.sets.items():
            if rank == region.rank and lanes & region.lanes:
                here |= columns
        return here & (1 << region.last) - (1 << region.first)


# ---- loads ---------------------------------------------------------------------------------------

_WRITERS = (*TENSOR_OPS, Kind.TENSOR_STORE)
_ACCESSES = (*_WRITERS, Kind.TENSOR_LOAD, Kind.DEALLOC)


def _all_writes_seen(report: Report, logs: list[Log]) -> bool:
    """Whether every record that writes tensor memory was executed, each with a known extent, which
    neither memory nor arguments say.
    """
    executed = set[int]().union(*(log.threads for log in logs))
    shaped = all(_has_shape(key) for log in logs for key in log.multiplied)
    shaped &= all(event.count is not None for event in report.analysis.events(Kind.MULTIPLY))
    return shaped and all(event.index in executed for event in report.analysis.events(*_WRITERS))


def _has_shape(key: Operands) -> bool:
    """Whether the shape of a multiply is known, from its instruction descriptor or its name
    (wgmma).
    """
    return any(isinstance(operand, tuple) and operand[0] == "idesc" for operand in key)


def _loads(report: Report, logs: list[Log]) -> None:
    """Report loads none of whose columns is written."""
    written = _Columns()
    read: dict[int, list[Region]] = defaultdict(list)
    for access in (access for log in logs for access in _of_tensor_memory(log)):
        if access.kind is Kind.TENSOR_LOAD:
            read[access.index] += access.regions
        elif access.kind is not Kind.DEALLOC:
            for region in access.regions:
                if region.memory is Memory.TENSOR and region.writes:
                    written.add(region)
    outside = {index for rule, index in report.findings if rule.endswith("/beyond-allocation")}
    for index, regions in read.items():
        if index not in outside and not any(written.among(region) for region in regions):
            columns = _said((1 << regions[0].last) - (1 << regions[0].first))
            report.add(UNWRITTEN, index, got=f"the load: {columns}, and nothing writes any of them")


def _of_tensor_memory(log: Log) -> Iterator[Access]:
    """The accesses that may have regions of tensor memory."""
    return (access for access in log.accesses if access.kind in _ACCESSES)


# ---- sums ----------------------------------------------------------------------------------------


def _unwritten(log: Log) -> dict[int, int]:
    """For each multiply, the unwritten columns that it accumulates on and that are read later."""
    written, read = _Columns(), _Columns()
    first: list[tuple[int, Region, int]] = []
    for access in _of_tensor_memory(log):
        for region in access.regions:
            if region.memory is not Memory.TENSOR:
                continue
            if not region.writes:
                read.add(region)
                continue
            if access.accumulates:
                first.append((access.index, region, written.among(region)))
            written.add(region)
    found: dict[int, int] = defaultdict(int)
    for index, region, before in first:
        if missing := read.among(region) & ~before:
            found[index] |= missing
    return found


def _said(columns: int) -> str:
    """A set of columns as ranges, in words."""
    pieces = []
    while columns:
        first = (columns & -columns).bit_length() - 1
        rest = columns >> first
        last = first + (~rest & rest + 1).bit_length() - 2
        pieces.append(f"{first} to {last}" if first != last else f"{first}")
        columns &= -1 << last + 1
    alone = len(pieces) == 1 and pieces[0].isdigit()
    return f"column{'' if alone else 's'} {', '.join(pieces)}"
