"""Integers that a warp has in a register: one for all lanes, or one for each.

Layer: isel.verifier.ordering.  A `Number` is one integer for all lanes of a warp, a tuple with one
for each lane (None where it is not known), or None.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

from isel.verifier.function.flow.values import LANES, lanes_where

_ALL = (1 << LANES) - 1
"""The mask of a whole warp."""

Number: TypeAlias = int | tuple[int | None, ...] | None


def lanes_of(number: Number) -> tuple[int | None, ...]:
    """The number in each lane."""
    return number if isinstance(number, tuple) else (number,) * LANES


@functools.lru_cache(1024)  # warps and runs repeat the same conditions
def masks_of(number: Number) -> tuple[int, int]:
    """The mask of the lanes in which a number is not 0, and of those in which it is not known."""
    lanes = lanes_of(number)
    unknown = sum(1 << i for i, one in enumerate(lanes) if one is None)
    return lanes_where(lanes), unknown


def packed(lanes: tuple[int | None, ...]) -> Number:
    """One integer where all lanes have the same."""
    first = lanes[0]
    return first if lanes.count(first) == LANES else lanes


def merged(old: Number, new: Number, mask: int) -> Number:
    """`new` in the lanes of a mask, `old` in the others."""
    if mask == _ALL or old == new:
        return new
    few, other, rest = lanes_of(old), lanes_of(new), mask
    if mask.bit_count() > LANES // 2:
        few, other, rest = other, few, _ALL & ~mask
    lanes = list(few)
    while rest:
        lowest = rest & -rest
        lane = lowest.bit_length() - 1
        lanes[lane] = other[lane]
        rest ^= lowest
    return packed(tuple(lanes))


def lanewise(operation: Callable[..., int], *numbers: Number) -> Number:
    """An operation in every lane where its operands are known."""
    if all(type(n) is int for n in numbers):
        return operation(*numbers)
    if None in numbers:
        return None
    lanes = [lanes_of(n) for n in numbers]
    if any(None in one for one in lanes):
        columns = zip(*lanes, strict=True)
        return packed(tuple([None if None in c else operation(*c) for c in columns]))
    return packed(tuple(map(operation, *lanes)))


def moved(address: Number, offset: int) -> Number:
    """An address plus an offset, in every lane."""
    if not isinstance(address, tuple):
        return None if address is None else address + offset
    return _moved(address, offset) if offset else address


@functools.lru_cache(1024)  # warps repeat the same addresses
def _moved(address: tuple[int | None, ...], offset: int) -> Number:
    return packed(tuple([None if at is None else at + offset for at in address]))


def uniform(number: Number, mask: int) -> int | None:
    """The integer in all lanes of a mask; None where they differ or it is not known."""
    if not isinstance(number, tuple):
        return number
    found = {n for i, n in enumerate(number) if mask >> i & 1}
    return found.pop() if len(found) == 1 else None
