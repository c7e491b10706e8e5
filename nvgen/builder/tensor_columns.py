"""Columns of tensor memory to and from registers: a warp has 32 lanes, a thread a lane.

Layer: nvgen.builder.  Each warp of a warpgroup has the 32 lanes of its number modulo 4.  PTX ISA,
tcgen05.ld; tcgen05.st; tcgen05.wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.modifiers import LdStNum
from nvgen.builder.pointers import Pointer
from nvgen.builder.roles import WARPGROUP, ExecutionScope
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.vectors import Vector, as_words

_CELL = 32
_NUMS = {num.times: num for num in LdStNum}


def by_warpgroup(b: SharedMemory) -> bool:
    """Whether a warpgroup comes here, which has all 128 lanes."""
    whole = b.scope is ExecutionScope.CTA and b.threads == WARPGROUP
    return whole or b.scope is ExecutionScope.WARPGROUP


def load_columns(b: SharedMemory, pointer: Pointer, first: int, columns: int) -> list[Vector]:
    """The registers of some columns, behind the wait for them; several loads where one is not so
    wide."""
    base, found = _lanes(b, pointer, first), []
    for at, count in _pieces(columns):
        found.append(b.tcgen05_ld(base + at if at else base, num=_NUMS[count]))
    b.tcgen05_wait_ld()
    return found


def store_columns(b: SharedMemory, pointer: Pointer, first: int, numbers: Vector) -> None:
    """Store a thread's numbers, 32 bits a column, and wait until they are there."""
    assert numbers.type is not None
    base, each = _lanes(b, pointer, first), _CELL // numbers.type.bits
    for at, count in _pieces(numbers.count // each):
        part = as_words(numbers.taken_apart(range(at * each, (at + count) * each)))
        b.tcgen05_st(base + at if at else base, part, num=_NUMS[count])
    b.tcgen05_wait_st()


def _lanes(b: SharedMemory, pointer: Pointer, first: int) -> Pointer:
    """Where the warp's lanes begin, at the first column."""
    lanes = pointer + ((b.tid_x >> 5 & 3) << 21)
    return lanes + first if first else lanes


def _pieces(columns: int) -> Iterator[tuple[int, int]]:
    """What each instruction moves: the first column, and how many."""
    at = 0
    while at < columns:
        count = max(n for n in _NUMS if n <= columns - at)
        yield at, count
        at += count
