"""Two accesses of which one writes, and that nothing orders.

Layer: isel.verifier.ordering.  Input: the log of a run.  Output: the races in it, each once for a
pair of records.  PTX ISA, Memory Consistency Model: Causality Order, Conflict and Data-races,
Proxies; tcgen05: Pipelined tcgen05 Instructions, Specialized Synchronization Operations.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CopyShape
from isel.verifier.function.events import Kind
from isel.verifier.ordering.clocks import Clock, Source
from isel.verifier.ordering.log import Access, Log, Memory, Region


class Missing(Enum):
    """What is missing between two accesses."""

    ORDER = auto()  # nothing orders them
    COMPLETION = auto()  # the first was issued before, and need not be complete
    FENCE_BEFORE = auto()  # tcgen05.fence::before_thread_sync behind the first
    FENCE_AFTER = auto()  # tcgen05.fence::after_thread_sync before the second
    PROXY_FENCE = auto()  # fence.proxy.async between them


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses, in the order of the run, what they have in common, and what is missing.

    `refills` says that a copy writes scale factors that an MMA of the same thread has been given.
    """

    first: Access
    second: Access
    one: Region
    other: Region
    missing: Missing
    refills: bool = False

    @property
    def is_relaxed(self) -> bool:
        """Whether nothing but the missing fence would order the two."""
        return not _has(self.second.known, self.first.done)

    @property
    def is_certain(self) -> bool:
        """Whether both regions are known exactly."""
        return self.one.exact and self.other.exact


TENSOR_OPS = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT)
_ASYNC_TENSOR = (*TENSOR_OPS, Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
_KEPT = 16_384
"""Regions of one memory that a new access is compared with: a race with older ones is not found."""

_ENOUGH = 64
"""Races of a pair of records behind which its accesses are not compared any more."""

_MOST_RACES = 65_536
"""Pairs of pieces of a run that race, behind which it is not looked for more."""

_GRAIN = 16
"""Bytes or columns that a bit of `_Kept.places` stands for."""

_PAGE, _PAGES = 64, 256
"""Grains of a page, and pages that are told apart: accesses are looked up by them."""


@dataclass(slots=True, eq=False)
class _Kept:
    """An access and its regions of one memory that later ones are compared with, by their places.

    `first` and `last` are the hull of all that it had at first, in grains; `places` has a bit for
    each grain that it touches, counted from the first.  `longest` is the length of its longest,
    and `firsts` are where its regions began.
    """

    access: Access
    regions: list[Region]
    first: int
    last: int
    places: int
    writes: bool
    longest: int
    firsts: list[int]

    @classmethod
    def of(cls, access: Access, regions: list[Region]) -> _Kept:
        """The regions of a new access."""
        regions.sort(key=_first)
        longest = max(region.last - region.first for region in regions)
        first = regions[0].first // _GRAIN
        last = max(region.last for region in regions) // _GRAIN
        places = 0
        for region in regions:
            begin, end = region.first // _GRAIN - first, region.last // _GRAIN - first
            places |= (2 << end) - (1 << begin)
        firsts = [region.first for region in regions]
        writes = any(region.writes for region in regions)
        return cls(access, regions, first, last, places, writes, longest, firsts)

    def pages(self) -> Iterator[int]:
        """The pages of its hull."""
        first, last = self.first // _PAGE, self.last // _PAGE
        return (page % _PAGES for page in range(first, min(last, first + _PAGES - 1) + 1))

    def meeting(self, region: Region) -> list[Region]:
        """Its regions that conflict with one of another access."""
        begin = bisect.bisect_right(self.regions, region.first - self.longest, key=_first)
        end = bisect.bisect_left(self.regions, region.last, begin, key=_first)
        return [there for there in self.regions[begin:end] if there.meets(region)]

    def repeats(self, old: _Kept) -> bool:
        """Whether whatever is behind this is behind an older one, which touches the same.

        Both are of one record, and what completes them counts on.
        """
        mine, other = self.access, old.access
        return (
            mine.warp == other.warp
            and mine.done[0] == other.done[0]
            and mine.done[1] >= other.done[1]
            and self.regions == old.regions
        )

    def touches(self, other: _Kept) -> bool:
        """Whether both, whose hulls meet, may have a place in common."""
        if self.first < other.first:
            return self.places >> other.first - self.first & other.places != 0
        return other.places >> self.first - other.first & self.places != 0

    @property
    def is_plain(self) -> bool:
        """Whether its regions are one behind the other, and alike but for their places.

        So are the bytes that a warp accesses; what is missing before an access is then the same for
        all of them, unless both are operations of tensor memory.
        """
        if self.access.kind in TENSOR_OPS:
            return False
        writes, end = self.writes, -1
        for region in self.regions:
            if region.first < end or region.lanes != -1 or region.writes is not writes:
                return False
            end = region.last
        return True


@dataclass(slots=True)
class _History:
    """The last accesses of one memory, in order, which have `count` regions together.

    `pages` has for each page the numbers of those that touch it; `latest` is the last of each
    record, warp and place.
    """

    kept: dict[int, _Kept] = field(default_factory=dict)
    pages: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    latest: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    count: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def near(self, new: _Kept) -> list[tuple[int, _Kept]]:
        """The accesses that a new one may conflict with, and their numbers, in order."""
        first, last, writes, access = new.first, new.last, new.writes, new.access
        pages, kept = self.pages, self.kept
        numbers = set[int]().union(*(pages[page] for page in new.pages() if page in pages))
        return [
            (number, old)
            for number in sorted(numbers)
            if (old := kept[number]).first <= last
            and first <= old.last
            and (writes or old.writes)
            and old.access is not access
            and old.touches(new)
        ]

    def drop(self, number: int, gone: list[Region]) -> None:
        """Forget regions of an access."""
        old = self.kept[number]
        left = {id(one) for one in gone}
        old.regions = [there for there in old.regions if id(there) not in left]
        self.count -= len(gone)
        if not old.regions:
            self._forget(number)

    def add(self, new: _Kept) -> None:
        """Keep a new access, in the place of one that it repeats, and no more than `_KEPT`."""
        key = new.access.index, new.access.warp, new.first, new.last
        earlier = self.latest.get(key, -1)
        old = self.kept.get(earlier)
        if old is not None and new.repeats(old):
            self.count -= len(old.regions)
            self._forget(earlier)
        number = self.latest[key] = next(self.numbers)
        self.kept[number] = new
        for page in new.pages():
            self.pages[page].add(number)
        self.count += len(new.regions)
        while self.count > _KEPT:
            number, oldest = next(iter(self.kept.items()))
            gone = min(len(oldest.regions), self.count - _KEPT)
            del oldest.regions[:gone]
            self.count -= gone
            if not oldest.regions:
                self._forget(number)

    def _forget(self, number: int) -> None:
        for page in self.kept.pop(number).pages():
            self.pages[page].discard(number)


class Finder:
    """The races of a log; `records` are those of the function.

    `stopped` is the record behind whose races no more were looked for, None where all were.
    """

    def __init__(self, log: Log, records: list[MachineInstr]) -> None:
        self.log = log
        self.records = records
        self.found: dict[tuple[int, int, Missing], Race] = {}
        self.stopped: int | None = None
        self._consumed: set[int] = set()
        self._raced: Counter[tuple[int, int]] = Counter()
        self._left = _MOST_RACES

    def races(self) -> list[Race]:
        """Every race, once for a pair of records."""
        live: dict[tuple[Memory, int], _History] = {}
        ends = _sizes(self.log)
        for access in self.log.accesses:
            sized = [_sized(region, ends) for region in access.regions]
            for key, regions in itertools.groupby(sized, lambda r: (r.memory, r.rank)):
                history, new = live.setdefault(key, _History()), _Kept.of(access, list(regions))
                self._compare(history, new)
                if not self._left:
                    self.stopped = access.index
                    return list(self.found.values())
                history.add(new)
        return list(self.found.values())

    def _compare(self, history: _History, new: _Kept) -> None:
        """Find the races of an access with those before it, and drop what it overwrites of them."""
        raced, index = self._raced, new.access.index
        near = [one for one in history.near(new) if raced[one[1].access.index, index] < _ENOUGH]
        if near and new.is_plain:
            near = [(at, old) for at, old in near if not self._passes(history, at, old, new)]
        for region, (at, old) in itertools.product(new.regions, near):
            if raced[old.access.index, index] >= _ENOUGH:
                continue
            for there in old.meeting(region):
                if self._settles(old.access, new.access, there, region):
                    history.drop(at, [there])

    def _passes(self, history: _History, number: int, old: _Kept, new: _Kept) -> bool:
        """Whether nothing is missing between two accesses; drops what the new one overwrites.

        This is what `_settles` does for each two regions, at once: `new` is plain.
        """
        here = new.regions
        if self._missing(old.access, new.access, old.regions[0], here[0]) is not None:
            return False
        if new.writes:
            firsts = new.firsts
            gone = []
            for there in old.regions:
                at = bisect.bisect_right(firsts, there.first) - 1
                if at >= 0 and here[at].exact and there.last <= here[at].last:
                    gone.append(there)
            if gone:
                history.drop(number, gone)
        return True

    def _settles(self, old: Access, new: Access, there: Region, region: Region) -> bool:
        """Whether what comes later need not be compared with `there`; notes a race between both."""
        if region.name == "scales" and old.kind is Kind.TENSOR_COPY:
            self._consumed.add(old.turn)
        missing = self._missing(old, new, there, region)
        if missing is not None:
            self._add(old, new, there, region, missing)
            return False
        return region.writes and region.exact and region.covers(there)

    def _add(self, old: Access, new: Access, one: Region, other: Region, missing: Missing) -> None:
        self._raced[old.index, new.index] += 1
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
        """What is missing between two accesses that conflict in these regions."""
        if old.kind is new.kind and old.kind is Kind.DEALLOC:
            return None  # each CTA of a pair frees
        if old.index == new.index and old.kind is Kind.SHARED_STORE:
            return None  # the same value, stored by several warps
        if (
            old.kind in TENSOR_OPS
            and new.kind in TENSOR_OPS
            and self._pipelined(old, new, one, other)
        ):
            return self._issued(old, new)
        same_warp = old.warp == new.warp
        if old.done[0][0] == "warp" and same_warp:
            return self._proxied(old, new)
        if not _has(new.known, old.done):
            reached = _has(new.relaxed, old.done)
            if reached and other.memory is Memory.SHARED and other.writes and old.by_proxy:
                return None  # what has been read, or copied, is over, fences or not
            if old.kind in _ASYNC_TENSOR and reached:
                return self._fence(old.done, new) if new.kind in _ASYNC_TENSOR else None
            came = same_warp or _has(new.known, old.issue)
            return Missing.COMPLETION if came else Missing.ORDER
        own_move = same_warp and old.kind not in TENSOR_OPS
        both = old.kind in _ASYNC_TENSOR and new.kind in _ASYNC_TENSOR
        if both and not own_move and not _has(new.fenced, old.done):
            return self._fence(old.done, new)
        return self._proxied(old, new)

    def _fence(self, done: tuple[Source, int], new: Access) -> Missing:
        """Which of the two fences is missing between accesses that arrivals and waits connect."""
        return Missing.FENCE_AFTER if _has(new.acquired, done) else Missing.FENCE_BEFORE

    def _issued(self, old: Access, new: Access) -> Missing | None:
        """Operations that run in order are issued in order: by one thread, or between fences."""
        if old.done[0] == new.done[0] or _has(new.fenced, old.issue) or _has(new.fenced, old.done):
            return None
        return self._fence(old.issue, new) if _has(new.relaxed, old.issue) else Missing.ORDER

    def _pipelined(self, old: Access, new: Access, one: Region, other: Region) -> bool:
        """Whether two operations run in order as far as these regions are concerned.

        That an MMA overwrites what one of the same thread before it reads is left to
        `function.overlaps`: the manual's pairs do not cover it, and attention kernels live by it.
        """
        facts = self.records[new.index].form.facts
        if facts.get("cta_group") != self.records[old.index].form.facts.get("cta_group"):
            return False
        match old.kind, new.kind:
            case Kind.MULTIPLY, Kind.MULTIPLY:
                if not one.writes:
                    return old.done[0] == new.done[0]
                return other.writes and one == other
            case ((Kind.TENSOR_COPY | Kind.SHIFT), Kind.MULTIPLY):
                return True
            case ((Kind.MULTIPLY | Kind.SHIFT), Kind.SHIFT):
                return old.kind is Kind.MULTIPLY
            case Kind.SHIFT, Kind.TENSOR_COPY:
                return facts.get("shape") is CopyShape.S4X256B
        return False

    def _proxied(self, old: Access, new: Access) -> Missing | None:
        """What the generic proxy wrote reaches the async proxy through a fence."""
        generic = old.kind is Kind.SHARED_STORE and not old.by_proxy
        if not generic or not new.by_proxy or old.regions[0].memory is Memory.TENSOR:
            return None
        return None if _has(new.proxied, old.done) else Missing.PROXY_FENCE


def _first(region: Region) -> int:
    return region.first


def _sized(region: Region, ends: dict[int, int]) -> Region:
    """A region; that of a copy of unknown size reaches as far as is known."""
    if region.name != "copy" or region.exact or region.last != region.first:
        return region
    return replace(region, last=ends.get(region.first, region.first + 16), exact=True)


def _has(clock: Clock, done: tuple[Source, int]) -> bool:
    return clock.get(done[0], 0) >= done[1]


def _sizes(log: Log) -> dict[int, int]:
    """Where copies of unknown size end, by where they begin.

    All copies of a phase together bring the bytes that it expects, but for those of known size.
    One that goes on to where the next begins is known if that adds up; else only its first bytes
    are.
    """
    starts = sorted({first for found in log.copies.values() for first in found})
    following = dict(itertools.pairwise(starts))
    ends: dict[int, int] = {}
    for phase, copies in log.copies.items():
        whole = log.expected.get(phase, 0) - log.brought.get(phase, 0)
        if whole <= 0:
            continue
        last = {c: min(following.get(c, c + whole), c + whole) for c in copies}
        if sum(last.values()) - sum(copies) == whole:
            for first, end in last.items():
                ends[first] = min(ends.get(first, end), end)
    return ends
