"""Which bytes of shared memory the runs of a kernel write.

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: a mask of written
grains for each CTA, where every write is known: not in a run that guessed, after writes to unknown
addresses, or while some record that may write was not executed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import MmaKind
from isel.verifier.function.report import Report
from isel.verifier.ordering.integers.windows import offset_of, rank_of
from isel.verifier.ordering.judgement.sizes import ends_of_copies, reach_of_copies
from isel.verifier.ordering.matrices import Operands
from isel.verifier.ordering.memory_regions import Memory
from isel.verifier.ordering.program import MEMORY, is_event
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import SharedVariable

GRAIN = 4
"""Bytes of one bit of a mask of written memory."""
_WIDEST = 16
"""The most bytes that a thread stores at once."""
_PADDED = (MmaKind.F8F6F4, MmaKind.MXF8F6F4)
_WRITE = frozenset(("st", "stmatrix", "atom", "red", "cp", "multimem", "clusterlaunchcontrol"))
"""The first words of rows that may write shared memory; wmma.store is another."""


def written(
    report: Report, logs: list[Log], variables: list[SharedVariable],
    but: Container[int] = (), *, at_most: bool = False,
) -> dict[int, int] | None:  # fmt: skip
    """A mask of the grains that some run writes, for each CTA; None where it may be incomplete.

    What the records `but` write is left out.  With `at_most` a copy of unknown size has as many
    bytes as it may have.
    """
    if any(log.guessed or log.unknown or log.unknown_writes for log in logs):
        return None
    executed = set[int]().union(*(log.threads for log in logs))
    if any(
        _may_write(mi) and index not in executed
        for index, mi in enumerate(report.analysis.graph.records)
    ):
        return None
    found: dict[int, int] = defaultdict(int)
    for first, last in set[tuple[int, int]]().union(*(_stored(log, but) for log in logs)):
        _add(found, first, last)
    multiplies = {record_of(key) for log in logs for key in log.multiplied}
    padded = any(_is_padded(report.record(index)) for index in multiplies)
    for log in logs:
        reach = reach_of_copies(log)
        if reach is None:
            return None
        ends = {} if padded or at_most else ends_of_copies(log)
        for first, most in reach.items():
            end = _end_of_copy(first, most << padded, variables)
            _add(found, first, ends.get(first, end))
    return found


def record_of(operands: Operands) -> int:
    """The record of a multiply."""
    index = operands[0]
    assert isinstance(index, int)
    return index


def _is_padded(mi: MachineInstr) -> bool:
    """Whether a multiply may read elements of 4 or 6 bits that are padded to 16 bytes.

    Copies then write up to twice as many bytes as their mbarrier counts.
    """
    return mi.attributes().get("kind") in _PADDED


def _may_write(mi: MachineInstr) -> bool:
    row = mi.row.id
    writes = row.partition(".")[0] in _WRITE or row.startswith("wmma.store")
    return writes and (is_event(mi) or row not in MEMORY)


def _stored(log: Log, but: Container[int]) -> set[tuple[int, int]]:
    """The begins and ends of stores and copies of known size, in the windows of the CTAs."""
    found = {(at, at + _WIDEST) for at in log.strong}
    distinct = {id(a.regions): a.regions for a in log.accesses if a.index not in but}
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


def _add(found: dict[int, int], first: int, last: int) -> None:
    """Add the bytes from `first` to `last` to the mask of their CTA."""
    begin, end = offset_of(first) // GRAIN, offset_of(last - 1) // GRAIN + 1
    found[rank_of(first)] |= (1 << end) - (1 << begin)
