"""Sums that begin with columns of tensor memory that nothing has written.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a review for each
multiply that adds to such columns, and whose sums are read there, in every run that comes to it.
PTX ISA, tcgen05.mma: enable-input-d.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from isel.verifier.function.report import Report
from isel.verifier.ordering.log import Log, Memory, Region
from isel.verifier.ordering.rows import NOT_WRITTEN


def check(report: Report, logs: list[Log]) -> None:
    """Report sums without a beginning, where the runs have seen every write that there is."""
    unsure = any(log.guessed or log.unknown for log in logs)
    if unsure or report.analysis.graph.has_opaque:
        return
    runs = [(log, _unwritten(log)) for log in logs]
    for index in dict.fromkeys(index for _, run in runs for index in run):
        columns = [run.get(index, 0) for log, run in runs if index in log.threads]
        if all(columns):
            report.add(NOT_WRITTEN, index, got=f"nothing has written {_said(columns[0])}")


@dataclass(slots=True)
class _Columns:
    """Columns of each CTA and each mask of lanes, as the bits of a number."""

    sets: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, region: Region) -> None:
        """Put the columns of a region in."""
        self.sets[region.rank, region.lanes] |= (1 << region.last) - (1 << region.first)

    def among(self, region: Region) -> int:
        """The columns of a region that are here in one of its lanes."""
        here = 0
        for (rank, lanes), columns in self.sets.items():
            if rank == region.rank and lanes & region.lanes:
                here |= columns
        return here & (1 << region.last) - (1 << region.first)


def _unwritten(log: Log) -> dict[int, int]:
    """For each record, columns that it adds to first and that somebody reads, as bits."""
    written, read = _Columns(), _Columns()
    first: list[tuple[int, Region, int]] = []
    for access in log.accesses:
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
    """The ranges of columns in a set of them."""
    pieces = []
    while columns:
        first = (columns & -columns).bit_length() - 1
        rest = columns >> first
        last = first + (~rest & rest + 1).bit_length() - 2
        pieces.append(f"{first} to {last}" if first != last else f"{first}")
        columns &= -1 << last + 1
    alone = len(pieces) == 1 and pieces[0].isdigit()
    return f"column{'' if alone else 's'} {', '.join(pieces)}"
