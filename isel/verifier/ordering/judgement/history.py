"""The last accesses to one memory, with which a new access is compared.

Layer: isel.verifier.ordering.  They are indexed by the pages that they touch.  A region of an older
access is dropped where a later access writes all of it and is ordered after it.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.clocks import WIDE, Source, source_of
from isel.verifier.ordering.run.log import Access

TENSOR_OPS = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT)
"""The operations that tcgen05.commit tracks."""

ASYNC_TENSOR = (*TENSOR_OPS, Kind.TENSOR_LOAD, Kind.TENSOR_STORE)
"""The accesses of tensor memory that are asynchronous, with the fences of tcgen05 between them."""

_BY_THREADS = (Kind.SHARED_LOAD, Kind.SHARED_STORE)

_KEPT = 16_384
"""Regions kept for one memory: races with older ones are not found."""

_GRAIN = 16
"""Bytes or columns for each bit of `Footprint.places`."""

_PAGE, _PAGES = 64, 256
"""Grains of a page, and the number of distinct pages: the index of accesses."""

_first, _last, _lanes, _writes, _exact = map(
    operator.attrgetter, ("first", "last", "lanes", "writes", "exact")
)

_COLUMNS, _QUARTERS = 4, 4
"""Grains of a page of tensor memory, and quarters of its lanes: each has pages of its own."""


@dataclass(slots=True, eq=False)
class Footprint:
    """The regions of one memory that an access touches, with their hull; cached, since warps repeat
    them.

    `first` and `last` are the hull of all regions, in grains; `places` has a bit for each grain
    that is touched, counted from the first; `pages` are those of the hull.  `longest` is the length
    of the longest region, and `firsts` are where the regions begin.  It `is_plain` if the regions
    are adjacent and alike but for their offsets, as the bytes are that a warp accesses; it
    `is_uniform` if the order with an older access is the same for all of its bytes or columns, and
    `is_exact` if all regions are.
    """

    regions: tuple[Region, ...]
    firsts: tuple[int, ...]
    first: int
    last: int
    places: int
    writes: bool
    longest: int
    pages: list[int]
    is_plain: bool
    is_uniform: bool
    is_exact: bool

    @classmethod
    def of(cls, given: Iterable[Region]) -> Footprint:
        """The footprint of some regions."""
        regions = tuple(sorted(given, key=_first))
        firsts, lasts = tuple(map(_first, regions)), tuple(map(_last, regions))
        lanes, writing = set(map(_lanes, regions)), set(map(_writes, regions))
        first, places = firsts[0] // _GRAIN, 0
        for begin, end in zip(firsts, lasts, strict=True):
            above = max(end - 1, begin) // _GRAIN + 1
            places |= (1 << above - first) - (1 << begin // _GRAIN - first)
        last = first + places.bit_length() - 1
        adjacent = lanes == {-1} and all(map(operator.ge, firsts[1:], lasts))
        if of_tensor := regions[0].memory is Memory.TENSOR:
            pages = _pages_of_lanes(first, last, functools.reduce(operator.or_, lanes))
        else:
            pages = _pages(first, last, _PAGE)
        return cls(
            regions, firsts, first, last, places, True in writing,
            max(map(operator.sub, lasts, firsts)), pages,
            is_plain=adjacent and len(writing) == 1,
            is_uniform=of_tensor or len(writing) == 1,
            is_exact=all(map(_exact, regions)),
        )  # fmt: skip

    def touches(self, other: Footprint) -> bool:
        """Whether there is a grain that both touch."""
        if self.first > other.first:
            return other.touches(self)
        return self.places >> other.first - self.first & other.places != 0


@dataclass(slots=True, eq=False)
class PastAccess:
    """An earlier access to one memory, with the regions that no later access has overwritten.

    `footprint` is that of the whole access; `is_tensor_op` marks operations whose pipelined order
    holds for some regions only, `is_async` asynchronous accesses of tensor memory; `source` and
    `count` are the epoch at which it is complete.
    """

    access: Access
    footprint: Footprint
    regions: Sequence[Region]
    firsts: Sequence[int]
    is_tensor_op: bool
    is_async: bool
    source: Source
    count: int

    @classmethod
    def of(cls, access: Access, footprint: Footprint) -> PastAccess:
        """A new access, with all of its regions."""
        kind = access.kind
        return cls(
            access, footprint, footprint.regions, footprint.firsts, kind in TENSOR_OPS,
            kind in ASYNC_TENSOR, *access.done,
        )  # fmt: skip

    def follows(self, old: PastAccess) -> bool:
        """Whether an older access is certainly complete, as most are.

        In its own warp it is in program order, elsewhere where its completion is known; proxies and
        the fences of tcgen05 may ask for more.
        """
        access = self.access
        if access.by_proxy or (self.is_async and old.is_async):
            return False
        if access.known.get(old.source, 0) >= old.count:
            return not is_out_of_scope(old.access, access)
        return old.access.warp == access.warp and old.source.kind == "warp"

    def meeting(self, region: Region) -> list[Region]:
        """Its regions that conflict with a region of another access."""
        begin = bisect.bisect_right(self.firsts, region.first - self.footprint.longest)
        end = bisect.bisect_left(self.firsts, region.last, begin)
        return [there for there in self.regions[begin:end] if there.meets(region)]

    def overwritten(self, new: PastAccess) -> Sequence[Region]:
        """Its regions that another access writes completely."""
        here = new.regions
        if self.regions is here and new.footprint.is_plain:
            if new.footprint.is_exact:
                return here
            return [there for there in here if there.exact]
        if new.footprint.is_plain and len(here) > 1:
            found = []
            for there in self.regions:
                at = bisect.bisect_right(new.firsts, there.first) - 1
                if at >= 0 and here[at].exact and there.last <= here[at].last:
                    found.append(there)
            return found
        writing = [region for region in here if region.writes and region.exact]
        if len(writing) == 1:
            return list(filter(writing[0].covers, self.regions))
        return [there for there in self.regions if any(one.covers(there) for one in writing)]

    def repeats(self, old: PastAccess) -> bool:
        """Whether it replaces an older access of the same record to the same regions.

        Their completions are counted in order: what is ordered after it is ordered after the older
        one.
        """
        mine, other = self.access, old.access
        return (
            mine.warp == other.warp
            and mine.done[0] == other.done[0]
            and mine.done[1] >= other.done[1]
            and self.regions == old.regions
        )

    def is_alike(self, old: PastAccess) -> bool:
        """Whether the order with an older access is the same for all bytes or columns.

        The pipelined order of two operations of tensor memory may hold for some regions only;
        otherwise the answer depends on a memory location only by who writes shared memory there.
        """
        return not old.is_tensor_op if self.is_tensor_op else self.footprint.is_uniform


@dataclass(slots=True)
class History:
    """The last accesses to one memory, in order, which have `count` regions together.

    Accesses repeat the footprints of earlier ones: `there` has the numbers of the accesses of each
    footprint, `beside` the footprints that touch a grain of it, and `pages` those that touch a
    page; `latest` is the last access of each record, warp and location.
    """

    kept: dict[int, PastAccess] = field(default_factory=dict)
    there: dict[Footprint, dict[int, None]] = field(default_factory=dict)
    beside: dict[Footprint, list[Footprint]] = field(default_factory=dict)
    pages: dict[int, list[Footprint]] = field(default_factory=lambda: defaultdict(list))
    latest: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    count: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def near(self, new: PastAccess) -> list[tuple[int, PastAccess]]:
        """The earlier accesses that a new one may conflict with, with their numbers, in order."""
        there, access, kept = self.there, new.access, self.kept
        if new.footprint not in there:
            self._meet(new.footprint)
        numbers = itertools.chain.from_iterable(map(there.__getitem__, self.beside[new.footprint]))
        return [
            (number, old)
            for number in sorted(numbers)
            if (old := kept[number]).access is not access
        ]

    def _meet(self, footprint: Footprint) -> None:
        """Find the earlier footprints that a new one overlaps with, where one of the two writes."""
        earlier = itertools.chain.from_iterable([self.pages[page] for page in footprint.pages])
        beside = self.beside[footprint] = [
            other
            for other in dict.fromkeys(earlier)
            if (footprint.writes or other.writes) and footprint.touches(other)
        ]
        for other in beside:
            self.beside[other].append(footprint)
        if footprint.writes:
            beside.append(footprint)
        for page in footprint.pages:
            self.pages[page].append(footprint)
        self.there[footprint] = {}

    def drop(self, number: int, gone: Sequence[Region]) -> None:
        """Drop regions of an earlier access."""
        old = self.kept[number]
        self.count -= len(gone)
        if len(gone) == len(old.regions):
            self._forget(number)
            old.regions, old.firsts = (), ()
            return
        left = {id(one) for one in gone}
        old.regions = [there for there in old.regions if id(there) not in left]
        old.firsts = [there.first for there in old.regions]

    def add(self, new: PastAccess) -> None:
        """Add an access; `near` was called with it before.

        It replaces an access that it repeats; beyond `_KEPT` regions the oldest are dropped.
        """
        footprint = new.footprint
        key = new.access.index, new.access.warp, footprint.first, footprint.last
        earlier = self.latest.get(key, -1)
        old = self.kept.get(earlier)
        if old is not None and new.repeats(old):
            self.count -= len(old.regions)
            self._forget(earlier)
        number = self.latest[key] = next(self.numbers)
        self.kept[number] = new
        self.there[footprint][number] = None
        self.count += len(new.regions)
        while self.count > _KEPT:
            number, oldest = next(iter(self.kept.items()))
            gone = min(len(oldest.regions), self.count - _KEPT)
            oldest.regions, oldest.firsts = oldest.regions[gone:], oldest.firsts[gone:]
            self.count -= gone
            if not oldest.regions:
                self._forget(number)

    def _forget(self, number: int) -> None:
        del self.there[self.kept.pop(number).footprint][number]


def is_out_of_scope(old: Access, new: Access) -> bool:
    """Whether no release with a scope that includes another CTA orders a store before its access.

    Loads are not asked: libraries give buffers back by arrivals without a scope.
    """
    if old.kind is not Kind.SHARED_STORE or old.rank == new.rank:
        return False
    if old.by_proxy or new.by_proxy or new.kind not in _BY_THREADS:
        return False
    source, count = old.done
    return new.known.get(source_of(WIDE, source.of), 0) < count


def _pages(first: int, last: int, grains: int) -> list[int]:
    """The pages of a hull, each of so many grains."""
    begin, end = first // grains, last // grains
    return [page % _PAGES for page in range(begin, min(end, begin + _PAGES - 1) + 1)]


def _pages_of_lanes(first: int, last: int, lanes: int) -> list[int]:
    """The pages of columns in each quarter of tensor memory that has one of these lanes."""
    columns = _pages(first, last, _COLUMNS)
    return [
        quarter * _PAGES + page
        for quarter in range(_QUARTERS)
        if lanes >> quarter * LANES & (1 << LANES) - 1
        for page in columns
    ]
