"""Classification of a race: the rule that it breaks, and the record to blame.

Layer: isel.verifier.ordering.  Input: a race and the log that it is in.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Kind
from isel.verifier.function.report import Report
from isel.verifier.ordering.judgement.history import TENSOR_OPS
from isel.verifier.ordering.judgement.races import Missing, Race
from isel.verifier.ordering.judgement.rows import (
    AFTER_SYNC,
    BARRIER,
    BEFORE_COMPLETION,
    BEFORE_COPY,
    BEFORE_FENCE,
    BEFORE_SYNC,
    IN_USE,
    LOAD_RUNNING,
    MODIFIED,
    NOT_PIPELINED,
    OUT_OF_SCOPE,
    PROXY_FENCE,
    SHARED_RACE,
    SOURCE_MODIFIED,
    STORE_RUNNING,
    UNORDERED,
)
from isel.verifier.ordering.lifetimes import PEER_FREED, SLOT_PUBLISHED
from isel.verifier.ordering.memory_regions import Memory
from isel.verifier.ordering.run.log import Log
from isel.verifier.rule import VerifierRule

COPIES = ("cp.async", "cp.async.ignore_src")
"""Copies whose proxy the manual does not name; CUTLASS has no fence between them and a multiply."""


@dataclass(frozen=True, slots=True)
class Name:
    """A rule, the record that it blames, and whether that is in doubt."""

    rule: VerifierRule
    index: int
    doubt: bool = False


def name_of(report: Report, log: Log, race: Race) -> Name | None:
    """The rule that a race breaks; None for a race that other rules report."""
    if race.one.memory is Memory.TENSOR:
        return _in_tensor_memory(report, log, race)
    return _in_shared_memory(report, log, race)


def _in_tensor_memory(report: Report, log: Log, race: Race) -> Name | None:
    first, second, missing = race.first, race.second, race.missing
    match missing:
        case Missing.FENCE_AFTER:
            moves = second.kind in (Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
            by_commit = first.kind in TENSOR_OPS and moves
            return Name(BEFORE_FENCE if by_commit else AFTER_SYNC, second.index)
        case Missing.FENCE_BEFORE:
            arrival = log.arrival_behind(first)
            return Name(BEFORE_SYNC, first.index if arrival is None else arrival)
        case Missing.PROXY_FENCE:
            return None
    peers = first.rank != second.rank and missing is Missing.ORDER
    if first.kind is Kind.DEALLOC:
        return Name(PEER_FREED if peers else IN_USE, first.index, peers)
    if second.kind is Kind.DEALLOC and peers:
        return Name(PEER_FREED, second.index, True)
    if first.kind in (Kind.TENSOR_LOAD, Kind.TENSOR_STORE):
        if missing is Missing.ORDER:
            return Name(IN_USE if second.kind is Kind.DEALLOC else UNORDERED, second.index)
        load = first.kind is Kind.TENSOR_LOAD
        used = load and _is_used(report, first.index, log.arrival_behind(first) or second.index)
        return Name(LOAD_RUNNING if load else STORE_RUNNING, first.index, used)
    if first.kind in TENSOR_OPS and second.kind in TENSOR_OPS:
        if missing is Missing.ORDER:
            return Name(UNORDERED, second.index)
        return Name(NOT_PIPELINED, second.index, race.refills)
    return Name(BEFORE_COMPLETION, second.index)


def _in_shared_memory(report: Report, log: Log, race: Race) -> Name | None:
    first, second = race.first, race.second
    if "slot" in (race.one.name, race.other.name):
        return _of_slot(race)
    if race.missing is Missing.SCOPE:
        return Name(OUT_OF_SCOPE, second.index)
    if race.missing is Missing.PROXY_FENCE:
        copy = report.analysis.graph.records[first.index].row.id in COPIES
        return Name(PROXY_FENCE, first.index, copy)
    reads = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.WARPGROUP_MULTIPLY)
    match first.kind, second.kind:
        case Kind.COPY_IN, kind if kind in reads or kind is Kind.SHARED_LOAD:
            beyond = kind in reads and not race.one.first <= race.other.first < race.one.last
            return Name(BEFORE_COPY, second.index, beyond)
        case Kind.COPY_IN, Kind.COPY_OUT:
            beyond = not race.one.first <= race.other.first < max(race.one.last, race.one.first + 1)
            return Name(BEFORE_COPY, second.index, beyond or _is_overwritten(log, race))
        case kind, (Kind.COPY_IN | Kind.SHARED_STORE) if kind in reads:
            copied = second.kind is Kind.COPY_IN
            beyond = copied and not race.other.first <= race.one.first < race.other.last
            return Name(MODIFIED, second.index, beyond)
        case Kind.COPY_OUT, (Kind.SHARED_STORE | Kind.COPY_IN):
            return Name(SOURCE_MODIFIED, second.index)
        case Kind.SHARED_STORE, kind if kind in reads:
            together = first.warpgroup == second.warpgroup and race.other.name == "A"
            met = log.synchronised.get(first.warp, -1) > first.turn
            return Name(BARRIER, second.index, together and met)
        case Kind.SHARED_STORE, Kind.COPY_OUT:
            return Name(SHARED_RACE, second.index)
        case ((Kind.SHARED_STORE | Kind.SHARED_LOAD), (Kind.SHARED_STORE | Kind.SHARED_LOAD)):
            return Name(SHARED_RACE, second.index)
        case Kind.COPY_IN, Kind.COPY_IN:
            return Name(MODIFIED, second.index)
        case _, Kind.COPY_IN:
            return Name(SHARED_RACE, second.index, True)
    return None


def _is_overwritten(log: Log, race: Race) -> bool:
    """Whether threads have stored there, and nothing orders that before the copy.

    The other access may mean what they stored, where the kernel never needs the copy.
    """
    copy, other = race.first, race.other
    return any(
        access.kind is Kind.SHARED_STORE
        and copy.known.get(access.done[0], 0) < access.done[1]
        and any(r.rank == other.rank and r.meets(other) for r in access.regions)
        for access in log.accesses[: race.second.turn]
    )


def _of_slot(race: Race) -> Name | None:
    """The rule for a load of an allocation's address that is not ordered after the allocation."""
    for access in (race.first, race.second):
        if access.kind is Kind.SHARED_LOAD:
            return Name(SLOT_PUBLISHED, access.index)
    return None


def _is_used(report: Report, load: int, before: int) -> bool:
    """Whether all results of a load are used before a record, in the order of the text."""
    records = report.analysis.graph.records
    results = set(records[load].defs())
    for mi in records[load + 1 : before if before > load else len(records)]:
        results.difference_update(mi.uses())
    return not results
