"""Loads of shared memory that nothing writes.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a warning for a load by
threads, or an atomic operation, of bytes that no store or copy writes in any run: shared memory
holds whatever the last kernel left.  It is sought only where every write is known, and where no
made-up contents of memory have a part in what is accessed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import AtomicOp
from isel.verifier.function.events import ATOMICS, Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering.integers.windows import offset_of, rank_of
from isel.verifier.ordering.judgement.names import byte_in_words
from isel.verifier.ordering.judgement.rows import UNWRITTEN_BYTES
from isel.verifier.ordering.judgement.written import GRAIN, written
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import shared_variables


def check(report: Report, logs: list[Log]) -> None:
    """Report loads of bytes that no run writes, in runs that reach them."""
    if report.analysis.graph.has_opaque or any(log.assumed for log in logs):
        return
    adding = {
        index for index, mi in enumerate(report.analysis.graph.records) if _reads_and_writes(mi)
    }
    loads = [_loads(log, adding) for log in logs if not log.truncated]
    if not any(loads):
        return
    variables = shared_variables(report.module, report.analysis.function)
    there = written(report, logs, variables, adding, at_most=True)
    if there is None:
        return
    for index in dict.fromkeys(index for run in loads for index in run):
        found = [_unwritten(run[index], there) for run in loads if index in run]
        if all(at is not None for at in found) and found[0] is not None:
            report.add(UNWRITTEN_BYTES, index, got=byte_in_words(report, found[0]))


def _reads_and_writes(mi: MachineInstr) -> bool:
    """Whether it needs what was there before: an exchange begins a word as a store does."""
    exchanges = mi.form.attributes.get("op") is AtomicOp.EXCH
    return mi.row.id in ATOMICS and not exchanges


def _loads(log: Log, adding: Container[int]) -> dict[int, list[Sequence[Region]]]:
    """The distinct regions of each load by threads, and of atomic operations."""
    found: dict[int, dict[int, Sequence[Region]]] = {}
    for access in log.accesses:
        if access.kind is Kind.SHARED_LOAD or access.index in adding:
            found.setdefault(access.index, {})[id(access.regions)] = access.regions
    return {index: list(regions.values()) for index, regions in found.items()}


def _unwritten(loads: list[Sequence[Region]], there: Mapping[int, int]) -> int | None:
    """The offset of the first bytes that are loaded and nowhere written; None if there are none."""
    regions = (region for regions in loads for region in regions if region.exact)
    found = (_first_unwritten(region, there) for region in regions if region.first < region.last)
    return min((at for at in found if at is not None), default=None)


def _first_unwritten(region: Region, there: Mapping[int, int]) -> int | None:
    begin, end = offset_of(region.first), offset_of(region.last - 1) + 1
    first, last = begin // GRAIN, (end - 1) // GRAIN
    if last < first:  # beyond the shared memory of its CTA, which is told elsewhere
        return None
    missing = ~(there.get(rank_of(region.first), 0) >> first) & (1 << last - first + 1) - 1
    if not missing:
        return None
    return max((first + (missing & -missing).bit_length() - 1) * GRAIN, begin)
