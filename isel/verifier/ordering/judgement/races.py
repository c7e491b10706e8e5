"""Races: two accesses to a memory location, of which one writes, and that happens-before leaves
open.

Layer: isel.verifier.ordering.  Input: the log of a run.  Output: its races, one for each pair of
records.  PTX ISA, Memory Consistency Model: Causality Order, Conflict and Data-races, Proxies;
tcgen05: Pipelined tcgen05 Instructions, Specialized Synchronization Operations.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CopyShape
from isel.verifier.function.events import ATOMICS, REDUCTIONS, Kind
from isel.verifier.ordering.judgement.history import (
    ASYNC_TENSOR,
    TENSOR_OPS,
    Footprint,
    History,
    PastAccess,
    is_out_of_scope,
)
from isel.verifier.ordering.judgement.sizes import ends_of_copies, sized
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.clocks import Clock, Source, source_of
from isel.verifier.ordering.run.log import Access, Log


class Missing(Enum):
    """The reason why two accesses are not ordered."""

    ORDER = auto()  # nothing orders them
    COMPLETION = auto()  # the first was issued before, and need not be complete
    FENCE_BEFORE = auto()  # tcgen05.fence::before_thread_sync after the first
    FENCE_AFTER = auto()  # tcgen05.fence::after_thread_sync before the second
    PROXY_FENCE = auto()  # fence.proxy.async between them
    SCOPE = auto()  # a scope of an arrival and a wait that has both threads


@dataclass(frozen=True, slots=True)
class Race:
    """Two conflicting accesses in the order of the run, their regions, and what is missing.

    `refills` says that a copy writes scale factors which an MMA of the same thread reads.
    """

    first: Access
    second: Access
    one: Region
    other: Region
    missing: Missing
    refills: bool = False

    @property
    def records(self) -> tuple[int, int]:
        """The records of both accesses."""
        return self.first.index, self.second.index

    @property
    def is_relaxed(self) -> bool:
        """Whether the missing fence is all that is missing."""
        return not _has(self.second.known, self.first.done)

    @property
    def is_certain(self) -> bool:
        """Whether both regions are known exactly."""
        return self.one.exact and self.other.exact


_Parts: TypeAlias = list[tuple[tuple[Memory, int], Footprint]]
"""The regions of an access, for each memory."""
_ENOUGH = 32
"""Races of one pair of records after which no more of its accesses are compared."""

_MOST_RACES = 65_536
"""Races of a run after which no more accesses are compared."""


class Footprints:
    """The regions of accesses, for each memory: warps and the runs of a kernel repeat them."""

    def __init__(self) -> None:
        self._same: dict[int, tuple[Sequence[Region], _Parts]] = {}
        self._equal: dict[tuple[Region, ...], _Parts] = {}

    def same(self, regions: Sequence[Region]) -> _Parts:
        """The footprints of a list of regions, kept for when the same list comes again."""
        found = self._same.get(id(regions))
        if found is None:
            found = self._same[id(regions)] = regions, _footprints(regions)
        return found[1]

    def equal(self, regions: tuple[Region, ...]) -> _Parts:
        """The footprints of regions, kept for when equal ones come again."""
        found = self._equal.get(regions)
        if found is None:
            found = self._equal[regions] = _footprints(regions)
        return found


class Finder:
    """Search for the races of a log; `records` are those of the function, `footprints` those of
    other logs of it.

    `stopped` is the record at which the search ended early, None if it did not; `alone` are
    accesses that other threads order only by arrivals of different threads of the same warp, by
    those records.
    """

    def __init__(
        self, log: Log, records: list[MachineInstr], footprints: Footprints | None = None
    ) -> None:
        self.log = log
        self.records = records
        self.found: dict[tuple[int, int, Missing], Race] = {}
        self.alone: dict[tuple[int, Kind], tuple[Access, Access]] = {}
        self.stopped: int | None = None
        self._consumed: set[int] = set()
        self._raced: Counter[tuple[int, int]] = Counter()
        self._full: dict[int, set[int]] = {}  # records with `_ENOUGH` races, by the second one
        self._left = _MOST_RACES
        self._is_done = False
        self._footprints = footprints or Footprints()

    def races(self) -> list[Race]:
        """All races, one for each pair of records."""
        if not self._is_done:
            self._seek()
            self._is_done = True
        return list(self.found.values())

    def _seek(self) -> None:
        """Compare every access with those before it."""
        live: dict[tuple[Memory, int], History] = defaultdict(History)
        ends = ends_of_copies(self.log)
        for access in self.log.accesses:
            for key, footprint in self._parts(access, ends):
                history, new = live[key], PastAccess.of(access, footprint)
                self._compare(history, new)
                if not self._left:
                    self.stopped = access.index
                    return
                history.add(new)

    def _parts(self, access: Access, ends: dict[int, int]) -> _Parts:
        """The regions of an access, for each memory."""
        if access.kind is Kind.COPY_IN:
            return self._footprints.equal(tuple([sized(region, ends) for region in access.regions]))
        return self._footprints.same(access.regions)

    def _compare(self, history: History, new: PastAccess) -> None:
        """Find the races of an access with earlier ones, and drop regions that it overwrites."""
        full = self._full.setdefault(new.access.index, set())
        racing: list[tuple[int, PastAccess, Missing | None]] = []
        for at, old in history.near(new):
            if old.access.index in full:
                continue
            missing = None
            if new.is_alike(old):
                if not new.follows(old):
                    missing = self._missing(old.access, new.access, old.regions[0], new.regions[0])
                if missing is None:
                    if old.access.by >= 0:
                        self._note_alone(old, new)
                    if new.footprint.writes and (gone := old.overwritten(new)):
                        history.drop(at, gone)
                    continue
            racing.append((at, old, missing))
        for region, (at, old, missing) in itertools.product(new.regions if racing else (), racing):
            if old.access.index in full:
                continue
            for there in old.meeting(region):
                if missing is not None:
                    self._add(old.access, new.access, there, region, missing)
                elif self._settles(old.access, new.access, there, region):
                    history.drop(at, [there])

    def _note_alone(self, old: PastAccess, new: PastAccess) -> None:
        """Note an access that is ordered only by an arrival of other threads of its warp."""
        one, other = old.access, new.access
        key = one.by, one.kind
        if key in self.alone or one.warp == other.warp:
            return
        whole = one.synchronised and _has(
            other.known, (source_of("warp", one.warp), one.synchronised)
        )
        if not whole and any(map(old.meeting, new.regions)):
            self.alone[key] = one, other

    def _settles(self, old: Access, new: Access, there: Region, region: Region) -> bool:
        """Whether later accesses need not be compared with `there`.

        Notes a race of the two accesses.
        """
        if region.name == "scales" and old.kind is Kind.TENSOR_COPY:
            self._consumed.add(old.turn)
        missing = self._missing(old, new, there, region)
        if missing is not None:
            self._add(old, new, there, region, missing)
            return False
        return region.writes and region.exact and region.covers(there)

    def _add(self, old: Access, new: Access, one: Region, other: Region, missing: Missing) -> None:
        pair = old.index, new.index
        raced = self._raced[pair] = self._raced[pair] + 1
        if raced >= _ENOUGH:
            self._full.setdefault(new.index, set()).add(old.index)
        self._left = max(self._left - 1, 0)
        key = old.index, new.index, missing
        if key not in self.found or (one.exact and other.exact and not self.found[key].is_certain):
            refills = (
                new.kind is Kind.TENSOR_COPY
                and old.warp == new.warp
                and (one.name == "scales" or old.turn in self._consumed)
            )
            self.found[key] = Race(old, new, one, other, missing, refills)

    def _missing(self, old: Access, new: Access, one: Region, other: Region) -> Missing | None:
        """The reason why two accesses are not ordered."""
        if old.kind is new.kind and old.kind is Kind.DEALLOC:
            return None  # each CTA of a pair deallocates
        if old.index == new.index and old.kind is Kind.SHARED_STORE:
            return None  # the same value, stored by several warps
        if self._commute(old, new):
            return None
        if (
            old.kind in TENSOR_OPS
            and new.kind in TENSOR_OPS
            and self._pipelined(old, new, one, other)
        ):
            return self._issued(old, new)
        if old.warp == new.warp and old.done[0].kind == "warp":
            return self._proxied(old, new) if new.by_proxy else None
        if not _has(new.known, old.done):
            return self._incomplete(old, new, other)
        if is_out_of_scope(old, new):
            return Missing.SCOPE
        own_move = old.warp == new.warp and old.kind not in TENSOR_OPS
        both = old.kind in ASYNC_TENSOR and new.kind in ASYNC_TENSOR
        if both and not own_move and not _has(new.fenced, old.done):
            return self._fence(old.done, new)
        return self._proxied(old, new) if new.by_proxy else None

    def _incomplete(self, old: Access, new: Access, other: Region) -> Missing | None:
        """What is missing where the completion of the first access does not happen before the
        second.
        """
        is_observed = _has(new.relaxed, old.done)
        if is_observed and other.memory is Memory.SHARED and other.writes and old.by_proxy:
            return None  # reads and copies are complete, fenced or not
        if is_observed and old.kind in ASYNC_TENSOR:
            return self._fence(old.done, new) if new.kind in ASYNC_TENSOR else None
        is_issued = old.warp == new.warp or _has(new.known, old.issue)
        return Missing.COMPLETION if is_issued else Missing.ORDER

    def _commute(self, old: Access, new: Access) -> bool:
        """Whether both are atomic, or both are copies that combine numbers with memory."""
        if old.kind is not new.kind:
            return False
        kin = REDUCTIONS if old.kind is Kind.COPY_IN else ATOMICS
        one, other = self.records[old.index].form.row.id, self.records[new.index].form.row.id
        return one in kin and other in kin

    def _fence(self, done: tuple[Source, int], new: Access) -> Missing:
        """Which tcgen05.fence is missing between accesses that arrivals and waits order."""
        return Missing.FENCE_AFTER if _has(new.acquired, done) else Missing.FENCE_BEFORE

    def _issued(self, old: Access, new: Access) -> Missing | None:
        """The reason why two accesses are not ordered."""
        if old.done[0] == new.done[0] or _has(new.fenced, old.issue) or _has(new.fenced, old.done):
            return None
        return self._fence(old.issue, new) if _has(new.relaxed, old.issue) else Missing.ORDER

    def _pipelined(self, old: Access, new: Access, one: Region, other: Region) -> bool:
        """Whether two tcgen05 operations are pipelined, so that they run in order, on these
        regions.

        An MMA that overwrites an operand of an earlier MMA of the same thread, whose end nobody has
        waited for, is left to `function.overlaps`: the manual's pairs do not cover it, and
        attention kernels rely on it.
        """
        attributes = self.records[new.index].form.attributes
        if attributes.get("cta_group") != self.records[old.index].form.attributes.get("cta_group"):
            return False
        match old.kind, new.kind:
            case Kind.MULTIPLY, Kind.MULTIPLY:
                if not one.writes:
                    return old.done[0] == new.done[0] and not _has(new.relaxed, old.done)
                return other.writes and one == other
            case ((Kind.TENSOR_COPY | Kind.SHIFT), Kind.MULTIPLY):
                return True
            case ((Kind.MULTIPLY | Kind.SHIFT), Kind.SHIFT):
                return old.kind is Kind.MULTIPLY
            case Kind.SHIFT, Kind.TENSOR_COPY:
                return attributes.get("shape") is CopyShape.S4X256B
        return False

    def _proxied(self, old: Access, new: Access) -> Missing | None:
        """What is missing for the async proxy (`new`) to see a write of the generic proxy."""
        generic = old.kind is Kind.SHARED_STORE and not old.by_proxy
        if not generic or old.regions[0].memory is Memory.TENSOR:
            return None
        return None if _has(new.proxied, old.done) else Missing.PROXY_FENCE


def _footprints(regions: Iterable[Region]) -> _Parts:
    """The regions of each memory."""
    return [(key, Footprint.of(found)) for key, found in itertools.groupby(regions, _memory_of)]


def _memory_of(region: Region) -> tuple[Memory, int]:
    return region.memory, region.rank


def _has(clock: Clock, done: tuple[Source, int]) -> bool:
    return clock.get(done[0], 0) >= done[1]
