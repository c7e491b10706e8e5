"""What the threads of a warp have accessed since they last met.

Layer: isel.verifier.ordering.  PTX ISA, bar.warp.sync.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from isel.verifier.ordering.integers.numbers import Number
from isel.verifier.ordering.integers.windows import offset_of
from isel.verifier.ordering.memory_regions import Region

_PIECE = 4
"""The binary logarithm of the bytes of a piece."""
_MOST = 16
"""The last accesses of a warp that are compared with the next."""
_KEPT = 4 * _MOST
"""The accesses that are kept before those that are no longer compared are dropped."""


class Lanes(NamedTuple):
    """Weak accesses of one record: `width` bytes at the address of each lane of a mask.

    `pieces` has a bit for each piece of shared memory in which they are.
    """

    address: Number
    mask: int
    width: int
    writes: bool
    pieces: int

    @classmethod
    def of(
        cls, address: Number, mask: int, width: int, regions: Iterable[Region], *, writes: bool
    ) -> Lanes:
        """The accesses of a mask's lanes, which touch these regions."""
        pieces = 0
        for region in regions:
            begin = offset_of(region.first)
            first, last = begin >> _PIECE, begin + region.last - region.first - 1 >> _PIECE
            pieces |= (2 << last) - (1 << first)
        return cls(address, mask, width, writes, pieces)


class Unordered(NamedTuple):
    """Accesses after which the warp has not met: their record, and the first byte and that behind
    the last.
    """

    record: int
    touch: Lanes
    first: int
    last: int


class Pending:
    """What the threads of a warp have accessed since they last met, in order."""

    __slots__ = ("_accessed", "_accesses", "_written")

    def __init__(self) -> None:
        self._accesses: list[Unordered] = []
        self._accessed = self._written = 0  # pieces

    def near(self, touch: Lanes) -> Iterable[Unordered]:
        """The last accesses, where some may conflict with another one."""
        if touch.pieces & (self._accessed if touch.writes else self._written):
            return self._accesses[-_MOST:]
        return ()

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
