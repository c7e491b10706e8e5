"""Reductions and scans over the threads of a warp, a CTA or a cluster.

Layer: nvgen.shared_memory.  Threads combine a number each, a vector of them, or a tuple, whose
parts travel side by side: of a maximum and its index, say.  In a warp they go by shuffles, between
warps through shared memory.  PTX ISA, shfl.sync; Blelloch, Prefix Sums and Their Applications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar, cast

from intrinsics.modifiers import Shuffle
from nvgen.calling.refusals import described, function_of, refuse
from nvgen.instructions.roles import BARRIERS, WARP, WARPGROUP, ExecutionScope
from nvgen.shared_memory.protocols import Protocols
from nvgen.values.number_types import worded
from nvgen.values.numbers import Int, IntLike, Number, type_of
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector, joined, vector_of

Combined = TypeVar("Combined", bound="Number | Vector | tuple[object, ...]")
"""What threads combine: a number, a vector, or a tuple of these."""

Function: TypeAlias = Callable[[Combined, Combined], Combined]
"""What makes one of two."""

Meeting: TypeAlias = tuple[()] | tuple[IntLike, int]
"""The named barrier of some threads, and how many they are."""

_STEPS = (1, 2, 4, 8, 16)
"""Distances of lanes in the steps of a scan, and backwards of a reduction."""


class Reductions(Protocols):
    """Reductions and scans of numbers that threads have, over a warp, a CTA or a cluster."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._reductions = 0  # that have slots of their own

    def warp_reduce(
        self, value: Combined, function: Function[Combined], *, lanes: int = WARP
    ) -> Combined:
        """Combine the values of a warp's 32 threads by `function`; all of them get the result.

        A value is a number, a vector, or a tuple of these: `b.warp_reduce((x, i), larger)`, where
        `larger` makes one such pair of two.  `function` is associative and commutative:
        `operator.add`, `lambda x, y: x.max(y)`.  With `lanes`, a power of two, each group of that
        many neighbours has its own result.  All threads of the warp execute it.  Numbers of 64 bits
        take two shuffles per step.

        Raises: InputError for what is not a number of the kernel, for other `lanes`, and where
        `function` takes other arguments or gives another type.
        """
        made = _checked(function, value)
        if lanes not in (*_STEPS, WARP):
            expected = ", ".join(map(str, (*_STEPS, WARP)))
            raise refuse("no group of lanes", got=described(lanes), expected=expected)
        for distance in reversed([step for step in _STEPS if step < lanes]):
            value = made(value, self._moved(Shuffle.BFLY, value, distance))
        return value

    def warp_sort(self, value: Combined, before: Callable[[Combined, Combined], Int]) -> Combined:
        """Sort the values of a warp's 32 threads: lane 0 gets the first one, lane 31 the last.

        `before(x, y)` is whether x comes before y: `lambda x, y: x > y` sorts in descending order.
        A value is what `warp_reduce` takes: of `(x, i)` the index travels with its number, and may
        decide where two are equal, whose order is not defined otherwise.  All threads of the warp
        execute it; it is a bitonic network of 15 steps.

        Raises: InputError for what is not a number of the kernel, and where `before` takes other
        arguments or gives no condition.
        """
        first, lane = function_of(before, "x", "y"), self.lane
        for size in (*_STEPS[1:], WARP):
            for distance in reversed([step for step in _STEPS if step < size]):
                other = self._moved(Shuffle.BFLY, value, distance)
                ascends, is_lower = lane & size == 0, lane & distance == 0
                swaps = self.select(ascends == is_lower, first(other, value), first(value, other))
                value = self._chosen(swaps, other, value)
        return value

    def cta_reduce(
        self,
        value: Combined,
        function: Function[Combined],
        slots: Pointer | None = None,
        *,
        barrier: IntLike | None = None,
    ) -> Combined:
        """Combine the values of all threads of the CTA by `function`; all of them get the result.

        `slots` is shared memory for one number of each warp, by default its own; it may be reused
        after the reduction.  See `warp_reduce`.  Inside `if_warpgroup` it is of the warpgroup,
        whose threads meet at the named `barrier`, 1 to 15, which no other warpgroup uses:
        `1 + b.warpgroup` where there are several.

        Raises: InputError where not all threads execute it, or they are not whole warps, and for a
        warpgroup without a barrier.
        """
        meeting = self.meeting("cta_reduce", barrier)
        value = self.warp_reduce(value, function)
        return joined(self._of_warps(value, 0, meeting, slots), function)

    def cluster_reduce(self, value: Combined, function: Function[Combined]) -> Combined:
        """Combine the values of all threads of the cluster by `function`; all of them get the
        result.  See `cta_reduce`.

        The CTAs read each other's results between two barriers of the cluster.

        Raises: InputError where not all threads execute it, or they are not whole warps.
        """
        value = self.cta_reduce(value, function)
        if self.cluster == 1:
            return value
        rooms = self.rooms_of(value, 1)
        with self.if_thread(0):
            for room, number in zip(rooms, _numbers(value), strict=True):
                room[0] = number
        self.cluster_sync()
        ranks = range(self.cluster)
        found = [
            _like(value, (cast("Int", self.of_cta(room, rank)[0]) for room in rooms))
            for rank in ranks
        ]
        self.cluster_sync()
        return joined(found, function)

    def warp_scan(
        self, value: Combined, function: Function[Combined], initial: object = None
    ) -> Combined:
        """Combine the values of the warp's lanes up to this one by `function`: with `operator.add`
        prefix sums.

        With `initial` the lane's own value is not in it: lane 0 gets `initial`, lane 2 what
        `function` makes of it and of lanes 0 and 1.  `function` is associative; the rest is as in
        `warp_reduce`.
        """
        first = None if initial is None else _filled(value, initial)
        scanned = self._scanned(value, function, first, self.lane == 0)
        return scanned if first is None else self._shifted(scanned, first)

    def cta_scan(
        self,
        value: Combined,
        function: Function[Combined],
        initial: object = None,
        *,
        barrier: IntLike | None = None,
    ) -> tuple[Combined, Combined]:
        """Combine the values of the CTA's threads up to this one, in the order of `b.thread`; and
        the values of all threads, `initial` among them.

        See `warp_scan`, and `cta_reduce` for warpgroups.

        Raises: InputError where not all threads execute it, or they are not whole warps, and for a
        warpgroup without a barrier.
        """
        meeting = self.meeting("cta_scan", barrier)
        first = None if initial is None else _filled(value, initial)
        scanned = self._scanned(value, function, first, self._place(meeting) == 0)
        before, *more = self._of_warps(scanned, WARP - 1, meeting)
        whole, warp = before, self._place(meeting) // WARP
        for number, total in enumerate(more, 1):
            before = self._chosen(warp >= number, whole, before)
            whole = function(whole, total)
        scanned = self._chosen(warp > 0, function(before, scanned), scanned)
        if first is not None:
            scanned = self._shifted(scanned, self._chosen(warp > 0, before, first))
        return scanned, whole

    # ---- steps -------------------------------------------------------------------------------

    def _scanned(
        self, value: Combined, function: Function[Combined], first: Combined | None, is_first: Int
    ) -> Combined:
        """What lanes up to each make, `first` before the value of the thread that `is_first`."""
        made, lane = _checked(function, value), self.lane
        if first is not None:
            value = self._chosen(is_first, made(first, value), value)
        for distance in _STEPS:
            below = self._moved(Shuffle.UP, value, distance)
            value = self._chosen(lane >= distance, made(below, value), value)
        return value

    def _shifted(self, value: Combined, first: Combined) -> Combined:
        """The value of the lane below, in lane 0 `first`."""
        return self._chosen(self.lane > 0, self._moved(Shuffle.UP, value, 1), first)

    def _moved(self, mode: Shuffle, value: Combined, distance: int) -> Combined:
        """The value of another lane."""
        return _like(value, (self.shfl_sync(mode, x, distance) for x in _numbers(value)))

    def _chosen(self, condition: Int, one: Combined, other: Combined) -> Combined:
        """One of two values."""
        pairs = zip(_numbers(one), _numbers(other), strict=True)
        return _like(one, (self.select(condition, x, y) for x, y in pairs))

    def _of_warps(
        self, value: Combined, lane: int, meeting: Meeting, slots: Pointer | None = None
    ) -> list[Combined]:
        """The values of this lane of each warp, in all threads that meet."""
        warps, numbers = (meeting[1] if meeting else self.threads) // WARP, list(_numbers(value))
        speaks = self.thread % WARP == lane
        rooms = self.rooms_of(value, self.threads // WARP) if slots is None else [slots]
        if len(rooms) != len(numbers):
            got = f"{len(numbers)} of each"
            raise refuse("slots hold one number of each warp", got=got, expected="no slots")
        with self.if_(speaks):
            for room, number in zip(rooms, numbers, strict=True):
                room.of(type_of(number))[self.thread // WARP] = number
        self.barrier_cta_sync_aligned(*meeting)
        found = []
        for room, number in zip(rooms, numbers, strict=True):
            type_ = type_of(number)
            align = min(type_.bits // 8 * (warps & -warps), 16)
            mine = room.of(type_).at(self.thread // WARPGROUP * warps) if meeting else room
            found.append(list(self.load(mine, type_, warps, align=align)))
        self.barrier_cta_sync_aligned(*meeting)
        return [_like(value, iter(row)) for row in zip(*found, strict=True)]

    def rooms_of(self, value: object, count: int) -> list[Pointer]:
        """Shared memory for `count` of each number of a value."""
        self._reductions += 1
        named = (f"reduced.{self._reductions}{f'.{i}' * (i > 0)}" for i in range(1 << 30))
        return [self.shared_array(next(named), type_of(x), count) for x in _numbers(value)]

    def _place(self, meeting: Meeting) -> Int:
        """The thread's number among those that meet."""
        return self.thread % WARPGROUP if meeting else self.thread

    def meeting(self, operation: str, barrier: IntLike | None) -> Meeting:
        """Where the threads meet that combine values: none is barrier 0 of the whole CTA."""
        if self.scope is ExecutionScope.WARPGROUP:
            if barrier is None or (isinstance(barrier, int) and not 0 < barrier < BARRIERS):
                raise refuse(
                    f"{operation} of a warpgroup needs a barrier of its own",
                    got=described(barrier),
                    expected="barrier=1 to 15; 1 + b.warpgroup where several have one each",
                )
            return barrier, WARPGROUP
        self.whole_cta(operation)
        if self.threads % WARP:
            expected = f"a multiple of {WARP} threads"
            raise refuse("no whole warps", got=str(self.threads), expected=expected)
        if barrier is not None:
            raise refuse("all threads meet at barrier 0", got=described(barrier), expected="none")
        return ()


# ---- values of several parts -------------------------------------------------------------------


def _numbers(value: object) -> Iterator[Int]:
    """The numbers of a value, one after the other; to a type checker integers."""
    if isinstance(value, (tuple, Vector)):
        for part in value:
            yield from _numbers(part)
        return
    type_of(value)  # type: ignore[arg-type]  # it raises for what is no number
    yield cast("Int", value)


def _like(value: Combined, numbers: Iterator[Int]) -> Combined:
    """A value of such parts, of other numbers."""
    found: object
    if isinstance(value, tuple):
        found = tuple(_like(cast("Int", part), numbers) for part in value)
    elif isinstance(value, Vector):
        found = vector_of([next(numbers) for _ in range(value.count)])
    else:
        number = next(numbers)  # which is checked
        found = value.like(number.value)
    return cast("Combined", found)


def _filled(value: Combined, given: object) -> Combined:
    """A value of such parts as is given, where Python numbers stand for numbers of their types."""
    found: object
    if isinstance(value, tuple):
        given = given if isinstance(given, tuple) else (given,) * len(value)
        if len(given) != len(value):
            got = f"{len(given)} parts"
            raise refuse("an initial value of other parts", got=got, expected=_words(value))
        found = tuple(
            _filled(cast("Int", part), one) for part, one in zip(value, given, strict=True)
        )
    elif isinstance(value, Vector):
        found = given if isinstance(given, Vector) else value.splat(given)
    else:
        type_of(value)  # it raises for what is no number
        found = value.like(value.taken(given))
    return cast("Combined", found)


def _checked(function: Function[Combined], value: object) -> Function[Combined]:
    """A function whose results are what it is given."""
    made, expected = function_of(function, "x", "y"), _words(value)

    def checked(one: Combined, other: Combined) -> Combined:
        found = made(one, other)
        if _words(found) != expected:
            wanted = f"{expected}, as it was given"
            raise refuse("a reduction makes another type", got=_words(found), expected=wanted)
        return found

    return checked


def _words(value: object) -> str:
    """The types of a value, in words."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_words, value))})"
    if isinstance(value, Vector):
        return value.words
    return worded(value)
