"""The abstract value of a register in one warp: a number for each lane, or a base plus a number.

Layer: isel.verifier.function.  A `Value` is `base + offset`.  Without a base it is a number; with
one it is an address (of a variable, of a parameter, of what was loaded from a slot), a field of a
descriptor, or a predicate of a wait or an election.  An offset that is not known may still be known
to be the same for all lanes of the warp, or for all threads of the CTA.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass

LANES = 32
"""Threads of a warp."""

Offset: TypeAlias = int | tuple[int, ...] | None
"""A number common to all lanes, one for each lane, or None if it is unknown."""


@functools.lru_cache(1024)  # warps repeat the same conditions
def lanes_where(number: tuple[int | None, ...]) -> int:
    """The mask of the lanes in which a number is known, and not 0."""
    return sum(1 << i for i, one in enumerate(number) if one)


class Spread(IntEnum):
    """The threads for which an unknown number is certainly the same."""

    CTA = 0
    WARP = 1
    THREAD = 2


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """The value of a parameter, or what a known offset in it holds."""

    name: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A shared memory location that holds the address of an allocation."""

    variable: str
    offset: int


@dataclass(frozen=True, slots=True)
class Sixteenth:
    """A shared memory address in units of 16 bytes, as descriptors have it."""

    variable: str


@dataclass(frozen=True, slots=True)
class Elected:
    """A predicate that holds for one thread of the warp; `perhaps`: for none, in some warps."""

    perhaps: bool = False


@dataclass(frozen=True, slots=True)
class Among:
    """A predicate that holds in no other lanes than these; in which of them is unknown.

    `by` says for which threads the condition is certainly the same.
    """

    lanes: int
    by: Spread


@dataclass(frozen=True, slots=True)
class Zero:
    """A number that is zero in no other lanes than these; `by` is as in `Among`."""

    lanes: int
    by: Spread


@dataclass(frozen=True, slots=True)
class Waited:
    """The result of an mbarrier's wait, or of one of several: the records' indices."""

    records: frozenset[int]


Base: TypeAlias = Symbol | Parameter | Loaded | Sixteenth | Elected | Among | Zero | Waited
MemoryBase: TypeAlias = Symbol | Parameter | Loaded | Sixteenth


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Value:
    """`base + offset`; for a predicate with a base, the offset 1 negates it."""

    base: Base | None = None
    offset: Offset = None
    spread: Spread = Spread.CTA

    @property
    def number(self) -> Offset:
        """The number that it is, None for one that is not known."""
        return self.offset if self.base is None else None

    @property
    def is_predicate(self) -> bool:
        """Whether it is the result of a wait, an election or a condition, or its complement.

        So is a number of which only is known whether it is zero.
        """
        return isinstance(self.base, (Elected, Among, Zero, Waited))

    def lane(self, lane: int) -> int | None:
        """The offset in one lane."""
        return self.offset[lane] if isinstance(self.offset, tuple) else self.offset


def known(offset: int | tuple[int, ...], base: Base | None = None) -> Value:
    """A value with a known offset."""
    if isinstance(offset, tuple) and len(set(offset)) == 1:
        offset = offset[0]
    spread = Spread.THREAD if isinstance(offset, tuple) else Spread.WARP
    return Value(base, offset, spread)


def constant(number: int) -> Value:
    """A number that is a literal of the program."""
    return Value(None, number, Spread.CTA)


def unknown(spread: Spread, base: Base | None = None) -> Value:
    """A value of which at most the base is known."""
    return Value(base, None, spread)


def join(a: Value, b: Value) -> Value:
    """The least value that includes both (the join of the lattice): `a` itself where it does."""
    if a is b or a == b:
        return a
    found = _joined(a, b)
    return a if found == a else found


def _joined(a: Value, b: Value) -> Value:
    spread = max(a.spread, b.spread)
    if isinstance(a.base, Waited) and isinstance(b.base, Waited) and a.offset == b.offset:
        return Value(Waited(a.base.records | b.base.records), a.offset, spread)
    if a.base == b.base and not a.is_predicate:
        offset = a.offset if a.offset == b.offset else None
        return Value(a.base, offset, spread)
    return unknown(spread)


def combine(
    operation: Callable[[int, int], int], a: int | tuple[int, ...], b: int | tuple[int, ...]
) -> int | tuple[int, ...]:
    """An operation on each lane."""
    if isinstance(a, int) and isinstance(b, int):
        return operation(a, b)
    left = (a,) * LANES if isinstance(a, int) else a
    right = (b,) * LANES if isinstance(b, int) else b
    return tuple(map(operation, left, right))


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """A memory location: a base, and the offset from it where that is known."""

    base: MemoryBase
    offset: int | None = None

    def meets(self, other: MemoryLocation) -> bool:
        """Whether both may be the same location."""
        if self.base != other.base:
            return False
        return self.offset is None or other.offset is None or self.offset == other.offset

    def __str__(self) -> str:
        match self.base:
            case Symbol(name) | Parameter(name) | Sixteenth(name):
                text = name
            case Loaded(name, offset):
                text = f"[{name}]" if not offset else f"[{name}+{offset}]"
        if self.offset is None:
            return f"somewhere in {text}"
        return f"{text}+{self.offset}" if self.offset else text


def where(value: Value) -> MemoryLocation | None:
    """The memory location that an address names, None where its base is not known."""
    if value.base is None or isinstance(value.base, (Elected, Among, Zero, Waited)):
        return None
    return MemoryLocation(value.base, value.offset if isinstance(value.offset, int) else None)
