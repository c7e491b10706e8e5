"""What the threads of a warp have accessed since they last met.

Layer: isel.verifier.ordering.  PTX ISA, bar.warp.sync.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.ordering.integers.numbers import Number
from isel.verifier.ordering.integers.windows import offset_of
from isel.verifier.ordering.memory_regions import Region

_PIECE = 4
"""The binary logarithm of the bytes of a piece."""
_MOST = 16
"""The last accesses of a warp that are compared with the next."""
_KEPT = 4 * _MOST
"""The accesses that are kept before those that are no longer compared are dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """Weak accesses of one record: `width` bytes at the address of each lane of a mask.

    `pieces` has a bit for each piece of shared memory in which they are.  `lanes_at` makes each
    once, so that pairs of them are compared by identity.
    """

    address: Number
    mask: int
    width: int
    writes: bool
    pieces: int


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def lanes_at(
    address: Number, mask: int, width: int, regions: tuple[Region, ...], *, writes: bool
) -> Lanes:
    """The accesses of a mask's lanes, which touch these regions."""
    pieces = 0
    for region in regions:
        begin = offset_of(region.first)
        first, last = begin >> _PIECE, begin + region.last - region.first - 1 >> _PIECE
        pieces |= (2 << last) - (1 << first)
    return Lanes(address, mask, width, writes, pieces)


class Unordered(NamedTuple):
    """Accesses of a record after which the warp has not met."""

    record: int
    touch: Lanes


class Pending:
    """What the threads of a warp have accessed since they last met, in order."""

    __slots__ = ("_accessed", "_accesses", "_written")

    def __init__(self) -> None:
        self._accesses: list[Unordered] = []
        self._accessed = self._written = 0  # pieces

    def near(self, touch: Lanes) -> Iterable[Unordered]:
        """Those of the last accesses that may conflict with another one."""
        if not touch.pieces & (self._accessed if touch.writes else self._written):
            return ()
        return [
            one
            for one in self._accesses[-_MOST:]
            if (touch.writes or one.touch.writes) and one.touch.pieces & touch.pieces
        ]

    def add(self, one: Unordered) -> None:
        """Add an access."""
        self._accesses.append(one)
        touch = one.touch
        self._accessed |= touch.pieces
        if touch.writes:
            self._written |= touch.pieces
        if len(self._accesses) > _KEPT:
            self._keep(self._accesses[-_MOST:])

    def met(self, members: int) -> None:
        """Drop the accesses that members of a mask alone have made, which meet."""
        if self._accesses:
            self._keep([one for one in self._accesses[-_MOST:] if one.touch.mask & ~members])

    def _keep(self, accesses: Iterable[Unordered]) -> None:
        self._accesses, self._accessed, self._written = [], 0, 0
        for one in accesses:
            self.add(one)
