"""A warp of the CTA: its threads, their special registers, and shuffles between them.

Layer: isel.verifier.function.  PTX ISA, Special Registers; shfl.sync.
"""

from __future__ import annotations

import functools
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Shuffle
from isel.verifier.function.flow.values import (
    LANES,
    Spread,
    Value,
    constant,
    known,
    unknown,
)

_OF_CTA = ("ntid.", "ctaid.", "nctaid.", "cluster", "nclusterid", "is_explicit", "gridid", "total")


@dataclass(frozen=True, slots=True)
class Warp:
    """A warp of the CTA: its number, and the block's dimensions; () where they are not known."""

    number: int
    block: tuple[int, ...]
    specials: dict[str, Value] = field(default_factory=dict, compare=False)

    @property
    def lanes(self) -> int:
        """The lanes that have a thread, as a mask."""
        if not self.block:
            return (1 << LANES) - 1
        threads = self.block[0] * self.block[1] * self.block[2] - self.number * LANES
        return (1 << min(threads, LANES)) - 1

    def special(self, name: str) -> Value:
        """The value of a special register."""
        found = self.specials.get(name)
        if found is None:
            found = self.specials[name] = self._special(name)
        return found

    def _special(self, name: str) -> Value:
        if name == "laneid":
            return known(tuple(range(LANES)))
        if name.startswith(_OF_CTA) and not (self.block and name.startswith("ntid.")):
            return unknown(Spread.CTA)
        if not self.block or name[:-1] not in ("tid.", "ntid."):
            return unknown(Spread.THREAD)
        axis = "xyz".index(name[-1])
        if name.startswith("ntid."):
            return constant(self.block[axis])
        step = (1, self.block[0], self.block[0] * self.block[1])[axis]
        first = self.number * LANES
        return known(lanes_along(first, step, self.block[axis]))


@functools.lru_cache(1024)  # the runs of a kernel ask for the same
def lanes_along(first: int, step: int, size: int) -> tuple[int, ...]:
    """Thread indices of a warp along a dimension of the block, which has `size` places.

    `first` is the number of its first thread, `step` how many numbers are in the same place.
    """
    return tuple([(first + i) // step % size for i in range(LANES)])


def at_lane(number: int | tuple[int, ...], lane: int) -> int:
    """The number of a lane."""
    return number[lane] if isinstance(number, tuple) else number


def shuffle_source(mode: Shuffle, lane: int, b: int, bounds: int) -> tuple[int, bool]:
    """The lane that a shuffle reads, and whether it is in range.  PTX ISA, shfl.sync."""
    step, clamp, segment = b & 31, bounds & 31, bounds >> 8 & 31
    first = lane & segment
    last = first | (clamp & ~segment)
    match mode:
        case Shuffle.UP:
            return lane - step, lane - step >= last
        case Shuffle.DOWN:
            return lane + step, lane + step <= last
        case Shuffle.BFLY:
            return lane ^ step, lane ^ step <= last
        case Shuffle.IDX:
            source = first | (step & ~segment)
            return source, source <= last


@functools.lru_cache(1024)  # the warps of a kernel repeat the same shuffles
def shuffle_sources(
    mode: Shuffle, b: int | tuple[int, ...], bounds: int | tuple[int, ...]
) -> tuple[tuple[int, bool], ...]:
    """`shuffle_source` for each lane."""
    return tuple([shuffle_source(mode, i, at_lane(b, i), at_lane(bounds, i)) for i in range(LANES)])


def from_lanes(warp: Warp, a: Value, read: list[int]) -> Value:
    """The value of lanes that read `a` from the lanes `read`; uniform if these are all the same."""
    lanes = warp.lanes
    there = [i for i in range(LANES) if lanes >> i & 1]
    if any(not lanes >> read[i] & 1 for i in there):
        return unknown(Spread.THREAD)
    if isinstance(a.offset, tuple):
        number = a.offset
        return known(tuple(number[lane] for lane in read), a.base)
    if same_in_warp(a):
        return a
    return unknown(Spread.WARP if len({read[i] for i in there}) == 1 else Spread.THREAD)


def same_in_warp(value: Value) -> bool:
    """Whether all lanes of a warp have the same number."""
    return value.spread is not Spread.THREAD and not value.is_predicate
