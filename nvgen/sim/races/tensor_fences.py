"""The order of operations on tensor memory that tcgen05.fence establishes.

Layer: nvgen.sim.  An asynchronous tcgen05 operation may be moved before the wait or the barrier
that it stands behind, unless tcgen05.fence::after_thread_sync stands between the two; and one that
comes before an arrival may be moved behind it, unless ::before_thread_sync does.  So every thread
has, beside what is complete before it, what its next tcgen05 operations may rely on:

    fenced   what they may rely on now
    observed what it has observed by a wait or a barrier, and what the next fence::after_thread_sync
             makes `fenced`; it is the part `tensor` of the thread's clock
    before   what the thread lets others rely on: its own operations up to its last
             fence::before_thread_sync, and what it relied on itself there

tcgen05.wait lets the threads of the warp rely on their own loads and stores; it may stand on either
side of fence::before_thread_sync, if they stand before it.  tcgen05.commit says
what fence::before_thread_sync would say, and that the operations it tracks are complete.  An
operation may rely on what it is pipelined with, if it was issued behind it: by the same thread, or
by one that relies on the issue.  tcgen05.alloc and .dealloc are synchronous and need no fence.

For each column of operations there is one number: twice the tick of an operation that is known to
be issued, and one more where it is known to be complete.

PTX ISA, Memory Consistency Model for 5th generation of TensorCore operations; tcgen05.fence.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.vector_clock import LANES, NO_TICKS, Clock, Ticks, common_ops, joined_ops
from nvgen.sim.races.epochs import ACTOR, OPERATION, TICK, Epochs, tick_of

MOVES = ("ld", "st")
"""Kinds of operations that tcgen05.wait waits for."""

ACCESSES = ("mma", *MOVES)
"""Kinds of operations on tensor memory; copies and shifts count as multiplies."""

AFTER, BEFORE = "fence.after", "fence.before"
"""Which fence is missing."""


def issued(tick: int) -> int:
    """The number of an operation that is issued."""
    return 2 * tick


def complete(tick: int) -> int:
    """The number of an operation that is complete."""
    return 2 * tick + 1


def level(ticks: Ticks, column: int) -> int:
    """The number in a column."""
    return int(ticks[column]) if column < ticks.size else 0


def marked(ticks: Ticks, column: int, number: int) -> Ticks:
    """The row with at least `number` in a column."""
    if level(ticks, column) >= number:
        return ticks
    found = np.zeros(max(ticks.size, column + 1), np.int32)
    found[: ticks.size] = ticks
    found[column] = number
    return found


def padded(ticks: Ticks, size: int) -> Ticks:
    """The row, extended or cut to `size` columns."""
    found = np.zeros(size, np.int32)
    found[: min(size, ticks.size)] = ticks[:size]
    return found


def unfenced(prior: Epochs, relied: Ticks) -> NDArray[np.bool_]:
    """A mask of epochs of operations whose completion is not ordered."""
    operations = prior >= OPERATION
    columns = np.where(operations, prior & ACTOR, 0)
    inside = columns < relied.size
    levels = np.zeros(prior.shape, np.int64)
    levels[inside] = relied[columns[inside]]
    found: NDArray[np.bool_] = operations & (levels < 2 * (prior >> TICK & 0x7FFFFFFF) + 1)
    return found


def missing_fence(op: AsyncOp, epoch: int) -> str:
    """The fence that is missing between the operation of an epoch, and one after it.

    "" where more than a fence is missing.
    """
    column, tick = epoch & ACTOR, tick_of(epoch)
    if (column, tick) in op.unfenced:
        return op.unfenced[column, tick]
    known = op.before
    if op.relies is None or known is None or level(known.ops, column) < tick:
        return ""
    return AFTER if level(known.tensor, column) >= complete(tick) else BEFORE


def _nothing() -> list[Ticks]:
    return [NO_TICKS] * LANES


@dataclass(slots=True, eq=False)
class TensorOrder:
    """For the threads of a warp: the operations on tensor memory ordered before them, and those
    that they release.
    """

    fenced: list[Ticks] = field(default_factory=_nothing)
    before: list[Ticks] = field(default_factory=_nothing)
    own: list[Ticks] = field(default_factory=_nothing)  # operations that each has issued

    def fence_after(self, lanes: Iterable[int], clocks: Sequence[Clock]) -> None:
        """Order what these threads have acquired before their next operations; `clocks` are those
        of all lanes.
        """
        joined = _Joins()
        for lane in lanes:
            self.fenced[lane] = joined(self.fenced[lane], clocks[lane].tensor)

    def fence_before(self, lanes: Iterable[int]) -> None:
        """Threads release what they have issued, and what was ordered before that."""
        joined = _Joins()
        for lane in lanes:
            mine = joined(self.own[lane], self.fenced[lane])
            self.before[lane] = joined(self.before[lane], mine)

    def waited(self, lanes: Iterable[int], ops: Iterable[AsyncOp]) -> None:
        """Threads have waited for loads and stores of their warp."""
        moves = [op for op in ops if op.kind in MOVES]
        done = NO_TICKS
        for op in moves:
            done = marked(done, op.column, complete(op.tick))
        joined, finished = _Joins(), {}
        for lane in lanes:
            self.fenced[lane] = joined(self.fenced[lane], done)
            old = self.before[lane]
            if id(old) not in finished:
                finished[id(old)] = old, _finished(old, moves)
            self.before[lane] = finished[id(old)][1]

    def released(self, lanes: Iterable[int]) -> Ticks:
        """The operations that at least one of the threads releases."""
        return _reduced(joined_ops, [self.before[lane] for lane in lanes])

    def released_by_all(self, lanes: Iterable[int]) -> Ticks:
        """The operations that all of the threads release."""
        return _reduced(common_ops, [self.before[lane] for lane in lanes])

    def ordered_before_all(self, lanes: Iterable[int]) -> Ticks:
        """The operations that are ordered before all of the threads."""
        return _reduced(common_ops, [self.fenced[lane] for lane in lanes])

    def committed(self, lane: int) -> Ticks:
        """The operations that a thread's commit releases."""
        return joined_ops(self.own[lane], self.fenced[lane])

    def issue(self, lanes: Iterable[int], op: AsyncOp) -> None:
        """Threads have issued an operation."""
        new = marked(NO_TICKS, op.column, issued(op.tick))
        joined = _Joins()
        for lane in lanes:
            self.own[lane] = joined(self.own[lane], new)


def _finished(before: Ticks, moves: Iterable[AsyncOp]) -> Ticks:
    """The row after moves completed: those issued before the fence are ordered by it."""
    for op in moves:
        if level(before, op.column) == issued(op.tick):
            before = marked(before, op.column, complete(op.tick))
    return before


class _Joins:
    """Joins of columns, each made once, so that threads with equal columns share them."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], tuple[Ticks, Ticks, Ticks]] = {}

    def __call__(self, a: Ticks, b: Ticks) -> Ticks:
        key = id(a), id(b)
        if key not in self._made:
            self._made[key] = a, b, joined_ops(a, b)
        return self._made[key][2]


def _reduced(how: Callable[[Ticks, Ticks], Ticks], ticks: Sequence[Ticks]) -> Ticks:
    return functools.reduce(how, {id(one): one for one in ticks}.values())
